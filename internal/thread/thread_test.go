package thread_test

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/store"
	"carrel/internal/task"
	"carrel/internal/testkit/echo"
	"carrel/internal/testkit/fixture"
	"carrel/internal/thread"
)

// testService is a thread service with two users and a running task engine.
type testService struct {
	*thread.Service
	fixture.Users
	stop func() // stops the engine and closes the database, like a server that shuts down
}

func newService(t *testing.T) *testService {
	t.Helper()
	return newServiceWith(t, echo.Answerer{})
}

func newServiceWith(t *testing.T, answerer thread.Answerer) *testService {
	t.Helper()
	return newServiceAt(t, fixture.SQLite(t), answerer)
}

// newServiceAt uses a database file that may exist.
func newServiceAt(t *testing.T, path string, answerer thread.Answerer) *testService {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	users := fixture.NewUsers(t, db, core.PlanOpen)
	tasks := task.New(task.Deps{Store: db, Clock: users.Clock, Log: slog.New(slog.DiscardHandler)},
		task.Options{SingleNode: true})
	s := &testService{Users: users, Service: thread.NewService(thread.Deps{
		Store: db, Agents: users.Agents, Clock: users.Clock, Tasks: tasks, Answerer: answerer,
	})}
	tasks.Register(s.Kind())
	if err := tasks.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.stop = sync.OnceFunc(func() {
		_ = tasks.Stop(context.Background())
		_ = db.Close()
	})
	t.Cleanup(s.stop)
	return s
}

