package savedsearch_test

import (
	"encoding/json"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/savedsearch"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
)

func TestNewServicePanicsWithoutADependency(t *testing.T) {
	t.Parallel()
	db := fixture.OpenStore(t)
	users := fixture.NewUsers(t, db, core.PlanNone)
	complete := savedsearch.Deps{Store: db, Agents: users.Agents, Clock: users.Clock}
	for name, remove := range map[string]func(*savedsearch.Deps){
		"store":  func(d *savedsearch.Deps) { d.Store = nil },
		"agents": func(d *savedsearch.Deps) { d.Agents = nil },
		"clock":  func(d *savedsearch.Deps) { d.Clock = nil },
	} {
		d := complete
		remove(&d)
		if !testkit.Panics(func() { savedsearch.NewService(d) }) {
			t.Errorf("NewService accepts a missing %s", name)
		}
	}
}

func TestSavedSearchesAreNamedLimitedAndPrivate(t *testing.T) {
	t.Parallel()
	db := fixture.OpenStore(t)
	w := fixture.NewUsers(t, db, core.PlanNone)
	s := savedsearch.NewService(savedsearch.Deps{Store: db, Agents: w.Agents, Clock: w.Clock})
	ctx, search := t.Context(), json.RawMessage(`{"query":"model"}`)
	for _, name := range []string{"", " ", strings.Repeat("x", 101)} {
		if _, err := s.Save(ctx, w.Ada, w.Agent, name, search); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("the name %q gives %v", name, err)
		}
	}
	first, err := s.Save(ctx, w.Ada, w.Agent, " Old\n models ", search)
	if err != nil || first.Name != "Old models" {
		t.Fatalf("saved %+v, %v", first, err)
	}
	for range 99 {
		if _, err := s.Save(ctx, w.Ada, w.Agent, "Another", search); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Save(ctx, w.Ada, w.Agent, "One more", search); !core.IsKind(err, core.KindConflict) {
		t.Errorf("one more search gives %v", err)
	}
	if _, err := s.Save(ctx, w.Ada, w.SecondAgent, "Elsewhere", search); err != nil {
		t.Errorf("the limit of one agent holds for another: %v", err)
	}
	list, err := s.List(ctx, w.Ada, w.Agent)
	if err != nil || len(list) != 100 || list[0].ID != first.ID {
		t.Errorf("%d saved searches, first %+v, %v", len(list), list[0], err)
	}
	name := " Newer  models"
	if got, err := s.Change(ctx, w.Ada, w.Agent, first.ID, savedsearch.Change{Name: &name}); err != nil ||
		got.Name != "Newer models" {
		t.Errorf("renamed to %+v, %v", got, err)
	}
	none := ""
	_, err = s.Change(ctx, w.Ada, w.Agent, first.ID, savedsearch.Change{Name: &none})
	if !core.IsKind(err, core.KindInvalid) {
		t.Errorf("an empty name gives %v", err)
	}
	for _, id := range []string{"x", core.NewID(core.PrefixSaved), core.NewID(core.PrefixMemory)} {
		if _, err := s.Change(ctx, w.Ada, w.Agent, id, savedsearch.Change{}); !core.IsKind(err, core.KindNotFound) {
			t.Errorf("changing %s gives %v", id, err)
		}
		if err := s.Delete(ctx, w.Ada, w.Agent, id); !core.IsKind(err, core.KindNotFound) {
			t.Errorf("deleting %s gives %v", id, err)
		}
	}
	if _, err := s.List(ctx, w.Bob, w.Agent); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("another user's list gives %v", err)
	}
	if err := s.Delete(ctx, w.Ada, w.Agent, first.ID); err != nil {
		t.Error(err)
	}
}
