package stripe

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"carrel/internal/core"
)

// tolerance is the maximum difference between the time of a signature and the local clock. An event replayed within it
// is a duplicate, which Take ignores.
const tolerance = 5 * time.Minute

// verify checks the Stripe-Signature header, "t=<seconds>,v1=<hex>". During a rotation of secrets Stripe sends one v1
// per secret, and more than one secret may be configured; any match is sufficient.
func (s *Service) verify(payload []byte, header string) error {
	invalid := &core.Error{
		Kind: core.KindInvalid, Code: "invalid_request",
		Detail: "The Stripe-Signature header is missing, invalid or older than five minutes. " +
			"Compare stripe-webhook-secret with the endpoint's secret at Stripe, and check the server's clock.",
	}
	var at string
	var signatures [][]byte
	for part := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "t":
			if at != "" {
				return invalid
			}
			at = value
		case "v1":
			if mac, err := hex.DecodeString(value); err == nil {
				signatures = append(signatures, mac)
			}
		}
	}
	n, err := strconv.ParseInt(at, 10, 64)
	if err != nil || s.clock.Now().Sub(time.Unix(n, 0)).Abs() > tolerance {
		return invalid
	}
	for _, secret := range s.opts.WebhookSecrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(at + "."))
		mac.Write(payload)
		want := mac.Sum(nil)
		for _, got := range signatures {
			if hmac.Equal(got, want) {
				return nil
			}
		}
	}
	return invalid
}
