package main

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// Depths of tables of fields. Deeper fields are in the linked table of their type. The fields of a reply are also in
// its example.
const (
	maxDepth   = 3
	replyDepth = 1
)

// typeOf describes the type of a schema, with links to named types.
func (d *document) typeOf(s *object) template.HTML {
	target, name := d.resolve(s)
	if name != "" {
		return link("schema-"+name, name)
	}
	types := target.list("type")
	if types == nil {
		types = []any{target.text("type")}
	}
	words := make([]string, 0, len(types))
	for _, t := range types {
		switch t {
		case "array":
			words = append(words, "array of "+string(d.typeOf(target.object("items"))))
		case "string":
			words = append(words, formatted(target))
		default:
			words = append(words, template.HTMLEscaper(t))
		}
	}
	return template.HTML(strings.Join(words, " or ")) //nolint:gosec // each part is escaped
}

func formatted(s *object) string {
	if f := s.text("format"); f != "" {
		return template.HTMLEscapeString(f)
	}
	return "string"
}

func link(id, text string) template.HTML {
	e := template.HTMLEscapeString
	return template.HTML(`<a href="#` + e(id) + `">` + e(text) + `</a>`) //nolint:gosec // both are escaped
}

// rules describes the constraints of a schema in words.
func rules(description string, s *object) string {
	var out []string
	if c := s.text("const"); c != "" {
		out = append(out, "Always `"+c+"`.")
	}
	if values := s.list("enum"); values != nil {
		words := make([]string, len(values))
		for i, v := range values {
			words[i] = "`" + fmt.Sprint(v) + "`"
		}
		if len(words) == 1 {
			out = append(out, "Always "+words[0]+".")
		} else {
			out = append(out, "One of "+strings.Join(words, ", ")+".")
		}
	}
	switch lo, hi := s.text("minimum"), s.text("maximum"); {
	case lo != "" && hi != "":
		out = append(out, "From "+lo+" to "+hi+".")
	case lo != "" && lo != "0": // a minimum of 0 is obvious for a count
		out = append(out, "At least "+lo+".")
	}
	// A description that mentions characters is more precise than the schema.
	if hi := s.text("maxLength"); hi != "" && !strings.Contains(description, "characters") {
		out = append(out, "At most "+hi+" characters.")
	}
	return strings.Join(out, " ")
}

// describe renders the description and the constraints of a value.
func (d *document) describe(description string, s *object) (template.HTML, error) {
	target, _ := d.resolve(s)
	return d.inline(strings.TrimSpace(withoutTable(description) + " " + rules(description, target)))
}

// fields lists the fields of a schema, and those of nested objects up to a depth. In requests it marks required fields,
// elsewhere optional ones.
func (d *document) fields(s *object, depth int, request bool) ([]field, error) {
	var out []field
	err := d.walk(s, "", depth, &out)
	for i := range out {
		switch {
		case request && out[i].required:
			out[i].Mark = "required"
		case !request && !out[i].required:
			out[i].Mark = "optional"
		}
	}
	return out, err
}

func (d *document) walk(s *object, path string, depth int, out *[]field) error {
	s, _ = d.resolve(s)
	required := s.list("required")
	for _, name := range s.object("properties").names() {
		prop := s.object("properties").object(name)
		target, ref := d.resolve(prop)
		text := prop.text("description")
		if text == "" && ref != "" {
			text = target.text("description")
		}
		description, err := d.describe(text, itemsOr(prop))
		if err != nil {
			return err
		}
		*out = append(*out, field{
			Path: path, Name: name, Type: d.typeOf(prop), required: slices.Contains(required, any(name)),
			Description: description, Example: exampleText(target),
		})
		if depth == 0 {
			continue
		}
		inside, mark := target, "."
		if target.text("type") == "array" {
			inside, mark = target.object("items"), "[]."
		}
		if err := d.walk(inside, path+name+mark, depth-1, out); err != nil {
			return err
		}
	}
	return nil
}

// itemsOr returns the schema with the constraints of a value; for a list of scalars that is the schema of its items.
func itemsOr(s *object) *object {
	if items := s.object("items"); items != nil && !items.has("$ref") {
		return items
	}
	return s
}

// exampleText returns the example of a scalar. Examples of objects and lists are shown as JSON elsewhere.
func exampleText(s *object) string {
	if !s.has("example") || s.has("enum") || s.text("format") == "date-time" || s.text("type") == "boolean" {
		return "" // the table lists the possible values already
	}
	return s.text("example")
}
