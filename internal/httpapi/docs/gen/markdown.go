package main

import (
	"bytes"
	"html/template"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"carrel/internal/lazyregexp"
)

// codeSpan matches the code spans of rendered Markdown, which contain no markup.
var codeSpan = lazyregexp.New(`<code>([A-Za-z_]+)</code>`)

// markdown renders prose of the document. goldmark omits raw HTML by default. Names of problem codes and schemas become
// links.
func (d *document) markdown(text string) (template.HTML, error) {
	var b bytes.Buffer
	md := goldmark.New(goldmark.WithExtensions(extension.Table))
	if err := md.Convert([]byte(text), &b); err != nil {
		return "", err
	}
	html := codeSpan.ReplaceAllStringFunc(b.String(), func(span string) string {
		switch name := codeSpan.FindStringSubmatch(span)[1]; {
		case d.codes[name]:
			return `<a href="#` + name + `">` + span + `</a>`
		case d.schemas[name]:
			return `<a href="#schema-` + name + `">` + span + `</a>`
		}
		return span
	})
	return template.HTML(html), nil //nolint:gosec // goldmark has escaped it, and the links are made of [A-Za-z_]
}

// inline renders a single paragraph without its tags, for use in a line or a table cell.
func (d *document) inline(text string) (template.HTML, error) {
	html, err := d.markdown(text)
	s := strings.TrimSpace(string(html))
	if inner, ok := strings.CutPrefix(s, "<p>"); ok && strings.Count(s, "<p>") == 1 {
		s = strings.TrimSuffix(inner, "</p>")
	}
	return template.HTML(s), err //nolint:gosec // as above
}

// problemRow matches a row of the table of problem codes in the description of the schema Problem.
var problemRow = lazyregexp.New("(?m)^\\| (\\d{3}) \\| `([a-z_]+)` \\| (.+) \\|$")

// problemCodes reads the table of problem codes, so that each code can get an anchor.
func (d *document) problemCodes() ([]problemCode, error) {
	description := d.component("schemas", "Problem").text("description")
	var out []problemCode
	for _, m := range problemRow.FindAllStringSubmatch(description, -1) {
		solution, err := d.inline(m[3])
		if err != nil {
			return nil, err
		}
		out = append(out, problemCode{Status: m[1], Code: m[2], Solution: solution})
	}
	return out, nil
}

// withoutTable removes the table of problem codes, which the page shows elsewhere.
func withoutTable(text string) string {
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(line, "|") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

func (d *document) component(kind, name string) *object {
	return d.root.object("components").object(kind).object(name)
}
