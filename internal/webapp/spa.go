package webapp

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"carrel/internal/core"
)

// AppHome is the first page of the app.
const AppHome = "/chat"

// StartPath is the page that leads a new account to its first answer.
const StartPath = "/start"

// appPaths are the paths of the app's pages. Other paths are 404, also for a mistyped address.
var appPaths = []string{
	AppHome, AppHome + "/{id}", StartPath, "/search", "/check", "/favourites", "/memories", "/bin",
	"/agents", "/agents/{id}", "/sources", "/sources/{id}",
	"/settings", "/settings/profile", "/settings/keys", "/settings/connect", "/settings/connections",
	"/settings/invitations", "/settings/usage", "/settings/security", "/settings/audit", "/settings/webhooks",
	"/settings/links", "/settings/subscription", "/settings/data",
	"/admin", "/admin/users", "/admin/users/{id}", "/admin/plans", "/admin/models", "/admin/audit", "/admin/system",
}

// appPolicy allows the app its own scripts, styles and requests. Markup from models and documents enters the page only
// through two Trusted Types policies; the others permit the addresses of the PDF worker and of the service worker.
const appPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; " +
	"require-trusted-types-for 'script'; trusted-types svelte-trusted-html dompurify " +
	"carrel-pdf-worker carrel-service-worker"

// workerPolicy applies to workers, which do not inherit the policy of their page. The PDF worker decodes images with
// WebAssembly and gets all files from the page, so it needs no requests.
const workerPolicy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'"

// serviceWorker is the file of the service worker, which must be below the root to serve all pages. It requests the files
// and pages of the app and sends a page of its own without a connection.
const serviceWorker = "service-worker.js"

// serviceWorkerPolicy allows the requests of the service worker.
const serviceWorkerPolicy = "default-src 'none'; connect-src 'self'"

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
		if name == "index.html" {
			app.page = newPage(name, func() []byte { return a.filled(read()) })
			return nil
		}
		served, zipped := strings.CutSuffix(name, compressedSuffix)
		app.files[served] = newAppFile(served, read, zipped)
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

// filled rewrites the relative URLs of index.html to absolute ones below the base URL's path, because the page is
// served at paths of different depth. The app reads that path, and whether there is a bin, from meta elements.
func (a *App) filled(index []byte) []byte {
	const base, bin = `name="carrel-base" content="`, `name="carrel-bin" content="`
	replace := []string{`"./`, `"` + a.prefix + `/`, base, base + a.prefix}
	if a.opts.NoBin {
		replace = append(replace, bin+"on", bin+"off")
	}
	return []byte(strings.NewReplacer(replace...).Replace(string(index)))
}

// compressedSuffix is the suffix of the files that are stored compressed with gzip.
const compressedSuffix = ".gz"

// appFile is a file of the app. Its forms are read when they are requested, because most of the files are rarely needed:
// the viewer of PDF files alone has several megabytes. Files are stored compressed, and are decompressed for the few
// clients that do not accept gzip.
type appFile struct {
	plain func() []byte
	// zipped is nil if the file is sent as it is to all clients.
	zipped        func() []byte
	contentType   string
	cache, policy string
	etag          func() string
}

// newPage returns index.html, which is compressed once at its first request.
func newPage(name string, read func() []byte) *appFile {
	return &appFile{
		plain: read, zipped: sync.OnceValue(func() []byte { return compress(read()) }),
		contentType: contentType(name), cache: cacheNever, etag: etagOf(read),
	}
}

// newAppFile returns a file whose stored form is compressed if zipped is true.
func newAppFile(name string, stored func() []byte, zipped bool) *appFile {
	f := &appFile{plain: stored, contentType: contentType(name), cache: cacheDay, etag: etagOf(stored)}
	if zipped {
		f.plain, f.zipped = func() []byte { return decompress(stored()) }, stored
	}
	if path.Ext(name) == workerExtension {
		f.policy = workerPolicy
	}
	switch {
	case strings.HasPrefix(name, "assets/"):
		f.cache = cacheForever
	case name == serviceWorker:
		f.cache, f.policy = cacheNever, serviceWorkerPolicy
	}
	return f
}

func etagOf(read func() []byte) func() string {
	return sync.OnceValue(func() string {
		sum := sha256.Sum256(read())
		return `"` + hex.EncodeToString(sum[:12]) + `"`
	})
}

// contentType returns the media type of a file. The table of the operating system may lack types or have them wrong, and
// reading it takes milliseconds.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".js", workerExtension:
		return "text/javascript; charset=utf-8"
	case ".wasm":
		return "application/wasm"
	case ".webmanifest":
		return "application/manifest+json"
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	default:
		return "application/octet-stream"
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

func decompress(body []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err == nil {
		body, err = io.ReadAll(z)
	}
	if err != nil {
		panic(fmt.Errorf("decompress a file of the web app: %w", err)) // it is in the binary
	}
	return body
}

// ServeHTTP sends the file, or 304 Not Modified to a client with a current copy.
func (f *appFile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", f.cache)
	h.Set("Vary", "Accept-Encoding")
	if f.policy != "" {
		h.Set("Content-Security-Policy", f.policy)
	}
	read, etag := f.plain, f.etag()
	zip := f.zipped != nil && core.AcceptsGzip(r.Header.Values("Accept-Encoding"))
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
