package stripe_test

import (
	"strings"
	"testing"
	"time"

	"carrel/internal/billing/stripe"
	"carrel/internal/core"
	"carrel/internal/testkit/stripefake"
)

func TestOnlyWhatStripeSignedJustNowIsTaken(t *testing.T) {
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
		"in the time to come":             {nil, func(p []byte, now time.Time) string { return stripefake.Sign(p, now.Add(6*time.Minute), secret) }, false},
		"with another secret":             {nil, func(p []byte, now time.Time) string { return stripefake.Sign(p, now, newSecret) }, false},
		"with another secret among ours":  {nil, func(p []byte, now time.Time) string { return stripefake.Sign(p, now, newSecret, secret) }, true},
		"with the new one of two secrets": {both, func(p []byte, now time.Time) string { return stripefake.Sign(p, now, newSecret) }, true},
		"with the old one of two secrets": {both, func(p []byte, now time.Time) string { return stripefake.Sign(p, now, secret) }, true},
		"for another message":             {nil, func(p []byte, now time.Time) string { return stripefake.Sign(append(p, ' '), now, secret) }, false},
		"with the scheme of the test mode alone": {nil, func(p []byte, now time.Time) string {
			return strings.Replace(stripefake.Sign(p, now, secret), "v1=", "v0=", 1)
		}, false},
		"for another time than it says": {nil, func(p []byte, now time.Time) string {
			return "t=" + stripefake.Sign(p, now.Add(time.Second), secret)[2:12] + stripefake.Sign(p, now, secret)[12:]
		}, false},
		"with two times": {nil, func(p []byte, now time.Time) string { return stripefake.Sign(p, now, secret) + ",t=1" }, false},
		"without a time": {nil, func(p []byte, now time.Time) string { return stripefake.Sign(p, now, secret)[13:] }, false},
		"with nothing":   {nil, func([]byte, time.Time) string { return "" }, false},
		"with nonsense":  {nil, func([]byte, time.Time) string { return "t=,v1=zz,=,v1" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, engines["sqlite"](t), test.change)
			payload := stripefake.Event("evt_1", "charge.refunded", "cus_1", month(w.clock.Now()))
			err := w.Take(t.Context(), payload, test.header(payload, w.clock.Now()))
			taken, lookErr := w.db.EventTaken(t.Context(), "evt_1")
			w.must(lookErr)
			if taken != test.good || (err == nil) != test.good || err != nil && !core.IsKind(err, core.KindInvalid) {
				t.Errorf("taken %v, %v", taken, err)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the refusal tells the secret: %v", err)
			}
		})
	}
}

func TestASignedMessageThatIsNoEventIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, engines["sqlite"](t), nil)
	for _, payload := range []string{"", "{", "[]", `{"type": "invoice.paid"}`, `{"id": 1}`, `{"id": "evt", "type": "invoice.paid", "data": {"object": {"customer": 5}}}`} {
		err := w.Take(t.Context(), []byte(payload), stripefake.Sign([]byte(payload), w.clock.Now(), secret))
		if !core.IsKind(err, core.KindInvalid) {
			t.Errorf("%q: %v", payload, err)
		}
	}
	// An object that is there as a whole is as good as its id.
	p := w.person(true)
	w.stripe.Set(p.customer, month(w.clock.Now()))
	payload := []byte(`{"id": "evt", "type": "invoice.paid", "data": {"object": {"customer": {"id": "` + p.customer + `"}}}}`)
	w.must(w.Take(t.Context(), payload, stripefake.Sign(payload, w.clock.Now(), secret)))
	if got := w.planNow(p); got != "reader" {
		t.Errorf("the plan is %s", got)
	}
}

func FuzzNoSignatureIsBelievedThatWasNotMade(f *testing.F) {
	f.Add("t=1,v1=00")
	f.Add("t=1750000000,v1=,v1=zz")
	w := newWorld(f, engines["sqlite"](f), nil)
	f.Fuzz(func(t *testing.T, header string) {
		if err := w.Take(t.Context(), []byte(`{"id": "evt"}`), header); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("%q: %v", header, err)
		}
	})
}
