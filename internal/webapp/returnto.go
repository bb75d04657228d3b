package webapp

import (
	"net/url"
	"path"
	"strings"
	"unicode/utf8"
)

// maxReturnTo bounds the address to come back to; escaped once more it still has to fit into a URL.
const maxReturnTo = 4096

// localPath returns where to go after signing in: the path and query that were asked for if they are surely our own,
// else the home page. A browser reads an address more generously than Go does (a backslash is a slash, tabs vanish), so
// what could be read in two ways is refused.
func localPath(returnTo string) string {
	const home = "/"
	if len(returnTo) > maxReturnTo || !strings.HasPrefix(returnTo, "/") || !utf8.ValidString(returnTo) {
		return home
	}
	for _, r := range returnTo {
		if r <= ' ' || r == 0x7f || r == '\\' || r == '#' || r >= utf8.RuneSelf {
			return home
		}
	}
	u, err := url.Parse(returnTo)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" {
		return home
	}
	// Doubled slashes, dots and control characters, also when they are escaped.
	if clean := path.Clean(u.Path); clean != strings.TrimSuffix(u.Path, "/") && clean != u.Path ||
		strings.ContainsFunc(u.Path, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }) {
		return home
	}
	switch u.Path {
	case SignInPath, SignOutPath, SetupPath, ResetPath, StepUpPath:
		return home // round and round
	}
	return returnTo
}
