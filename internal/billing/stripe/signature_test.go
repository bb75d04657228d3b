package stripe_test

import (
	"strings"
	"testing"
	"time"

	"carrel/internal/billing/stripe"
	"carrel/internal/core"
	"carrel/internal/testkit/stripefake"
)

func TestWebhookSignature(t *testing.T) {
	t.Parallel()
	both := func(o *stripe.Options) { o.WebhookSecrets = []string{secret, newSecret} }
	for name, test := range map[string]struct {
		change func(*stripe.Options)
		header func(payload []byte, now time.Time) string
		good   bool
	}{
		"signed now": {nil, func(p []byte, now time.Time) string { return stripefake.Sign(p, now, secret) }, true},
		"with spaces after the commas": {nil, func(p []byte, now time.Time) string {
			return strings.ReplaceAll(stripefake.Sign(p, now, secret), ",", ", ")
		}, true},
		"five minutes ago": {nil, func(p []byte, now time.Time) string { return stripefake.Sign(p, now.Add(-5*time.Minute), secret) }, true},
		"longer ago": {nil, func(p []byte, now time.Time) string {
			return stripefake.Sign(p, now.Add(-5*time.Minute-time.Second), secret)
		}, false},
		"in the future":                   {nil, func(p []byte, now time.Time) string { return stripefake.Sign(p, now.Add(6*time.Minute), secret) }, false},
		"with another secret":             {nil, func(p []byte, now time.Time) string { return stripefake.Sign(p, now, newSecret) }, false},
		"with one matching secret of two": {nil, func(p []byte, now time.Time) string { return stripefake.Sign(p, now, newSecret, secret) }, true},
		"with the new one of two secrets": {both, func(p []byte, now time.Time) string { return stripefake.Sign(p, now, newSecret) }, true},
		"with the old one of two secrets": {both, func(p []byte, now time.Time) string { return stripefake.Sign(p, now, secret) }, true},
		"for another payload":             {nil, func(p []byte, now time.Time) string { return stripefake.Sign(append(p, ' '), now, secret) }, false},
		"with the test mode scheme only": {nil, func(p []byte, now time.Time) string {
			return strings.Replace(stripefake.Sign(p, now, secret), "v1=", "v0=", 1)
		}, false},
		"with a changed time": {nil, func(p []byte, now time.Time) string {
			return "t=" + stripefake.Sign(p, now.Add(time.Second), secret)[2:12] + stripefake.Sign(p, now, secret)[12:]
		}, false},
		"with two times": {nil, func(p []byte, now time.Time) string { return stripefake.Sign(p, now, secret) + ",t=1" }, false},
		"without a time": {nil, func(p []byte, now time.Time) string { return stripefake.Sign(p, now, secret)[13:] }, false},
		"with nothing":   {nil, func([]byte, time.Time) string { return "" }, false},
		"with nonsense":  {nil, func([]byte, time.Time) string { return "t=,v1=zz,=,v1" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx := newFixture(t, engines["sqlite"](t), test.change)
			payload := stripefake.Event("evt_1", "charge.refunded", "cus_1", month(fx.clock.Now()))
			err := fx.Take(t.Context(), payload, test.header(payload, fx.clock.Now()))
			taken, lookErr := fx.db.EventTaken(t.Context(), "evt_1")
			fx.must(lookErr)
			if taken != test.good || (err == nil) != test.good || err != nil && !core.IsKind(err, core.KindInvalid) {
				t.Errorf("taken %v, %v", taken, err)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the error contains the secret: %v", err)
			}
		})
	}
}

func TestSignedPayloadMustBeAnEvent(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, engines["sqlite"](t), nil)
	for _, payload := range []string{"", "{", "[]", `{"type": "invoice.paid"}`, `{"id": 1}`, `{"id": "evt", "type": "invoice.paid", "data": {"object": {"customer": 5}}}`} {
		err := fx.Take(t.Context(), []byte(payload), stripefake.Sign([]byte(payload), fx.clock.Now(), secret))
		if !core.IsKind(err, core.KindInvalid) {
			t.Errorf("%q: %v", payload, err)
		}
	}
	// The customer may be an expanded object instead of an id.
	p := fx.person(true)
	fx.stripe.Set(p.customer, month(fx.clock.Now()))
	payload := []byte(
		`{"id": "evt", "type": "invoice.paid", "data": {"object": {"customer": {"id": "` + p.customer + `"}}}}`,
	)
	fx.must(fx.Take(t.Context(), payload, stripefake.Sign(payload, fx.clock.Now(), secret)))
	if got := fx.planNow(p); got != "reader" {
		t.Errorf("the plan is %s", got)
	}
}

func FuzzWebhookSignature(f *testing.F) {
	f.Add("t=1,v1=00")
	f.Add("t=1750000000,v1=,v1=zz")
	fx := newFixture(f, engines["sqlite"](f), nil)
	f.Fuzz(func(t *testing.T, header string) {
		if err := fx.Take(t.Context(), []byte(`{"id": "evt"}`), header); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("%q: %v", header, err)
		}
	})
}
