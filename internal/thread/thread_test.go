package thread_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/store"
	"carrel/internal/task"
	"carrel/internal/testkit"
	"carrel/internal/testkit/echo"
	"carrel/internal/thread"
)

// world is the service on a database with a user who has two agents, and another user who has one.
type world struct {
	*thread.Service
	clock                 *testkit.Clock
	ada, bob              core.Actor
	agent, second, theirs string
	stop                  func() // as an operator stops a server
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldWith(t, echo.Answerer{})
}

// newWorldWith is newWorld with another answerer.
func newWorldWith(t *testing.T, answerer thread.Answerer) *world {
	t.Helper()
	return newWorldAt(t, filepath.Join(t.TempDir(), "carrel.db"), answerer)
}

// newWorldAt is newWorldWith on a database file that may be there already.
func newWorldAt(t *testing.T, path string, answerer thread.Answerer) *world {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	clock := testkit.NewClock()
	agents := agent.NewService(agent.Deps{Store: db, Clock: clock})
	tasks := task.New(db, clock, slog.New(slog.DiscardHandler), task.Options{Alone: true})
	w := &world{Service: thread.NewService(db, agents, clock, tasks, answerer), clock: clock}
	tasks.Register(w.Kind())
	if err := tasks.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.stop = sync.OnceFunc(func() {
		_ = tasks.Stop(context.Background())
		_ = db.Close()
	})
	t.Cleanup(w.stop)
	user := func() core.Actor {
		id := core.NewID(core.PrefixUser)
		u := account.User{ID: id, Email: id + "@example.org", Name: "U", Role: core.RoleMember, Plan: core.PlanOpen, CreatedAt: clock.Now()}
		if err := db.InsertUser(t.Context(), u, "none"); err != nil {
			t.Fatal(err)
		}
		return core.Actor{UserID: id, Plan: core.PlanOpen, Credential: core.CredentialKey, Scopes: []core.Scope{core.ScopeAgents, core.ScopeManage}}
	}
	newAgent := func(who core.Actor) string {
		name := "A"
		a, err := agents.Create(t.Context(), who, agent.Change{Name: &name})
		if err != nil {
			t.Fatal(err)
		}
		return a.ID
	}
	w.ada, w.bob = user(), user()
	w.agent, w.second, w.theirs = newAgent(w.ada), newAgent(w.ada), newAgent(w.bob)
	return w
}

