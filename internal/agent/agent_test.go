package agent_test

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/store"
	"carrel/internal/testkit"
	kit "carrel/internal/testkit/fixture"
)

// fixture is the service on a database with two users.
type fixture struct {
	*agent.Service
	db       *store.DB
	clock    *testkit.Clock
	audit    *audit.Log
	ada, bob core.Actor
}

// withModels is the same fixture on an installation with these models.
func (f fixture) withModels(names ...string) fixture {
	f.Service = agent.NewService(agent.Deps{
		Store: f.db, Clock: f.clock, Audit: f.audit, Models: append([]string{}, names...),
	})
	return f
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: kit.SQLite(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	clock := testkit.NewClock()
	events := audit.New(audit.Deps{
		Store: db, Clock: clock, Log: slog.New(slog.DiscardHandler),
		Address: func(context.Context) string { return "203.0.113.7" },
	})
	f := fixture{
		Service: agent.NewService(agent.Deps{Store: db, Clock: clock, Audit: events}),
		db:      db, clock: clock, audit: events,
	}
	for _, who := range []*core.Actor{&f.ada, &f.bob} {
		id := core.NewID(core.PrefixUser)
		u := account.User{
			ID: id, Email: id + "@example.org", EmailVerified: true, Name: "U",
			Role: core.RoleMember, Plan: core.PlanOpen, CreatedAt: clock.Now(),
		}
		if err := db.InsertUser(t.Context(), u, "none"); err != nil {
			t.Fatal(err)
		}
		*who = core.Actor{
			UserID: id, Plan: core.PlanOpen, Credential: core.CredentialKey,
			Scopes: []core.Scope{core.ScopeAgents, core.ScopeManage},
		}
	}
	return f
}

func (f fixture) newAgent(t *testing.T, who core.Actor, name string) agent.Agent {
	t.Helper()
	a, err := f.Create(t.Context(), who, agent.Change{Name: &name})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAgentsUseAllowedModelsOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t).withModels("small", "large")
	name := func(s string) *string { return &s }
	a, err := f.Create(t.Context(), f.ada, agent.Change{Name: name("Papers"), Model: name(" large ")})
	if err != nil || a.Model != "large" {
		t.Fatalf("made %+v, %v", a, err)
	}
	for _, try := range []func() (agent.Agent, error){
		func() (agent.Agent, error) {
			return f.Create(t.Context(), f.ada, agent.Change{Name: name("Other"), Model: name("huge")})
		},
		func() (agent.Agent, error) {
			return f.Service.Change(t.Context(), f.ada, a.ID, agent.Change{Model: name("huge")})
		},
	} {
		_, err := try()
		if e := core.AsError(err); e.Kind != core.KindInvalid || len(e.Fields) != 1 || e.Fields[0].Pointer != "/model" ||
			e.Fields[0].Detail != "Must be empty or one of: small, large." {
			t.Errorf("refused with %+v", err)
		}
	}
	if a, err = f.Service.Change(t.Context(), f.ada, a.ID, agent.Change{Model: name("")}); err != nil || a.Model != "" {
		t.Errorf("changed to %+v, %v", a, err)
	}
	f = f.withModels()
	if _, err := f.Service.Change(t.Context(), f.ada, a.ID, agent.Change{
		Model: name("small"),
	}); core.AsError(err).Kind != core.KindInvalid {
		t.Errorf("without a model, %v", err)
	}
}

