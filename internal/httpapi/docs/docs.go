// Package docs renders the OpenAPI document as an HTML page without scripts, and as JSON.
package docs

import (
	"bytes"
	_ "embed" // for the page's template and style
	"fmt"
	"html/template"
)

//go:embed page.html
var pageTemplate string

// Style is the style sheet that the page links to as /docs/style.css.
//
//go:embed style.css
var Style []byte

// JSON converts the document from YAML to JSON and keeps the order of keys.
func JSON(source []byte) ([]byte, error) {
	root, err := parse(source)
	if err != nil {
		return nil, err
	}
	out, err := indented(root)
	return append(out, '\n'), err
}

// Page renders the document as HTML. The examples on it are for the server at baseURL.
func Page(source []byte, baseURL string) ([]byte, error) {
	root, err := parse(source)
	if err != nil {
		return nil, err
	}
	d := &document{root: root, baseURL: baseURL}
	model, err := d.page()
	if err != nil {
		return nil, err
	}
	tmpl, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := tmpl.Execute(&out, model); err != nil {
		return nil, fmt.Errorf("render the page: %w", err)
	}
	return out.Bytes(), nil
}

// document is the contract during rendering.
type document struct {
	root    *object
	baseURL string
	// codes and schemas are the names that become links in prose.
	codes   map[string]bool
	schemas map[string]bool
}

// page is the input of the template.
type page struct {
	Title, Version, Summary, BaseURL string
	Intro                            template.HTML
	Steps                            template.HTML
	Tags                             []tag
	Codes                            []problemCode
	Schemas                          []schema
}

type tag struct {
	ID, Name    string
	Description template.HTML
	Operations  []operation
}

type operation struct {
	ID, Method, Path, Summary string
	Description               template.HTML
	// Public operations need no credential.
	Public  bool
	Params  []param
	Body    *body
	Replies []reply
	Errors  []reply
	Curl    template.HTML
	Sample  template.HTML
	// SampleStatus is the status of the reply in Sample.
	SampleStatus string
}

type param struct {
	Name, In    string
	Type        template.HTML
	Required    bool
	Description template.HTML
	Example     string
}

type body struct {
	Required bool
	Fields   []field
}

type reply struct {
	Status      string
	Description template.HTML
	Media       []string
	Schema      template.HTML
	Headers     []param
	Fields      []field
}

// field is a row of a table of fields. Path is the path to the field from the top.
type field struct {
	Path, Name  string
	Type        template.HTML
	Mark        string
	required    bool
	Description template.HTML
	Example     string
}

type problemCode struct {
	Code, Status string
	Solution     template.HTML
}

type schema struct {
	Name        string
	Description template.HTML
	Fields      []field
	Sample      template.HTML
}
