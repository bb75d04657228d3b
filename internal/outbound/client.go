// Package outbound sends requests to addresses that users enter. The server can reach networks that users can't, so
// its clients connect to public addresses only, and follow no redirects.
package outbound

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// ErrNotPublic means that a host has no address that may be reached: the name does not exist, or all its addresses
// are refused. Both cases are one error, so that it does not reveal private names.
var ErrNotPublic = errors.New("outbound: the host has no public address")

// ErrTooLarge means that a reply exceeds the limit of ReadAll.
var ErrTooLarge = errors.New("outbound: the answer is too large")

// Options configures a client.
type Options struct {
	// Private allows private networks and this machine.
	Private bool
	// Timeout limits connecting and the TLS handshake; a context limits the whole request.
	Timeout time.Duration
	// Resolver resolves names; nil means the system's.
	Resolver *net.Resolver
	// Roots are the trusted certificates; nil means the system's.
	Roots *x509.CertPool
}

// maxHeader limits the headers of a reply, in bytes.
const maxHeader = 64 << 10

// NewClient returns a client without proxy, redirects or connection reuse.
func NewClient(o Options) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: guard{private: o.Private}.dial(o), TLSHandshakeTimeout: o.Timeout,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.Roots},
			MaxResponseHeaderBytes: maxHeader,
			// A reused connection would keep reaching an address that its name no longer has.
			DisableKeepAlives: true,
			// A compressed reply could expand to a thousand times its size.
			DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// ReadAll reads a body of at most limit bytes, or returns ErrTooLarge.
func ReadAll(body io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, ErrTooLarge
	}
	return b, nil
}
