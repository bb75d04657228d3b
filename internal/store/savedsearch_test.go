package store_test

import (
	"carrel/internal/core"
	"carrel/internal/savedsearch"
)

var savedSearchTests = []test{
	{"SavedSearchesAreOfOneUserAndAgent", func(w *fixture) {
		made := savedsearch.SavedSearch{
			ID: core.NewID(core.PrefixSaved), AgentID: w.ada.agent, Name: "Models",
			Search: []byte(`{"query":"model"}`), CreatedAt: w.now, UpdatedAt: w.now,
		}
		stored, err := w.db.InsertSavedSearch(w.ctx, w.ada.id, made, 9)
		w.must(err)
		repeated := made
		repeated.Name = "Repeated"
		again, err := w.db.InsertSavedSearch(w.ctx, w.ada.id, repeated, 9)
		w.must(err)
		if stored.Name != "Models" || again.Name != "Models" || string(stored.Search) != `{"query":"model"}` {
			w.t.Errorf("stored %+v, then %+v", stored, again)
		}
		name := "Old models"
		changed, err := w.db.ChangeSavedSearch(w.ctx, w.ada.id, w.ada.agent, made.ID, savedsearch.Change{Name: &name}, w.now)
		w.must(err)
		if changed.Name != name || string(changed.Search) != `{"query":"model"}` {
			w.t.Errorf("renamed to %+v", changed)
		}
		changed, err = w.db.ChangeSavedSearch(w.ctx, w.ada.id, w.ada.agent, made.ID,
			savedsearch.Change{Search: []byte(`{"query":"codd"}`)}, w.now)
		w.must(err)
		if changed.Name != name || string(changed.Search) != `{"query":"codd"}` {
			w.t.Errorf("changed to %+v", changed)
		}
		for _, other := range [][2]string{{w.bert.id, w.ada.agent}, {w.ada.id, w.bert.agent}} {
			if list, err := w.db.SavedSearches(w.ctx, other[0], other[1]); err != nil || len(list) != 0 {
				w.t.Errorf("another user or agent has %v, %v", list, err)
			}
			_, err := w.db.ChangeSavedSearch(w.ctx, other[0], other[1], made.ID, savedsearch.Change{Name: &name}, w.now)
			w.wantKind(err, core.KindNotFound, "")
			w.wantKind(w.db.DeleteSavedSearch(w.ctx, other[0], other[1], made.ID), core.KindNotFound, "")
		}
		w.must(w.db.DeleteSavedSearch(w.ctx, w.ada.id, w.ada.agent, made.ID))
		if list, err := w.db.SavedSearches(w.ctx, w.ada.id, w.ada.agent); err != nil || len(list) != 0 {
			w.t.Errorf("after the deletion %v, %v", list, err)
		}
		_, err = w.db.InsertSavedSearch(w.ctx, w.bert.id, made, 9)
		w.wantKind(err, core.KindNotFound, "")
	}}, {"SavedSearchesAreLimited", func(w *fixture) {
		saved := func() savedsearch.SavedSearch {
			return savedsearch.SavedSearch{
				ID: core.NewID(core.PrefixSaved), AgentID: w.ada.agent, Name: "One", Search: []byte("{}"), CreatedAt: w.now,
				UpdatedAt: w.now,
			}
		}
		first := saved()
		_, err := w.db.InsertSavedSearch(w.ctx, w.ada.id, first, 2)
		w.must(err)
		w.exactlyOne("save", func() error {
			_, err := w.db.InsertSavedSearch(w.ctx, w.ada.id, saved(), 2)
			if core.IsKind(err, core.KindConflict) {
				err = core.NotFound("place") // what exactlyOne expects of the others
			}
			return err
		})
		_, err = w.db.InsertSavedSearch(w.ctx, w.ada.id, first, 2)
		w.must(err) // a repeated request adds nothing
	}},
}