func (w *world) start(t *testing.T, title string) thread.Thread {
	t.Helper()
	w.clock.Advance(time.Millisecond)
	made, err := w.Create(t.Context(), w.ada, w.agent, title)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (w *world) say(t *testing.T, threadID, text string) thread.Turn {
	t.Helper()
	w.clock.Advance(time.Millisecond)
	turn, err := w.Send(t.Context(), w.ada, w.agent, threadID, thread.NewMessage{Text: text}, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

func TestAMessageIsAnsweredAndReadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.start(t, "")
	if made.Title != "" || made.Status != thread.StatusIdle || made.LastMessageAt != nil {
		t.Errorf("started %+v", made)
	}
	turn := w.say(t, made.ID, "Who proposed the relational model?")
	if !strings.Contains(turn.Reply.Text, "You wrote") || turn.Reply.Role != thread.RoleAssistant {
		t.Errorf("the reply is %+v", turn.Reply)
	}
	read, err := w.Messages(t.Context(), w.ada, w.agent, made.ID, core.Page{})
	messages := read.Messages
	if err != nil || read.Turn != nil || read.Next != "" || len(messages) != 2 {
		t.Fatalf("read %+v, %v", read, err)
	}
	if messages[0].Role != thread.RoleUser || messages[0].Text != "Who proposed the relational model?" || !reflect.DeepEqual(messages[1], turn.Reply) {
		t.Errorf("read %+v", messages)
	}
	now, err := w.Get(t.Context(), w.ada, w.agent, made.ID)
	if err != nil || now.Title != "Who proposed the relational model?" || now.LastMessageAt == nil || !now.LastMessageAt.Equal(w.clock.Now()) {
		t.Errorf("the thread is %+v, %v", now, err)
	}
}

func TestTheSameRequestMakesTheSameThing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := core.WithSeed(t.Context(), core.NewSeed())
	first, err := w.Create(ctx, w.ada, w.agent, "Once")
	if err != nil {
		t.Fatal(err)
	}
	said := w.say(t, first.ID, "in between")
	w.clock.Advance(time.Hour)
	again, err := w.Create(ctx, w.ada, w.agent, "Once")
	if err != nil || again.ID != first.ID || !again.CreatedAt.Equal(first.CreatedAt) || again.LastMessageAt == nil {
		t.Errorf("made %+v, then %+v, %v", first, again, err)
	}
	one, err := w.Send(ctx, w.ada, w.agent, first.ID, thread.NewMessage{Text: "once"}, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Hour)
	two, err := w.Send(ctx, w.ada, w.agent, first.ID, thread.NewMessage{Text: "once"}, t.Context())
	if err != nil || !reflect.DeepEqual(one, two) || one.ID == said.ID {
		t.Errorf("sent %+v, then %+v, %v", one, two, err)
	}
	if read, err := w.Messages(t.Context(), w.ada, w.agent, first.ID, core.Page{}); err != nil || len(read.Messages) != 4 {
		t.Errorf("there are %d messages, %v", len(read.Messages), err)
	}
}

func TestBadTextsAndTitlesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.start(t, "T")
	check := func(name, pointer string, err error) {
		t.Helper()
		if e := core.AsError(err); e.Kind != core.KindInvalid || len(e.Fields) != 1 || e.Fields[0].Pointer != pointer {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"nothing": "", "white space": " \n\u00a0", "8001": strings.Repeat("a", 8001), "8001 astral": strings.Repeat("😀", 8001),
		"8001 combining": "a" + strings.Repeat("\u0301", 8000), "a NUL": "\x00", "invalid UTF-8": "\xff",
	} {
		_, err := w.Send(t.Context(), w.ada, w.agent, made.ID, thread.NewMessage{Text: text}, t.Context())
		check(name, "/text", err)
	}
	for name, title := range map[string]string{"201": strings.Repeat("é", 201), "a NUL": "\x00", "invalid UTF-8": "\xff"} {
		_, errMake := w.Create(t.Context(), w.ada, w.agent, title)
		_, errRename := w.Rename(t.Context(), w.ada, w.agent, made.ID, title)
		check(name, "/title", errMake)
		check(name, "/title", errRename)
	}
	if read, err := w.Messages(t.Context(), w.ada, w.agent, made.ID, core.Page{}); err != nil || len(read.Messages) != 0 {
		t.Errorf("there are %d messages, %v", len(read.Messages), err)
	}
	w.say(t, made.ID, strings.Repeat("😀", 8000))
	if renamed, err := w.Rename(t.Context(), w.ada, w.agent, made.ID, " "+strings.Repeat("é", 200)+" "); err != nil || len([]rune(renamed.Title)) != 200 {
		t.Errorf("renamed to %+v, %v", renamed, err)
	}
}

func TestThreadsAreListedByActivity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := map[string]string{}
	for _, title := range []string{"a", "b", "c", "d"} {
		ids[title] = w.start(t, title).ID
	}
	w.say(t, ids["b"], "up")
	w.say(t, ids["a"], "up")
	got, page := "", core.Page{Limit: 1}
	for {
		threads, next, err := w.List(t.Context(), w.ada, w.agent, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range threads {
			got += x.Title
		}
		if page.Cursor = next; next == "" {
			break
		}
	}
	if got != "abdc" {
		t.Errorf("listed %s", got)
	}
}

func TestMessagesArePagedBackwards(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.start(t, "T")
	for i := range 5 {
		w.say(t, made.ID, strconv.Itoa(i))
	}
	var sequence []int
	page := core.Page{Limit: 3}
	for {
		read, err := w.Messages(t.Context(), w.ada, w.agent, made.ID, page)
		messages, next := read.Messages, read.Next
		if err != nil {
			t.Fatal(err)
		}
		var here []int
		for _, m := range messages {
			here = append(here, m.Seq)
		}
		sequence = append(here, sequence...)
		if page.Cursor = next; next == "" {
			break
		}
	}
	if !slices.Equal(sequence, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) {
		t.Errorf("read %v", sequence)
	}
	for _, bad := range []string{"0", "-1", "x", "", "2147483648", "9223372036854775808"} {
		if _, err := w.Messages(t.Context(), w.ada, w.agent, made.ID, core.Page{Cursor: core.EncodeCursor("messages", bad)}); bad != "" && !core.IsKind(err, core.KindInvalid) {
			t.Errorf("before %q: %v", bad, err)
		}
	}
}

func TestThreadsAreTheirUsersAndAgentsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made, ctx := w.start(t, "mine"), t.Context()
	for name, c := range map[string]struct {
		who       core.Actor
		agent, id string
	}{
		"somebody else":       {w.bob, w.agent, made.ID},
		"by another way":      {w.bob, w.theirs, made.ID},
		"under another agent": {w.ada, w.second, made.ID},
		"an unknown one":      {w.ada, w.agent, "thr_" + strings.Repeat("0", 26)},
		"junk":                {w.ada, w.agent, "junk"},
		"a NUL":               {w.ada, w.agent, made.ID + "\x00"},
	} {
		_, errGet := w.Get(ctx, c.who, c.agent, c.id)
		_, errSend := w.Send(ctx, c.who, c.agent, c.id, thread.NewMessage{Text: "x"}, t.Context())
		_, errRename := w.Rename(ctx, c.who, c.agent, c.id, "x")
		_, errRead := w.Messages(ctx, c.who, c.agent, c.id, core.Page{})
		for _, err := range []error{errGet, errSend, errRename, errRead, w.Delete(ctx, c.who, c.agent, c.id)} {
			if !core.IsKind(err, core.KindNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if err := w.Reach(ctx, w.ada, w.agent, made.ID); err != nil {
		t.Error(err)
	}
	if err := w.Reach(ctx, w.bob, w.theirs, made.ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("somebody else reaches it: %v", err)
	}
	poor := w.ada
	poor.Plan = core.PlanNone
	if _, err := w.Send(ctx, poor, w.agent, made.ID, thread.NewMessage{Text: "x"}, t.Context()); core.AsError(err).Code != "no_subscription" {
		t.Errorf("without a plan: %v", err)
	}
	if err := w.Delete(ctx, w.ada, w.agent, made.ID); err != nil {
		t.Error(err)
	}
	if err := w.Delete(ctx, w.ada, w.agent, made.ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
}
