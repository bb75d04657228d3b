package server

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
)

// maxMismatches limits the warnings about requests that do not fit the base URL. The host is chosen by the client, so
// without a limit an attacker could fill the log.
const maxMismatches = 10

// baseURLCheck warns of requests whose scheme or host differs from the base URL, once per host. Cookies, passkeys and
// links work only at the base URL.
type baseURLCheck struct {
	host  string
	https bool

	full   atomic.Bool
	mu     sync.Mutex
	warned map[string]bool
}

func newBaseURLCheck(base string) *baseURLCheck {
	u, err := url.Parse(base)
	if err != nil {
		return nil
	}
	return &baseURLCheck{host: withoutDefaultPort(u.Host), https: u.Scheme == "https", warned: map[string]bool{}}
}

// differs reports whether a request is the first one for an address that differs from the base URL.
func (c *baseURLCheck) differs(host string, https bool) bool {
	if c == nil || host == c.host && https == c.https || c.full.Load() {
		return false
	}
	host = withoutDefaultPort(host)
	if strings.EqualFold(host, c.host) && https == c.https || isLoopback(host) && isLoopback(c.host) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.warned[host] || len(c.warned) == maxMismatches {
		return false
	}
	c.warned[host] = true
	c.full.Store(len(c.warned) == maxMismatches)
	return true
}

// checkBaseURL logs a warning if the request does not fit the base URL. Probes come from load balancers, which use the
// address of the node.
func (s *Server) checkBaseURL(ctx context.Context, r *http.Request, https bool) {
	if isProbe(r.URL.Path) || !s.base.Load().differs(r.Host, https) {
		return
	}
	scheme := "http://"
	if https {
		scheme = "https://"
	}
	s.log.WarnContext(ctx, "a request does not fit base-url; correct base-url, or, behind a proxy, have it forward the "+
		"host and set trusted-proxies", "requested", scheme+cut(r.Host, maxLoggedAgent), "baseUrl", s.cfg.BaseURL)
}

// withoutDefaultPort removes the ports of HTTP and HTTPS, which clients may leave out.
func withoutDefaultPort(host string) string {
	return strings.TrimSuffix(strings.TrimSuffix(host, ":443"), ":80")
}

// isLoopback reports whether a host with an optional port is this machine: its names are used alike.
func isLoopback(host string) bool {
	name := hostName(host)
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}
