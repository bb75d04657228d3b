package store_test

import (
	"time"

	"carrel/internal/search"
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
	{"OneOwnerHasALeaseAtATime", func(w *fixture) {
		take := func(what, owner string, d time.Duration, want bool) {
			got, err := w.db.TakeLease(w.ctx, "index", owner, d)
			w.must(err)
			w.same(what, got, want)
		}
		take("the first", "a", time.Hour, true)
		take("another while it is held", "b", time.Hour, false)
		take("renewed", "a", time.Hour, true)
		w.must(w.db.ReleaseLease(w.ctx, "index", "b")) // has no effect
		take("after the release by another", "b", time.Hour, false)
		w.must(w.db.ReleaseLease(w.ctx, "index", "a"))
		take("after the release", "b", -time.Second, true)
		take("after the end", "a", time.Hour, true)
	}},
}
