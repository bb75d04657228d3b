package oauth

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// maxURI bounds an address, in bytes.
const maxURI = 2000

// neverSchemes are schemes that a browser runs, reads or has a meaning of its own for.
var neverSchemes = []string{
	"javascript", "data", "file", "blob", "about", "vbscript", "filesystem", "view-source", "jar", "ftp", "ws", "wss",
	"mailto", "tel", "sms", "intent", "chrome", "chrome-extension", "moz-extension", "resource", "http", "https",
}

var (
	schemeForm = regexp.MustCompile(`^[a-z][a-z0-9+.-]*:`)
	// loopbackForm splits an http address of the user's own machine into its host and what follows the port.
	loopbackForm = regexp.MustCompile(`^http://(127\.0\.0\.1|\[::1\]|localhost)(?::[0-9]{1,5})?([/?][^#]*)?$`)
)

// checkRedirect returns what is wrong with an address that a client wants answers sent to, or nothing: https, http to the
// user's own machine, and for a public client a scheme that its app has taken for itself (RFC 8252, 7).
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
	case scheme == "http" && !loopbackForm.MatchString(raw):
		return "A redirect URI must be https; http is for 127.0.0.1, [::1] and localhost alone."
	case scheme == "http":
		return ""
	case scheme == "https":
		if u.Hostname() == "" {
			return "A redirect URI must name a host."
		}
		return ""
	case slices.Contains(neverSchemes, scheme):
		return "A redirect URI must not have this scheme."
	case !public:
		return "A scheme of an app's own is for public clients (token_endpoint_auth_method none)."
	}
	return ""
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
	if slices.Contains(registered, raw) {
		return true
	}
	if checkRedirect(raw, true) != "" {
		return false
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
