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
)

//go:embed pages
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

// parsePages parses the templates for one language, each inside the layout. prefix is the path of the base URL, which a
// proxy removes before it forwards a request; links need it.
func parsePages(lang language, prefix string) map[string]*template.Template {
	t := tables[lang]
	layout := template.Must(template.New("layout.html").Funcs(template.FuncMap{
		"t":          t.html,
		"lang":       func() string { return string(lang) },
		"date":       t.date,
		"path":       func(p string) string { return prefix + p },
		"style":      func() string { return prefix + styleFile.path },
		"icon":       func() string { return prefix + iconFile.path },
		"script":     func() string { return prefix + scriptFile.path },
		"codeScript": func() string { return prefix + codeFile.path },
		"add":        func(a, b int) int { return a + b },
		"field":      newField,
		"label":      func(text template.HTML, f field) field { f.Label = text; return f },
		"hint":       func(text template.HTML, f field) field { f.Hint = text; return f },
		"value":      func(value string, f field) field { f.Value = value; return f },
		"focus":      func(on any, f field) field { f.Focus, _ = template.IsTrue(on); return f },
		"alert":      func(formError string, f field) field { f.FormError = formError != ""; return f },
	}).ParseFS(pageFiles, "pages/layout.html"))
	out := map[string]*template.Template{}
	for _, name := range []string{
		"welcome", "home", "setup", "signin", "code", "connect", "leaving", "passkey", "reset", "join", "forgot", "stepup",
		"security", "totp", "codes", "consent", "shared", "fail",
	} {
		out[name] = template.Must(template.Must(layout.Clone()).ParseFS(pageFiles, "pages/"+name+".html"))
	}
	return out
}

// field is a labelled input of a form. Templates build it in a pipeline: field … | label … | hint … .
type field struct {
	Name, Type, Autocomplete, Value, Error string
	Label, Hint                            template.HTML
	Focus                                  bool
	// FormError is whether the form's error message also describes this field.
	FormError bool
}

func newField(name, kind, autocomplete, problem string) field {
	return field{Name: name, Type: kind, Autocomplete: autocomplete, Error: problem}
}

// DescribedBy returns the value of aria-describedby: the ids of the error messages and the hint.
func (f field) DescribedBy() string {
	var ids []string
	if f.Error != "" {
		ids = append(ids, f.Name+"-error")
	}
	if f.FormError {
		ids = append(ids, "error")
	}
	if f.Hint != "" {
		ids = append(ids, f.Name+"-hint")
	}
	return strings.Join(ids, " ")
}

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
	var b bytes.Buffer
	if err := a.pages[lang]()[page].ExecuteTemplate(&b, "layout.html", data); err != nil {
		a.Log.ErrorContext(r.Context(), "page template failed", "page", page, "error", err)
		http.Error(w, textsFor(r).text("fail.internal"), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", string(lang))
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept-Language, Cookie")
	h.Set("Referrer-Policy", a.referrer)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client may have disconnected
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
