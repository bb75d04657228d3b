package store_test

import (
	"carrel/internal/core"
)

var zoteroTests = []test{
	{"TheStateOfASourceIsStored", func(w *fixture) {
		state, err := w.db.SyncState(w.ctx, w.ada.source)
		w.must(err)
		w.same("at first", state, "")
		w.must(w.db.SetSyncState(w.ctx, w.ada.source, `{"version":7}`))
		state, err = w.db.SyncState(w.ctx, w.ada.source)
		w.must(err)
		w.same("stored", state, `{"version":7}`)
		_, err = w.db.SyncState(w.ctx, "src_none")
		w.wantMissing(err, "source")
	}},
	{"WrittenItemsAreRememberedPerLibrary", func(w *fixture) {
		w.must(w.db.PutZoteroItems(w.ctx, w.ada.source, "users/1", map[string]string{"a": "AAAA2345", "b": "BBBB2345"}))
		w.must(w.db.PutZoteroItems(w.ctx, w.ada.source, "users/1", map[string]string{"a": "CCCC2345"}))
		w.must(w.db.PutZoteroItems(w.ctx, w.ada.source, "groups/2", map[string]string{"a": "DDDD2345"}))
		got, err := w.db.ZoteroItems(w.ctx, w.ada.source, "users/1")
		w.must(err)
		w.same("items", got, map[string]string{"a": "CCCC2345", "b": "BBBB2345"})
		got, err = w.db.ZoteroItems(w.ctx, w.bert.source, "users/1")
		w.must(err)
		w.same("of another source", got, map[string]string{})
		more := w.newSource(w.ada.agent, "More", false)
		w.must(w.db.InsertSource(w.ctx, w.ada.id, more))
		w.must(w.db.PutZoteroItems(w.ctx, more.ID, "users/1", map[string]string{"a": "AAAA2345"}))
		w.must(w.db.DeleteSource(w.ctx, w.ada.agent, more.ID, ""))
		got, err = w.db.ZoteroItems(w.ctx, more.ID, "users/1")
		w.must(err)
		w.same("of a deleted source", got, map[string]string{})
		err = w.db.PutZoteroItems(w.ctx, "src_none", "users/1", map[string]string{"a": "AAAA2345"})
		if err == nil || core.IsKind(err, core.KindInvalid) {
			w.t.Errorf("items of no source: %v", err)
		}
	}},
}
