package webapp

import (
	"cmp"
	"fmt"
	"html"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

//go:generate go run ./gen

// markup is HTML that is written as it is.
type markup string

// writer writes a page in one language. The functions of pages_gen.go, which are compiled from the templates in pages,
// call its methods. prefix is the path of the base URL, which a proxy removes before it forwards a request; links need
// it.
type writer struct {
	strings.Builder
	language language
	texts    texts
	prefix   string
	err      error // the first error
}

func (w *writer) lang() string { return string(w.language) }

//go:noinline
func (w *writer) path(path string) string { return w.prefix + path }

func (w *writer) style() string      { return w.prefix + styleFile.path }
func (w *writer) icon() string       { return w.prefix + iconFile.path }
func (w *writer) script() string     { return w.prefix + scriptFile.path }
func (w *writer) codeScript() string { return w.prefix + codeFile.path }

//go:noinline
func (w *writer) t(key string, values ...any) markup {
	text, err := w.texts.html(key, values...)
	w.err = cmp.Or(w.err, err)
	return text
}

// date returns a time, which may be a pointer, as text.
func (w *writer) date(at any) string {
	if p, ok := at.(*time.Time); ok {
		at = *p
	}
	return w.texts.date(at.(time.Time))
}

func (w *writer) add(a, b int) int { return a + b }

// sorted returns the entries of a map in the order of the keys.
func (w *writer) sorted(m map[string]string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

func (w *writer) field(name, kind, autocomplete, problem string) field {
	return field{Name: name, Type: kind, Autocomplete: autocomplete, Error: problem}
}

func (w *writer) label(text markup, f field) field {
	f.Label = text
	return f
}

func (w *writer) hint(text markup, f field) field {
	f.Hint = text
	return f
}

func (w *writer) value(value string, f field) field {
	f.Value = value
	return f
}

func (w *writer) focus(on any, f field) field {
	f.Focus = truth(on)
	return f
}

func (w *writer) alert(formError string, f field) field {
	f.FormError = formError != ""
	return f
}

// field is a labelled input of a form. Templates build it in a pipeline: field … | label … | hint … .
type field struct {
	Name, Type, Autocomplete, Value, Error string
	Label, Hint                            markup
	Focus                                  bool
	// FormError is whether the form's error message also describes this field.
	FormError bool
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

// truth reports whether a value counts as true in a template.
//
//go:noinline
func truth(v any) bool {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Slice, reflect.Map:
		return r.Len() > 0
	case reflect.Struct:
		return true
	}
	return r.IsValid() && !r.IsZero()
}

// The methods below write one value. The generated functions call them often, so they are not inlined.

//go:noinline
func (w *writer) raw(text string) { _, _ = w.WriteString(text) }

//go:noinline
func (w *writer) html(v any) { w.raw(escapeHTML(v)) }

//go:noinline
func (w *writer) attribute(v any) { w.raw(escapeAttribute(v)) }

//go:noinline
func (w *writer) title(v any) { w.raw(escapeTitle(v)) }

// address writes an attribute that is an address.
//
//go:noinline
func (w *writer) address(v any) { w.raw(escapeAttribute(normalizeURL(filterURL(v)))) }

// addressPart writes the query or the fragment of such an attribute.
//
//go:noinline
func (w *writer) addressPart(v any) { w.raw(escapeAttribute(escapeURL(v))) }

// The escapers below do the same as those of html/template for the same context. A test compares all pages.

// entities has the replacements of characters in text. Existing entities of markup are kept, so it has another table.
var (
	entities = strings.NewReplacer("\x00", "\uFFFD", `"`, "&#34;", "'", "&#39;", "+", "&#43;", "<", "&lt;", ">", "&gt;",
		"&", "&amp;")
	markupEntities = strings.NewReplacer("\x00", "\uFFFD", `"`, "&#34;", "'", "&#39;", "+", "&#43;", "<", "&lt;",
		">", "&gt;")
)

// escapeText escapes text between tags or in a quoted attribute.
func escapeText(text string) string {
	return html.EscapeString(strings.ReplaceAll(text, "\x00", "\uFFFD"))
}

// escapeHTML escapes a value between tags.
func escapeHTML(v any) string {
	if m, ok := v.(markup); ok {
		return string(m)
	}
	return entities.Replace(plain(v))
}

// escapeAttribute escapes a value in a quoted attribute. Tags of markup are removed.
func escapeAttribute(v any) string {
	m, ok := v.(markup)
	if !ok {
		return entities.Replace(plain(v))
	}
	return markupEntities.Replace(withoutTags(string(m)))
}

// escapeTitle escapes a value in the title element, which contains entities but no tags.
func escapeTitle(v any) string {
	if m, ok := v.(markup); ok {
		return markupEntities.Replace(string(m))
	}
	return entities.Replace(plain(v))
}

// withoutTags removes the tags from markup. Quotes of attributes do not contain ">" in the texts.
func withoutTags(m string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(m, "<")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, m, _ = strings.Cut(rest, ">")
	}
}

// filterURL replaces an address that has another scheme than http, https or mailto, such as javascript.
func filterURL(v any) string {
	url := plain(v)
	scheme, _, found := strings.Cut(url, ":")
	switch {
	case !found, strings.Contains(scheme, "/"), strings.EqualFold(scheme, "http"), strings.EqualFold(scheme, "https"),
		strings.EqualFold(scheme, "mailto"):
		return url
	}
	return "#ZgotmplZ"
}

// normalizeURL escapes the characters that an address must not contain, and keeps existing escapes.
func normalizeURL(v any) string {
	url := plain(v)
	return percentEncode(url, "!#$&*+,/:;=?@[]-._~", func(i int) bool {
		return i+2 < len(url) && isHex(url[i+1]) && isHex(url[i+2])
	})
}

// escapeURL escapes a value in the query or the fragment of an address.
func escapeURL(v any) string {
	return percentEncode(plain(v), "-._~", func(int) bool { return false })
}

// percentEncode escapes all bytes but letters, digits, the kept ones and the percent signs of escapes.
func percentEncode(url, kept string, isEscape func(at int) bool) string {
	var b strings.Builder
	for i := range len(url) {
		c := url[i]
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9', strings.IndexByte(kept, c) >= 0, c == '%' && isEscape(i):
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

func plain(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return fmt.Sprint(v)
}
