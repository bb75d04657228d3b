package server

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// redirectHandler answers http-01 challenges, and redirects everything else to HTTPS.
func (s *Server) redirectHandler() http.Handler {
	redirect := http.HandlerFunc(s.redirect)
	if s.acme == nil {
		return redirect
	}
	challenges := s.acme.HTTPHandler(redirect)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = hostName(r.Host) // autocert compares the whole header with the domains
		challenges.ServeHTTP(w, r)
	})
}

// redirect redirects to the same path and query at the base URL, or at the requested host if it is one of acme-domains.
// Other hosts are not copied from the request, because a redirect to a host of the client's choice could mislead users.
func (s *Server) redirect(w http.ResponseWriter, r *http.Request) {
	target := r.URL.RequestURI()
	if !strings.HasPrefix(target, "/") || len(target) > maxURL {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	base, err := url.Parse(s.cfg.Bound(s.Addr()).BaseURL)
	if err != nil {
		http.Error(w, "the base URL is not valid", http.StatusInternalServerError)
		return
	}
	host := base.Host
	if name := strings.ToLower(hostName(r.Host)); slices.Contains(s.cfg.ACME.Domains, name) {
		host = name
		if port := base.Port(); port != "" {
			host = net.JoinHostPort(name, port)
		}
	}
	w.Header().Set("Location", "https://"+host+target)
	w.WriteHeader(http.StatusPermanentRedirect)
}

// hostName returns a Host header without its port.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}
