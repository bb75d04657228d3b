package webapp

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
)

//go:embed pages/*.css pages/*.js pages/*.svg
var pageFiles embed.FS

// file is a static file of the pages. Its path contains a hash of its content, so browsers cache it forever.
type file struct {
	path, contentType string
	body              []byte
}

func newFile(name, contentType string) file {
	body, err := pageFiles.ReadFile("pages/" + name)
	if err != nil {
		panic(err) // the file is embedded
	}
	sum := sha256.Sum256(body)
	base, ext, _ := strings.Cut(name, ".")
	path := "/pages/" + base + "-" + hex.EncodeToString(sum[:6]) + "." + ext
	return file{path: path, contentType: contentType, body: body}
}

// ServeHTTP sends the file.
func (f file) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Content-Length", strconv.Itoa(len(f.body)))
	h.Set("Cache-Control", cacheForever)
	_, _ = w.Write(f.body) // the client may have disconnected
}

var (
	styleFile = newFile("style.css", "text/css; charset=utf-8")
	iconFile  = newFile("icon.svg", "image/svg+xml")
	// scriptFile is for the passkey API of browsers, and codeFile reads the code of a link.
	scriptFile = newFile("passkey.js", "text/javascript; charset=utf-8")
	codeFile   = newFile("code.js", "text/javascript; charset=utf-8")
	files      = []file{styleFile, iconFile, scriptFile, codeFile}
)

// pagePolicy returns a Content-Security-Policy that allows the style sheet, images of this origin, and forms to this
// origin and to formTargets. It forbids scripts.
func pagePolicy(formTargets string) string {
	return "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'" + formTargets +
		"; frame-ancestors 'none'; base-uri 'none'"
}

var ownPolicy = pagePolicy("")

// scriptPolicy is the policy of pages with a script.
var scriptPolicy = ownPolicy + "; script-src 'self'"

// show sends a page whose forms are posted to this origin.
func (a *App) show(w http.ResponseWriter, r *http.Request, status int, page string, data any) {
	w.Header().Set("Content-Security-Policy", ownPolicy)
	a.render(w, r, status, page, data)
}

// showWithScript sends a page that contains a script.
func (a *App) showWithScript(w http.ResponseWriter, r *http.Request, status int, page string, data any) {
	w.Header().Set("Content-Security-Policy", scriptPolicy)
	a.render(w, r, status, page, data)
}

// render sends a page in the language of the request. A page that fails halfway is not sent at all.
func (a *App) render(w http.ResponseWriter, r *http.Request, status int, page string, data any) {
	lang := languageOf(r)
	p := writer{language: lang, texts: tables[lang], prefix: a.prefix}
	if p.page(page, data); p.err != nil {
		a.Log.ErrorContext(r.Context(), "writing a page failed", "page", page, "error", p.err)
		http.Error(w, textsFor(r).text("fail.internal"), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", string(lang))
	h.Set("Content-Length", strconv.Itoa(p.Len()))
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept-Language, Cookie")
	h.Set("Referrer-Policy", a.referrer)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, p.String()) // the client may have disconnected
}

// failPage is the content of the error page.
type failPage struct {
	Title, Text string
	// Detail is a technical sentence in English; empty for none.
	Detail string
	// RequestID lets an operator find the request in the log.
	RequestID string
}

// fail sends the error page with the texts fail.<name> and fail.<name>_text. The values fill in the second one.
func (a *App) fail(w http.ResponseWriter, r *http.Request, status int, name string, values ...string) {
	t := textsFor(r)
	a.showFailure(w, r, status, failPage{Title: t.text("fail." + name), Text: t.text("fail."+name+"_text", values...)})
}

func (a *App) showFailure(w http.ResponseWriter, r *http.Request, status int, p failPage) {
	p.RequestID = w.Header().Get("X-Request-Id")
	a.show(w, r, status, "fail", p)
}
