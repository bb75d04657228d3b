package store_test

import (
	"carrel/internal/account"
	"carrel/internal/billing"
	"carrel/internal/billing/stripe"
	"carrel/internal/core"
)

// bought returns a person's subscription at Stripe.
func (w *fixture) bought(p person, plan billing.Plan, status billing.SubscriptionStatus) *billing.Subscription {
	return &billing.Subscription{
		UserID: p.id, Plan: plan.Name, Status: status, StartsAt: w.now, Source: billing.SubscriptionByStripe, ExternalID: "sub_" + p.id, EventAt: w.now, UpdatedAt: w.now,
	}
}

// customer returns a person's customer record, and creates it if necessary.
func (w *fixture) customer(p person) stripe.Customer {
	w.t.Helper()
	w.must(w.db.AddCustomer(w.ctx, p.id, "cus_"+p.id))
	c, err := w.db.Customer(w.ctx, p.id)
	w.must(err)
	return c
}

// keep stores a reading and reports whether it was kept.
func (w *fixture) keep(c stripe.Customer, s *billing.Subscription) bool {
	w.t.Helper()
	kept, err := w.db.KeepSubscription(w.ctx, c, s, "", w.now)
	w.must(err)
	return kept
}

var billingTests = []test{
	{"FirstCustomerOfAUserIsKept", func(w *fixture) {
		_, err := w.db.Customer(w.ctx, w.ada.id)
		w.wantMissing(err, "customer")
		c := w.customer(w.ada)
		w.must(w.db.AddCustomer(w.ctx, w.ada.id, "cus_another"))
		w.same("the customer", w.customer(w.ada), c)
		found, err := w.db.CustomerByID(w.ctx, c.ID)
		w.must(err)
		w.same("by its id", found, c)
		_, err = w.db.CustomerByID(w.ctx, "cus_another")
		w.wantMissing(err, "customer")
		w.wantMissing(w.db.AddCustomer(w.ctx, "usr_none", "cus_none"), "user")
	}},
	{"OutdatedReadingIsNotStored", func(w *fixture) {
		p, c := w.plan(nil), w.customer(w.ada)
		active, due := w.bought(w.ada, p, billing.SubscriptionActive), w.bought(w.ada, p, billing.SubscriptionPastDue)
		w.same("the first", w.keep(c, active), true)
		w.same("another of the same time", w.keep(c, due), false)
		w.same("has", w.has(w.ada).Subscription, active)
		w.same("a later one", w.keep(w.customer(w.ada), due), true)
		w.same("has then", w.has(w.ada).Subscription, due)
	}},
	{"ReadingAndEventAreStoredTogether", func(w *fixture) {
		c, id := w.customer(w.ada), "evt_"+w.ada.id
		none := w.bought(w.ada, billing.Plan{Name: "no such plan"}, billing.SubscriptionActive)
		if _, err := w.db.KeepSubscription(w.ctx, c, none, id, w.now); err == nil {
			w.t.Error("a subscription to a missing plan was stored")
		}
		taken, err := w.db.EventTaken(w.ctx, id)
		w.must(err)
		w.same("taken without its reading", taken, false)
		_, err = w.db.KeepSubscription(w.ctx, c, nil, id, w.now)
		w.must(err)
		taken, err = w.db.EventTaken(w.ctx, id)
		w.must(err)
		w.same("taken", taken, true)
		w.must(w.db.TakeEvent(w.ctx, id, w.now))
	}},
	{"StripeSubscriptionIsChangedOnlyByStripe", func(w *fixture) {
		p := w.plan(nil)
		gift := billing.Subscription{UserID: w.ada.id, Plan: core.PlanOpen, Status: billing.SubscriptionActive, Source: billing.SubscriptionByAdmin, StartsAt: w.now, EventAt: w.now, UpdatedAt: w.now}
		w.must(w.db.PutSubscription(w.ctx, gift))
		w.keep(w.customer(w.ada), w.bought(w.ada, p, billing.SubscriptionPastDue))
		w.same("a purchase replaces an assigned plan", w.has(w.ada).Plan.Name, p.Name)
		w.wantKind(w.db.PutSubscription(w.ctx, gift), core.KindConflict, "")
		w.wantKind(w.db.SetPlan(w.ctx, w.ada.id, core.PlanNone), core.KindConflict, "")
		u, err := w.db.UserByID(w.ctx, w.ada.id)
		w.must(err)
		w.same("the plan for good", u.Plan, core.PlanOpen)
		w.wantKind(w.db.DeletePlan(w.ctx, p.Name), core.KindConflict, "")
	}},
	{"EndedStripeSubscriptionRestoresTheDefaultPlan", func(w *fixture) {
		p := w.plan(nil)
		over := w.bought(w.ada, p, billing.SubscriptionEnded)
		w.keep(w.customer(w.ada), over)
		has := w.has(w.ada)
		w.same("plan", has.Plan.Name, core.PlanOpen)
		w.same("plan now", has.Now(w.now).Name, core.PlanOpen)
		w.same("subscription", has.Subscription, over)
		gift := billing.Subscription{UserID: w.ada.id, Plan: p.Name, Status: billing.SubscriptionActive, Source: billing.SubscriptionByAdmin, StartsAt: w.now, EventAt: w.now, UpdatedAt: w.now}
		w.must(w.db.PutSubscription(w.ctx, gift))
		w.keep(w.customer(w.ada), over)
		w.same("a gift since then", w.has(w.ada).Subscription, &gift)
		w.keep(w.customer(w.ada), nil)
		w.same("a gift, with nothing at Stripe", w.has(w.ada).Subscription, &gift)
	}},
	{"EndedStripeSubscriptionRestoresTheDefaultCap", func(w *fixture) {
		p := w.plan(func(p *billing.Plan) { p.SpendCap = new(int64(1)) })
		w.keep(w.customer(w.ada), w.bought(w.ada, p, billing.SubscriptionActive))
		w.wantKind(w.reserve(w.with(""), 2), core.KindPaymentRequired, "")
		w.keep(w.customer(w.ada), w.bought(w.ada, p, billing.SubscriptionEnded))
		w.must(w.reserve(w.with(""), 2))
	}},
	{"AccountWithARenewingSubscriptionIsNotClosed", func(w *fixture) {
		p, t := w.plan(nil), w.newTask(w.ada.id, "")
		t.UserID = "" // deletion tasks have no user
		closing := func() error {
			_, err := w.db.CloseUser(w.ctx, w.ada.id, w.now, t, func(account.User, bool) error { return nil })
			return err
		}
		s := w.bought(w.ada, p, billing.SubscriptionPastDue)
		w.keep(w.customer(w.ada), s)
		w.wantKind(closing(), core.KindConflict, "")
		s.CancelAtEnd = true
		w.keep(w.customer(w.ada), s)
		w.must(closing())
	}},
	{"DeclaringPlansReplacesTheDeclaredSet", func(w *fixture) {
		was, first := w.plan(nil), billing.Plan{Name: "first", Declared: true, CreatedAt: w.now, UpdatedAt: w.now}
		second := billing.Plan{Name: was.Name, Declared: true, Price: 7, CreatedAt: w.after(5), UpdatedAt: w.after(5)}
		w.must(w.db.DeclarePlans(w.ctx, []billing.Plan{first, second}))
		second.CreatedAt = was.CreatedAt
		got, err := w.db.Plan(w.ctx, was.Name)
		w.must(err)
		w.same("taken over", got, second)
		w.must(w.db.DeclarePlans(w.ctx, []billing.Plan{second}))
		got, err = w.db.Plan(w.ctx, "first")
		w.must(err)
		first.Declared = false
		w.same("no longer declared", got, first)
	}},
}
