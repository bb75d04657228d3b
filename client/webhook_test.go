package client_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"carrel/client"
)

func stringReader(text string) io.Reader { return strings.NewReader(text) }

// webhookVector is a case of testdata/webhooks.json, which the tests of the SDKs read too.
type webhookVector struct {
	Name, Secret, Body string
	Headers            map[string]string
	// Now is the time of the verification in Unix seconds.
	Now   int64
	Valid bool
}

func webhookVectors(t *testing.T) []webhookVector {
	t.Helper()
	text, err := os.ReadFile("testdata/webhooks.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []webhookVector
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	return vectors
}

func (v webhookVector) header() http.Header {
	h := http.Header{}
	for name, value := range v.Headers {
		h.Set(name, value)
	}
	return h
}

func TestWebhooksAreVerified(t *testing.T) {
	t.Parallel()
	valid := 0
	for _, v := range webhookVectors(t) {
		message, err := client.VerifyWebhook(v.Secret, v.header(), []byte(v.Body), time.Unix(v.Now, 0))
		switch {
		case !v.Valid:
			if !errors.Is(err, client.ErrSignature) {
				t.Errorf("%s: %v", v.Name, err)
			}
		case err != nil || message.ID != "dlv_1" || message.Data.ThreadID != "thr_1":
			t.Errorf("%s: %+v, %v", v.Name, message, err)
		default:
			valid++
		}
	}
	if valid < 4 {
		t.Errorf("only %d messages were valid", valid)
	}
}

// TestWebhookVectorsFollowTheStandard compares the signature of the first vector with one by the library of Standard
// Webhooks.
func TestWebhookVectorsFollowTheStandard(t *testing.T) {
	t.Parallel()
	v := webhookVectors(t)[0]
	signer, err := standardwebhooks.NewWebhook(v.Secret)
	if err != nil {
		t.Fatal(err)
	}
	want, err := signer.Sign(v.Headers["webhook-id"], time.Unix(v.Now, 0), []byte(v.Body))
	if err != nil || v.Headers["webhook-signature"] != want {
		t.Errorf("the signature is %s, want %s, %v", v.Headers["webhook-signature"], want, err)
	}
}

func TestAWebhookSecretIsRequired(t *testing.T) {
	t.Parallel()
	v := webhookVectors(t)[0]
	for _, secret := range []string{"", "whsec_", "whsec_?"} {
		_, err := client.VerifyWebhook(secret, v.header(), []byte(v.Body), time.Unix(v.Now, 0))
		if err == nil || errors.Is(err, client.ErrSignature) {
			t.Errorf("with the secret %q: %v", secret, err)
		}
	}
}
