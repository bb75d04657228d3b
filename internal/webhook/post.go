package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"carrel/internal/outbound"
)

// message is a message to deliver.
type message struct {
	// id is the same in every attempt, so that receivers can detect duplicates.
	id     string
	url    string
	secret []byte
	body   []byte
}

// maxReply is how much of a reply is read. Only the status matters.
const maxReply = 64 << 10

// post makes one attempt. It returns the result and the pause that the receiver requests. The error is the cause of a
// context that ended before the timeout.
func (s *Service) post(ctx context.Context, m message, timeout time.Duration) (Delivery, time.Duration, error) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	d := Delivery{At: s.clock.Now()}
	req, err := http.NewRequestWithContext(limited, http.MethodPost, m.url, bytes.NewReader(m.body))
	if err != nil {
		d.Error = "The URL of this webhook cannot be used." // already checked when the webhook was created
		return d, 0, nil
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "Carrel-Webhooks",
		"webhook-id": m.id, "webhook-timestamp": strconv.FormatInt(d.At.Unix(), 10),
		"webhook-signature": sign(m.secret, m.id, d.At, m.body),
	} {
		req.Header.Set(name, value)
	}
	res, err := s.client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return Delivery{}, 0, context.Cause(ctx)
		}
		d.Error = explain(err, timeout)
		return d, 0, nil
	}
	defer func() { _ = res.Body.Close() }() // read only
	// Draining the body lets the receiver finish its reply. Errors do not matter, because the status is known.
	_, _ = io.CopyN(io.Discard, res.Body, maxReply)
	d.Status = res.StatusCode
	d.Error = statusError(res.StatusCode)
	return d, outbound.RetryAfter(res.Header, d.At), nil
}

// statusError returns the user message for a status, empty for success.
func statusError(status int) string {
	switch {
	case status >= 200 && status <= 299:
		return ""
	case status >= 300 && status <= 399:
		return fmt.Sprintf("The receiver replied with status %d. Redirects are not followed: use the final URL.",
			status)
	case status == http.StatusGone:
		return "The receiver replied with status 410 (gone). The webhook is disabled."
	}
	return fmt.Sprintf("The receiver replied with status %d.", status)
}

const detailNotPublic = "The host of this webhook has no public address."

// explain returns the user message for a failed request. It does not reveal the internal network: a name without an
// address and a name with a private address give the same message.
func explain(err error, timeout time.Duration) string {
	var network net.Error
	var lookup *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, outbound.ErrNotPublic):
		return detailNotPublic
	case errors.As(err, &network) && network.Timeout():
		return fmt.Sprintf("The receiver did not reply within %d seconds.", int(timeout.Seconds()))
	case errors.As(err, &lookup):
		return detailNotPublic
	case errors.As(err, &certificate):
		return "The certificate of the receiver cannot be verified."
	}
	return "The connection to the receiver failed."
}
