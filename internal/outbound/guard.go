package outbound

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"
)

// guard keeps requests out of networks that the user can't reach but we can: it looks at each address right before the
// connection is made. A look at the name alone, or at an earlier answer for it, could be got around by a name whose
// address changes.
type guard struct {
	// private lets requests reach private networks and this machine.
	private bool
}

// dialer returns a dialer that connects to what the guard allows.
func (g guard) dialer(o Options) *net.Dialer {
	return &net.Dialer{
		Timeout: o.Timeout, Resolver: o.Resolver,
		Control: func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil || !g.allows(to.Addr()) {
				return ErrNotPublic
			}
			return nil
		},
	}
}

// allows reports whether requests may go to an address.
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

// The registries of special-purpose addresses (RFC 6890 and what followed it), by what they mean here.
var (
	// never are addresses that no setting opens: no particular host, link-local ones and the metadata services of clouds,
	// which hand out credentials, and groups.
	never = networks(
		"0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "255.255.255.255/32", "100.100.100.200/32", "192.0.0.192/32",
		"::/128", "fe80::/10", "ff00::/8", "fd00:ec2::254/128", "fd20:ce::254/128",
	)
	// private are what an installation inside a network of its own may want to reach.
	private = networks(
		"127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "::1/128", "fc00::/7",
	)
	notPublic4 = append(networks(
		"192.0.0.0/24",                                      // protocol assignments
		"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", // documentation
		"192.31.196.0/24", "192.52.193.0/24", "192.175.48.0/24", // AS112 and AMT, which answer from nearby
		"192.88.99.0/24", // 6to4 relays
		"198.18.0.0/15",  // benchmarks
		"240.0.0.0/4",    // reserved
	), private...)
	// public6 is all of IPv6 that is handed out; what lies outside (site-local, IPv4-compatible, local NAT64, ...) is not
	// public.
	public6    = netip.MustParsePrefix("2000::/3")
	notPublic6 = networks(
		"2001::/23",                  // protocol assignments: Teredo, benchmarks, ORCHID
		"2001:db8::/32", "3fff::/20", // documentation
		"2002::/16",         // 6to4, which wraps any IPv4 address
		"2620:4f:8000::/48", // AS112
	)
	// nat64 wraps IPv4 addresses for networks without them (RFC 6052).
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

// maxURL bounds an address, in characters.
const maxURL = 2000

// CheckURL returns what is wrong with an address to send requests to, or nothing. Where its host leads is not asked here: that
// can change, and is looked at with every connection. Only what can never work is refused at once.
func CheckURL(s string, private bool) string {
	u, err := url.Parse(s)
	switch {
	case utf8.RuneCountInString(s) > maxURL:
		return "Must have at most " + strconv.Itoa(maxURL) + " characters."
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return "Must be a whole address, such as https://example.org/hook."
	case u.Scheme == "http" && !private:
		return "Must be an https address."
	case u.User != nil:
		return "Must not hold a user name or password."
	case strings.Contains(s, "#"):
		return "Must not have a fragment."
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "Must have a port from 1 to 65535, or none."
		}
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && !(guard{private: private}).allows(a) {
		return "Must have a public host."
	}
	return ""
}
