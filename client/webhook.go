package client

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// WebhookMessage is the body of a webhook request.
type WebhookMessage struct {
	// Type is a WebhookEvent or webhook.test. It decides which fields of Data are set.
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      struct {
		AgentID   string     `json:"agentId"`
		ThreadID  string     `json:"threadId"`
		TurnID    string     `json:"turnId"`
		MessageID string     `json:"messageId"`
		Status    string     `json:"status"`
		Error     *TurnError `json:"error,omitempty"`
		// SourceID and ImportID are set for imports and sources.
		SourceID string `json:"sourceId"`
		ImportID string `json:"importId"`
		// UserID, Grant and Everybody are set for shares.
		UserID    string `json:"userId"`
		Grant     string `json:"grant"`
		Everybody bool   `json:"everybody"`
		// Period, CapMicros, UsedMicros and ResetsAt are set for the spend.
		Period     string    `json:"period"`
		CapMicros  int64     `json:"capMicros"`
		UsedMicros int64     `json:"usedMicros"`
		ResetsAt   time.Time `json:"resetsAt"`
	} `json:"data"`
	// ID is the same in all deliveries of a message, which may arrive more than once.
	ID string `json:"-"`
}

// webhookTolerance is the maximum age of a message, and the tolerated difference of the clocks.
const webhookTolerance = 5 * time.Minute

// ErrSignature means that a webhook request was not signed with the secret, or is too old.
var ErrSignature = errors.New("the signature of the webhook is not valid")

// VerifyWebhook verifies the signature of a webhook request (Standard Webhooks) at a time and returns its message.
func VerifyWebhook(secret string, header http.Header, body []byte, now time.Time) (*WebhookMessage, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return nil, errors.New("the secret of the webhook is not whsec_ and base64")
	}
	id, stamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || id == "" {
		return nil, fmt.Errorf("%w: headers are missing", ErrSignature)
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > webhookTolerance || age < -webhookTolerance {
		return nil, fmt.Errorf("%w: the message is %v old", ErrSignature, age.Round(time.Second))
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.", id, stamp)
	mac.Write(body)
	want := mac.Sum(nil)
	// The header has several signatures while a secret is being replaced.
	for part := range strings.FieldsSeq(header.Get("Webhook-Signature")) {
		version, encoded, _ := strings.Cut(part, ",")
		got, err := base64.StdEncoding.DecodeString(encoded)
		if version != "v1" || err != nil || !hmac.Equal(got, want) {
			continue
		}
		message := &WebhookMessage{ID: id}
		if err := json.Unmarshal(body, message); err != nil {
			return nil, fmt.Errorf("read the message: %w", err)
		}
		return message, nil
	}
	return nil, ErrSignature
}
