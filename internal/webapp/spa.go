package webapp

import (
	"bytes"
	"cmp"
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

// AppHome is the first page of the app.
const AppHome = "/chat"

// appPaths are the paths of the app's pages. Other paths are 404, also for a mistyped address.
var appPaths = []string{
	AppHome, AppHome + "/{id}", "/search", "/check", "/favourites", "/memories",
	"/agents", "/agents/{id}", "/sources", "/sources/{id}",
	"/settings", "/settings/profile", "/settings/keys", "/settings/connect", "/settings/connections",
	"/settings/invitations", "/settings/usage", "/settings/security", "/settings/audit", "/settings/webhooks",
	"/settings/subscription", "/settings/data",
	"/admin", "/admin/users", "/admin/users/{id}", "/admin/plans", "/admin/audit", "/admin/system",
}

// appPolicy allows the app its own scripts, styles and requests. Markup from models and documents enters the page only
// through two Trusted Types policies; the third one permits the address of the PDF worker.
const appPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; " +
	"require-trusted-types-for 'script'; trusted-types svelte-trusted-html dompurify " +
	"carrel-pdf-worker"

// workerPolicy applies to workers, which do not inherit the policy of their page. The PDF worker decodes images with
// WebAssembly and gets all files from the page, so it needs no requests.
const workerPolicy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'"

// workerExtension is the file name extension of workers; other scripts of the build end in .js.
const workerExtension = ".mjs"

// Values of Cache-Control. Files in assets/ have a hash of their content in the name and are cached forever.
const (
	cacheForever = "public, max-age=31536000, immutable"
	cacheDay     = "public, max-age=86400"
	cacheNever   = "private, no-cache"
)

// WebApp serves the single-page app.
type WebApp struct {
	pages *App
	page  *appFile
	files map[string]*appFile
}

// WebApp returns the single-page app with these files.
func (a *App) WebApp(files fs.FS) (*WebApp, error) {
	app := &WebApp{pages: a, files: map[string]*appFile{}}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		read := func() []byte { return mustRead(files, name) }
		switch {
		case name == "index.html":
			app.page = newAppFile(name, func() []byte { return a.atPrefix(read()) }, cacheNever)
		case strings.HasPrefix(name, "assets/"):
			app.files[name] = newAppFile(name, read, cacheForever)
		default:
			app.files[name] = newAppFile(name, read, cacheDay)
		}
		return nil
	})
	if err == nil && app.page == nil {
		err = errors.New("index.html is missing")
	}
	if err != nil {
		return nil, fmt.Errorf("load the web app: %w", err)
	}
	return app, nil
}

func mustRead(files fs.FS, name string) []byte {
	body, err := fs.ReadFile(files, name)
	if err != nil {
		panic(fmt.Errorf("read a file of the web app: %w", err)) // it is in the binary
	}
	return body
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

// show sends the app's page to signed-in users and redirects others to the sign-in page.
func (app *WebApp) show(w http.ResponseWriter, r *http.Request) {
	if _, ok := app.pages.signedIn(r); !ok {
		app.pages.seeOther(w, signInURL(r.URL.RequestURI()))
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", appPolicy)
	h.Set("Referrer-Policy", app.pages.referrer)
	app.page.ServeHTTP(w, r)
}

// atPrefix rewrites the relative URLs of index.html to absolute ones below the base URL's path, because the page is
// served at paths of different depth. The app reads that path from a meta element.
func (a *App) atPrefix(index []byte) []byte {
	const base = `name="carrel-base" content="`
	return []byte(strings.NewReplacer(`"./`, `"`+a.prefix+`/`, base, base+a.prefix).Replace(string(index)))
}

// appFile is a file of the app. It is read when it is requested, because most of the files are rarely needed: the viewer
// of PDF files alone has several megabytes. The compressed form is kept.
type appFile struct {
	read          func() []byte
	contentType   string
	cache, policy string
	etag          func() string
	zipped        func() []byte
}

func newAppFile(name string, read func() []byte, cache string) *appFile {
	f := &appFile{read: read, contentType: contentType(name), cache: cache}
	if path.Ext(name) == workerExtension {
		f.policy = workerPolicy
	}
	f.etag = sync.OnceValue(func() string {
		sum := sha256.Sum256(read())
		return `"` + hex.EncodeToString(sum[:12]) + `"`
	})
	f.zipped = sync.OnceValue(func() []byte { return compress(read()) })
	return f
}

// contentType returns the media type of a file. Types that browsers check strictly are fixed here, because the
// operating system's table may lack them or have them wrong.
func contentType(name string) string {
	switch ext := path.Ext(name); ext {
	case ".js", workerExtension:
		return "text/javascript; charset=utf-8"
	case ".wasm":
		return "application/wasm"
	case ".webmanifest":
		return "application/manifest+json"
	default:
		return cmp.Or(mime.TypeByExtension(ext), "application/octet-stream")
	}
}

func compress(body []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is valid
	}
	_, _ = z.Write(body) // a bytes.Buffer does not fail
	_ = z.Close()
	return b.Bytes()
}

// ServeHTTP sends the file, or 304 Not Modified to a client with a current copy.
func (f *appFile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", f.cache)
	h.Set("Vary", "Accept-Encoding")
	if f.policy != "" {
		h.Set("Content-Security-Policy", f.policy)
	}
	read, etag := f.read, f.etag()
	zip := compressible(f.contentType) && acceptsGzip(r)
	if zip {
		read, etag = f.zipped, strings.TrimSuffix(etag, `"`)+`-gz"`
	}
	h.Set("Etag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if zip {
		h.Set("Content-Encoding", "gzip")
	}
	body := read()
	h.Set("Content-Type", f.contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may have disconnected
	}
}

// compressible reports whether compression makes a file of this type smaller.
func compressible(contentType string) bool { return !strings.HasPrefix(contentType, "image/png") }

func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if strings.EqualFold(name, "gzip") && strings.ReplaceAll(q, " ", "") != "q=0" {
			return true
		}
	}
	return false
}
