package store_test

import (
	"strconv"

	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/source"
	"carrel/internal/testkit"
)

var searchCountTests = []test{
	{"SearchCountsAddUp", func(w *fixture) {
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
	{"NodesCountConcurrently", func(w *fixture) {
		testkit.Concurrently(8, func(i int) {
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

var usageTests = []test{
	{"UsageIsGroupedByTheRequestedColumn", func(w *fixture) {
		today, tomorrow := core.Day(w.now), core.Day(w.now.AddDate(0, 0, 1))
		first, second := w.with("crd_1"), w.with("crd_2")
		w.must(w.reserve(first, 10))
		w.must(w.db.SettleSpend(w.ctx, first.ID, 7, false, w.now))
		w.must(w.reserve(first, 5))
		w.must(w.db.SettleSpend(w.ctx, first.ID, 5, true, w.now))
		before := w.now
		w.now = w.now.AddDate(0, 0, 1)
		w.must(w.reserve(second, 100))
		w.now = before
		w.must(w.hold("spd_u"+w.ada.id, billing.MeteredEmbedding, 3))
		w.must(w.db.AddSearches(w.ctx, []source.Searches{{UserID: w.ada.id, Day: today, Count: 4}, {UserID: w.ada.id, Day: tomorrow, Count: 2}}))
		for by, want := range map[billing.UsageBy][]billing.Usage{
			billing.UsageByDay: {
				{Name: today, Calls: 3, Spent: 12, Estimated: 5, Reserved: 3}, {Name: tomorrow, Calls: 1, Reserved: 100},
			},
			billing.UsageByAgent: {{Name: w.ada.agent, Calls: 4, Spent: 12, Estimated: 5, Reserved: 103}},
			billing.UsageByCredential: {
				{Name: "crd_1", Calls: 2, Spent: 12, Estimated: 5}, {Name: "crd_2", Calls: 1, Reserved: 100}, {Name: "crd_hold", Calls: 1, Reserved: 3},
			},
			billing.UsageByModel: {{Name: "m", Calls: 4, Spent: 12, Estimated: 5, Reserved: 103}},
			billing.UsageByUser:  {{Name: w.ada.id, Calls: 4, Spent: 12, Estimated: 5, Reserved: 103}},
		} {
			got, err := w.db.UsageBy(w.ctx, w.ada.id, by, today, tomorrow)
			w.must(err)
			w.same("by "+string(by), got, want)
		}
		one, err := w.db.UsageBy(w.ctx, w.ada.id, billing.UsageByDay, today, today)
		w.must(err)
		w.same("of one day", len(one), 1)
		lines, err := w.db.UsageLines(w.ctx, w.ada.id, today, tomorrow)
		w.must(err)
		w.same("lines", len(lines), 3)
		w.same("the first", lines[0], billing.UsageLine{
			Day: today, AgentID: w.ada.agent, CredentialID: "crd_1", Model: "m", Kind: billing.MeteredModel,
			Usage: billing.Usage{Calls: 2, Spent: 12, Estimated: 5},
		})
		searches, err := w.db.SearchesBetween(w.ctx, w.ada.id, today, tomorrow)
		w.must(err)
		w.same("searches", searches, int64(6))
		none, err := w.db.UsageBy(w.ctx, w.bert.id, billing.UsageByDay, today, tomorrow)
		w.must(err)
		w.same("of others", none, []billing.Usage{})
	}},
}
