package config_test

import (
	"reflect"
	"strings"
	"testing"

	"carrel/internal/config"
)

func TestPlansAreReadFromTheSettingsFile(t *testing.T) {
	t.Parallel()
	opts := env(t)
	opts.File = write(t, "c.conf", `
default-plan = free
[plan.free] # for everybody
capabilities = search, favourites
[ plan.reader ]
capabilities = "all"
models = gpt-4o-mini
spend_cap = 5.5
turn-cap = none
rate-limit = 10
rate-burst = 40
storage-limit = 1073741824
price = 9.50
stripe-price = price_1, price_0
`)
	c := load(t, opts)
	want := []config.Plan{
		{Name: "free", Capabilities: []string{"search", "favourites"}},
		{
			Name: "reader", Capabilities: []string{"all"}, Models: []string{"gpt-4o-mini"}, SpendCap: new(int64(5_500_000)),
			RateLimit: new(int64(10)),
			RateBurst: new(int64(40)), StorageLimit: new(int64(1 << 30)), Price: 9_500_000, StripePrice: "price_1, price_0",
		},
	}
	if c.DefaultPlan != "free" || !reflect.DeepEqual(c.Plans, want) {
		t.Errorf("default %s, plans %+v", c.DefaultPlan, c.Plans)
	}
	shown := describe(t, c, "plan.reader")
	if !strings.Contains(shown.Value, "spend-cap=5.5 ") || !strings.Contains(shown.Value, "price=9.5 ") ||
		shown.Source != config.FromFile {
		t.Errorf("shown as %+v", shown)
	}
}

func TestInvalidPlansAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[plan.none]\ncapabilities = all":                        "line 1: a heading must be [plan.NAME]",
		"[plan.Reader]\ncapabilities = all":                      "a heading must be",
		"[reader]\ncapabilities = all":                           "a heading must be",
		"[plan.a\ncapabilities = all":                            "a heading must be",
		"[plan.a] x\ncapabilities = all":                         "a heading must be",
		"[plan.a]\n":                                             "capabilities of the plan a are missing",
		"[plan.a]\ncapabilities=\n[plan.a]\ncapabilities=":       "line 3: the plan a is declared twice",
		"[plan.a]\ncapabilities = all\nprise = 9":                "line 3: prise is not a setting; did you mean price?",
		"[plan.a]\ncapabilities = all\naddr = x":                 "addr is not a setting",
		"[plan.a]\ncapabilities = all\ncapabilities = all":       "capabilities is set twice",
		"[plan.a]\ncapabilities = all\nspend-cap = lots":         "spend-cap of the plan a must be US dollars",
		"[plan.a]\ncapabilities = all\nrate-limit = -1":          "rate-limit of the plan a must be a whole number",
		"[plan.a]\ncapabilities = all\nprice = none":             "price of the plan a must be US dollars",
		"[plan.a]\ncapabilities = all\nstripe-price = 'price_ä'": "stripe-price of the plan a must be a comma",
		"price = 9": "price is not a setting",
	} {
		opts := env(t)
		opts.File = write(t, "c.conf", text)
		if _, err := config.Load(opts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", text, err, want)
		}
	}
}

func TestStripeNeedsBothSecrets(t *testing.T) {
	t.Parallel()
	const key, first, second = "sk_test_hunter2", "whsec_hunter3", "whsec_hunter4"
	if c := load(t, env(t)); c.Stripe.On() || c.Stripe.URL != "https://api.stripe.com" || c.Stripe.GraceDays != 7 ||
		c.DefaultPlan != "open" {
		t.Errorf("without settings: %+v", c.Stripe)
	}
	c := load(t, env(t, "CARREL_STRIPE_SECRET_KEY", key, "CARREL_STRIPE_WEBHOOK_SECRET_FILE", write(t, "s",
		first+", "+second+"\n")))
	if !c.Stripe.On() || !reflect.DeepEqual(c.Stripe.WebhookSecrets, []string{first, second}) {
		t.Errorf("with settings: %+v", c.Stripe)
	}
	if printed := c.String(); strings.Contains(printed, "hunter") {
		t.Errorf("printed as %s", printed)
	}
	for _, tc := range []struct {
		kv   []string
		want string // empty: accepted
	}{
		{[]string{"CARREL_STRIPE_SECRET_KEY", key}, "go together"},
		{[]string{"CARREL_STRIPE_WEBHOOK_SECRET", first}, "go together"},
		{[]string{"CARREL_STRIPE_SECRET_KEY", "pk_test_1"}, "sk_ or rk_"},
		{[]string{"CARREL_STRIPE_SECRET_KEY", "sk_test 1"}, "spaces"},
		{[]string{"CARREL_STRIPE_WEBHOOK_SECRET", "hunter3"}, "whsec_"},
		{[]string{"CARREL_STRIPE_WEBHOOK_SECRET", first + "," + first}, "each once"},
		{[]string{"CARREL_STRIPE_GRACE_DAYS", "366"}, "0 to 365"},
		{[]string{"CARREL_STRIPE_TRIAL_DAYS", "x"}, "0 to 365"},
		{[]string{"CARREL_STRIPE_URL", "http://127.0.0.1:12111"}, ""},
		{[]string{"CARREL_STRIPE_URL", "http://[::1]:12111"}, ""},
		{[]string{"CARREL_STRIPE_URL", "http://stripe.example"}, "https"},
		{[]string{"CARREL_STRIPE_URL", "https://stripe.example/v1"}, "without a path"},
		{[]string{"CARREL_STRIPE_URL", ""}, ""},
		{[]string{"CARREL_DEFAULT_PLAN", "none"}, ""},
		{[]string{"CARREL_DEFAULT_PLAN", "No Plan"}, "name of a plan"},
	} {
		if err := checkLoad(t, tc.kv, tc.want); err != nil && strings.Contains(err.Error(), "hunter") {
			t.Errorf("%v: the error repeats a secret: %v", tc.kv, err)
		}
	}
	if c := load(t, env(t, "CARREL_STRIPE_TRIAL_DAYS", "3")); len(c.Warnings) != 1 ||
		!strings.Contains(c.Warnings[0], "no effect") {
		t.Errorf("a trial of nothing: %q", c.Warnings)
	}
}