func TestModelsAreThoseOfThePlan(t *testing.T) {
	t.Parallel()
	f := newFixture(t).withModels("large", "small")
	limited := f.ada
	limited.Models = []string{"small"}
	for name, c := range map[string]struct {
		actor core.Actor
		want  []string
	}{"any": {f.ada, []string{"large", "small"}}, "limited": {limited, []string{"small"}}} {
		if got := f.Models(c.actor); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestModelOutsideThePlanIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t).withModels("large", "small")
	ctx, name := t.Context(), func(s string) *string { return &s }
	a := f.newAgent(t, f.ada, "Papers")
	who := f.ada
	who.Models = []string{"small"}
	refused := func(what string, err error) {
		t.Helper()
		if e := core.AsError(err); err == nil || e.Kind != core.KindForbidden || e.Code != "capability_disabled" {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := f.Create(ctx, who, agent.Change{Name: name("Other"), Model: name("large")})
	refused("a new agent", err)
	_, err = f.Service.Change(ctx, who, a.ID, agent.Change{Model: name("large")})
	refused("a change", err)
	refused("a message, to the installation's model", f.Allow(ctx, who, core.OpSendMessage, a.ID))
	refused("research", f.Allow(ctx, who, core.OpResearch, a.ID))
	if err := f.Allow(ctx, who, core.OpSearch, a.ID); err != nil {
		t.Errorf("a search, which uses no model: %v", err)
	}
	if _, err = f.Service.Change(ctx, who, a.ID, agent.Change{Model: name("small")}); err != nil {
		t.Fatal(err)
	}
	if err := f.Allow(ctx, who, core.OpSendMessage, a.ID); err != nil {
		t.Errorf("a message, to a model of the plan: %v", err)
	}
	f = f.withModels()
	if err := f.Allow(ctx, who, core.OpSendMessage, a.ID); err != nil {
		t.Errorf("a message where there is no model at all: %v", err)
	}
}

func TestNewAgentHasALibrary(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.newAgent(t, f.ada, "  Landmarks ")
	if a.Name != "Landmarks" || a.UserID != f.ada.UserID || !core.IsID(core.PrefixAgent, a.ID) ||
		!a.CreatedAt.Equal(f.clock.Now()) {
		t.Errorf("made %+v", a)
	}
	if len(a.Sources) != 1 || a.Sources[0].Name != "Library" || a.DefaultSource() != a.Sources[0].ID {
		t.Errorf("its sources are %+v", a.Sources)
	}
	if got := (agent.Agent{}).DefaultSource(); got != "" {
		t.Errorf("an agent without sources has the default %q", got)
	}
}

func TestRepeatedRequestCreatesOneAgent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, name := core.WithSeed(t.Context(), core.NewSeed()), "Once"
	first, err := f.Create(ctx, f.ada, agent.Change{Name: &name})
	if err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(time.Hour)
	again, err := f.Create(ctx, f.ada, agent.Change{Name: &name})
	if err != nil || again.ID != first.ID || !again.CreatedAt.Equal(first.CreatedAt) ||
		again.DefaultSource() != first.DefaultSource() {
		t.Errorf("made %+v, then %+v, %v", first, again, err)
	}
	if _, err := f.Create(ctx, f.bob, agent.Change{Name: &name}); err == nil {
		t.Error("another user created an agent with the same seed")
	}
	if agents, _, err := f.List(t.Context(), f.ada, core.Page{}); err != nil || len(agents) != 1 {
		t.Errorf("there are %d agents, %v", len(agents), err)
	}
}

func TestInvalidTextsAreRefusedAndNothingChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.newAgent(t, f.ada, "A")
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
		_, errMake := f.Create(t.Context(), f.ada, c.change)
		_, errChange := f.Change(t.Context(), f.ada, a.ID, c.change)
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
	if _, err := f.Create(t.Context(), f.ada, agent.Change{}); core.AsError(err).Fields[0].Detail != "Is required." {
		t.Errorf("no name: %v", err)
	}
	if now, err := f.Get(t.Context(), f.ada, a.ID); err != nil || now.Name != "A" || !now.UpdatedAt.Equal(a.UpdatedAt) {
		t.Errorf("it is %+v, %v", now, err)
	}
	full := agent.Change{Name: long(100), Description: long(2000), Instructions: long(8000), Model: long(200)}
	if _, err := f.Change(t.Context(), f.ada, a.ID, full); err != nil {
		t.Errorf("texts of the full length: %v", err)
	}
}

func TestAgentsOfOtherUsersAreNotFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine, name := f.newAgent(t, f.ada, "Mine"), "x"
	limited := f.ada
	limited.Agents = []string{"agt_" + strings.Repeat("0", 26)}
	ctx := t.Context()
	for who, actor := range map[string]core.Actor{"another user": f.bob, "a limited credential": limited} {
		for _, id := range []string{
			mine.ID, "agt_" + strings.Repeat("0", 26), "junk", "", mine.ID + "\x00", strings.ToUpper(mine.ID),
		} {
			_, errGet := f.Get(ctx, actor, id)
			_, errChange := f.Change(ctx, actor, id, agent.Change{Name: &name})
			for _, err := range []error{errGet, errChange, f.Delete(ctx, actor, id), f.Allow(ctx, actor, core.OpGetAgent, id)} {
				if e := core.AsError(err); e.Kind != core.KindNotFound || e.Detail != "There is no such agent." {
					t.Errorf("%s asks for %q: %v", who, id, err)
				}
			}
		}
	}
	if _, err := f.Create(ctx, limited, agent.Change{Name: &name}); core.AsError(err).Code != "limited_to_agents" {
		t.Errorf("a limited credential creates an agent: %v", err)
	}
	if agents, _, err := f.List(ctx, limited, core.Page{}); err != nil || len(agents) != 0 {
		t.Errorf("a limited credential sees %v, %v", agents, err)
	}
	if err := f.Allow(ctx, f.ada, core.OpGetAgent, mine.ID); err != nil {
		t.Errorf("the owner is refused: %v", err)
	}
	reader := f.ada
	reader.Scopes = []core.Scope{core.ScopeAgents}
	_, errMake := f.Create(ctx, reader, agent.Change{Name: &name})
	_, errChange := f.Change(ctx, reader, mine.ID, agent.Change{Name: &name})
	for _, err := range []error{errMake, errChange, f.Delete(ctx, reader, mine.ID)} {
		if core.AsError(err).Code != "insufficient_scope" {
			t.Errorf("without the scope: %v", err)
		}
	}
	if _, _, err := f.List(ctx, core.Actor{}, core.Page{}); !core.IsKind(err, core.KindForbidden) {
		t.Errorf("without a user: %v", err)
	}
}

func TestAgentsArePagedNewestFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 5 {
		f.newAgent(t, f.ada, strconv.Itoa(i))
	}
	var got []string
	page := core.Page{Limit: 2}
	for {
		agents, next, err := f.List(t.Context(), f.ada, page)
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
	for _, bad := range []core.Page{{Limit: -1}, {Limit: 201}, {Cursor: "x"}, {
		Cursor: core.EncodeCursor("threads", "x"),
	}} {
		if _, _, err := f.List(t.Context(), f.ada, bad); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestMissingDependenciesPanicAtStart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, d := range map[string]agent.Deps{
		"no store": {Clock: f.clock, Audit: f.audit},
		"no clock": {Store: f.db, Audit: f.audit},
		"no audit": {Store: f.db, Clock: f.clock},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			agent.NewService(d)
		}()
	}
}