func (w *testService) start(t *testing.T, title string) thread.Thread {
	t.Helper()
	w.Clock.Advance(time.Millisecond)
	made, err := w.Create(t.Context(), w.Ada, w.Agent, title)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (w *testService) say(t *testing.T, threadID, text string) thread.Turn {
	t.Helper()
	w.Clock.Advance(time.Millisecond)
	turn, err := w.Send(t.Context(), w.Ada, w.Agent, threadID, thread.NewMessage{Text: text}, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

func TestMessageIsAnsweredAndListed(t *testing.T) {
	t.Parallel()
	w := newService(t)
	made := w.start(t, "")
	if made.Title != "" || made.Status != thread.StatusIdle || made.LastMessageAt != nil {
		t.Errorf("started %+v", made)
	}
	turn := w.say(t, made.ID, "Who proposed the relational model?")
	if !strings.Contains(turn.Reply.Text, "You wrote") || turn.Reply.Role != thread.RoleAssistant {
		t.Errorf("the reply is %+v", turn.Reply)
	}
	read, err := w.Messages(t.Context(), w.Ada, w.Agent, made.ID, core.Page{})
	messages := read.Messages
	if err != nil || read.Turn != nil || read.Next != "" || len(messages) != 2 {
		t.Fatalf("read %+v, %v", read, err)
	}
	turn.Reply.Seq = messages[1].Seq // the place in the thread is read with the list only
	if messages[0].Role != thread.RoleUser || messages[0].Text != "Who proposed the relational model?" ||
		!reflect.DeepEqual(messages[1], turn.Reply) {
		t.Errorf("read %+v", messages)
	}
	now, err := w.Get(t.Context(), w.Ada, w.Agent, made.ID)
	if err != nil || now.Title != "Who proposed the relational model?" || now.LastMessageAt == nil ||
		!now.LastMessageAt.Equal(w.Clock.Now()) {
		t.Errorf("the thread is %+v, %v", now, err)
	}
}

func TestRepeatedRequestIsIdempotent(t *testing.T) {
	t.Parallel()
	w := newService(t)
	ctx := core.WithSeed(t.Context(), core.NewSeed())
	first, err := w.Create(ctx, w.Ada, w.Agent, "Once")
	if err != nil {
		t.Fatal(err)
	}
	said := w.say(t, first.ID, "in between")
	w.Clock.Advance(time.Hour)
	again, err := w.Create(ctx, w.Ada, w.Agent, "Once")
	if err != nil || again.ID != first.ID || !again.CreatedAt.Equal(first.CreatedAt) || again.LastMessageAt == nil {
		t.Errorf("made %+v, then %+v, %v", first, again, err)
	}
	one, err := w.Send(ctx, w.Ada, w.Agent, first.ID, thread.NewMessage{Text: "once"}, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.Clock.Advance(time.Hour)
	two, err := w.Send(ctx, w.Ada, w.Agent, first.ID, thread.NewMessage{Text: "once"}, t.Context())
	if err != nil || !reflect.DeepEqual(one, two) || one.ID == said.ID {
		t.Errorf("sent %+v, then %+v, %v", one, two, err)
	}
	if read, err := w.Messages(t.Context(), w.Ada, w.Agent, first.ID, core.Page{}); err != nil ||
		len(read.Messages) != 4 {
		t.Errorf("there are %d messages, %v", len(read.Messages), err)
	}
}

func TestBadTextsAndTitlesAreRefused(t *testing.T) {
	t.Parallel()
	w := newService(t)
	made := w.start(t, "T")
	check := func(name, pointer string, err error) {
		t.Helper()
		if e := core.AsError(err); e.Kind != core.KindInvalid || len(e.Fields) != 1 || e.Fields[0].Pointer != pointer {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"nothing": "", "white space": " \n\u00a0", "8001": strings.Repeat("a", 8001),
		"8001 astral":    strings.Repeat("😀", 8001),
		"8001 combining": "a" + strings.Repeat("\u0301", 8000), "a NUL": "\x00", "invalid UTF-8": "\xff",
	} {
		_, err := w.Send(t.Context(), w.Ada, w.Agent, made.ID, thread.NewMessage{Text: text}, t.Context())
		check(name, "/text", err)
	}
	for name, title := range map[string]string{
		"201": strings.Repeat("é", 201), "a NUL": "\x00",
		"invalid UTF-8": "\xff",
	} {
		_, errMake := w.Create(t.Context(), w.Ada, w.Agent, title)
		_, errRename := w.Change(t.Context(), w.Ada, w.Agent, made.ID, thread.Change{Title: &title})
		check(name, "/title", errMake)
		check(name, "/title", errRename)
	}
	if read, err := w.Messages(t.Context(), w.Ada, w.Agent, made.ID, core.Page{}); err != nil ||
		len(read.Messages) != 0 {
		t.Errorf("there are %d messages, %v", len(read.Messages), err)
	}
	w.say(t, made.ID, strings.Repeat("😀", 8000))
	long := " " + strings.Repeat("é", 200) + " "
	if renamed, err := w.Change(t.Context(), w.Ada, w.Agent, made.ID, thread.Change{Title: &long}); err != nil ||
		len([]rune(renamed.Title)) != 200 {
		t.Errorf("renamed to %+v, %v", renamed, err)
	}
}

func TestThreadsAreListedByActivity(t *testing.T) {
	t.Parallel()
	w := newService(t)
	ids := map[string]string{}
	for _, title := range []string{"a", "b", "c", "d"} {
		ids[title] = w.start(t, title).ID
	}
	w.say(t, ids["b"], "up")
	w.say(t, ids["a"], "up")
	got, page := "", core.Page{Limit: 1}
	for {
		threads, next, err := w.List(t.Context(), w.Ada, w.Agent, thread.Filter{}, page)
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
	w := newService(t)
	made := w.start(t, "T")
	for i := range 5 {
		w.say(t, made.ID, strconv.Itoa(i))
	}
	var sequence []int
	page := core.Page{Limit: 3}
	for {
		read, err := w.Messages(t.Context(), w.Ada, w.Agent, made.ID, page)
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
		if _, err := w.Messages(t.Context(), w.Ada, w.Agent, made.ID,
			core.Page{Cursor: core.EncodeCursor("messages", bad)}); bad != "" && !core.IsKind(err, core.KindInvalid) {
			t.Errorf("before %q: %v", bad, err)
		}
	}
}

func TestThreadsAreHiddenFromOtherUsersAndAgents(t *testing.T) {
	t.Parallel()
	w := newService(t)
	made, ctx := w.start(t, "mine"), t.Context()
	for name, c := range map[string]struct {
		who       core.Actor
		agent, id string
	}{
		"somebody else":       {w.Bob, w.Agent, made.ID},
		"by another way":      {w.Bob, w.BobsAgent, made.ID},
		"under another agent": {w.Ada, w.SecondAgent, made.ID},
		"an unknown one":      {w.Ada, w.Agent, "thr_" + strings.Repeat("0", 26)},
		"junk":                {w.Ada, w.Agent, "junk"},
		"a NUL":               {w.Ada, w.Agent, made.ID + "\x00"},
	} {
		_, errGet := w.Get(ctx, c.who, c.agent, c.id)
		_, errSend := w.Send(ctx, c.who, c.agent, c.id, thread.NewMessage{Text: "x"}, t.Context())
		_, errRename := w.Change(ctx, c.who, c.agent, c.id, thread.Change{Title: new("x")})
		_, errRead := w.Messages(ctx, c.who, c.agent, c.id, core.Page{})
		for _, err := range []error{errGet, errSend, errRename, errRead, w.Delete(ctx, c.who, c.agent, c.id)} {
			if !core.IsKind(err, core.KindNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if err := w.CheckThread(ctx, w.Ada, w.Agent, made.ID); err != nil {
		t.Error(err)
	}
	if err := w.CheckThread(ctx, w.Bob, w.BobsAgent, made.ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("another user can access it: %v", err)
	}
	poor := w.Ada
	poor.Plan = core.PlanNone
	if _, err := w.Send(ctx, poor, w.Agent, made.ID, thread.NewMessage{Text: "x"},
		t.Context()); core.AsError(err).Code != "no_subscription" {
		t.Errorf("without a plan: %v", err)
	}
	if err := w.Delete(ctx, w.Ada, w.Agent, made.ID); err != nil {
		t.Error(err)
	}
	if err := w.Delete(ctx, w.Ada, w.Agent, made.ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
}
