package webapp

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"
)

//go:embed pages
var pageFiles embed.FS

// file is something that pages refer to. Its name holds the hash of what is in it, so that browsers may keep it for
// ever and never use an old one.
type file struct {
	path, contentType string
	body              []byte
}

func newFile(name, contentType string) file {
	body, err := pageFiles.ReadFile("pages/" + name)
	if err != nil {
		panic(err) // embedded, so that a test would see it
	}
	sum := sha256.Sum256(body)
	base, ext, _ := strings.Cut(name, ".")
	return file{path: "/pages/" + base + "-" + hex.EncodeToString(sum[:6]) + "." + ext, contentType: contentType, body: body}
}

// ServeHTTP sends the file.
func (f file) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Content-Length", strconv.Itoa(len(f.body)))
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(f.body) // a client that is gone needs no answer
}

var (
	styleFile = newFile("style.css", "text/css; charset=utf-8")
	iconFile  = newFile("icon.svg", "image/svg+xml")
	// scriptFile is the only script: browsers have no way to a passkey without one.
	scriptFile = newFile("passkey.js", "text/javascript; charset=utf-8")
	files      = []file{styleFile, iconFile, scriptFile}
)

// parsePages returns the templates, each with the layout around it. prefix stands before every path of ours: what a
// proxy takes off before it passes a request on.
func parsePages(prefix string) map[string]*template.Template {
	layout := template.Must(template.New("layout.html").Funcs(template.FuncMap{
		"path":   func(p string) string { return prefix + p },
		"style":  func() string { return prefix + styleFile.path },
		"icon":   func() string { return prefix + iconFile.path },
		"script": func() string { return prefix + scriptFile.path },
		"date":   func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") },
		"field":  newField,
	}).ParseFS(pageFiles, "pages/layout.html"))
	out := map[string]*template.Template{}
	for _, name := range []string{
		"welcome", "home", "signin", "setup", "consent", "fail", "code", "connect", "passkey", "reset", "stepup", "security", "totp", "codes", "leaving",
	} {
		out[name] = template.Must(template.Must(layout.Clone()).ParseFS(pageFiles, "pages/"+name+".html"))
	}
	return out
}

// field is one labelled input of a form, as the layout draws it.
type field struct {
	Name, Label, Type, Complete, Value, Error, Hint string
	Focus                                           bool
	// Alert is whether what is wrong with the whole form concerns this field too.
	Alert bool
}

// Describes are the ids of the texts that belong to the field, which screen readers read with it.
func (f field) Describes() string {
	var ids []string
	if f.Error != "" {
		ids = append(ids, f.Name+"-error")
	}
	if f.Alert {
		ids = append(ids, "error")
	}
	if f.Hint != "" {
		ids = append(ids, f.Name+"-hint")
	}
	return strings.Join(ids, " ")
}

// newField is called by templates: their only way to give another template more than one value.
func newField(name, label, kind, complete, value, problem, hint string, focus, alert bool) field {
	return field{name, label, kind, complete, value, problem, hint, focus, alert}
}

// pagePolicy lets a page use its style sheet and icon and send its forms here, and nothing else. There is no script.
func pagePolicy(formTargets string) string {
	return "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'" + formTargets +
		"; frame-ancestors 'none'; base-uri 'none'"
}

var ownPolicy = pagePolicy("")

// show sends a page whose forms come back to us.
func (a *App) show(w http.ResponseWriter, r *http.Request, status int, page string, data any) {
	w.Header().Set("Content-Security-Policy", ownPolicy)
	a.render(w, r, status, page, data)
}

// render sends a page, whole or not at all.
func (a *App) render(w http.ResponseWriter, r *http.Request, status int, page string, data any) {
	var b bytes.Buffer
	if err := a.pages[page].ExecuteTemplate(&b, "layout.html", data); err != nil {
		a.Log.ErrorContext(r.Context(), "a page can't be drawn", "page", page, "error", err)
		http.Error(w, "Something went wrong on our side.", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", a.referrer)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a client that is gone needs no answer
}

// fail sends the page that says what went wrong. The request's id is what an operator finds it by in the log.
func (a *App) fail(w http.ResponseWriter, r *http.Request, status int, title, detail string) {
	a.show(w, r, status, "fail", map[string]any{
		"Title": title, "Detail": detail, "RequestID": w.Header().Get("X-Request-Id"),
	})
}
