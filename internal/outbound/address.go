package outbound

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// AddressRules are the rules for addresses that users enter. The zero value is the strictest: a public https address
// without a fragment.
type AddressRules struct {
	// PlainHTTP allows http as well as https.
	PlainHTTP bool
	// Private allows literal addresses of private networks. The client still checks every connection against its own
	// options.
	Private bool
	// Fragment allows a fragment, which no request sends.
	Fragment bool
	// OriginOnly rejects everything after the port.
	OriginOnly bool
	// MaxLength is the maximum length in characters; 0 means maxURL.
	MaxLength int
}

// maxURL is the default of MaxLength.
const maxURL = 2000

// CheckURL applies the rules for webhooks and federated sources. It returns the problem, or "".
func CheckURL(s string, private bool) string {
	return CheckAddress(s, AddressRules{PlainHTTP: private, Private: private})
}

// CheckAddress returns the problem of an address that requests will be sent to, or "". All kinds of sources and all
// webhooks use it, so that a rule such as "no passwords in addresses" holds for all of them. It does not resolve the
// host: DNS replies change, so the client checks every connection. The problem never quotes the address.
func CheckAddress(s string, r AddressRules) string {
	maxLength := maxURL
	if r.MaxLength != 0 {
		maxLength = r.MaxLength
	}
	u, err := url.Parse(s)
	switch {
	case utf8.RuneCountInString(s) > maxLength:
		return "Must have at most " + strconv.Itoa(maxLength) + " characters."
	case err != nil || u.Hostname() == "" || defaultPorts[u.Scheme] == "" || strings.ContainsAny(s, " \t\r\n\\"):
		return "Must be a whole address, such as https://example.org/hook."
	case u.Scheme == "http" && !r.PlainHTTP:
		return "Must be an https address."
	case u.User != nil:
		return "Must not hold a user name or password."
	case !r.Fragment && strings.Contains(s, "#"):
		return "Must not have a fragment."
	case r.OriginOnly && (strings.Trim(u.Path, "/") != "" || strings.ContainsAny(s, "?#")):
		return "Must end after the host and port."
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "Must have a port from 1 to 65535, or none."
		}
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && !(guard{private: r.Private}).allows(a) {
		return "Must have a public host."
	}
	return ""
}

var defaultPorts = map[string]string{"http": "80", "https": "443"}

// Origin returns the origin (RFC 6454: scheme, host, port) of an address in canonical form: lower case, without a
// default port or the trailing dot of the host, and with international names as ASCII. It returns "" for anything but
// http and https addresses.
func Origin(s string) string {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Hostname() == "" || defaultPorts[u.Scheme] == "" {
		return ""
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if a, err := netip.ParseAddr(host); err == nil {
		host = a.String()
	} else if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	port := strings.TrimLeft(u.Port(), "0")
	if port != "" && port != defaultPorts[u.Scheme] {
		host += ":" + port
	}
	return u.Scheme + "://" + host
}
