package oauth

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"carrel/internal/lazyregexp"
)

// maxURI is the maximum length of a URI in bytes.
const maxURI = 2000

// dotlessSchemes are the private-use schemes without a dot that a client may register. RFC 8252, 7.1 requires a reverse
// domain name, because any app can claim a short scheme. Each entry is an exception for a client in docs/connect.md
// that registers nothing else. Cursor registers cursor://anysphere.cursor-mcp/oauth/callback.
var dotlessSchemes = []string{"cursor"}

var (
	schemeForm = lazyregexp.New(`^[a-z][a-z0-9+.-]*:`)
	// privateSchemeForm is a reverse domain name (RFC 8252, 7.1).
	privateSchemeForm = lazyregexp.New(`^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+$`)
	// hostNameForm is a DNS name. It excludes asterisks: redirect URIs are compared byte for byte, and a client that
	// registers a wildcard expects matching that must not exist.
	hostNameForm = lazyregexp.New(`^([A-Za-z0-9_-]+\.)*[A-Za-z0-9_-]+\.?$`)
	// loopbackForm splits an http URI of the user's own machine into its host and the part after the port.
	loopbackForm = lazyregexp.New(`^http://(127\.0\.0\.1|\[::1\]|localhost)(?::[0-9]{1,5})?([/?][^#]*)?$`)
)

// checkRedirect returns the problem with a redirect URI, or "". It allows https, http to the user's own machine and,
// for a public client, private-use schemes (RFC 8252, 7).
func checkRedirect(raw string, public bool) string {
	scheme := strings.TrimSuffix(schemeForm.FindString(raw), ":")
	u, err := url.Parse(raw)
	switch {
	case raw == "" || len(raw) > maxURI || err != nil || scheme == "" || u.Scheme != scheme || !isASCIIURI(raw):
		return "A redirect URI must be an absolute URI with a scheme in lower case, of at most 2000 ASCII characters."
	case strings.Contains(raw, "#"):
		return "A redirect URI must not have a fragment."
	case u.User != nil:
		return "A redirect URI must not contain a user name or password."
	case strings.Contains(u.Host, "*"):
		return "A redirect URI must name one host; wildcards are not supported."
	case scheme == "http" && !loopbackForm.MatchString(raw):
		return "A redirect URI must be https; http is allowed only for 127.0.0.1, [::1] and localhost."
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
		return "Only public clients can use a private-use scheme (token_endpoint_auth_method none)."
	}
	return ""
}

// isHost reports whether a host is a DNS name or an IP address.
func isHost(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || hostNameForm.MatchString(host)
}

// isASCIIURI reports whether s has only characters that RFC 3986 allows in a URI. Browsers rewrite other characters,
// each in a different way.
func isASCIIURI(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			return false
		}
	}
	return true
}

// matchRedirect reports whether the client registered a redirect URI. The comparison is byte for byte, except for the
// port of a loopback URI, which an app may choose for each request (RFC 8252, 7.3).
func matchRedirect(registered []string, raw string) bool {
	if checkRedirect(raw, true) != "" {
		return false // also for a registered URI, which may have been stored before a rule was added
	}
	if slices.Contains(registered, raw) {
		return true
	}
	requested := loopbackForm.FindStringSubmatch(raw)
	if requested == nil {
		return false
	}
	return slices.ContainsFunc(registered, func(known string) bool {
		m := loopbackForm.FindStringSubmatch(known)
		return m != nil && m[1] == requested[1] && m[2] == requested[2]
	})
}

// withQuery appends parameters to a URI without re-encoding the rest.
func withQuery(raw string, add url.Values) string {
	separator := "?"
	if strings.Contains(raw, "?") {
		separator = "&"
	}
	return raw + separator + add.Encode()
}

// hostOf returns the host of a redirect URI for display, or the scheme if it is a private-use one.
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
