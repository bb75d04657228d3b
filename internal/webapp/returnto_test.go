package webapp

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestTheWayBackIsOurOwn(t *testing.T) {
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
			t.Errorf("%q leads to %q, want %q", to, got, want)
		}
	}
}

// FuzzReturnTo reads the address as a browser does: backslashes are slashes, tabs and line ends vanish (WHATWG URL, 4.4).
func FuzzReturnTo(f *testing.F) {
	for _, seed := range []string{"", "/", "/docs?x=y", "//e", "/\\e", "/\t/e", "http://e", "/%2f%2fe", "/..//e", "/a/./b", "/?//e", "/:80", "/@e", "/a;b"} {
		f.Add(seed)
	}
	base, err := url.Parse("https://carrel.example/sign-in")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, to string) {
		got := localPath(to)
		if got != to && got != "/" {
			t.Fatalf("%q became %q", to, got)
		}
		asBrowser := strings.NewReplacer("\\", "/", "\t", "", "\n", "", "\r", "").Replace(got)
		u, err := base.Parse(asBrowser)
		if err != nil || u.Host != base.Host || u.Scheme != base.Scheme || !strings.HasPrefix(asBrowser, "/") || strings.HasPrefix(asBrowser, "//") {
			t.Errorf("%q leads to %v, %v", to, u, err)
		}
		if strings.ContainsAny(got, "\r\n\x00") {
			t.Errorf("%q breaks a header", to)
		}
	})
}

func FuzzCookie(f *testing.F) {
	for _, seed := range []string{"", "carrel=", "carrel=a", "carrel=a; carrel=b", "__Host-carrel=a", `carrel="a"`, "carrel=a;", "=a", ";;;", "carrel=\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		r := &http.Request{Header: http.Header{"Cookie": {header}}}
		token, ok := cookie{name: "carrel"}.read(r)
		if ok == (token == "") {
			t.Errorf("%q gives %q, %v", header, token, ok)
		}
		if ok && strings.Count(header, "carrel") < 1 {
			t.Errorf("%q gives %q", header, token)
		}
	})
}

func TestFormTargetsAreWhatTheRedirectNeeds(t *testing.T) {
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

// FuzzFormTargets holds that a redirect can add sources to one directive and nothing else.
func FuzzFormTargets(f *testing.F) {
	for _, seed := range []string{"https://a/b", "http://a;b", "x:y", "http://[::1%25en]:1/", "http://a\nb/", "http://a:b@c/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, redirect string) {
		if got := formTargets(redirect); strings.ContainsAny(got, ";,\"'*\r\n\x00") || strings.Contains(got, "unsafe") && !strings.HasPrefix(strings.ToLower(redirect), "unsafe") {
			t.Errorf("%q: %q", redirect, got)
		}
	})
}
