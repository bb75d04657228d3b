package billing_test

import (
	"testing"
	"time"

	"carrel/internal/billing"
	"carrel/internal/core"
)

// day parses a time.
func day(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestSubscriptionIsLiveUntilItsEnd(t *testing.T) {
	t.Parallel()
	start := day("2028-01-31T09:00:00Z")
	end := core.AddMonths(start, 1) // of a leap year
	grace := end.Add(72 * time.Hour)
	kiribati, baker := time.FixedZone("LINT", 14*3600), time.FixedZone("AoE", -12*3600)
	for name, test := range map[string]struct {
		s    billing.Subscription
		at   time.Time
		want bool
	}{
		"before its start":                      {billing.Subscription{Status: "active"}, start.Add(-1), false},
		"at its start":                          {billing.Subscription{Status: "active"}, start, true},
		"without an end":                        {billing.Subscription{Status: "active"}, start.AddDate(50, 0, 0), true},
		"at the last moment of the leap day":    {billing.Subscription{Status: "active", EndsAt: &end}, day("2028-02-29T08:59:59.999Z"), true},
		"at its end":                            {billing.Subscription{Status: "active", EndsAt: &end}, day("2028-02-29T09:00:00Z"), false},
		"the same moment far in the east":       {billing.Subscription{Status: "active", EndsAt: &end}, day("2028-02-29T08:59:59Z").In(kiribati), true},
		"the same moment far in the west":       {billing.Subscription{Status: "active", EndsAt: &end}, day("2028-02-29T09:00:00Z").In(baker), false},
		"a trial":                               {billing.Subscription{Status: "trial", EndsAt: &end}, end.Add(-1), true},
		"after a trial":                         {billing.Subscription{Status: "trial", EndsAt: &end}, end, false},
		"after its end, while a renewal is due": {billing.Subscription{Status: "active", EndsAt: &end, GraceUntil: &grace}, grace.Add(-1), true},
		"after its grace":                       {billing.Subscription{Status: "active", EndsAt: &end, GraceUntil: &grace}, grace, false},
		"cancelled, until its end":              {billing.Subscription{Status: "active", EndsAt: &end, CancelAtEnd: true}, end.Add(-1), true},
		"cancelled, with no grace":              {billing.Subscription{Status: "active", EndsAt: &end, GraceUntil: &grace, CancelAtEnd: true}, end, false},
		"past due, within its grace":            {billing.Subscription{Status: "past_due", EndsAt: &end, GraceUntil: &grace}, grace.Add(-1), true},
		"past due, without a grace":             {billing.Subscription{Status: "past_due", EndsAt: &end}, start, false},
		"ended, regardless of its dates":        {billing.Subscription{Status: "ended", EndsAt: &end, GraceUntil: &grace}, start, false},
		"before the change to summer time":      {billing.Subscription{Status: "active", EndsAt: new(day("2028-03-26T01:00:00Z"))}, day("2028-03-26T02:59:59+02:00"), true},
		"at the change to summer time":          {billing.Subscription{Status: "active", EndsAt: new(day("2028-03-26T01:00:00Z"))}, day("2028-03-26T03:00:00+02:00"), false},
	} {
		test.s.StartsAt = start
		if got := test.s.Live(test.at); got != test.want {
			t.Errorf("%s: live %v, want %v", name, got, test.want)
		}
	}
}

func TestActorIsEntitledByThePlan(t *testing.T) {
	t.Parallel()
	now := day("2028-02-29T23:30:00Z")
	plan := &billing.Plan{Name: "reader", Capabilities: []core.Capability{core.CapSearch}, SpendCap: new(int64(10))}
	over := &billing.Subscription{Status: billing.SubscriptionEnded}
	entitle := func(e billing.Entitlement, own *int64) core.Actor {
		a := core.Actor{UserID: "u", Credential: core.CredentialKey, Scopes: core.RoleMember.Scopes()}
		e.Entitle(&a, own, 7, now)
		return a
	}
	code := func(err error) string {
		if err == nil {
			return ""
		}
		return core.AsError(err).Code
	}
	a := entitle(billing.Entitlement{Plan: plan}, nil)
	want := core.Spend{Capped: true, Cap: 10, Used: 7, ResetsAt: day("2028-03-01T00:00:00Z")}
	if a.Plan != "reader" || a.Spend != want {
		t.Errorf("with a plan: %+v", a)
	}
	for op, want := range map[core.Operation]string{
		core.OpSearch: "", core.OpSendMessage: "capability_disabled", core.OpResearch: "capability_disabled", core.OpCreateAgent: "capability_disabled",
		core.OpAddMemory: "capability_disabled", core.OpListMemories: "", core.OpSaveFavourite: "capability_disabled",
		core.OpListFavourites: "", core.OpListThreads: "", core.OpUseMCP: "capability_disabled", core.OpAccount: "",
	} {
		if got := code(a.Allow(op)); got != want {
			t.Errorf("%s: %q, want %q", op, got, want)
		}
	}
	if got := a.Capabilities(); len(got) != 1 || got[0] != core.CapSearch {
		t.Errorf("capabilities: %v", got)
	}
	a = entitle(billing.Entitlement{Plan: plan}, new(int64(5)))
	if a.Spend.Cap != 5 || code(a.Allow(core.OpSearch)) != "spend_cap_reached" {
		t.Errorf("with a cap of the user: %+v", a.Spend)
	}
	for name, e := range map[string]billing.Entitlement{"no plan": {}, "an ended subscription": {Plan: plan, Subscription: over}} {
		a = entitle(e, nil)
		if a.Plan != core.PlanNone || code(a.Allow(core.OpSearch)) != "no_subscription" ||
			code(a.Allow(core.OpSendMessage)) != "no_subscription" ||
			a.Allow(core.OpListThreads) != nil {
			t.Errorf("with %s: %+v", name, a)
		}
	}
}
