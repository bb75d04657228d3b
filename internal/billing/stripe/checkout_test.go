package stripe_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/billing/stripe"
	"carrel/internal/core"
	"carrel/internal/testkit/stripefake"
)

func (fx *fixture) offer(p person) stripe.Offer {
	fx.t.Helper()
	o, err := fx.Offer(fx.t.Context(), p.Actor)
	fx.must(err)
	return o
}

func TestCheckoutAndPortal(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, fx *fixture) {
		ctx, p := t.Context(), fx.person(false)
		if o := fx.offer(p); !o.Checkout || o.Portal || len(o.Plans) != 2 || o.Plans[0].Name != "writer" {
			t.Errorf("initial offer %+v", o)
		}
		if _, err := fx.Portal(ctx, p.Actor); !core.IsKind(err, core.KindConflict) {
			t.Errorf("portal without a customer: %v", err)
		}
		for _, plan := range []string{"", "open", "nothing"} {
			if _, err := fx.Checkout(ctx, p.Actor, plan); !core.IsKind(err, core.KindInvalid) {
				t.Errorf("plan %q, which is not for sale: %v", plan, err)
			}
		}
		page, err := fx.Checkout(ctx, p.Actor, "reader")
		fx.must(err)
		form := fx.stripe.Sessions()[0]
		for name, want := range map[string]string{
			"mode": "subscription", "customer": p.customer, "client_reference_id": p.UserID,
			"line_items[0][price]":                 "price_reader",
			"success_url":                          "https://carrel.test/settings/subscription?checkout=done",
			"cancel_url":                           "https://carrel.test/settings/subscription?checkout=cancelled",
			"subscription_data[trial_period_days]": "",
		} {
			if got := form.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if again, err := fx.Checkout(ctx, p.Actor, "reader"); err != nil || again != page ||
			!strings.HasPrefix(page, "https://checkout.stripe.test/") {
			t.Errorf("second page %s differs from the first %s; %v", again, page, err)
		}
		s := month(fx.clock.Now())
		fx.stripe.Set(p.customer, s)
		// The webhook of the purchase has not arrived yet; a second purchase must fail regardless.
		if _, err := fx.Checkout(ctx, p.Actor, "writer"); !core.IsKind(err, core.KindConflict) {
			t.Errorf("second purchase: %v", err)
		}
		if o := fx.offer(p); o.Checkout || !o.Portal || fx.planNow(p) != "reader" {
			t.Errorf("offer with a subscription: %+v, plan %s", o, fx.planNow(p))
		}
		if page, err := fx.Portal(ctx, p.Actor); err != nil || page != "https://billing.stripe.test/p/"+p.customer {
			t.Errorf("portal %s, %v", page, err)
		}
		if len(fx.stripe.Sessions()) != 1 || fx.stripe.Customers() != 1 {
			t.Errorf("%d pages, %d customers", len(fx.stripe.Sessions()), fx.stripe.Customers())
		}
	})
}

func TestConcurrentCheckoutsCreateOneCustomer(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, fx *fixture) {
		p := fx.person(false)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, err := fx.Checkout(t.Context(), p.Actor, "reader"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(fx.stripe.Sessions()) != 1 || fx.stripe.Customers() != 1 {
			t.Errorf("%d pages, %d customers", len(fx.stripe.Sessions()), fx.stripe.Customers())
		}
	})
}

func TestTrialIsForTheFirstSubscriptionOnly(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, engines["sqlite"](t), func(o *stripe.Options) { o.TrialDays = 14 })
	for name, test := range map[string]struct {
		before []stripefake.Subscription
		want   string
	}{
		"first time": {nil, "14"},
		"after an incomplete one": {
			[]stripefake.Subscription{{ID: "sub_1", Status: "incomplete_expired", Price: "price_reader"}}, "14",
		},
		"after an ended one": {
			[]stripefake.Subscription{{ID: "sub_1", Status: "canceled", Price: "price_reader", EndedAt: fx.clock.Now()}}, "",
		},
	} {
		p := fx.person(true)
		fx.stripe.Set(p.customer, test.before...)
		_, err := fx.Checkout(t.Context(), p.Actor, "reader")
		fx.must(err)
		if all := fx.stripe.Sessions(); all[len(all)-1].Get("subscription_data[trial_period_days]") != test.want {
			t.Errorf("%s: %v", name, all[len(all)-1])
		}
	}
	// An unpaid subscription resumes when it is paid, so a second one must not be sold.
	p := fx.person(true)
	fx.stripe.Set(
		p.customer,
		stripefake.Subscription{ID: "sub_1", Status: "unpaid", Price: "price_reader", Created: fx.clock.Now()},
	)
	if _, err := fx.Checkout(t.Context(), p.Actor, "reader"); !core.IsKind(err, core.KindConflict) {
		t.Errorf("with an unpaid subscription: %v", err)
	}
}

func TestCheckoutPageIsReusedWithinTheHour(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, engines["sqlite"](t), nil)
	p := fx.person(false)
	for range 3 {
		_, err := fx.Checkout(t.Context(), p.Actor, "reader")
		fx.must(err)
		fx.clock.Advance(30 * time.Minute)
	}
	if got := len(fx.stripe.Sessions()); got != 2 {
		t.Errorf("%d pages in 90 minutes", got)
	}
}

func TestStripeOutageIsRetryable(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, engines["sqlite"](t), nil)
	fx.stripe.Down(true)
	_, err := fx.Checkout(t.Context(), fx.person(false).Actor, "reader")
	_, portalErr := fx.Portal(t.Context(), fx.person(true).Actor)
	for _, err := range []error{err, portalErr} {
		if !core.IsKind(err, core.KindUnavailable) || core.AsError(err).RetryAfter == 0 {
			t.Errorf("%v", err)
		}
	}
}

func TestRequestsThatAreNotAnsweredEnd(t *testing.T) {
	t.Parallel()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // Before its end the server does not notice a closed connection.
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	fx := newFixture(t, engines["sqlite"](t), func(o *stripe.Options) {
		o.URL, o.Timeout = silent.URL, 50*time.Millisecond
	})
	_, err := fx.Portal(t.Context(), fx.person(true).Actor)
	if !core.IsKind(err, core.KindUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestRejectedAPIKeyIsReportedWithoutTheKey(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, engines["sqlite"](t), func(o *stripe.Options) { o.Key = "sk_test_another" })
	_, err := fx.Portal(t.Context(), fx.person(true).Actor)
	if err == nil || core.AsError(err).Kind != core.KindInternal || !strings.Contains(err.Error(), "stripe-secret-key") {
		t.Errorf("%v", err)
	}
	if strings.Contains(err.Error(), "sk_test") {
		t.Errorf("the error contains a key: %v", err)
	}
}

func TestMintedKeysCannotBuy(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, engines["sqlite"](t), nil)
	minted := fx.person(true).Actor
	minted.Credential = core.CredentialMinted
	_, offerErr := fx.Offer(t.Context(), minted)
	_, checkoutErr := fx.Checkout(t.Context(), minted, "reader")
	_, portalErr := fx.Portal(t.Context(), minted)
	for name, err := range map[string]error{"offer": offerErr, "checkout": checkoutErr, "portal": portalErr} {
		if !core.IsKind(err, core.KindForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
