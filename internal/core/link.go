package core

import (
	"net/url"
	"strings"
	"unicode"
)

// WebLink returns s, trimmed, if it is safe to show as a link, or "". Only absolute http and https URLs are safe:
// browsers run javascript: and data: URLs in the page that shows them, and other programs open file: and vbscript:
// URLs. Every link from untrusted input must pass this function before it is stored or shown.
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

// unsafeInLink reports characters that browsers drop or rewrite when they parse a URL, so that they might see another
// URL than url.Parse does.
func unsafeInLink(r rune) bool { return unicode.IsControl(r) || r == '\\' || r == '\ufffd' }
