package config

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Stripe are the settings of the account that plans are paid through.
type Stripe struct {
	// SecretKey is the key of the account. SecretKey and WebhookSecrets are both set or neither.
	SecretKey      string
	WebhookSecrets []string
	// GraceDays is the time that a plan stays active after a failed payment. TrialDays is the free trial of the first
	// subscription of an account.
	GraceDays, TrialDays int
	// URL is the address of the API, without a trailing slash.
	URL string
}

// On reports whether an account is configured.
func (s Stripe) On() bool { return s.SecretKey != "" }

func (s Stripe) problems() Problems {
	var probs Problems
	if s.On() != (len(s.WebhookSecrets) > 0) {
		probs.add("stripe-secret-key and stripe-webhook-secret go together; set both or neither")
	}
	return probs
}

// warnings returns settings without effect.
func (s Stripe) warnings() []string {
	if !s.On() && s.TrialDays > 0 {
		return []string{"stripe-trial-days has no effect without stripe-secret-key"}
	}
	return nil
}

// checkStripeKey accepts secret and restricted keys. Publishable keys (pk_…) do not have the necessary permissions.
func checkStripeKey(s string) error {
	if s != "" && !strings.HasPrefix(s, "sk_") && !strings.HasPrefix(s, "rk_") {
		return errors.New("must be a secret key that starts with sk_ or rk_")
	}
	return checkAPIKey(s)
}

func checkStripeURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Hostname() == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "":
		return errors.New("must be an absolute URL without a path, such as https://api.stripe.com")
	case u.Scheme != "https" &&
		(u.Scheme != "http" || !loopback(u.Hostname()+":0") && !loopback("["+u.Hostname()+"]:0")):
		return errors.New("must be https; http only for this machine")
	}
	return nil
}

type stripeSecrets []string

func (v *stripeSecrets) String() string { return strings.Join(*v, ",") }

func (v *stripeSecrets) Set(s string) error {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		if !strings.HasPrefix(part, "whsec_") || checkAPIKey(part) != nil || slices.Contains(out, part) {
			return errors.New("must be a comma-separated list of webhook secrets that start with whsec_, each once")
		}
		out = append(out, part)
	}
	*v = out
	return nil
}

// daysOrNone is a number of days that may be 0.
type daysOrNone int

func (v *daysOrNone) String() string { return strconv.Itoa(int(*v)) }

func (v *daysOrNone) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 365 {
		return errors.New("must be a whole number of days from 0 to 365")
	}
	*v = daysOrNone(n)
	return nil
}
