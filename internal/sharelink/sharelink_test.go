package sharelink_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/sharelink"
	"carrel/internal/source"
	"carrel/internal/store"
	"carrel/internal/task"
	"carrel/internal/testkit"
	"carrel/internal/testkit/echo"
	"carrel/internal/testkit/fixture"
	"carrel/internal/thread"
	"carrel/internal/transcript"
)

func TestMain(m *testing.M) { testkit.Main(m) }

type testService struct {
	*sharelink.Service
	fixture.Users
	db      *store.DB
	threads *thread.Service
	deps    sharelink.Deps
}

// noDocuments has no documents.
type noDocuments struct{}

func (noDocuments) Document(context.Context, core.Actor, string, string) (source.Document, error) {
	return source.Document{}, core.NotFound("document")
}

func newService(t *testing.T) *testService {
	t.Helper()
	db := fixture.OpenStore(t)
	users := fixture.NewUsers(t, db, core.PlanOpen)
	users.Ada.Scopes, users.Bob.Scopes = core.RoleMember.Scopes(), core.RoleMember.Scopes()
	tasks := task.New(task.Deps{Store: db, Clock: users.Clock, Log: slog.New(slog.DiscardHandler)},
		task.Options{SingleNode: true, Poll: 10 * time.Millisecond})
	threads := thread.NewService(thread.Deps{
		Store: db, Agents: users.Agents, Clock: users.Clock, Tasks: tasks, Answerer: echo.Answerer{},
	})
	tasks.Register(threads.Kind())
	if err := tasks.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tasks.Stop(context.Background()) })
	deps := sharelink.Deps{
		Store: db, Agents: users.Agents, Threads: threads, Clock: users.Clock,
		Transcripts: transcript.NewReader(transcript.Deps{Threads: threads, Documents: noDocuments{}}),
		Audit: audit.New(audit.Deps{
			Store: db, Clock: users.Clock, Log: slog.New(slog.DiscardHandler),
			Address: func(context.Context) string { return "" },
		}),
		HashKey: []byte("key"), Prefix: "crll",
	}
	return &testService{sharelink.NewService(deps), users, db, threads, deps}
}

// talk starts a thread with one question.
func (s *testService) talk(t *testing.T, text string) thread.Thread {
	t.Helper()
	made, err := s.threads.Create(t.Context(), s.Ada, s.Agent, "A talk")
	if err != nil {
		t.Fatal(err)
	}
	s.say(t, made.ID, text)
	return made
}

func (s *testService) say(t *testing.T, threadID, text string) {
	t.Helper()
	ctx := t.Context()
	if _, err := s.threads.Send(ctx, s.Ada, s.Agent, threadID, thread.NewMessage{Text: text}, ctx); err != nil {
		t.Fatal(err)
	}
}

