package stripe_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/billing/stripe"
	"carrel/internal/core"
	"carrel/internal/testkit/stripefake"
)

func (w *world) offer(p person) stripe.Offer {
	w.t.Helper()
	o, err := w.Offer(w.t.Context(), p.Actor)
	w.must(err)
	return o
}

func TestWhoeverBuysIsSentToStripeAndBack(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, w *world) {
		ctx, p := t.Context(), w.person(false)
		if o := w.offer(p); !o.Checkout || o.Portal || len(o.Plans) != 2 || o.Plans[0].Name != "writer" {
			t.Errorf("at first: %+v", o)
		}
		if _, err := w.Portal(ctx, p.Actor); !core.IsKind(err, core.KindConflict) {
			t.Errorf("the portal of somebody whom Stripe does not know: %v", err)
		}
		for _, plan := range []string{"", "open", "nothing"} {
			if _, err := w.Checkout(ctx, p.Actor, plan); !core.IsKind(err, core.KindInvalid) {
				t.Errorf("%q, which is not sold: %v", plan, err)
			}
		}
		page, err := w.Checkout(ctx, p.Actor, "reader")
		w.must(err)
		form := w.stripe.Sessions()[0]
		for name, want := range map[string]string{
			"mode": "subscription", "customer": p.customer, "client_reference_id": p.UserID, "line_items[0][price]": "price_reader",
			"success_url": "https://carrel.test/settings/subscription?checkout=done", "cancel_url": "https://carrel.test/settings/subscription?checkout=cancelled",
			"subscription_data[trial_period_days]": "",
		} {
			if got := form.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if again, err := w.Checkout(ctx, p.Actor, "reader"); err != nil || again != page || !strings.HasPrefix(page, "https://checkout.stripe.test/") {
			t.Errorf("again it is %s, and first it was %s; %v", again, page, err)
		}
		s := month(w.clock.Now())
		w.stripe.Set(p.customer, s)
		// The word of it is still on its way, and nobody buys twice.
		if _, err := w.Checkout(ctx, p.Actor, "writer"); !core.IsKind(err, core.KindConflict) {
			t.Errorf("a second one: %v", err)
		}
		if o := w.offer(p); o.Checkout || !o.Portal || w.planNow(p) != "reader" {
			t.Errorf("with a subscription: %+v, the plan is %s", o, w.planNow(p))
		}
		if page, err := w.Portal(ctx, p.Actor); err != nil || page != "https://billing.stripe.test/p/"+p.customer {
			t.Errorf("the portal is %s, %v", page, err)
		}
		if len(w.stripe.Sessions()) != 1 || w.stripe.Customers() != 1 {
			t.Errorf("%d pages, %d customers", len(w.stripe.Sessions()), w.stripe.Customers())
		}
	})
}

func TestManyClicksMakeOneCustomer(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, w *world) {
		p := w.person(false)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, err := w.Checkout(t.Context(), p.Actor, "reader"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(w.stripe.Sessions()) != 1 || w.stripe.Customers() != 1 {
			t.Errorf("%d pages, %d customers", len(w.stripe.Sessions()), w.stripe.Customers())
		}
	})
}

func TestATrialIsForTheFirstTimeAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, engines["sqlite"](t), func(o *stripe.Options) { o.TrialDays = 14 })
	for name, test := range map[string]struct {
		before []stripefake.Subscription
		want   string
	}{
		"the first time":           {nil, "14"},
		"after an attempt":         {[]stripefake.Subscription{{ID: "sub_1", Status: "incomplete_expired", Price: "price_reader"}}, "14"},
		"after one that has ended": {[]stripefake.Subscription{{ID: "sub_1", Status: "canceled", Price: "price_reader", EndedAt: w.clock.Now()}}, ""},
	} {
		p := w.person(true)
		w.stripe.Set(p.customer, test.before...)
		_, err := w.Checkout(t.Context(), p.Actor, "reader")
		w.must(err)
		if all := w.stripe.Sessions(); all[len(all)-1].Get("subscription_data[trial_period_days]") != test.want {
			t.Errorf("%s: %v", name, all[len(all)-1])
		}
	}
	// One that is unpaid goes on when it is paid, and so leaves no room for another.
	p := w.person(true)
	w.stripe.Set(p.customer, stripefake.Subscription{ID: "sub_1", Status: "unpaid", Price: "price_reader", Created: w.clock.Now()})
	if _, err := w.Checkout(t.Context(), p.Actor, "reader"); !core.IsKind(err, core.KindConflict) {
		t.Errorf("beside an unpaid one: %v", err)
	}
}

func TestAPageIsGoodForItsHour(t *testing.T) {
	t.Parallel()
	w := newWorld(t, engines["sqlite"](t), nil)
	p := w.person(false)
	for range 3 {
		_, err := w.Checkout(t.Context(), p.Actor, "reader")
		w.must(err)
		w.clock.Advance(30 * time.Minute)
	}
	if got := len(w.stripe.Sessions()); got != 2 {
		t.Errorf("%d pages in an hour and a half", got)
	}
}

func TestWithoutStripeThePayerIsToldToComeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, engines["sqlite"](t), nil)
	w.stripe.Down(true)
	_, err := w.Checkout(t.Context(), w.person(false).Actor, "reader")
	_, portalErr := w.Portal(t.Context(), w.person(true).Actor)
	for _, err := range []error{err, portalErr} {
		if !core.IsKind(err, core.KindUnavailable) || core.AsError(err).RetryAfter == 0 {
			t.Errorf("%v", err)
		}
	}
}

func TestAKeyThatStripeRefusesIsNamedAndNotTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, engines["sqlite"](t), func(o *stripe.Options) { o.Key = "sk_test_another" })
	_, err := w.Portal(t.Context(), w.person(true).Actor)
	if err == nil || core.AsError(err).Kind != core.KindInternal || !strings.Contains(err.Error(), "stripe-secret-key") {
		t.Errorf("%v", err)
	}
	if strings.Contains(err.Error(), "sk_test") {
		t.Errorf("the error tells a key: %v", err)
	}
}

func TestAProgramDoesNotBuy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, engines["sqlite"](t), nil)
	minted := w.person(true).Actor
	minted.Credential = core.CredentialMinted
	_, offerErr := w.Offer(t.Context(), minted)
	_, checkoutErr := w.Checkout(t.Context(), minted, "reader")
	_, portalErr := w.Portal(t.Context(), minted)
	for name, err := range map[string]error{"offer": offerErr, "checkout": checkoutErr, "portal": portalErr} {
		if !core.IsKind(err, core.KindForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
