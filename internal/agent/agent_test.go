package agent_test

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/store"
	"carrel/internal/testkit"
)

// world is the service on a database with two users.
type world struct {
	*agent.Service
	clock    *testkit.Clock
	ada, bob core.Actor
}

func newWorld(t *testing.T) world {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "carrel.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	clock := testkit.NewClock()
	w := world{Service: agent.NewService(db, clock), clock: clock}
	for _, who := range []*core.Actor{&w.ada, &w.bob} {
		id := core.NewID(core.PrefixUser)
		u := account.User{ID: id, Email: id + "@example.org", Name: "U", Role: core.RoleMember, Plan: core.PlanOpen, CreatedAt: clock.Now()}
		if err := db.InsertUser(t.Context(), u, "none"); err != nil {
			t.Fatal(err)
		}
		*who = core.Actor{UserID: id, Plan: core.PlanOpen, Credential: core.CredentialKey, Scopes: []core.Scope{core.ScopeAgents, core.ScopeManage}}
	}
	return w
}

func (w world) make(t *testing.T, who core.Actor, name string) agent.Agent {
	t.Helper()
	a, err := w.Create(t.Context(), who, agent.Change{Name: &name})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestOnlyModelsThatAreAllowedCanBeChosen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := func(s string) *string { return &s }
	w.AllowModels([]string{"small", "large"})
	a, err := w.Create(t.Context(), w.ada, agent.Change{Name: name("Papers"), Model: name(" large ")})
	if err != nil || a.Model != "large" {
		t.Fatalf("made %+v, %v", a, err)
	}
	for _, try := range []func() (agent.Agent, error){
		func() (agent.Agent, error) {
			return w.Create(t.Context(), w.ada, agent.Change{Name: name("Other"), Model: name("huge")})
		},
		func() (agent.Agent, error) {
			return w.Service.Change(t.Context(), w.ada, a.ID, agent.Change{Model: name("huge")})
		},
	} {
		_, err := try()
		if e := core.AsError(err); e.Kind != core.KindInvalid || len(e.Fields) != 1 || e.Fields[0].Pointer != "/model" || e.Fields[0].Detail != "Must be empty or one of: small, large." {
			t.Errorf("refused with %+v", err)
		}
	}
	if a, err = w.Service.Change(t.Context(), w.ada, a.ID, agent.Change{Model: name("")}); err != nil || a.Model != "" {
		t.Errorf("changed to %+v, %v", a, err)
	}
	w.AllowModels(nil)
	if _, err := w.Service.Change(t.Context(), w.ada, a.ID, agent.Change{Model: name("small")}); core.AsError(err).Kind != core.KindInvalid {
		t.Errorf("without a model, %v", err)
	}
}

func TestAModelOutsideThePlanIsRefusedWhenItIsChosenAndWhenItIsAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, name := t.Context(), func(s string) *string { return &s }
	w.AllowModels([]string{"large", "small"})
	a := w.make(t, w.ada, "Papers")
	who := w.ada
	who.Models = []string{"small"}
	refused := func(what string, err error) {
		t.Helper()
		if e := core.AsError(err); err == nil || e.Kind != core.KindForbidden || e.Code != "capability_disabled" {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := w.Create(ctx, who, agent.Change{Name: name("Other"), Model: name("large")})
	refused("a new agent", err)
	_, err = w.Service.Change(ctx, who, a.ID, agent.Change{Model: name("large")})
	refused("a change", err)
	refused("a message, to the installation's model", w.Allow(ctx, who, core.OpSendMessage, a.ID))
	refused("research", w.Allow(ctx, who, core.OpResearch, a.ID))
	if err := w.Allow(ctx, who, core.OpSearch, a.ID); err != nil {
		t.Errorf("a search, which asks no model: %v", err)
	}
	if _, err = w.Service.Change(ctx, who, a.ID, agent.Change{Model: name("small")}); err != nil {
		t.Fatal(err)
	}
	if err := w.Allow(ctx, who, core.OpSendMessage, a.ID); err != nil {
		t.Errorf("a message, to a model of the plan: %v", err)
	}
	w.AllowModels(nil)
	if err := w.Allow(ctx, who, core.OpSendMessage, a.ID); err != nil {
		t.Errorf("a message where there is no model at all: %v", err)
	}
}

func TestANewAgentHasALibrary(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.make(t, w.ada, "  Landmarks ")
	if a.Name != "Landmarks" || a.UserID != w.ada.UserID || !core.IsID(core.PrefixAgent, a.ID) || !a.CreatedAt.Equal(w.clock.Now()) {
		t.Errorf("made %+v", a)
	}
	if len(a.Sources) != 1 || a.Sources[0].Name != "Library" || a.DefaultSource() != a.Sources[0].ID {
		t.Errorf("its sources are %+v", a.Sources)
	}
	if got := (agent.Agent{}).DefaultSource(); got != "" {
		t.Errorf("no sources have the default %q", got)
	}
}

func TestTheSameRequestMakesTheSameAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, name := core.WithSeed(t.Context(), core.NewSeed()), "Once"
	first, err := w.Create(ctx, w.ada, agent.Change{Name: &name})
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Hour)
	again, err := w.Create(ctx, w.ada, agent.Change{Name: &name})
	if err != nil || again.ID != first.ID || !again.CreatedAt.Equal(first.CreatedAt) || again.DefaultSource() != first.DefaultSource() {
		t.Errorf("made %+v, then %+v, %v", first, again, err)
	}
	if _, err := w.Create(ctx, w.bob, agent.Change{Name: &name}); err == nil {
		t.Error("somebody else gets an agent that is there")
	}
	if agents, _, err := w.List(t.Context(), w.ada, core.Page{}); err != nil || len(agents) != 1 {
		t.Errorf("there are %d agents, %v", len(agents), err)
	}
}

func TestBadTextsAreRefusedAndNothingChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.make(t, w.ada, "A")
	long := func(n int) *string { s := strings.Repeat("é", n); return &s }
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		change agent.Change
		fields []string
	}{
		"an empty name":     {agent.Change{Name: text("")}, []string{"/name"}},
		"a blank name":      {agent.Change{Name: text(" \n")}, []string{"/name"}},
		"a long name":       {agent.Change{Name: long(101)}, []string{"/name"}},
		"a NUL":             {agent.Change{Name: text("a\x00")}, []string{"/name"}},
		"invalid UTF-8":     {agent.Change{Name: text("a\xff")}, []string{"/name"}},
		"long descriptions": {agent.Change{Name: text("ok"), Description: long(2001)}, []string{"/description"}},
		"all too long": {
			agent.Change{Name: long(101), Description: long(2001), Instructions: long(8001), Model: long(201)},
			[]string{"/name", "/description", "/instructions", "/model"},
		},
	} {
		_, errMake := w.Create(t.Context(), w.ada, c.change)
		_, errChange := w.Change(t.Context(), w.ada, a.ID, c.change)
		for _, err := range []error{errMake, errChange} {
			var fields []string
			for _, f := range core.AsError(err).Fields {
				fields = append(fields, f.Pointer)
			}
			if !core.IsKind(err, core.KindInvalid) || !slices.Equal(fields, c.fields) {
				t.Errorf("%s: %v about %v, want %v", name, err, fields, c.fields)
			}
		}
	}
	if _, err := w.Create(t.Context(), w.ada, agent.Change{}); core.AsError(err).Fields[0].Detail != "Is required." {
		t.Errorf("no name: %v", err)
	}
	if now, err := w.Get(t.Context(), w.ada, a.ID); err != nil || now.Name != "A" || !now.UpdatedAt.Equal(a.UpdatedAt) {
		t.Errorf("it is %+v, %v", now, err)
	}
	full := agent.Change{Name: long(100), Description: long(2000), Instructions: long(8000), Model: long(200)}
	if _, err := w.Change(t.Context(), w.ada, a.ID, full); err != nil {
		t.Errorf("texts of the full length: %v", err)
	}
}

func TestAgentsAreTheirUsersAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine, name := w.make(t, w.ada, "Mine"), "x"
	limited := w.ada
	limited.Agents = []string{"agt_" + strings.Repeat("0", 26)}
	ctx := t.Context()
	for who, actor := range map[string]core.Actor{"somebody else": w.bob, "a limited credential": limited} {
		for _, id := range []string{mine.ID, "agt_" + strings.Repeat("0", 26), "junk", "", mine.ID + "\x00", strings.ToUpper(mine.ID)} {
			_, errGet := w.Get(ctx, actor, id)
			_, errChange := w.Change(ctx, actor, id, agent.Change{Name: &name})
			for _, err := range []error{errGet, errChange, w.Delete(ctx, actor, id), w.Allow(ctx, actor, core.OpGetAgent, id)} {
				if e := core.AsError(err); e.Kind != core.KindNotFound || e.Detail != "There is no such agent." {
					t.Errorf("%s asks for %q: %v", who, id, err)
				}
			}
		}
	}
	if _, err := w.Create(ctx, limited, agent.Change{Name: &name}); core.AsError(err).Code != "limited_to_agents" {
		t.Errorf("a limited credential makes an agent: %v", err)
	}
	if agents, _, err := w.List(ctx, limited, core.Page{}); err != nil || len(agents) != 0 {
		t.Errorf("a limited credential sees %v, %v", agents, err)
	}
	if err := w.Allow(ctx, w.ada, core.OpGetAgent, mine.ID); err != nil {
		t.Errorf("its user does not reach it: %v", err)
	}
	reader := w.ada
	reader.Scopes = []core.Scope{core.ScopeAgents}
	_, errMake := w.Create(ctx, reader, agent.Change{Name: &name})
	_, errChange := w.Change(ctx, reader, mine.ID, agent.Change{Name: &name})
	for _, err := range []error{errMake, errChange, w.Delete(ctx, reader, mine.ID)} {
		if core.AsError(err).Code != "insufficient_scope" {
			t.Errorf("without the scope: %v", err)
		}
	}
	if _, _, err := w.List(ctx, core.Actor{}, core.Page{}); !core.IsKind(err, core.KindForbidden) {
		t.Errorf("nobody: %v", err)
	}
}

func TestAgentsArePagedNewestFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 5 {
		w.make(t, w.ada, strconv.Itoa(i))
	}
	var got []string
	page := core.Page{Limit: 2}
	for {
		agents, next, err := w.List(t.Context(), w.ada, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range agents {
			got = append(got, a.Name)
		}
		if page.Cursor = next; next == "" {
			break
		}
	}
	if strings.Join(got, "") != "43210" {
		t.Errorf("listed %v", got)
	}
	for _, bad := range []core.Page{{Limit: -1}, {Limit: 201}, {Cursor: "x"}, {Cursor: core.EncodeCursor("threads", "x")}} {
		if _, _, err := w.List(t.Context(), w.ada, bad); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
