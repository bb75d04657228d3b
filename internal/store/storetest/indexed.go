package storetest

import (
	"strconv"
	"time"

	"carrel/internal/search"
	"carrel/internal/source"
)

func (w *world) indexes(within time.Duration) []search.NodeIndex {
	w.t.Helper()
	got, err := w.db.NodeIndexes(w.ctx, within)
	w.must(err)
	return got
}

var indexTests = []test{
	{"NodesTellHowFarTheirIndexesAre", func(w *world) {
		w.same("none", w.indexes(time.Hour), []search.NodeIndex{})
		w.must(w.db.SetNodeIndex(w.ctx, "b", 7))
		w.must(w.db.SetNodeIndex(w.ctx, "a", 1<<62))
		w.must(w.db.SetNodeIndex(w.ctx, "b", 9))
		w.must(w.db.SetNodeIndex(w.ctx, "b", 3)) // an index that is being built anew
		w.same("indexes", w.indexes(time.Hour), []search.NodeIndex{{Node: "a", Through: 1 << 62}, {Node: "b", Through: 3}})
		w.same("heard of later than now", w.indexes(-time.Minute), []search.NodeIndex{})
		w.must(w.db.DeleteNodeIndex(w.ctx, "a"))
		w.must(w.db.DeleteNodeIndex(w.ctx, "never there"))
		w.same("left", w.indexes(time.Hour), []search.NodeIndex{{Node: "b", Through: 3}})
	}},
}

var usageTests = []test{
	{"SearchesAddUp", func(w *world) {
		searches := func(p person, day string) int {
			w.t.Helper()
			n, err := w.db.SearchesOf(w.ctx, p.id, day)
			w.must(err)
			return n
		}
		w.must(w.db.AddSearches(w.ctx, nil))
		w.must(w.db.AddSearches(w.ctx, []source.Searches{
			{UserID: w.ada.id, Day: "2026-11-03", Count: 2},
			{UserID: "usr_none", Day: "2026-11-03", Count: 1},
			{UserID: w.ada.id, Day: "2026-11-04", Count: 5},
			{UserID: w.bert.id, Day: "2026-11-03", Count: 1},
		}))
		w.must(w.db.AddSearches(w.ctx, []source.Searches{{UserID: w.ada.id, Day: "2026-11-03", Count: 3}}))
		w.same("searches", []int{
			searches(w.ada, "2026-11-03"), searches(w.ada, "2026-11-04"), searches(w.ada, "2026-11-05"), searches(w.bert, "2026-11-03"),
		}, []int{5, 5, 0, 1})
	}},
	{"ManyNodesMayCountAtOnce", func(w *world) {
		together(8, func(i int) {
			counts := []source.Searches{{UserID: w.ada.id, Day: "d", Count: 1}, {UserID: w.bert.id, Day: "d", Count: 1}}
			if i%2 == 0 {
				counts[0], counts[1] = counts[1], counts[0]
			}
			for range 5 {
				if err := w.db.AddSearches(w.ctx, counts); err != nil {
					w.t.Error(err)
				}
			}
		})
		for i, p := range []person{w.ada, w.bert} {
			n, err := w.db.SearchesOf(w.ctx, p.id, "d")
			w.must(err)
			w.same("searches of "+strconv.Itoa(i), n, 40)
		}
	}},
}
