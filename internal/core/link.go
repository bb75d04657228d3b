package core

import (
	"net/url"
	"strings"
	"unicode"
)

// WebLink returns an address that is safe to show as a link, without surrounding white space, or "". Only absolute http
// and https addresses are safe: a browser runs javascript: and data: addresses in the page that shows them, and other
// programs open file: and vbscript: ones. Whatever stores or shows a link that others wrote uses this function.
func WebLink(s string) string {
	s = strings.TrimSpace(s)
	if strings.ContainsFunc(s, unsafeInLink) {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return s
}

// unsafeInLink reports characters that browsers drop or rewrite when they read an address, so that they would read
// another one than we did.
func unsafeInLink(r rune) bool { return unicode.IsControl(r) || r == '\\' || r == '\ufffd' }
