package billing

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"carrel/internal/core"
)

// tolerance is how far the time of a signature may be from ours. Within it a message that somebody recorded can be sent
// again, and then is one that counted already.
const tolerance = 5 * time.Minute

// verify checks the header Stripe-Signature of a message: "t=<seconds>,v1=<hex>", with a v1 for each secret that Stripe
// signs with while one takes the place of another. The same goes for the secrets here.
func (s *Service) verify(payload []byte, header string) error {
	refusal := &core.Error{
		Kind: core.KindInvalid, Code: "invalid_request",
		Detail: "The header Stripe-Signature is missing, wrong or older than five minutes. Compare stripe-webhook-secret with the endpoint's secret at Stripe, and the clock.",
	}
	var at string
	var signatures [][]byte
	for part := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "t":
			if at != "" {
				return refusal
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
		return refusal
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
	return refusal
}
