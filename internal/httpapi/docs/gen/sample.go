package main

import (
	"html/template"
	"strings"

	"carrel/internal/lazyregexp"
)

// sampleTime is the example of times that have none.
const sampleTime = "2026-11-15T10:00:00.000Z"

// sample returns an example of a value. A request contains only fields with examples, so that it can be pasted; a reply
// contains all fields.
func (d *document) sample(s *object, request bool) any {
	s, _ = d.resolve(s)
	if s.has("example") {
		return s.get("example")
	}
	if s.has("const") {
		return s.get("const")
	}
	if values := s.list("enum"); values != nil {
		return values[0]
	}
	switch s.text("type") {
	case "object", "":
		return d.sampleObject(s, request)
	case "array":
		if items, _ := d.resolve(s.object("items")); items.has("enum") {
			return items.list("enum")
		}
		return []any{d.sample(s.object("items"), request)}
	case "boolean":
		return true
	case "integer":
		return 1
	case "number":
		return 1.5
	}
	if s.text("format") == "date-time" {
		return sampleTime
	}
	return "…"
}

func (d *document) sampleObject(s *object, request bool) any {
	out := newObject()
	required := map[any]bool{}
	for _, name := range s.list("required") {
		required[name] = true
	}
	properties := s.object("properties")
	for _, name := range properties.names() {
		property, ref := d.resolve(properties.object(name))
		switch {
		case required[name]:
		case request && !property.has("example"):
			continue
		case !property.has("example") && ref == "" && property.text("type") == "string":
			continue // an optional text without an example would be meaningless
		}
		if id := d.idExample(name); id != "" && !property.has("example") {
			out.set(name, id)
			continue
		}
		out.set(name, d.sample(property, request))
	}
	return out
}

// idExample finds the example of an id in another part of the document, by the name of its field.
func (d *document) idExample(name string) string {
	if !strings.HasSuffix(name, "Id") {
		return ""
	}
	schemas := d.root.object("components").object("schemas")
	for _, s := range schemas.names() {
		if example := schemas.object(s).object("properties").object(name).text("example"); example != "" {
			return example
		}
	}
	return ""
}

// mediaSample returns the first example of a body, or one that is made of the examples of its fields.
func (d *document) mediaSample(media *object, request bool) any {
	for _, name := range media.object("examples").names() {
		example, _ := d.resolve(media.object("examples").object(name))
		return example.get("value")
	}
	return d.sample(media.object("schema"), request)
}

// jsonSample renders a value as highlighted JSON.
func jsonSample(v any) template.HTML { return highlight(jsonToken, jsonNotation.write(v, 0, 0)) }

// Tokens that are highlighted. The name of the matching group is the CSS class.
var (
	jsonToken = lazyregexp.New(
		`(?P<key>"(?:[^"\\]|\\.)*")(?:\s*:)|(?P<str>"(?:[^"\\]|\\.)*")|(?P<lit>\b(?:true|false|null)\b|-?\b\d[\d.eE+-]*)`,
	)
	streamToken = lazyregexp.New(`(?m)^(?P<key>[A-Za-z-]+):|(?P<str>"(?:[^"\\]|\\.)*")`)
)

// highlight wraps the tokens of a text in spans.
func highlight(token *lazyregexp.Regexp, text string) template.HTML {
	var b strings.Builder
	names := token.SubexpNames()
	at := 0
	for _, m := range token.FindAllStringSubmatchIndex(text, -1) {
		for group := 1; group < len(names); group++ {
			from, to := m[2*group], m[2*group+1]
			if from < 0 {
				continue
			}
			b.WriteString(template.HTMLEscapeString(text[at:from]))
			b.WriteString(`<span class="` + names[group] + `">` + template.HTMLEscapeString(text[from:to]) + `</span>`)
			at = to
		}
	}
	b.WriteString(template.HTMLEscapeString(text[at:]))
	return template.HTML(b.String()) //nolint:gosec // every part is escaped
}
