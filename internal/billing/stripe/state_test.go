package stripe_test

import (
	"testing"
	"time"

	"carrel/internal/billing"
	"carrel/internal/core"
	"carrel/internal/testkit/stripefake"
)

// TestWhatStripeSaysIsServedAsLongAsItIsPaid looks at every state that Stripe has, right before and right at the moments
// that matter. The subscription began on 31 January of a leap year.
func TestWhatStripeSaysIsServedAsLongAsItIsPaid(t *testing.T) {
	t.Parallel()
	from := time.Date(2028, 1, 31, 9, 0, 0, 0, time.UTC)
	leapDay := time.Date(2028, 2, 29, 9, 0, 0, 0, time.UTC)
	always := from.AddDate(1, 0, 0)
	type change = func(*stripefake.Subscription)
	for name, test := range map[string]struct {
		change
		status billing.SubscriptionStatus
		// until is when it is served no more.
		until time.Time
		last  bool
	}{
		"active":                               {func(*stripefake.Subscription) {}, "active", leapDay.Add(grace), false},
		"on trial":                             {func(s *stripefake.Subscription) { s.Status = "trialing" }, "trial", leapDay.Add(grace), false},
		"cancelled at its end":                 {func(s *stripefake.Subscription) { s.CancelAtPeriodEnd = true }, "active", leapDay, true},
		"cancelled for the end by its time":    {func(s *stripefake.Subscription) { s.CancelAt = leapDay }, "active", leapDay, true},
		"cancelled for a day before":           {func(s *stripefake.Subscription) { s.CancelAt = leapDay.Add(-24 * time.Hour) }, "active", leapDay.Add(-24 * time.Hour), true},
		"cancelled for next year":              {func(s *stripefake.Subscription) { s.CancelAt = always }, "active", leapDay.Add(grace), false},
		"past due since its invoice":           {func(s *stripefake.Subscription) { s.Status, s.Invoiced = "past_due", from.Add(time.Hour) }, "past_due", from.Add(time.Hour).Add(grace), false},
		"past due without an invoice":          {func(s *stripefake.Subscription) { s.Status = "past_due" }, "past_due", from.Add(grace), false},
		"unpaid":                               {func(s *stripefake.Subscription) { s.Status = "unpaid" }, "ended", from, true},
		"paused":                               {func(s *stripefake.Subscription) { s.Status = "paused" }, "ended", from, true},
		"cancelled":                            {func(s *stripefake.Subscription) { s.Status, s.EndedAt = "canceled", from.Add(time.Hour) }, "ended", from, true},
		"paid by a price that is sold no more": {func(s *stripefake.Subscription) { s.Price = "price_reader_old" }, "active", leapDay.Add(grace), false},
		"not yet paid for the first time":      {func(s *stripefake.Subscription) { s.Status = "incomplete" }, "", from, false},
		"never paid":                           {func(s *stripefake.Subscription) { s.Status = "incomplete_expired" }, "", from, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, engines["sqlite"](t), nil)
			w.clock.Set(from)
			p, s := w.person(true), month(from)
			test.change(&s)
			w.stripe.Set(p.customer, s)
			w.must(w.deliver("evt_1", "customer.subscription.updated", p, s))
			got := w.has(p).Subscription
			if test.status == "" {
				if got != nil {
					t.Errorf("it is %+v", got)
				}
				return
			}
			if got == nil || got.Status != test.status || got.CancelAtEnd != test.last || got.Plan != "reader" || !got.StartsAt.Equal(from) {
				t.Fatalf("it is %+v", got)
			}
			w.clock.Set(test.until)
			if plan := w.planNow(p); plan != core.PlanNone {
				t.Errorf("at %v the plan is %s", test.until, plan)
			}
			if w.clock.Set(test.until.Add(-time.Millisecond)); test.until.After(from) && w.planNow(p) != "reader" {
				t.Errorf("right before %v the plan is %s", test.until, w.planNow(p))
			}
		})
	}
}

