package memory_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/memory"
	"carrel/internal/testkit/fixture"
)

var active = memory.Filter{Status: memory.StatusActive}

// testService is a memory service with two users.
type testService struct {
	*memory.Service
	fixture.Users
}

func newService(t *testing.T) *testService {
	t.Helper()
	db := fixture.OpenStore(t)
	users := fixture.NewUsers(t, db, core.PlanNone)
	return &testService{
		Service: memory.NewService(memory.Deps{Store: db, Agents: users.Agents, Clock: users.Clock}), Users: users,
	}
}

func worded(text string) memory.Change { return memory.Change{Text: &text} }

func (w *testService) add(t *testing.T, agentID, text string) memory.Memory {
	t.Helper()
	m, err := w.Add(t.Context(), w.Ada, agentID, text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSameTextIsStoredOnce(t *testing.T) {
	t.Parallel()
	w := newService(t)
	first := w.add(t, w.Agent, "  Café  society\n")
	if first.Text != "Café  society" {
		t.Errorf("kept %q", first.Text)
	}
	w.Clock.Advance(time.Hour)
	for _, again := range []string{"Café society", "CAFÉ\tSOCIETY", "Cafe\u0301 society", " café \u00a0 society "} {
		if m := w.add(t, w.Agent, again); m != first {
			t.Errorf("%q makes %+v of %+v", again, m, first)
		}
	}
	if other := w.add(t, w.Agent, "Cafe society"); other.ID == first.ID {
		t.Error("an accent is lost")
	}
	if elsewhere := w.add(t, w.SecondAgent, "Café society"); elsewhere.ID == first.ID {
		t.Error("two agents share a memory")
	}
	if memories, _, err := w.List(t.Context(), w.Ada, w.Agent, active, core.Page{}); err != nil ||
		len(memories) != 2 {
		t.Errorf("there are %d memories, %v", len(memories), err)
	}
}

func TestMemoryHasItsOrigin(t *testing.T) {
	t.Parallel()
	w := newService(t)
	if m := w.add(t, w.Agent, "by a program"); m.Origin != memory.OriginClient {
		t.Errorf("origin with a key is %s", m.Origin)
	}
	m, err := w.Add(t.Context(), core.Operator(w.Ada.UserID), w.Agent, "by a person")
	if err != nil || m.Origin != memory.OriginUser {
		t.Errorf("origin in a session is %s, %v", m.Origin, err)
	}
}

func TestRepeatedRequestStoresOneMemoryEvenAfterAChange(t *testing.T) {
	t.Parallel()
	w := newService(t)
	ctx := core.WithSeed(t.Context(), core.NewSeed())
	first, err := w.Add(ctx, w.Ada, w.Agent, "once")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Change(t.Context(), w.Ada, w.Agent, first.ID, worded("reworded")); err != nil {
		t.Fatal(err)
	}
	again, err := w.Add(ctx, w.Ada, w.Agent, "once")
	if err != nil || again.ID != first.ID || again.Text != "reworded" {
		t.Errorf("repeated request returned %+v, %v", again, err)
	}
}

func TestBadTextsAreRefused(t *testing.T) {
	t.Parallel()
	w := newService(t)
	kept := w.add(t, w.Agent, "kept")
	for name, text := range map[string]string{
		"nothing": "", "white space": " \t\n\u2003", "4001 characters": strings.Repeat("😀", 4001), "a NUL": "a\x00b",
		"invalid UTF-8": "a\xff",
	} {
		_, errAdd := w.Add(t.Context(), w.Ada, w.Agent, text)
		_, errChange := w.Change(t.Context(), w.Ada, w.Agent, kept.ID, worded(text))
		for _, err := range []error{errAdd, errChange} {
			if e := core.AsError(err); e.Kind != core.KindInvalid || len(e.Fields) != 1 ||
				e.Fields[0].Pointer != "/text" {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	w.add(t, w.Agent, " "+strings.Repeat("😀", 4000)+" ")
}

func TestMemoriesAreChangedAndDeleted(t *testing.T) {
	t.Parallel()
	w := newService(t)
	one, two := w.add(t, w.Agent, "one"), w.add(t, w.Agent, "two")
	w.Clock.Advance(time.Hour)
	changed, err := w.Change(t.Context(), w.Ada, w.Agent, one.ID, worded(" ONE "))
	if err != nil || changed.Text != "ONE" || changed.ID != one.ID || !changed.CreatedAt.Equal(one.CreatedAt) ||
		!changed.UpdatedAt.Equal(w.Clock.Now()) {
		t.Errorf("changed to %+v, %v", changed, err)
	}
	if _, err := w.Change(t.Context(), w.Ada, w.Agent, one.ID, worded("Two")); !core.IsKind(err, core.KindConflict) {
		t.Errorf("text of another memory: %v", err)
	}
	if err := w.Delete(t.Context(), w.Ada, w.Agent, two.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Change(t.Context(), w.Ada, w.Agent, one.ID, worded("Two")); err != nil {
		t.Errorf("text of a deleted memory: %v", err)
	}
	for name, id := range map[string]string{
		"forgotten": two.ID, "of another agent": w.add(t, w.SecondAgent, "x").ID, "junk": "junk",
		"a NUL": one.ID + "\x00", "nothing": "",
	} {
		_, err := w.Change(t.Context(), w.Ada, w.Agent, id, worded("text"))
		for _, err := range []error{err, w.Delete(t.Context(), w.Ada, w.Agent, id)} {
			if e := core.AsError(err); e.Kind != core.KindNotFound || e.Detail != "There is no such memory." {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestMemoriesAreHiddenFromOtherUsers(t *testing.T) {
	t.Parallel()
	w := newService(t)
	m := w.add(t, w.Agent, "mine")
	ctx := t.Context()
	for agentID, what := range map[string]string{
		w.Agent:     "There is no such agent.",
		w.BobsAgent: "There is no such memory.",
	} {
		_, errChange := w.Change(ctx, w.Bob, agentID, m.ID, worded("theirs"))
		for _, err := range []error{errChange, w.Delete(ctx, w.Bob, agentID, m.ID)} {
			if e := core.AsError(err); e.Kind != core.KindNotFound || e.Detail != what {
				t.Errorf("another user: %v", err)
			}
		}
	}
	if _, _, err := w.List(ctx, w.Bob, w.Agent, active, core.Page{}); !core.IsKind(err,
		core.KindNotFound) {
		t.Errorf("list by another user: %v", err)
	}
	if _, err := w.Add(ctx, core.Actor{UserID: w.Ada.UserID}, w.Agent,
		"x"); core.AsError(err).Code != "insufficient_scope" {
		t.Errorf("without a scope: %v", err)
	}
}

func TestMemoriesArePagedNewestFirst(t *testing.T) {
	t.Parallel()
	w := newService(t)
	for i := range 5 {
		w.add(t, w.Agent, strconv.Itoa(i))
	}
	got, page := "", core.Page{Limit: 2}
	for n := 5; ; n++ {
		memories, next, err := w.List(t.Context(), w.Ada, w.Agent, active, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range memories {
			got += m.Text
		}
		if page.Cursor = next; next == "" {
			break
		}
		w.add(t, w.Agent, strconv.Itoa(n))
	}
	if got != "43210" {
		t.Errorf("listed %s", got)
	}
	for _, bad := range []core.Page{{Limit: 201}, {Cursor: "x"}, {Cursor: core.EncodeCursor("agents", "x")}} {
		if _, _, err := w.List(t.Context(), w.Ada, w.Agent, active, bad); !core.IsKind(err,
			core.KindInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
