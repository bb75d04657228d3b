package opensearch

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"carrel/internal/search"
)

// Time limits of requests. A bulk request on a busy cluster takes the longest.
const (
	requestTimeout = time.Minute
	dialTimeout    = 5 * time.Second
)

// maxReply limits the size of a reply, which is mostly the texts of the passages that are reranked.
const maxReply = 256 << 20

// client sends requests to a cluster. It uses the address that answered last, and the next one if that cannot be
// reached. All requests are idempotent, so that they can be repeated.
type client struct {
	addresses      []string
	user, password string
	http           *http.Client
	current        atomic.Int64
}

func newClient(o Options) (*client, error) {
	if len(o.URLs) == 0 {
		return nil, errors.New("no address of an OpenSearch cluster")
	}
	c := &client{user: o.User, password: o.Password}
	for _, address := range o.URLs {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
			return nil, errors.New("the address of an OpenSearch cluster must be an http or https URL without a user")
		}
		c.addresses = append(c.addresses, strings.TrimSuffix(address, "/"))
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 32
	transport.TLSHandshakeTimeout = dialTimeout
	transport.DialContext = (&net.Dialer{Timeout: dialTimeout}).DialContext
	if len(o.CA) > 0 {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(o.CA) {
			return nil, errors.New("the CA file of the OpenSearch cluster holds no certificate")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	c.http = &http.Client{Transport: transport, Timeout: requestTimeout}
	return c, nil
}

func (c *client) close() { c.http.CloseIdleConnections() }

// statusError is a reply that is not a success.
type statusError struct {
	status int
	kind   string // the type of the error, such as index_not_found_exception
	reason string
}

// Error implements error.
func (e *statusError) Error() string {
	return fmt.Sprintf("OpenSearch replied with status %d, %s: %s", e.status, e.kind, e.reason)
}

// Is makes replies of an overloaded or incomplete cluster, and of one that refuses the password, count as unavailable.
func (e *statusError) Is(target error) bool {
	switch e.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return target == search.ErrUnavailable
	}
	return target == search.ErrUnavailable && e.status >= 500
}

func hasStatus(err error, status int) bool {
	var e *statusError
	return errors.As(err, &e) && e.status == status
}

// do sends a JSON body, or none if it is nil, and decodes the reply into out unless that is nil.
func (c *client) do(ctx context.Context, method, path string, body, out any) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return fmt.Errorf("encode a request to OpenSearch: %w", err)
		}
	}
	return c.send(ctx, method, path, "application/json", data, out)
}

// send tries the addresses in turn until one answers.
func (c *client) send(ctx context.Context, method, path, contentType string, body []byte, out any) error {
	var failures []error
	for range c.addresses {
		at := c.current.Load()
		err := c.sendTo(ctx, c.addresses[int(at)%len(c.addresses)], method, path, contentType, body, out)
		var replied *statusError
		if err == nil || errors.As(err, &replied) && replied.status < 500 || ctx.Err() != nil {
			return err
		}
		failures = append(failures, err)
		c.current.CompareAndSwap(at, at+1)
	}
	return errors.Join(failures...)
}

func (c *client) sendTo(ctx context.Context, base, method, path, contentType string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("request to OpenSearch: %w", err)
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", contentType)
	}
	if c.user != "" {
		req.SetBasicAuth(c.user, c.password)
	}
	reply, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w: %w", search.ErrUnavailable, err)
	}
	defer func() { _ = reply.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(reply.Body, maxReply))
	if err != nil {
		return fmt.Errorf("%w: read the reply of OpenSearch: %w", search.ErrUnavailable, err)
	}
	if reply.StatusCode >= http.StatusBadRequest {
		return newStatusError(reply.StatusCode, content)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(content, out); err != nil {
		return fmt.Errorf("decode the reply of OpenSearch: %w", err)
	}
	return nil
}

// newStatusError reads the error in a reply. A reply to HEAD and one of a proxy have none.
func newStatusError(status int, content []byte) *statusError {
	var reply struct {
		Error json.RawMessage `json:"error"`
	}
	var detail errorDetail
	if json.Unmarshal(content, &reply) == nil {
		_ = json.Unmarshal(reply.Error, &detail) // a text in some replies
	}
	return detail.of(status)
}

// errorDetail is the error object of a reply. The cause of a failed search is the root cause.
type errorDetail struct {
	Type      string `json:"type"`
	Reason    string `json:"reason"`
	RootCause []struct {
		Type   string `json:"type"`
		Reason string `json:"reason"`
	} `json:"root_cause"`
}

func (d errorDetail) of(status int) *statusError {
	if len(d.RootCause) > 0 {
		d.Type, d.Reason = d.RootCause[0].Type, d.RootCause[0].Reason
	}
	return &statusError{status: status, kind: d.Type, reason: d.Reason}
}
