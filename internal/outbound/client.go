// Package outbound makes requests to addresses that users and programs name. We stand where they can't reach, so a client
// from here goes to public addresses alone, and nowhere but where it is sent.
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

// ErrNotPublic is the error of a connection to a host that has no address which requests may reach: the name does not
// exist, or all its addresses are refused. The two cases are deliberately one error.
var ErrNotPublic = errors.New("outbound: the host has no public address")

// ErrTooLarge means that an answer is longer than its reader wants.
var ErrTooLarge = errors.New("outbound: the answer is too large")

// Options say where requests may go.
type Options struct {
	// Private lets them go to private networks and this machine.
	Private bool
	// Timeout bounds the connection and its TLS handshake; a context bounds the whole.
	Timeout time.Duration
	// Resolver looks names up; nil is the system's.
	Resolver *net.Resolver
	// Roots are the certificates that are trusted; nil are the system's.
	Roots *x509.CertPool
}

// maxHeader bounds the headers of an answer, in bytes.
const maxHeader = 64 << 10

// NewClient returns a client that goes nowhere but where it is sent: no proxy, no redirects, no connections kept.
func NewClient(o Options) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: guard{private: o.Private}.dial(o), TLSHandshakeTimeout: o.Timeout,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.Roots},
			MaxResponseHeaderBytes: maxHeader,
			// A connection that is kept would go on reaching an address that its name has left.
			DisableKeepAlives: true,
			// An answer that unpacks to a thousand times its size is none that anybody here needs.
			DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// ReadAll reads an answer of at most limit bytes; a longer one is ErrTooLarge.
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
