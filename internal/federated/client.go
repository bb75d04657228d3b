package federated

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"carrel/internal/outbound"
)

// apiClient sends the requests of one search.
type apiClient struct {
	kind     string
	host     string
	language string
	settings Settings
	options  Options
	limit    *rateLimit
}

// maxReplyBytes limits a reply. A hundred abstracts are a few hundred kilobytes.
const maxReplyBytes = 8 << 20

// maxAttempts is how often a request is sent; the backoff doubles from firstBackoff.
const (
	maxAttempts  = 3
	firstBackoff = 300 * time.Millisecond
)

type request struct {
	path   string
	query  url.Values
	header http.Header
	// body is sent as JSON in a POST; nil means GET.
	body any
}

// getJSON sends a request and decodes the reply as JSON.
func (c *apiClient) getJSON(ctx context.Context, r request, into any) error {
	body, err := c.sendWithRetries(ctx, r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return errUnexpectedBecause(err)
	}
	return nil
}

// getXML sends a request and decodes the reply as XML. encoding/xml knows only the predefined entities, so none can
// expand.
func (c *apiClient) getXML(ctx context.Context, r request, into any) error {
	body, err := c.sendWithRetries(ctx, r)
	if err != nil {
		return err
	}
	if err := xml.NewDecoder(bytes.NewReader(body)).Decode(into); err != nil {
		return errUnexpectedBecause(err)
	}
	return nil
}

// sendWithRetries sends a request and retries temporary failures while the deadline allows it.
func (c *apiClient) sendWithRetries(ctx context.Context, r request) ([]byte, error) {
	var body []byte
	var err error
	for try := range maxAttempts {
		if err := c.limit.wait(ctx); err != nil {
			return nil, err
		}
		var after time.Duration
		body, after, err = c.send(ctx, r)
		if err == nil || !isRetryable(err) || ctx.Err() != nil {
			return body, err
		}
		pause := max(after, jitter(firstBackoff<<try))
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < pause {
			return nil, err // the deadline would pass during the backoff
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
	return nil, err
}

// isRetryable reports whether the same request may succeed later: the host asks for a retry, or the connection
// failed.
func isRetryable(err error) bool {
	var s statusError
	if errors.As(err, &s) {
		return s.retryable()
	}
	return !errors.Is(err, outbound.ErrNotPublic) && !errors.Is(err, outbound.ErrTooLarge)
}

// jitter randomizes a backoff, so that clients that failed together do not retry together.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d) //nolint:gosec // not a secret
}

// send sends a request once. After is the host's Retry-After.
func (c *apiClient) send(ctx context.Context, r request) (body []byte, after time.Duration, err error) {
	req, err := c.newRequest(ctx, r)
	if err != nil {
		return nil, 0, err
	}
	resp, err := c.options.Client.Do(req)
	if err != nil {
		return nil, 0, withoutURL(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, outbound.RetryAfter(resp.Header, time.Now()), statusError{status: resp.StatusCode}
	}
	body, err = outbound.ReadAll(resp.Body, maxReplyBytes)
	return body, 0, err
}

func (c *apiClient) newRequest(ctx context.Context, r request) (*http.Request, error) {
	address := c.host + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	method, body := http.MethodGet, io.Reader(nil)
	if r.body != nil {
		b, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		method, body = http.MethodPost, bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, withoutURL(err)
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", c.userAgent())
	return req, nil
}

// userAgent identifies the program and the operator's contact address.
func (c *apiClient) userAgent() string {
	agent := "Carrel/" + c.options.Version
	if c.options.Contact != "" {
		agent += " (mailto:" + c.options.Contact + ")"
	}
	return agent
}

// withoutURL unwraps *url.Error, because the URL may contain an API key.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// bearerHeader returns an Authorization header with the key, or nil without a key.
func (c *apiClient) bearerHeader() http.Header {
	if c.settings.Key == "" {
		return nil
	}
	return http.Header{"Authorization": {"Bearer " + c.settings.Key}}
}

// keyHeader returns the key in a header with this name, or no header without a key.
func (c *apiClient) keyHeader(name string) http.Header {
	h := http.Header{}
	if c.settings.Key != "" {
		h.Set(name, c.settings.Key)
	}
	return h
}
