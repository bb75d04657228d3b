package webapp_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"carrel/internal/webapp"
)

const indexHTML = `<meta name="carrel-base" content="" /><meta name="carrel-bin" content="on" />` +
	`<link href="./icons/icon.svg">` +
	`<script src="./assets/a-1.js"></script>`

func appFiles() fstest.MapFS {
	files := fstest.MapFS{
		"index.html":  {Data: []byte(indexHTML)},
		"icons/i.png": {Data: []byte("png")},
	}
	for name, text := range map[string]string{
		"assets/a-1.js":     "export const a = 1;" + strings.Repeat(" ", 1000),
		"assets/w-2.mjs":    "postMessage(1);",
		"assets/d-3.wasm":   "wasm",
		"assets/e-4.data":   "data",
		"app.webmanifest":   "{}",
		"service-worker.js": "skipWaiting();",
	} {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(text)) // a bytes.Buffer does not fail
		_ = z.Close()
		files[name+".gz"] = &fstest.MapFile{Data: b.Bytes()}
	}
	return files
}

func newAppSite(t *testing.T, change ...func(*webapp.Options)) *site {
	t.Helper()
	site := newSite(t, change...)
	app, err := site.app.WebApp(appFiles())
	if err != nil {
		t.Fatal(err)
	}
	app.Routes(site.mux)
	return site
}

func TestAppRequiresASession(t *testing.T) {
	t.Parallel()
	site := newAppSite(t)
	if got := site.get("/chat/thr_1?agent=a&cite=b", nil); got.status != http.StatusSeeOther ||
		got.header.Get("Location") != "/sign-in?return=%2Fchat%2Fthr_1%3Fagent%3Da%26cite%3Db" {
		t.Errorf("without a session: %d %s", got.status, got.header.Get("Location"))
	}
	c := site.signIn()
	for _, path := range []string{"/chat", "/chat/thr_1", "/search?q=a"} {
		got := site.get(path, c)
		if got.status != http.StatusOK || !strings.Contains(got.body, `src="/assets/a-1.js"`) {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		for header, want := range map[string]string{
			"Cache-Control": "private, no-cache",
			"Content-Type":  "text/html; charset=utf-8",
		} {
			if is := got.header.Get(header); is != want {
				t.Errorf("%s: %s is %q", path, header, is)
			}
		}
		policy := got.header.Get("Content-Security-Policy")
		for _, want := range []string{
			"default-src 'none'", "script-src 'self';", "style-src 'self';",
			"require-trusted-types-for 'script'", "frame-ancestors 'none'", " carrel-pdf-worker", " carrel-service-worker",
		} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy lacks %s: %s", path, want, policy)
			}
		}
	}
	for _, path := range []string{
		"/chat/a/b", "/settings/nothing", "/assets/", "/assets/b-2.js", "/index.html",
		"/nothing",
	} {
		if got := site.get(path, c); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
}

func TestAssetsAreCachedForeverAndThePageIsNot(t *testing.T) {
	t.Parallel()
	site := newAppSite(t)
	for path, want := range map[string][2]string{
		"/assets/a-1.js":     {"public, max-age=31536000, immutable", "text/javascript; charset=utf-8"},
		"/assets/w-2.mjs":    {"public, max-age=31536000, immutable", "text/javascript; charset=utf-8"},
		"/assets/d-3.wasm":   {"public, max-age=31536000, immutable", "application/wasm"},
		"/assets/e-4.data":   {"public, max-age=31536000, immutable", "application/octet-stream"},
		"/app.webmanifest":   {"public, max-age=86400", "application/manifest+json"},
		"/service-worker.js": {"private, no-cache", "text/javascript; charset=utf-8"},
		"/icons/i.png":       {"public, max-age=86400", "image/png"},
	} {
		got := site.get(path, nil)
		if got.status != http.StatusOK || got.header.Get("Cache-Control") != want[0] ||
			got.header.Get("Content-Type") != want[1] {
			t.Errorf("%s: %d %v", path, got.status, got.header)
		}
	}
}

