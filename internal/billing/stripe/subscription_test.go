package stripe_test

import (
	"testing"
	"time"

	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/testkit/stripefake"
)

// TestEveryStripeStatusGrantsThePlanUntilItsEnd checks each status of Stripe one millisecond before and at the moment
// when the plan ends. The subscription began on 31 January of a leap year.
func TestEveryStripeStatusGrantsThePlanUntilItsEnd(t *testing.T) {
	t.Parallel()
	from := time.Date(2028, 1, 31, 9, 0, 0, 0, time.UTC)
	leapDay := time.Date(2028, 2, 29, 9, 0, 0, 0, time.UTC)
	nextYear := from.AddDate(1, 0, 0)
	type change = func(*stripefake.Subscription)
	for name, test := range map[string]struct {
		change
		status billing.SubscriptionStatus
		// until is when the account loses the plan.
		until time.Time
		last  bool
	}{
		"active":                          {func(*stripefake.Subscription) {}, "active", leapDay.Add(grace), false},
		"on trial":                        {func(s *stripefake.Subscription) { s.Status = "trialing" }, "trial", leapDay.Add(grace), false},
		"cancel_at_period_end":            {func(s *stripefake.Subscription) { s.CancelAtPeriodEnd = true }, "active", leapDay, true},
		"cancel_at the end of the period": {func(s *stripefake.Subscription) { s.CancelAt = leapDay }, "active", leapDay, true},
		"cancel_at a day earlier":         {func(s *stripefake.Subscription) { s.CancelAt = leapDay.Add(-24 * time.Hour) }, "active", leapDay.Add(-24 * time.Hour), true},
		"cancel_at next year":             {func(s *stripefake.Subscription) { s.CancelAt = nextYear }, "active", leapDay.Add(grace), false},
		"past due with an invoice":        {func(s *stripefake.Subscription) { s.Status, s.Invoiced = "past_due", from.Add(time.Hour) }, "past_due", from.Add(time.Hour).Add(grace), false},
		"past due without an invoice":     {func(s *stripefake.Subscription) { s.Status = "past_due" }, "past_due", from.Add(grace), false},
		"unpaid":                          {func(s *stripefake.Subscription) { s.Status = "unpaid" }, "ended", from, true},
		"paused":                          {func(s *stripefake.Subscription) { s.Status = "paused" }, "ended", from, true},
		"cancelled":                       {func(s *stripefake.Subscription) { s.Status, s.EndedAt = "canceled", from.Add(time.Hour) }, "ended", from, true},
		"a price that is no longer sold":  {func(s *stripefake.Subscription) { s.Price = "price_reader_old" }, "active", leapDay.Add(grace), false},
		"first payment missing":           {func(s *stripefake.Subscription) { s.Status = "incomplete" }, "", from, false},
		"never paid":                      {func(s *stripefake.Subscription) { s.Status = "incomplete_expired" }, "", from, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx := newFixture(t, engines["sqlite"](t), nil)
			fx.clock.Set(from)
			p, s := fx.person(true), month(from)
			test.change(&s)
			fx.stripe.Set(p.customer, s)
			fx.must(fx.deliver("evt_1", "customer.subscription.updated", p, s))
			got := fx.has(p).Subscription
			if test.status == "" {
				if got != nil {
					t.Errorf("subscription %+v", got)
				}
				return
			}
			if got == nil || got.Status != test.status || got.CancelAtEnd != test.last || got.Plan != "reader" ||
				!got.StartsAt.Equal(from) {
				t.Fatalf("subscription %+v", got)
			}
			fx.clock.Set(test.until)
			if plan := fx.planNow(p); plan != core.PlanNone {
				t.Errorf("at %v the plan is %s", test.until, plan)
			}
			if fx.clock.Set(test.until.Add(-time.Millisecond)); test.until.After(from) && fx.planNow(p) != "reader" {
				t.Errorf("right before %v the plan is %s", test.until, fx.planNow(p))
			}
		})
	}
}

