package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"carrel/internal/testkit"
	"carrel/internal/testkit/stripefake"
)

const (
	checkoutPath = accountPath + "/subscription/checkout"
	portalPath   = accountPath + "/subscription/portal"
	stripePath   = "/api/billing/stripe"
	stripeSecret = "whsec_theSecretOfTheEndpoint0123"
)

// sold are the operations that do not exist on a server without payment.
var sold = map[string]bool{"startCheckout": true, "openPortal": true, "takeStripeEvent": true}

// sells configures a server to sell plans through a fake Stripe account, and declares one plan.
func sells(t *testing.T, opts *testkit.ServerOptions) *stripefake.Server {
	t.Helper()
	stripe := stripefake.New(t)
	file := filepath.Join(t.TempDir(), "carrel.conf")
	if err := os.WriteFile(file, []byte("[plan.declared]\ncapabilities = all\nspend-cap = 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	opts.Env = append(opts.Env, "CARREL_CONFIG="+file, "CARREL_STRIPE_SECRET_KEY="+stripefake.Key,
		"CARREL_STRIPE_WEBHOOK_SECRET="+stripeSecret, "CARREL_STRIPE_URL="+stripe.URL())
	return stripe
}

// stripeCall returns an event as Stripe sends it, with a new id.
func (w *installation) stripeCall(s stripefake.Subscription) call {
	now := time.Now()
	payload := stripefake.Event("evt_"+now.Format(time.RFC3339Nano), "customer.subscription.updated", "cus_"+w.owner, s)
	return call{operation: "takeStripeEvent", method: "POST", path: stripePath, body: string(payload)}.
		with("Stripe-Signature", stripefake.Sign(payload, now, stripeSecret))
}

// billing buys a plan for Ada and lets it expire.
func (w *installation) billing(t *testing.T) {
	path := adminPath + "/users/" + w.owner + "/subscription"
	w.problem(t, call{method: "POST", path: portalPath, key: w.fullKey}, 409, "conflict")
	w.problem(t, call{method: "POST", path: checkoutPath, body: `{"plan": "open"}`, key: w.fullKey}, 400,
		"invalid_request")
	if got := w.full(t, "POST", checkoutPath, `{"plan": "reader"}`).text("url"); got == "" {
		t.Error("no page to pay on")
	}
	w.full(t, "POST", portalPath, "")
	now := time.Now()
	s := stripefake.Subscription{
		ID:          "sub_1",
		Status:      "active",
		Price:       "price_1",
		Created:     now,
		PeriodStart: now,
		PeriodEnd:   now.AddDate(0, 1, 0),
	}
	for _, s.Status = range []string{"active", "past_due"} {
		s.Invoiced = now
		w.stripe.Set("cus_"+w.owner, s)
		w.send(t, w.stripeCall(s), http.StatusOK)
		if got := w.full(t, "GET", accountPath+"/subscription", ""); got.text("subscription", "source") != "stripe" ||
			got.text("plan", "name") != "reader" {
			t.Errorf("the account has %v", got.body)
		}
	}
	w.problem(t, call{method: "POST", path: checkoutPath, body: `{"plan": "reader"}`, key: w.fullKey}, 409, "conflict")
	w.problem(t, call{method: "PUT", path: path, body: `{"plan": "reader"}`, key: w.adminKey}, 409, "conflict")
	w.problem(t, call{method: "DELETE", path: path, key: w.adminKey}, 409, "conflict")
	w.problem(t, call{method: "PUT", path: adminPath + "/plans/declared", body: `{"capabilities": []}`, key: w.adminKey},
		409, "conflict")
	unsigned := w.stripeCall(s)
	unsigned.header = nil
	w.problem(t, unsigned, 400, "invalid_request")
	s.Status, s.EndedAt = "canceled", now
	w.stripe.Set("cus_"+w.owner, s)
	w.send(t, w.stripeCall(s), http.StatusOK)
	w.withoutPayment(t)
}

// withoutPayment calls the payment operations of a server without payment.
func (w *installation) withoutPayment(t *testing.T) {
	bare := &installation{server: testkit.StartServer(t, testkit.ServerOptions{Env: []string{"CARREL_RATE_LIMITS=off"}})}
	bare.admin(t, "user", "create", "--email", "ada@example.org", "--name", "Ada", "--password", "correct horse battery")
	key := bare.admin(t, "key", "create", "--user", "ada@example.org", "--name", "account", "--scope", "account").
		text("key")
	for _, c := range w.having(http.StatusOK) {
		if sold[c.operation] {
			c.base, c.key = bare.server.URL, key
			w.problem(t, c, 404, "not_found")
		}
	}
	shown := w.send(t, call{method: "GET", path: accountPath + "/subscription", key: key, base: bare.server.URL},
		http.StatusOK)
	if shown.at("billing") != nil {
		t.Errorf("where nothing is sold: %v", shown.body)
	}
}
