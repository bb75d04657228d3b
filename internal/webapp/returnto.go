package webapp

import (
	"net/url"
	"path"
	"strings"
	"unicode/utf8"
)

// maxReturnTo bounds the path to return to. It must fit into a URL after another round of escaping.
const maxReturnTo = 4096

// localPath returns the path and query to continue at after signing in, or the home page unless returnTo is certainly
// local. Browsers parse URLs more leniently than Go (a backslash is a slash, tabs are removed), so ambiguous input is
// refused; otherwise the sign-in page would be an open redirector.
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
	// Double slashes, dot segments and control characters, escaped ones included.
	if clean := path.Clean(u.Path); clean != strings.TrimSuffix(u.Path, "/") && clean != u.Path ||
		strings.ContainsFunc(u.Path, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }) {
		return home
	}
	switch u.Path {
	case SignInPath, SignOutPath, SetupPath, ResetPath, JoinPath, ForgotPath, StepUpPath:
		return home // these pages would redirect in a loop
	}
	return returnTo
}
