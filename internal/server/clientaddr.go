package server

import (
	"net/http"
	"net/netip"
	"strings"
)

// client returns the address of the client and whether it came over HTTPS. Only a trusted proxy is believed when it
// says that it speaks for somebody else.
func (s *Server) client(r *http.Request) (addr netip.Addr, https bool) {
	peer, _ := parseHop(r.RemoteAddr)
	if !s.trusted(peer) {
		return peer, r.TLS != nil
	}
	return s.forwardedFor(peer, r.Header["X-Forwarded-For"]), r.TLS != nil || forwardedHTTPS(r.Header["X-Forwarded-Proto"])
}

// forwardedFor walks the hops from the last to the first. Each trusted proxy vouches for the hop before it, so the
// first one that is not trusted is the client; all before it is hearsay that the client could have made up.
func (s *Server) forwardedFor(peer netip.Addr, lines []string) netip.Addr {
	for i := len(lines) - 1; i >= 0; i-- {
		for rest := lines[i]; rest != ""; {
			comma := strings.LastIndexByte(rest, ',')
			hop, ok := parseHop(strings.TrimSpace(rest[comma+1:]))
			if !ok {
				return peer // "unknown", a name, or junk: the proxy before it is all that we know
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

// forwardedHTTPS reads the value of the proxy nearest to us, which is the last.
func forwardedHTTPS(lines []string) bool {
	if len(lines) == 0 {
		return false
	}
	last := lines[len(lines)-1]
	return strings.EqualFold(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:]), "https")
}

// parseHop reads an address with or without a port. IPv4 inside IPv6 is unmapped, so that one client is one address.
func parseHop(s string) (netip.Addr, bool) {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone(""), true
	}
	a, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return a.Unmap().WithZone(""), err == nil
}
