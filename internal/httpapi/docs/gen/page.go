package main

import (
	"bytes"
	_ "embed" // for the page's template
	"fmt"
	"html/template"
)

//go:embed page.html
var pageTemplate string

// toJSON converts the document from YAML to JSON and keeps the order of keys.
func toJSON(source []byte) ([]byte, error) {
	root, err := parse(source)
	if err != nil {
		return nil, err
	}
	out, err := indented(root)
	return append(out, '\n'), err
}

// renderPage renders the document as HTML. The examples on it are for the server at baseURL.
func renderPage(source []byte, baseURL string) ([]byte, error) {
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
	Languages                        []language
	// Steps are a first conversation in each language, and MoreIDs the commands that set the ids of all other examples.
	Steps    []request
	MoreIDs  template.HTML
	Tags     []tag
	Webhooks []operation
	Codes    []problemCode
	Statuses []status
	Headers  []param
	Schemas  []schema
}

type tag struct {
	ID, Name    string
	Description template.HTML
	Operations  []operation
}

// operation is a request to the server, or a message of the server to a webhook.
type operation struct {
	ID, Method, Path, Summary string
	Description               template.HTML
	// Public operations need no credential. Other ones need a key with one of the scopes.
	Public bool
	Scopes []string
	Params []param
	Body   *body
	// Replies are the replies below 400. The errors are links to the statuses.
	Replies []reply
	Errors  []string
	// Requests are the request in each language.
	Requests []request
	Sample   template.HTML
	// SampleTitle is the status of the reply in Sample, or another title.
	SampleTitle string
}

// request is an example in one or several languages. Classes are the ids of the languages.
type request struct {
	Title, Classes string
	Code           template.HTML
}

// status is an error status, with the reasons that several operations share.
type status struct {
	ID, Status  string
	Description template.HTML
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
	// Headers are the names of the headers, without those that every reply has.
	Headers []string
	Fields  []field
	Events  []event
}

// event is a kind of event of a stream.
type event struct {
	Name        string
	Data        template.HTML
	Description template.HTML
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
}
