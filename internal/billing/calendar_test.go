package billing_test

import (
	"testing"
	"time"

	"carrel/internal/billing"
	"carrel/internal/core"
)

const days = 24 * time.Hour

// calendarCase is a subscription given by an administrator.
type calendarCase struct {
	start     string
	months    int
	grace     time.Duration
	trial     bool
	cancelled bool
	// end is the end of the period, over the end of the grace period.
	end, over string
}

var calendarCases = map[string]calendarCase{
	"a month from the last of January": {
		start: "2027-01-31T09:00:00Z", months: 1, end: "2027-02-28T09:00:00Z", over: "2027-02-28T09:00:00Z",
	},
	"a month from the last of January to a leap day": {
		start: "2028-01-31T09:00:00Z", months: 1, end: "2028-02-29T09:00:00Z", over: "2028-02-29T09:00:00Z",
	},
	"two months from it, back on the 31st": {
		start: "2028-01-31T09:00:00Z", months: 2, end: "2028-03-31T09:00:00Z", over: "2028-03-31T09:00:00Z",
	},
	"a year from a leap day": {
		start: "2028-02-29T23:59:59.999Z", months: 12, end: "2029-02-28T23:59:59.999Z", over: "2029-02-28T23:59:59.999Z",
	},
	"a month over the end of a year": {
		start: "2027-12-31T23:30:00Z", months: 1, end: "2028-01-31T23:30:00Z", over: "2028-01-31T23:30:00Z",
	},
	"begun on the 1st in the east, the 31st in UTC": {
		start: "2027-04-01T08:00:00+14:00", months: 1, end: "2027-04-30T18:00:00Z", over: "2027-04-30T18:00:00Z",
	},
	"begun on the 31st in the west, the 1st in UTC": {
		start: "2027-01-31T20:00:00-12:00", months: 1, end: "2027-03-01T08:00:00Z", over: "2027-03-01T08:00:00Z",
	},
	"a month over the night that clocks go forward": {
		start: "2027-02-28T02:30:00+01:00", months: 1, end: "2027-03-28T01:30:00Z", over: "2027-03-28T01:30:00Z",
	},
	"a grace over a leap day": {
		start: "2028-01-28T12:00:00Z", months: 1, grace: 2 * days, end: "2028-02-28T12:00:00Z", over: "2028-03-01T12:00:00Z",
	},
	"a grace over the end of February in another year": {
		start: "2027-01-28T12:00:00Z", months: 1, grace: 2 * days, end: "2027-02-28T12:00:00Z", over: "2027-03-02T12:00:00Z",
	},
	"a grace into the next year": {
		start: "2027-11-30T00:00:00Z", months: 1, grace: 7 * days, end: "2027-12-30T00:00:00Z", over: "2028-01-06T00:00:00Z",
	},
	"a trial that ends on a leap day": {
		start: "2028-01-29T00:00:00Z", months: 1, trial: true, end: "2028-02-29T00:00:00Z", over: "2028-02-29T00:00:00Z",
	},
	"a trial with a grace": {
		start: "2028-01-31T00:00:00Z", months: 1, trial: true, grace: days, end: "2028-02-29T00:00:00Z",
		over: "2028-03-01T00:00:00Z",
	},
	"cancelled, which has no grace": {
		start: "2028-01-31T00:00:00Z", months: 1, cancelled: true, grace: days, end: "2028-02-29T00:00:00Z",
		over: "2028-02-29T00:00:00Z",
	},
}

// TestSubscriptionPeriodsFollowTheCalendar checks the plan one millisecond before and at the start, the end and the end
// of the grace period, with the same moments given in several time zones.
func TestSubscriptionPeriodsFollowTheCalendar(t *testing.T) {
	t.Parallel()
	zones := []*time.Location{
		time.UTC,
		time.FixedZone("LINT", 14*3600),
		time.FixedZone("AoE", -12*3600),
		time.FixedZone("ACST", 9*3600+1800),
	}
	for name, test := range calendarCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newTestService(t)
			start := day(test.start)
			end := core.AddMonths(start, test.months)
			if !end.Equal(day(test.end)) {
				t.Fatalf("the period ends at %s, want %s", end, test.end)
			}
			f.clock.Set(start.Add(-days))
			for i, zone := range zones {
				from, to := start.In(zone), end.In(zones[(i+1)%len(zones)])
				_, err := f.Subscribe(t.Context(), operator, f.user, billing.NewSubscription{
					Plan:        core.PlanOpen,
					StartsAt:    &from,
					EndsAt:      &to,
					Grace:       test.grace,
					Trial:       test.trial,
					CancelAtEnd: test.cancelled,
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, moment := range []struct {
					at   time.Time
					want string
				}{
					{start.Add(-time.Millisecond), core.PlanNone},
					{start, core.PlanOpen},
					{end.Add(-time.Millisecond), core.PlanOpen},
					{day(test.over).Add(-time.Millisecond), core.PlanOpen},
					{day(test.over), core.PlanNone},
				} {
					f.clock.Set(moment.at)
					if got := f.plan(t); got != moment.want {
						t.Errorf("given in %s, at %s the plan is %s, want %s", zone, moment.at.UTC(), got, moment.want)
					}
				}
				f.clock.Set(start.Add(-days))
			}
		})
	}
}
