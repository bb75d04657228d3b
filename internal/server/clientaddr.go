package server

import (
	"net/http"
	"net/netip"
	"strings"
)

// client returns the address of the client and whether it uses HTTPS. Forwarding headers count only if they come from
// a trusted proxy.
func (s *Server) client(r *http.Request) (addr netip.Addr, https bool) {
	peer, _ := parseHop(r.RemoteAddr)
	if !s.trusted(peer) {
		return peer, r.TLS != nil
	}
	https = r.TLS != nil || forwardedHTTPS(r.Header["X-Forwarded-Proto"])
	return s.forwardedFor(peer, r.Header["X-Forwarded-For"]), https
}

// forwardedFor reads the hops from last to first. The first hop that is not a trusted proxy is the client; hops before
// it may be forged by the client.
func (s *Server) forwardedFor(peer netip.Addr, lines []string) netip.Addr {
	for i := len(lines) - 1; i >= 0; i-- {
		for rest := lines[i]; rest != ""; {
			comma := strings.LastIndexByte(rest, ',')
			hop, ok := parseHop(strings.TrimSpace(rest[comma+1:]))
			if !ok {
				return peer // "unknown", a name or garbage: the last valid hop counts
			}
			if !s.trusted(hop) {
				return hop
			}
			peer, rest = hop, rest[:max(comma, 0)]
		}
	}
	return peer
}

func (s *Server) trusted(addr netip.Addr) bool {
	for _, p := range s.cfg.TrustedProxies {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// forwardedHTTPS reads the last value, which the nearest proxy has set.
func forwardedHTTPS(lines []string) bool {
	if len(lines) == 0 {
		return false
	}
	last := lines[len(lines)-1]
	return strings.EqualFold(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:]), "https")
}

// parseHop parses an address with or without a port. It unmaps IPv4-mapped IPv6 addresses, so that both forms
// count as the same client.
func parseHop(s string) (netip.Addr, bool) {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone(""), true
	}
	a, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return a.Unmap().WithZone(""), err == nil
}
