package server

import (
	"net/http"
	"time"
)

// SetReadTimeout sets the read timeout of requests.
func (s *Server) SetReadTimeout(d time.Duration) { s.http.ReadTimeout = d }

// SetCertificatePoll sets how often the certificate files are checked for changes.
func (s *Server) SetCertificatePoll(d time.Duration) { s.certificatePoll = d }

// SetACMEClient sets the HTTP client for requests to the certificate authority.
func (s *Server) SetACMEClient(c *http.Client) { s.acmeClient = c }

// KnownCredentials returns the number of credentials with a bucket.
func (s *Server) KnownCredentials() int { return s.limiter.credentials.size() }

func (b *buckets) size() int {
	n := 0
	for i := range b.shards {
		n += len(b.shards[i].young) + len(b.shards[i].old)
	}
	return n
}

// RaiseLimits raises the limits above the rate of a benchmark. Requests are still counted.
func (s *Server) RaiseLimits() {
	for _, b := range []*buckets{s.limiter.credentials, s.limiter.users, s.limiter.addresses} {
		b.policy.Every = time.Nanosecond
	}
}
