package outbound

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
)

// guard refuses connections to networks that the server can reach and the user can't. It checks the address right
// before each connection: a check of the name, or of an earlier DNS reply, could be bypassed by a name whose address
// changes (DNS rebinding).
type guard struct {
	// private allows private networks and this machine.
	private bool
}

// dial returns a dial function for the allowed addresses. An unknown name and a name with only refused addresses fail
// with the same bare error, so that callers can't map the private network by message, error type or retries.
func (g guard) dial(o Options) func(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{
		Timeout: o.Timeout, Resolver: o.Resolver,
		Control: func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil || !g.allows(to.Addr()) {
				return ErrNotPublic
			}
			return nil
		},
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if !g.private {
			address = absolute(address)
		}
		conn, err := dialer.DialContext(ctx, network, address)
		if lookup, ok := errors.AsType[*net.DNSError](err); ok && lookup.IsNotFound || errors.Is(err, ErrNotPublic) {
			return nil, ErrNotPublic
		}
		return conn, err
	}
}

// absolute adds a trailing dot to the host of an address, so that the resolver does not try the search domains of
// this machine: they belong to its own network, and trying them takes longer for an unknown name than for a private
// one.
func absolute(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" || strings.HasSuffix(host, ".") {
		return address
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return address
	}
	return net.JoinHostPort(host+".", port)
}

// allows reports whether an address may be reached.
func (g guard) allows(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	switch {
	case !a.IsValid() || within(a, never):
		return false
	case g.private && within(a, private):
		return true
	case a.Is4():
		return !within(a, notPublic4)
	case nat64.Contains(a):
		b := a.As16()
		return g.allows(netip.AddrFrom4([4]byte(b[12:])))
	}
	return public6.Contains(a) && !within(a, notPublic6)
}

func within(a netip.Addr, networks []netip.Prefix) bool {
	for _, n := range networks {
		if n.Contains(a) {
			return true
		}
	}
	return false
}

func networks(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// The special-purpose address registries (RFC 6890 and its updates).
var (
	// never holds addresses that no setting allows: unspecified and link-local addresses, cloud metadata services,
	// which hand out credentials, and multicast.
	never = networks(
		"0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "255.255.255.255/32", "100.100.100.200/32", "192.0.0.192/32",
		"::/128", "fe80::/10", "ff00::/8", "fd00:ec2::254/128", "fd20:ce::254/128",
	)
	// private holds addresses that an installation in a private network may want to reach.
	private = networks(
		"127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "::1/128", "fc00::/7",
	)
	notPublic4 = append(networks(
		"192.0.0.0/24",                                      // protocol assignments
		"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", // documentation
		"192.31.196.0/24", "192.52.193.0/24", "192.175.48.0/24", // AS112 and AMT anycast
		"192.88.99.0/24", // 6to4 relays
		"198.18.0.0/15",  // benchmarks
		"240.0.0.0/4",    // reserved
	), private...)
	// public6 is the allocated part of IPv6; addresses outside it (site-local, IPv4-compatible, local NAT64, …) are
	// not public.
	public6    = netip.MustParsePrefix("2000::/3")
	notPublic6 = networks(
		"2001::/23",                  // protocol assignments: Teredo, benchmarks, ORCHID
		"2001:db8::/32", "3fff::/20", // documentation
		"2002::/16",         // 6to4, which embeds any IPv4 address
		"2620:4f:8000::/48", // AS112
	)
	// nat64 embeds IPv4 addresses (RFC 6052).
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)
