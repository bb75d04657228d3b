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

// message is something to deliver.
type message struct {
	// id is the same in every try, so that a receiver knows what it has seen.
	id     string
	url    string
	secret []byte
	body   []byte
}

// maxAnswer is how much of an answer is read. Nothing in it matters but the status.
const maxAnswer = 64 << 10

// post makes one try and returns how it went, and how long a pause the receiver asks for. The error is that of a context
// that ended before the receiver had its time.
func (s *Service) post(ctx context.Context, m message, timeout time.Duration) (Delivery, time.Duration, error) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	d := Delivery{At: s.clock.Now()}
	req, err := http.NewRequestWithContext(limited, http.MethodPost, m.url, bytes.NewReader(m.body))
	if err != nil {
		d.Error = "The address of this webhook can't be used." // it was checked when the webhook was made
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
	defer func() { _ = res.Body.Close() }() // it was only read
	// Reading on lets the receiver finish what it says. What goes wrong from here on does not matter: it has answered.
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer)
	d.Status = res.StatusCode
	d.Error = verdict(res.StatusCode)
	return d, retryAfter(res.Header, d.At), nil
}

// verdict is what a status means; nothing means that the receiver took the message.
func verdict(status int) string {
	switch {
	case status >= 200 && status <= 299:
		return ""
	case status >= 300 && status <= 399:
		return fmt.Sprintf("The receiver answered with status %d. Redirects are not followed: give the final address.", status)
	case status == http.StatusGone:
		return "The receiver answered with status 410: it is gone. The webhook is disabled."
	}
	return fmt.Sprintf("The receiver answered with status %d.", status)
}

const detailNotPublic = "The host of this webhook has no public address."

// explain says in a sentence for the user why there is no answer. It tells nothing of our own network: a name without an
// address and one with a private address are the same to it.
func explain(err error, timeout time.Duration) string {
	var network net.Error
	var lookup *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, outbound.ErrNotPublic):
		return detailNotPublic
	case errors.As(err, &network) && network.Timeout():
		return fmt.Sprintf("The receiver did not answer within %d seconds.", int(timeout.Seconds()))
	case errors.As(err, &lookup):
		return detailNotPublic
	case errors.As(err, &certificate):
		return "The certificate of the receiver can't be verified."
	}
	return "The connection to the receiver failed."
}
