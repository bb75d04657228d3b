package webapp

import (
	"html/template"
	"reflect"
	"strings"
	"testing"
	templates "text/template/parse"
	"time"
	"unsafe"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/oauth"
	"carrel/internal/thread"
)

// hostileValues try to leave their element, attribute or address.
var hostileValues = []string{
	`"><script>alert(1)</script>`, `' onmouseover='alert(1)`, `javascript:alert(1)`, "JaVaScRiPt\t:alert(1)//",
	`data:text/html;base64,PHNjcmlwdD4=`, `//evil.example/?a=b&c=d#e`, `https://evil.example/"+'<>()`, `</title><b>`,
	`&lt;b&gt;&amp;&quot;`, "\x00\xff\u2028`{{.}}%zz%41%", `mailto:a@b.example?subject="x"`, `{email}{provider}`, "ü +~|\\^",
	`<!--`, "",
}

// pageData returns the empty data of each page.
func pageData() map[string]any {
	return map[string]any{
		"welcome": &welcomePage{}, "home": &credential.FoundSession{}, "setup": &setupPage{}, "signin": &signInPage{},
		"code": &codePage{}, "connect": &connectPage{}, "leaving": &leavingPage{}, "passkey": &ceremonyPage{},
		"reset": &resetPage{}, "join": &joinPage{}, "forgot": &forgotPage{}, "stepup": &stepUpPage{},
		"security": &securityPage{}, "totp": &totpPage{}, "codes": &totpPage{}, "consent": &oauth.ConsentPage{},
		"shared": &sharedPage{}, "fail": &failPage{},
	}
}

// The templates executed by html/template are the reference.
func TestGeneratedPagesEscapeLikeHTMLTemplate(t *testing.T) {
	t.Parallel()
	for lang := range tables {
		reference := parseReference(t, lang)
		for name, data := range pageData() {
			for round := range 2 * len(hostileValues) {
				fill(reflect.ValueOf(data).Elem(), &hostile{next: round, on: round < len(hostileValues)})
				data := reflect.ValueOf(data).Elem().Interface()
				var want strings.Builder
				if err := reference[name].ExecuteTemplate(&want, "layout.html", data); err != nil {
					t.Fatal(name, err)
				}
				got := writer{language: lang, texts: tables[lang], prefix: `/a"b`}
				if got.page(name, data); got.err != nil {
					t.Fatal(name, got.err)
				}
				if a, b := got.String(), want.String(); a != b {
					at := 0
					for at < min(len(a), len(b)) && a[at] == b[at] {
						at++
					}
					t.Fatalf("%s, %s: the generated page is %q, html/template writes %q", name, lang,
						a[max(0, at-60):min(len(a), at+60)], b[max(0, at-60):min(len(b), at+60)])
				}
				for _, script := range []string{"<script>alert", `href="javascript:`, `action="javascript:`, ` onmouseover='`} {
					if strings.Contains(got.String(), script) {
						t.Errorf("%s: a value became a script: %s", name, script)
					}
				}
			}
		}
	}
}

func TestAPageWithAnUnknownTextIsAnError(t *testing.T) {
	t.Parallel()
	w := writer{language: english, texts: englishTexts}
	w.page("consent", oauth.ConsentPage{Scopes: []string{"unknown"}})
	if w.err == nil {
		t.Error("no error")
	}
}

// parseReference parses the templates as html/template executes them.
func parseReference(t *testing.T, lang language) map[string]*template.Template {
	t.Helper()
	w := &writer{language: lang, texts: tables[lang], prefix: `/a"b`}
	trusted := func(m markup) template.HTML { return template.HTML(m) } //nolint:gosec // as in the pages
	// The functions are those of writer, for the types of html/template.
	layout := template.Must(template.New("layout.html").Funcs(template.FuncMap{
		"t": func(key string, values ...any) (template.HTML, error) {
			m, err := w.texts.html(key, values...)
			return trusted(m), err
		},
		"lang": w.lang, "date": w.texts.date, "path": w.path, "style": w.style, "icon": w.icon, "script": w.script,
		"codeScript": w.codeScript, "add": func(a, b int) int { return a + b },
		"sorted": func(m map[string]string) map[string]string { return m }, // templates sort by themselves
		// Markup in the data becomes a string that html/template trusts.
		"trusted": func(v any) any {
			if m, ok := v.(markup); ok {
				return trusted(m)
			}
			return v
		},
		"field": w.field,
		"label": func(text template.HTML, f field) field { return w.label(markup(text), f) },
		"hint":  func(text template.HTML, f field) field { return w.hint(markup(text), f) },
		"value": w.value,
		"focus": func(on any, f field) field {
			f.Focus, _ = template.IsTrue(on)
			return f
		},
		"alert": w.alert,
	}).ParseFiles("pages/layout.html"))
	pages := map[string]*template.Template{}
	for name := range pageData() {
		pages[name] = template.Must(template.Must(layout.Clone()).ParseFiles("pages/" + name + ".html"))
		for _, part := range pages[name].Templates() {
			trustMarkup(t, part.Tree.Root)
		}
	}
	return pages
}

// trustMarkup applies the function trusted to each value that a template writes.
func trustMarkup(t *testing.T, node templates.Node) {
	t.Helper()
	lists := func(nodes ...*templates.ListNode) {
		for _, list := range nodes {
			if list != nil {
				for _, n := range list.Nodes {
					trustMarkup(t, n)
				}
			}
		}
	}
	switch n := node.(type) {
	case *templates.ListNode:
		lists(n)
	case *templates.IfNode:
		lists(n.List, n.ElseList)
	case *templates.WithNode:
		lists(n.List, n.ElseList)
	case *templates.RangeNode:
		lists(n.List, n.ElseList)
	case *templates.ActionNode:
		if len(n.Pipe.Decl) == 0 {
			call := templates.New("call")
			call.Mode = templates.SkipFuncCheck
			if _, err := call.Parse("{{0 | trusted}}", "", "", map[string]*templates.Tree{}); err != nil {
				t.Fatal(err)
			}
			n.Pipe.Cmds = append(n.Pipe.Cmds, call.Root.Nodes[0].(*templates.ActionNode).Pipe.Cmds[1])
		}
	}
}

// hostile chooses the values that fill the data of a page.
type hostile struct {
	next int
	on   bool
}

func (h *hostile) value() string {
	h.next++
	return hostileValues[h.next%len(hostileValues)]
}

// fill sets all fields, those of other packages that are not exported included.
func fill(v reflect.Value, h *hostile) {
	if !v.CanSet() {
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, time.March, 5, 9, 7, 0, 0, time.UTC)))
		return
	case markup:
		v.SetString(`<b title="+">&amp;</b>`)
		return
	case core.Role:
		v.Set(reflect.ValueOf(core.RoleAdmin))
		return
	case thread.CheckState:
		v.Set(reflect.ValueOf(thread.Supported))
		return
	case oauth.ConsentPage:
		defer func() { v.FieldByName("Scopes").Set(reflect.ValueOf(oauth.Scopes())) }()
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(h.value())
	case reflect.Bool:
		v.SetBool(h.on)
	case reflect.Int, reflect.Int64:
		h.next++
		v.SetInt(int64(h.next % 3))
	case reflect.Pointer:
		v.SetZero()
		if h.on {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), h)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), h)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 3 {
			if v.Type() == reflect.TypeFor[map[string]string]() {
				v.SetMapIndex(reflect.ValueOf(h.value()), reflect.ValueOf(h.value()))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), h)
		}
	}
}
