package webapp

import (
	"net/url"
	"strings"
	"testing"
)

func TestReturnPathIsLocal(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{
		"":                                  "/",
		"/":                                 "/",
		"/docs":                             "/docs",
		"/api/auth/mcp/authorize?a=b&c=%2F": "/api/auth/mcp/authorize?a=b&c=%2F",
		"/a/":                               "/a/",
		"//evil.example":                    "/",
		"///evil.example":                   "/",
		"/\\evil.example":                   "/",
		"\\\\evil.example":                  "/",
		"/\t/evil.example":                  "/",
		"/\n/evil.example":                  "/",
		"/%09/evil.example":                 "/",
		"/.//evil.example":                  "/",
		"/a/..//evil.example":               "/",
		"/%2e%2e//evil.example":             "/",
		"/%2f/evil.example":                 "/",
		"/%5cevil.example":                  "/",
		"https://evil.example":              "/",
		"https:evil.example":                "/",
		"javascript:alert(1)":               "/",
		"evil.example":                      "/",
		" /docs":                            "/",
		"/docs#x":                           "/",
		"/d\u00f6cs":                        "/",
		"/sign-out":                         "/",
		"/sign-in?return=/sign-in":          "/",
		"/" + strings.Repeat("a", 5000):     "/",
		"/docs\r\nSet-Cookie: a=b":          "/",
	} {
		if got := localPath(to); got != want {
			t.Errorf("%q returns %q, want %q", to, got, want)
		}
	}
}

// FuzzReturnTo parses the result like a browser: a backslash is a slash, tabs and line ends are removed (WHATWG URL,
// 4.4).
func FuzzReturnTo(f *testing.F) {
	for _, seed := range []string{
		"", "/", "/docs?x=y", "//e", "/\\e", "/\t/e", "http://e", "/%2f%2fe", "/..//e",
		"/a/./b", "/?//e", "/:80", "/@e", "/a;b",
	} {
		f.Add(seed)
	}
	base, err := url.Parse("https://carrel.example/sign-in")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, to string) {
		got := localPath(to)
		if got != to && got != "/" {
			t.Fatalf("%q returns %q", to, got)
		}
		asBrowser := strings.NewReplacer("\\", "/", "\t", "", "\n", "", "\r", "").Replace(got)
		u, err := base.Parse(asBrowser)
		if err != nil || u.Host != base.Host || u.Scheme != base.Scheme || !strings.HasPrefix(asBrowser, "/") ||
			strings.HasPrefix(asBrowser, "//") {
			t.Errorf("%q redirects to %v, %v", to, u, err)
		}
		if strings.ContainsAny(got, "\r\n\x00") {
			t.Errorf("%q breaks a header", to)
		}
	})
}
