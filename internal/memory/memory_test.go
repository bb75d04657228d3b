package memory_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/memory"
	"carrel/internal/store"
	"carrel/internal/testkit"
)

// world is the service on a database with a user who has two agents, and another user who has one.
type world struct {
	*memory.Service
	clock                 *testkit.Clock
	ada, bob              core.Actor
	agent, second, theirs string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "carrel.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	clock := testkit.NewClock()
	agents := agent.NewService(agent.Deps{Store: db, Clock: clock})
	w := &world{Service: memory.NewService(db, agents, clock, nil), clock: clock}
	user := func() core.Actor {
		id := core.NewID(core.PrefixUser)
		u := account.User{ID: id, Email: id + "@example.org", Name: "U", Role: core.RoleMember, Plan: core.PlanNone, CreatedAt: clock.Now()}
		if err := db.InsertUser(t.Context(), u, "none"); err != nil {
			t.Fatal(err)
		}
		return core.Actor{UserID: id, Plan: core.PlanNone, Credential: core.CredentialKey, Scopes: []core.Scope{core.ScopeAgents, core.ScopeManage}}
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

func worded(text string) memory.Change { return memory.Change{Text: &text} }

func (w *world) add(t *testing.T, agentID, text string) memory.Memory {
	t.Helper()
	m, err := w.Add(t.Context(), w.ada, agentID, text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTheSameWordsAreRememberedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.add(t, w.agent, "  Café  society\n")
	if first.Text != "Café  society" {
		t.Errorf("kept %q", first.Text)
	}
	w.clock.Advance(time.Hour)
	for _, again := range []string{"Café society", "CAFÉ\tSOCIETY", "Cafe\u0301 society", " café \u00a0 society "} {
		if m := w.add(t, w.agent, again); m != first {
			t.Errorf("%q makes %+v of %+v", again, m, first)
		}
	}
	if other := w.add(t, w.agent, "Cafe society"); other.ID == first.ID {
		t.Error("an accent is lost")
	}
	if elsewhere := w.add(t, w.second, "Café society"); elsewhere.ID == first.ID {
		t.Error("two agents share a memory")
	}
	if memories, _, err := w.List(t.Context(), w.ada, w.agent, memory.StatusActive, core.Page{}); err != nil || len(memories) != 2 {
		t.Errorf("there are %d memories, %v", len(memories), err)
	}
}

func TestAMemorySaysWhoItComesFrom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if m := w.add(t, w.agent, "by a program"); m.Origin != memory.OriginClient {
		t.Errorf("a key's memory is of %s", m.Origin)
	}
	m, err := w.Add(t.Context(), core.Operator(w.ada.UserID), w.agent, "by a person")
	if err != nil || m.Origin != memory.OriginUser {
		t.Errorf("a person's memory is of %s, %v", m.Origin, err)
	}
}

func TestTheSameRequestRemembersOnceEvenReworded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := core.WithSeed(t.Context(), core.NewSeed())
	first, err := w.Add(ctx, w.ada, w.agent, "once")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Change(t.Context(), w.ada, w.agent, first.ID, worded("reworded")); err != nil {
		t.Fatal(err)
	}
	again, err := w.Add(ctx, w.ada, w.agent, "once")
	if err != nil || again.ID != first.ID || again.Text != "reworded" {
		t.Errorf("the request again makes %+v, %v", again, err)
	}
}

func TestBadTextsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kept := w.add(t, w.agent, "kept")
	for name, text := range map[string]string{
		"nothing": "", "white space": " \t\n\u2003", "4001 characters": strings.Repeat("😀", 4001), "a NUL": "a\x00b", "invalid UTF-8": "a\xff",
	} {
		_, errAdd := w.Add(t.Context(), w.ada, w.agent, text)
		_, errChange := w.Change(t.Context(), w.ada, w.agent, kept.ID, worded(text))
		for _, err := range []error{errAdd, errChange} {
			if e := core.AsError(err); e.Kind != core.KindInvalid || len(e.Fields) != 1 || e.Fields[0].Pointer != "/text" {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	w.add(t, w.agent, " "+strings.Repeat("😀", 4000)+" ")
}

func TestMemoriesAreRewordedAndForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.add(t, w.agent, "one"), w.add(t, w.agent, "two")
	w.clock.Advance(time.Hour)
	changed, err := w.Change(t.Context(), w.ada, w.agent, one.ID, worded(" ONE "))
	if err != nil || changed.Text != "ONE" || changed.ID != one.ID || !changed.CreatedAt.Equal(one.CreatedAt) || !changed.UpdatedAt.Equal(w.clock.Now()) {
		t.Errorf("changed to %+v, %v", changed, err)
	}
	if _, err := w.Change(t.Context(), w.ada, w.agent, one.ID, worded("Two")); !core.IsKind(err, core.KindConflict) {
		t.Errorf("the words of another memory: %v", err)
	}
	if err := w.Delete(t.Context(), w.ada, w.agent, two.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Change(t.Context(), w.ada, w.agent, one.ID, worded("Two")); err != nil {
		t.Errorf("the words of a forgotten memory: %v", err)
	}
	for name, id := range map[string]string{
		"forgotten": two.ID, "of another agent": w.add(t, w.second, "x").ID, "junk": "junk", "a NUL": one.ID + "\x00", "nothing": "",
	} {
		_, err := w.Change(t.Context(), w.ada, w.agent, id, worded("text"))
		for _, err := range []error{err, w.Delete(t.Context(), w.ada, w.agent, id)} {
			if e := core.AsError(err); e.Kind != core.KindNotFound || e.Detail != "There is no such memory." {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestMemoriesAreTheirUsersAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.add(t, w.agent, "mine")
	ctx := t.Context()
	for agentID, what := range map[string]string{w.agent: "There is no such agent.", w.theirs: "There is no such memory."} {
		_, errChange := w.Change(ctx, w.bob, agentID, m.ID, worded("theirs"))
		for _, err := range []error{errChange, w.Delete(ctx, w.bob, agentID, m.ID)} {
			if e := core.AsError(err); e.Kind != core.KindNotFound || e.Detail != what {
				t.Errorf("somebody else: %v", err)
			}
		}
	}
	if _, _, err := w.List(ctx, w.bob, w.agent, memory.StatusActive, core.Page{}); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("somebody else lists: %v", err)
	}
	if _, err := w.Add(ctx, core.Actor{UserID: w.ada.UserID}, w.agent, "x"); core.AsError(err).Code != "insufficient_scope" {
		t.Errorf("without a scope: %v", err)
	}
}

func TestMemoriesArePagedNewestFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 5 {
		w.add(t, w.agent, strconv.Itoa(i))
	}
	got, page := "", core.Page{Limit: 2}
	for n := 5; ; n++ {
		memories, next, err := w.List(t.Context(), w.ada, w.agent, memory.StatusActive, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range memories {
			got += m.Text
		}
		if page.Cursor = next; next == "" {
			break
		}
		w.add(t, w.agent, strconv.Itoa(n))
	}
	if got != "43210" {
		t.Errorf("listed %s", got)
	}
	for _, bad := range []core.Page{{Limit: 201}, {Cursor: "x"}, {Cursor: core.EncodeCursor("agents", "x")}} {
		if _, _, err := w.List(t.Context(), w.ada, w.agent, memory.StatusActive, bad); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
