package webapp

import (
	"strings"
	"testing"
)

func TestFormTargetsAllowOnlyTheRedirect(t *testing.T) {
	t.Parallel()
	for redirect, want := range map[string]string{
		"https://claude.ai/api/mcp/auth_callback": " https:",
		"http://127.0.0.1:33418/callback":         " http://127.0.0.1:33418 https:",
		"http://localhost/callback":               " http://localhost https:",
		"http://[::1]:33418/callback":             " http: https:",
		"cursor://anysphere.cursor/callback":      " cursor:",
		"com.example.app:/callback":               " com.example.app:",
		"http://a;script-src *:80/":               "",
		"http://a,b/":                             "",
		"http://'self'/":                          "",
		"http:///x":                               "",
		"":                                        "",
		"/local":                                  "",
		"1x://y":                                  "",
		"a b://y":                                 "",
	} {
		if got := formTargets(redirect); got != want {
			t.Errorf("%q: %q, want %q", redirect, got, want)
		}
	}
}

// FuzzFormTargets checks that a redirect URI can't end the form-action directive or add keywords to it.
func FuzzFormTargets(f *testing.F) {
	for _, seed := range []string{
		"https://a/b", "http://a;b", "x:y", "http://[::1%25en]:1/", "http://a\nb/",
		"http://a:b@c/",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, redirect string) {
		if got := formTargets(redirect); strings.ContainsAny(got, ";,\"'*\r\n\x00") ||
			strings.Contains(got, "unsafe") && !strings.HasPrefix(strings.ToLower(redirect), "unsafe") {
			t.Errorf("%q: %q", redirect, got)
		}
	})
}