// opened returns the Markdown of the page, or the code of the error.
func (s *testService) opened(t *testing.T, token string) string {
	t.Helper()
	_, shown, err := s.Open(t.Context(), token)
	if err != nil {
		return core.AsError(err).Code
	}
	var b strings.Builder
	if err := shown.Write(&b, transcript.Markdown); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestLinkShowsTheMessagesOfItsTime(t *testing.T) {
	t.Parallel()
	s, ctx := newService(t), t.Context()
	made := s.talk(t, "first question")
	link, token, err := s.Create(ctx, s.Ada, s.Agent, made.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.say(t, made.ID, "second question")
	shown := s.opened(t, token)
	if !strings.Contains(shown, "You wrote: first question") || strings.Contains(shown, "second question") {
		t.Errorf("shown:\n%s", shown)
	}
	listed, err := s.OfThread(ctx, s.Ada, s.Agent, made.ID)
	if err != nil || len(listed) != 1 || listed[0].ID != link.ID || listed[0].Title != "A talk" {
		t.Errorf("listed %+v, %v", listed, err)
	}
	read, err := s.threads.Messages(ctx, s.Ada, s.Agent, made.ID, core.Page{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.threads.DeleteExchange(ctx, s.Ada, s.Agent, made.ID, read.Messages[0].ID); err != nil {
		t.Fatal(err)
	}
	if shown := s.opened(t, token); strings.Contains(shown, "first question") {
		t.Errorf("a deleted message is shown:\n%s", shown)
	}
	if err := s.threads.Delete(ctx, s.Ada, s.Agent, made.ID); err != nil {
		t.Fatal(err)
	}
	if got := s.opened(t, token); got != "not_found" {
		t.Errorf("after the thread was deleted: %s", got)
	}
}

func TestLinkEndsAtOnce(t *testing.T) {
	t.Parallel()
	s, ctx := newService(t), t.Context()
	made := s.talk(t, "a question")
	newLink := func(expires *time.Time) (sharelink.Link, string) {
		l, token, err := s.Create(ctx, s.Ada, s.Agent, made.ID, expires)
		if err != nil {
			t.Fatal(err)
		}
		return l, token
	}
	link, token := newLink(nil)
	if err := s.Delete(ctx, s.Bob, link.ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("deleted by another account: %v", err)
	}
	if err := s.Delete(ctx, s.Ada, link.ID); err != nil {
		t.Fatal(err)
	}
	hour := s.Clock.Now().Add(time.Hour)
	_, expiring := newLink(&hour)
	_, lasting := newLink(nil)
	for _, wrong := range []string{token, "", "crll_x", token + "x"} {
		if got := s.opened(t, wrong); got != "not_found" {
			t.Errorf("%q opens %s", wrong, got)
		}
	}
	if got := s.opened(t, expiring); !strings.Contains(got, "a question") {
		t.Errorf("before it expires: %s", got)
	}
	s.Clock.Advance(time.Hour)
	if got := s.opened(t, expiring); got != "not_found" {
		t.Errorf("after it expired: %s", got)
	}
	s.Clock.Advance(31 * 24 * time.Hour)
	if err := s.Prune(ctx); err != nil {
		t.Fatal(err)
	}
	if left, _, err := s.List(ctx, s.Ada, core.Page{}); err != nil || len(left) != 1 {
		t.Errorf("left %+v, %v", left, err)
	}
	if got := s.opened(t, lasting); !strings.Contains(got, "a question") {
		t.Errorf("a link without an end: %s", got)
	}
	deps := s.deps
	deps.Disabled = true
	off := &testService{Service: sharelink.NewService(deps)}
	if got := off.opened(t, lasting); got != "not_found" {
		t.Errorf("with links turned off: %s", got)
	}
	if _, _, err := off.Create(ctx, s.Ada, s.Agent, made.ID, nil); core.AsError(err).Code != "capability_disabled" {
		t.Errorf("created with links turned off: %v", err)
	}
}

func TestLinkNeedsAPlanThatIncludesIt(t *testing.T) {
	t.Parallel()
	s, ctx := newService(t), t.Context()
	made := s.talk(t, "a question")
	_, token, err := s.Create(ctx, s.Ada, s.Agent, made.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	small, err := s.db.Plan(ctx, core.PlanOpen)
	if err != nil {
		t.Fatal(err)
	}
	small.Name, small.Capabilities = "small", []core.Capability{core.CapSearch, core.CapChat}
	if err := s.db.PutPlan(ctx, small); err != nil {
		t.Fatal(err)
	}
	if err := s.db.SetPlan(ctx, s.Ada.UserID, "small"); err != nil {
		t.Fatal(err)
	}
	if got := s.opened(t, token); got != "not_found" {
		t.Errorf("the page of an account without the capability: %s", got)
	}
	lacking := s.Ada
	lacking.Lacks = core.SetOf(core.CapShare)
	if _, _, err := s.Create(ctx, lacking, s.Agent, made.ID, nil); core.AsError(err).Code != "capability_disabled" {
		t.Errorf("created: %v", err)
	}
	if err := s.db.SetPlan(ctx, s.Ada.UserID, core.PlanOpen); err != nil {
		t.Fatal(err)
	}
	if got := s.opened(t, token); !strings.Contains(got, "a question") {
		t.Errorf("with the plan again: %s", got)
	}
}

func TestLinkNeedsMessagesAndAFutureEnd(t *testing.T) {
	t.Parallel()
	s, ctx := newService(t), t.Context()
	empty, err := s.threads.Create(ctx, s.Ada, s.Agent, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Create(ctx, s.Ada, s.Agent, empty.ID, nil); !core.IsKind(err, core.KindConflict) {
		t.Errorf("a thread without messages: %v", err)
	}
	made := s.talk(t, "a question")
	now := s.Clock.Now()
	if _, _, err := s.Create(ctx, s.Ada, s.Agent, made.ID, &now); !core.IsKind(err, core.KindInvalid) {
		t.Errorf("an end that is over: %v", err)
	}
	if _, _, err := s.Create(ctx, s.Bob, s.Agent, made.ID, nil); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("a link to the thread of another account: %v", err)
	}
	for range sharelink.MaxPerThread {
		if _, _, err := s.Create(ctx, s.Ada, s.Agent, made.ID, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.Create(ctx, s.Ada, s.Agent, made.ID, nil); !core.IsKind(err, core.KindConflict) {
		t.Errorf("too many links: %v", err)
	}
	var ids []string
	for cursor, more := "", true; more; more = cursor != "" {
		list, next, err := s.List(ctx, s.Ada, core.Page{Limit: 7, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range list {
			ids = append(ids, l.ID)
		}
		cursor = next
	}
	if len(ids) != sharelink.MaxPerThread {
		t.Errorf("listed %d links", len(ids))
	}
}
