package store_test

import (
	"carrel/internal/search"
	"time"
)

func (w *fixture) indexes(within time.Duration) []search.NodeIndex {
	w.t.Helper()
	got, err := w.db.NodeIndexes(w.ctx, within)
	w.must(err)
	return got
}

var indexTests = []test{
	{"NodesReportTheirIndexProgress", func(w *fixture) {
		w.same("none", w.indexes(time.Hour), []search.NodeIndex{})
		w.must(w.db.SetNodeIndex(w.ctx, "b", 7))
		w.must(w.db.SetNodeIndex(w.ctx, "a", 1<<62))
		w.must(w.db.SetNodeIndex(w.ctx, "b", 9))
		w.must(w.db.SetNodeIndex(w.ctx, "b", 3)) // an index that is being rebuilt
		w.same("indexes", w.indexes(time.Hour),
			[]search.NodeIndex{{Node: "a", Through: 1 << 62}, {Node: "b", Through: 3}})
		w.same("heard of later than now", w.indexes(-time.Minute), []search.NodeIndex{})
		w.must(w.db.DeleteNodeIndex(w.ctx, "a"))
		w.must(w.db.DeleteNodeIndex(w.ctx, "never there"))
		w.same("left", w.indexes(time.Hour), []search.NodeIndex{{Node: "b", Through: 3}})
	}},
}