// TestMonthsGoOnFromTheDayThatTheyBeganOn follows a subscription over the ends of months, as Stripe reckons them.
func TestMonthsGoOnFromTheDayThatTheyBeganOn(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, w *world) {
		from := time.Date(2027, 12, 31, 23, 59, 59, 0, time.UTC)
		p, s := w.person(true), month(from)
		for i, want := range []string{"2028-01-31", "2028-02-29", "2028-03-31", "2028-04-30", "2028-05-31"} {
			s.PeriodStart, s.PeriodEnd = core.AddMonths(from, i), core.AddMonths(from, i+1)
			w.stripe.Set(p.customer, s)
			w.clock.Set(s.PeriodStart)
			w.must(w.deliver("evt_"+want, "invoice.paid", p, s))
			if got := w.has(p).Subscription; core.Day(*got.EndsAt) != want || w.planNow(p) != "reader" {
				t.Errorf("month %d ends on %s, want %s", i, core.Day(*got.EndsAt), want)
			}
			// The word of the renewal is late by some days, and nobody notices.
			if w.clock.Set(s.PeriodEnd.Add(grace - time.Second)); w.planNow(p) != "reader" {
				t.Errorf("month %d: not served while the renewal is due", i)
			}
		}
	})
}

func TestOfManySubscriptionsTheOneThatIsPaidCounts(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, w *world) {
		now := w.clock.Now()
		over, due, paid, other := month(now.AddDate(0, -3, 0)), month(now.AddDate(0, 0, -1)), month(now.AddDate(0, 0, -2)), month(now)
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
			p := w.person(true)
			w.stripe.Set(p.customer, test.all...)
			w.must(w.deliver("evt_"+p.UserID, "customer.subscription.updated", p, over))
			if got := w.planNow(p); got != test.want {
				t.Errorf("%d: the plan is %s, want %s", i, got, test.want)
			}
		}
	})
}

// TestStripeAndAdminsDoNotUndoEachOther: what runs at Stripe wins; what has ended there takes nothing away.
func TestStripeAndAdminsDoNotUndoEachOther(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, w *world) {
		ctx, operator, p, s := t.Context(), core.Operator(""), w.person(true), month(w.clock.Now())
		give := func() error {
			_, err := w.plans.Subscribe(ctx, operator, p.UserID, billing.NewSubscription{Plan: "writer"})
			return err
		}
		w.must(give())
		w.stripe.Set(p.customer, s)
		w.must(w.deliver("evt_1", "customer.subscription.created", p, s))
		if got := w.planNow(p); got != "reader" {
			t.Errorf("bought in place of a gift: %s", got)
		}
		_, err := w.plans.Cancel(ctx, operator, p.UserID, true)
		for name, err := range map[string]error{"a gift": give(), "the end": err, "a plan": w.plans.Assign(ctx, operator, p.UserID, core.PlanOpen)} {
			if !core.IsKind(err, core.KindConflict) {
				t.Errorf("%s from an admin, while it runs at Stripe: %v", name, err)
			}
		}
		s.Status, s.EndedAt = "canceled", w.clock.Now()
		w.stripe.Set(p.customer, s)
		w.must(w.deliver("evt_2", "customer.subscription.deleted", p, s))
		if got := w.planNow(p); got != core.PlanNone {
			t.Errorf("after its end: %s", got)
		}
		w.must(w.plans.Assign(ctx, operator, p.UserID, core.PlanOpen))
		w.must(w.deliver("evt_3", "customer.subscription.updated", p, s))
		if got := w.planNow(p); got != core.PlanOpen {
			t.Errorf("a plan for good, after a late message: %s", got)
		}
		w.must(give())
		w.must(w.deliver("evt_4", "customer.subscription.updated", p, s))
		if got := w.planNow(p); got != "writer" {
			t.Errorf("a gift, after a late message: %s", got)
		}
	})
}
