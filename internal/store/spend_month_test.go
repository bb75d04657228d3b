package store_test

import (
	"time"

	"carrel/internal/billing"
	"carrel/internal/core"
)

// monthEnds are the last moments of months in several time zones, with the UTC month and its end.
var monthEnds = []struct {
	name, month, end string
	last             time.Time
}{
	{"a leap day", "2028-02", "2028-03-01T00:00:00Z", time.Date(2028, 2, 29, 23, 59, 59, 999e6, time.UTC)},
	{"the end of February in another year", "2027-02", "2027-03-01T00:00:00Z", time.Date(2027, 2, 28, 23, 59, 59, 999e6, time.UTC)},
	{"the end of February in 2100, which is no leap year", "2100-02", "2100-03-01T00:00:00Z", time.Date(2100, 2, 28, 23, 59, 59, 999e6, time.UTC)},
	{"the end of a year", "2027-12", "2028-01-01T00:00:00Z", time.Date(2027, 12, 31, 23, 59, 59, 999e6, time.UTC)},
	{"a month that has ended in the east", "2027-04", "2027-05-01T00:00:00Z", time.Date(2027, 5, 1, 13, 59, 59, 999e6, time.FixedZone("LINT", 14*3600))},
	{"a month that goes on in the west", "2027-08", "2027-09-01T00:00:00Z", time.Date(2027, 8, 31, 11, 59, 59, 999e6, time.FixedZone("AoE", -12*3600))},
	{"the night that clocks are put back in New York", "2037-10", "2037-11-01T00:00:00Z", time.Date(2037, 10, 31, 19, 59, 59, 999e6, time.FixedZone("EDT", -4*3600))},
}

// holdAt reserves an amount for Ada at a time with a credential.
func (w *fixture) holdAt(id string, at time.Time, micros int64) error {
	return w.db.ReserveSpend(w.ctx, billing.Reservation{
		ID: "spd_" + id + w.ada.id, UserID: w.ada.id, CredentialID: "crd_month" + w.ada.id, AgentID: w.ada.agent, Kind: billing.MeteredSearch, Model: "m", Micros: micros, At: at,
	})
}

// usedIn returns the amounts that Ada and the credential have used in a month.
func (w *fixture) usedIn(month string) (user, credential int64) {
	w.t.Helper()
	_, user, err := w.db.SpendOf(w.ctx, w.ada.id, month)
	w.must(err)
	caps, err := w.db.CredentialCaps(w.ctx, w.ada.id, month)
	w.must(err)
	w.same("credentials with a cap", len(caps), 1)
	return user, caps[0].Used
}

var spendMonthTests = []test{
	{"CapResetsWithTheUTCMonth", func(w *fixture) {
		w.capAda(100)
		for i, end := range monthEnds {
			first := end.last.Add(time.Millisecond)
			id := func(what string) string { return what + string(rune('a'+i)) }
			w.must(w.holdAt(id("last"), end.last, 100))
			reached := core.Spend{Cap: 100, Used: 100, ResetsAt: core.MonthEnd(end.last)}
			w.wantKind(w.holdAt(id("more"), end.last, 1), core.KindPaymentRequired, reached.Reached().Detail)
			w.same(end.name+": when it starts anew", reached.ResetsAt.Format(time.RFC3339), end.end)
			w.must(w.holdAt(id("next"), first, 100))
			w.same(end.name+": its month", core.Month(end.last), end.month)
		}
		w.wantBalanced("over the ends of months")
	}},
	{"SettlementCountsInTheMonthOfItsReservation", func(w *fixture) {
		w.must(w.db.SetCredentialCap(w.ctx, w.ada.id, "crd_month"+w.ada.id, new(int64(100))))
		for i, end := range monthEnds {
			first := end.last.Add(time.Millisecond)
			id := string(rune('a' + i))
			w.must(w.holdAt(id, end.last, 100))
			w.must(w.db.SettleRow(w.ctx, "spd_"+id+w.ada.id, 30, false, first))
			for month, want := range map[string]int64{end.month: 30, core.Month(first): 0} {
				user, credential := w.usedIn(month)
				w.same(end.name+": used by the user in "+month, user, want)
				w.same(end.name+": used with the credential in "+month, credential, want)
			}
			lines, err := w.db.UsageLines(w.ctx, w.ada.id, core.Day(end.last), core.Day(end.last))
			w.must(err)
			w.same(end.name+": rows of the day", len(lines), 1)
		}
		w.wantBalanced("after late settling")
	}},
}