// TestRenewalsKeepTheBillingDay follows a subscription over months of different lengths.
func TestRenewalsKeepTheBillingDay(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, fx *fixture) {
		from := time.Date(2027, 12, 31, 23, 59, 59, 0, time.UTC)
		p, s := fx.person(true), month(from)
		for i, want := range []string{"2028-01-31", "2028-02-29", "2028-03-31", "2028-04-30", "2028-05-31"} {
			s.PeriodStart, s.PeriodEnd = core.AddMonths(from, i), core.AddMonths(from, i+1)
			fx.stripe.Set(p.customer, s)
			fx.clock.Set(s.PeriodStart)
			fx.must(fx.deliver("evt_"+want, "invoice.paid", p, s))
			if got := fx.has(p).Subscription; core.Day(*got.EndsAt) != want || fx.planNow(p) != "reader" {
				t.Errorf("month %d ends on %s, want %s", i, core.Day(*got.EndsAt), want)
			}
			// The webhook of the renewal is late; the grace period covers it.
			if fx.clock.Set(s.PeriodEnd.Add(grace - time.Second)); fx.planNow(p) != "reader" {
				t.Errorf("month %d: no plan while the renewal is late", i)
			}
		}
	})
}

func TestPaidSubscriptionTakesPrecedence(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, fx *fixture) {
		now := fx.clock.Now()
		over, due := month(now.AddDate(0, -3, 0)), month(now.AddDate(0, 0, -1))
		paid, other := month(now.AddDate(0, 0, -2)), month(now)
		over.ID, over.Status, over.EndedAt = "sub_over", "canceled", now.AddDate(0, -2, 0)
		due.ID, due.Status, due.Invoiced = "sub_due", "past_due", now
		paid.ID, paid.Price = "sub_paid", "price_writer"
		other.ID, other.Price = "sub_other", "price_of_something_else"
		for i, test := range []struct {
			all  []stripefake.Subscription
			want string
		}{
			{[]stripefake.Subscription{over}, core.PlanNone},
			{[]stripefake.Subscription{over, due}, "reader"},
			{[]stripefake.Subscription{over, due, paid}, "writer"},
			{[]stripefake.Subscription{over, due, paid, other}, "writer"},
			{[]stripefake.Subscription{over}, core.PlanNone},
			{nil, core.PlanNone},
		} {
			p := fx.person(true)
			fx.stripe.Set(p.customer, test.all...)
			fx.must(fx.deliver("evt_"+p.UserID, "customer.subscription.updated", p, over))
			if got := fx.planNow(p); got != test.want {
				t.Errorf("%d: the plan is %s, want %s", i, got, test.want)
			}
		}
	})
}

// TestRunningStripeSubscriptionBlocksAdministrators also checks that a subscription that ended at Stripe does not
// remove a plan assigned later.
func TestRunningStripeSubscriptionBlocksAdministrators(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, fx *fixture) {
		ctx, operator, p, s := t.Context(), core.Operator(""), fx.person(true), month(fx.clock.Now())
		give := func() error {
			_, err := fx.plans.Subscribe(ctx, operator, p.UserID, billing.NewSubscription{Plan: "writer"})
			return err
		}
		fx.must(give())
		fx.stripe.Set(p.customer, s)
		fx.must(fx.deliver("evt_1", "customer.subscription.created", p, s))
		if got := fx.planNow(p); got != "reader" {
			t.Errorf("bought over a given subscription: %s", got)
		}
		_, err := fx.plans.Cancel(ctx, operator, p.UserID, true)
		for name, err := range map[string]error{"subscribe": give(), "cancel": err, "assign": fx.plans.Assign(ctx, operator, p.UserID, core.PlanOpen)} {
			if !core.IsKind(err, core.KindConflict) {
				t.Errorf("%s while a subscription runs at Stripe: %v", name, err)
			}
		}
		s.Status, s.EndedAt = "canceled", fx.clock.Now()
		fx.stripe.Set(p.customer, s)
		fx.must(fx.deliver("evt_2", "customer.subscription.deleted", p, s))
		if got := fx.planNow(p); got != core.PlanNone {
			t.Errorf("after its end: %s", got)
		}
		fx.must(fx.plans.Assign(ctx, operator, p.UserID, core.PlanOpen))
		fx.must(fx.deliver("evt_3", "customer.subscription.updated", p, s))
		if got := fx.planNow(p); got != core.PlanOpen {
			t.Errorf("assigned plan after a late event: %s", got)
		}
		fx.must(give())
		fx.must(fx.deliver("evt_4", "customer.subscription.updated", p, s))
		if got := fx.planNow(p); got != "writer" {
			t.Errorf("given subscription after a late event: %s", got)
		}
	})
}
