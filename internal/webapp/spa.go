package webapp

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

// AppHome is where people land in the app.
const AppHome = "/chat"

// appPaths are the pages that the app draws. Everything else stays 404, so that a mistyped address is no success.
var appPaths = []string{
	AppHome, AppHome + "/{id}", "/search", "/favourites", "/memories", "/agents", "/agents/{id}", "/sources", "/sources/{id}",
	"/settings", "/settings/profile", "/settings/keys", "/settings/connect", "/settings/connections", "/settings/invitations", "/settings/usage", "/settings/security", "/settings/audit",
	"/settings/webhooks", "/settings/subscription", "/settings/data",
	"/admin", "/admin/users", "/admin/users/{id}", "/admin/plans", "/admin/audit", "/admin/system",
}

// appPolicy lets the app run its own script and style and talk to its own server. Markup that comes from models and documents
// can only get into the page through the two named sanitisers (Trusted Types).
const appPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html dompurify"

// Asset names hold a hash of what is in them; the other files may change under their names.
const (
	cacheForever = "public, max-age=31536000, immutable"
	cacheDay     = "public, max-age=86400"
	cacheNever   = "private, no-cache"
)

// WebApp is the app that runs in the browsers of people who are signed in.
type WebApp struct {
	doors *App
	page  *appFile
	files map[string]*appFile
}

// WebApp returns the app whose files these are.
func (a *App) WebApp(files fs.FS) (*WebApp, error) {
	app := &WebApp{doors: a, files: map[string]*appFile{}}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(files, name)
		switch {
		case err != nil:
			return err
		case name == "index.html":
			app.page = newAppFile(name, a.atPrefix(body), cacheNever)
		case strings.HasPrefix(name, "assets/"):
			app.files[name] = newAppFile(name, body, cacheForever)
		default:
			app.files[name] = newAppFile(name, body, cacheDay)
		}
		return nil
	})
	if err == nil && app.page == nil {
		err = errors.New("index.html is not there")
	}
	if err != nil {
		return nil, fmt.Errorf("read the web app: %w", err)
	}
	return app, nil
}

// Routes adds the app to a mux.
func (app *WebApp) Routes(mux *http.ServeMux) {
	for _, p := range appPaths {
		mux.HandleFunc("GET "+p, app.show)
	}
	for name, f := range app.files {
		mux.Handle("GET /"+name, f)
	}
}

// show sends the one page of the app. Whoever is not signed in is asked to first: there would be nothing to show.
func (app *WebApp) show(w http.ResponseWriter, r *http.Request) {
	if _, ok := app.doors.signedIn(r); !ok {
		app.doors.seeOther(w, signInURL(r.URL.RequestURI()))
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", appPolicy)
	h.Set("Referrer-Policy", app.doors.referrer)
	app.page.ServeHTTP(w, r)
}

// atPrefix makes the page's relative addresses absolute: it is shown at paths of several depths, below the path of the base
// URL, which the app reads from the page as well.
func (a *App) atPrefix(index []byte) []byte {
	const base = `name="carrel-base" content="`
	return []byte(strings.NewReplacer(`"./`, `"`+a.prefix+`/`, base, base+a.prefix).Replace(string(index)))
}

// appFile is a file of the app. It is compressed when somebody first asks for that.
type appFile struct {
	body              []byte
	contentType, etag string
	cache             string
	zipped            func() []byte
}

func newAppFile(name string, body []byte, cache string) *appFile {
	sum := sha256.Sum256(body)
	return &appFile{
		body: body, contentType: contentType(name), etag: `"` + hex.EncodeToString(sum[:12]) + `"`, cache: cache,
		zipped: sync.OnceValue(func() []byte { return compress(body) }),
	}
}

// contentType does not ask the machine's own table, which may lack or bend the types that scripts need.
func contentType(name string) string {
	switch ext := path.Ext(name); ext {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".webmanifest":
		return "application/manifest+json"
	default:
		return mime.TypeByExtension(ext)
	}
}

func compress(body []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is valid
	}
	_, _ = z.Write(body) // a buffer takes everything
	_ = z.Close()
	return b.Bytes()
}

// ServeHTTP sends the file, or that it has not changed.
func (f *appFile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", f.cache)
	h.Set("Vary", "Accept-Encoding")
	body, etag := f.body, f.etag
	if zippable(f.contentType) && acceptsGzip(r) {
		body, etag = f.zipped(), strings.TrimSuffix(f.etag, `"`)+`-gz"`
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Etag", etag)
	if r.Header.Get("If-None-Match") == etag {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a client that is gone needs no answer
	}
}

// zippable reports whether compressing makes a file of this type smaller.
func zippable(contentType string) bool { return !strings.HasPrefix(contentType, "image/png") }

func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if strings.EqualFold(name, "gzip") && strings.ReplaceAll(q, " ", "") != "q=0" {
			return true
		}
	}
	return false
}