func TestWorkersCannotSendRequests(t *testing.T) {
	t.Parallel()
	site := newAppSite(t)
	policy := site.get("/assets/w-2.mjs", nil).header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "connect-src") {
		t.Errorf("the policy of a worker is %q", policy)
	}
	if policy := site.get("/service-worker.js", nil).header.Get("Content-Security-Policy"); policy !=
		"default-src 'none'; connect-src 'self'" {
		t.Errorf("the policy of the service worker is %q", policy)
	}
	if policy := site.get("/assets/a-1.js", nil).header.Get("Content-Security-Policy"); policy != "" {
		t.Errorf("the policy of a script is %q", policy)
	}
}

func TestAssetsAreCompressedIfTheClientAcceptsGzip(t *testing.T) {
	t.Parallel()
	site := newAppSite(t)
	ask := func(path, accept, match string) *http.Response {
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		r.Header.Set("Accept-Encoding", accept)
		r.Header.Set("If-None-Match", match)
		rec := httptest.NewRecorder()
		site.mux.ServeHTTP(rec, r)
		return rec.Result()
	}
	for accept, zipped := range map[string]bool{
		"gzip, br": true, "br;q=1, GZIP;q=0.5": true, "": false, "br": false,
		"gzip; q=0": false, "xgzip": false,
	} {
		got := ask("/assets/a-1.js", accept, "")
		if (got.Header.Get("Content-Encoding") == "gzip") != zipped || got.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: %v", accept, got.Header)
		}
	}
	got := ask("/assets/a-1.js", "gzip", "")
	z, err := gzip.NewReader(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); err != nil || !strings.HasPrefix(string(text), "export const a") {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := io.ReadAll(ask("/assets/a-1.js", "", "").Body); err != nil ||
		!strings.HasPrefix(string(text), "export const a") {
		t.Errorf("without gzip: %q, %v", text, err)
	}
	if got := ask("/assets/a-1.js.gz", "gzip", ""); got.StatusCode != http.StatusNotFound {
		t.Errorf("the name of the stored file: %d", got.StatusCode)
	}
	if again := ask("/assets/a-1.js", "gzip", got.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("with the ETag: %d", again.StatusCode)
	}
	if other := ask("/assets/a-1.js", "", got.Header.Get("ETag")); other.StatusCode != http.StatusOK {
		t.Errorf("with the ETag of the compressed form: %d", other.StatusCode)
	}
	if png := ask("/icons/i.png", "gzip", ""); png.Header.Get("Content-Encoding") != "" {
		t.Error("a PNG is compressed")
	}
}

func TestAppWorksBelowAPath(t *testing.T) {
	t.Parallel()
	site := newAppSite(t, func(o *webapp.Options) {
		o.BaseURL, o.Home = "https://example.org/library", webapp.AppHome
	})
	c := site.signIn()
	page := site.get("/chat", c).body
	for _, want := range []string{
		`name="carrel-base" content="/library"`, `src="/library/assets/a-1.js"`,
		`href="/library/icons/icon.svg"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("missing %s in %s", want, page)
		}
	}
	if got := site.get("/", c); got.header.Get("Location") != "/library/chat" {
		t.Errorf("home redirects to %q", got.header.Get("Location"))
	}
}

func TestAppIsToldWhetherThereIsABin(t *testing.T) {
	t.Parallel()
	for state, without := range map[string]bool{"on": false, "off": true} {
		site := newAppSite(t, func(o *webapp.Options) { o.NoBin = without })
		if page := site.get("/chat", site.signIn()).body; !strings.Contains(page, `name="carrel-bin" content="`+state+`"`) {
			t.Errorf("NoBin %v: %s", without, page)
		}
	}
}

func TestAppWithoutIndexIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := newSite(t).app.WebApp(fstest.MapFS{}); err == nil {
		t.Error("an app without index.html is accepted")
	}
}
