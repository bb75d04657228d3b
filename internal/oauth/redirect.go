package oauth

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// maxURI bounds an address, in bytes.
const maxURI = 2000

// dotlessSchemes are the private-use schemes without a dot that a client may register. RFC 8252, 7.1 asks for a reverse
// domain name, because a short scheme can be claimed by any app; each entry is an exception for a client that docs/connect.md
// describes and that registers nothing else. Cursor registers cursor://anysphere.cursor-mcp/oauth/callback.
var dotlessSchemes = []string{"cursor"}

var (
	schemeForm = regexp.MustCompile(`^[a-z][a-z0-9+.-]*:`)
	// privateSchemeForm is a reverse domain name (RFC 8252, 7.1).
	privateSchemeForm = regexp.MustCompile(`^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+$`)
	// hostNameForm is a DNS name. It has no asterisk: addresses are compared byte for byte, so a wildcard would match nothing
	// but itself, and a client that registers one expects matching that must not exist.
	hostNameForm = regexp.MustCompile(`^([A-Za-z0-9_-]+\.)*[A-Za-z0-9_-]+\.?$`)
	// loopbackForm splits an http address of the user's own machine into its host and what follows the port.
	loopbackForm = regexp.MustCompile(`^http://(127\.0\.0\.1|\[::1\]|localhost)(?::[0-9]{1,5})?([/?][^#]*)?$`)
)

// checkRedirect returns what is wrong with a redirect URI, or nothing. Allowed are https, http to the user's own machine,
// and for a public client a private-use scheme (RFC 8252, 7).
func checkRedirect(raw string, public bool) string {
	scheme := strings.TrimSuffix(schemeForm.FindString(raw), ":")
	u, err := url.Parse(raw)
	switch {
	case raw == "" || len(raw) > maxURI || err != nil || scheme == "" || u.Scheme != scheme || !plainURI(raw):
		return "A redirect URI must be an absolute URI with a scheme in lower case, of at most 2000 ASCII characters."
	case strings.Contains(raw, "#"):
		return "A redirect URI must not have a fragment."
	case u.User != nil:
		return "A redirect URI must not hold a user name or password."
	case strings.Contains(u.Host, "*"):
		return "A redirect URI must name one host: wildcards are not supported."
	case scheme == "http" && !loopbackForm.MatchString(raw):
		return "A redirect URI must be https; http is for 127.0.0.1, [::1] and localhost alone."
	case scheme == "http":
		return ""
	case scheme == "https":
		if !isHost(u.Hostname()) {
			return "A redirect URI must name a host."
		}
		return ""
	case !privateSchemeForm.MatchString(scheme) && !slices.Contains(dotlessSchemes, scheme):
		return "A private-use scheme must be a reverse domain name with a dot, such as com.example.app (RFC 8252, 7.1)."
	case !public:
		return "A scheme of an app's own is for public clients (token_endpoint_auth_method none)."
	}
	return ""
}

// isHost reports whether a host is a DNS name or an IP address.
func isHost(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || hostNameForm.MatchString(host)
}

// plainURI reports whether a text has only the characters that RFC 3986 lets stand in a URI. Browsers mend others, each
// in its own way.
func plainURI(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			return false
		}
	}
	return true
}

// matchRedirect reports whether an address is one that the client registered: byte for byte, except that an app on the
// user's machine may listen on another port each time (RFC 8252, 7.3).
func matchRedirect(registered []string, raw string) bool {
	if checkRedirect(raw, true) != "" {
		return false // also for a registered address: it may have been stored before a rule was added
	}
	if slices.Contains(registered, raw) {
		return true
	}
	asked := loopbackForm.FindStringSubmatch(raw)
	if asked == nil {
		return false
	}
	return slices.ContainsFunc(registered, func(known string) bool {
		m := loopbackForm.FindStringSubmatch(known)
		return m != nil && m[1] == asked[1] && m[2] == asked[2]
	})
}

// withQuery adds parameters to an address and leaves the rest as it is.
func withQuery(raw string, add url.Values) string {
	separator := "?"
	if strings.Contains(raw, "?") {
		separator = "&"
	}
	return raw + separator + add.Encode()
}

// hostOf names where an address leads, for people: its host, or its scheme for an app.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	if u.Scheme == "http" || u.Scheme == "https" {
		return u.Host
	}
	return u.Scheme + ":"
}
