package main

import (
	"fmt"
	"slices"
	"strings"
)

// methods are the methods of operations, in display order.
var methods = []string{"get", "post", "patch", "put", "delete"}

// page builds the model of the whole page.
func (d *document) page() (*page, error) {
	info := d.root.object("info")
	schemas := d.root.object("components").object("schemas")
	d.schemas, d.codes = map[string]bool{}, map[string]bool{}
	for _, name := range schemas.names() {
		d.schemas[name] = true
	}
	for _, code := range schemas.object("Problem").object("properties").object("code").list("enum") {
		d.codes[fmt.Sprint(code)] = true
	}
	p := &page{
		Title: info.text("title"), Version: info.text("version"), Summary: info.text("summary"), BaseURL: d.baseURL,
		Languages: languages, Steps: d.firstSteps(),
	}
	var err error
	if p.Intro, err = d.markdown(info.text("description")); err != nil {
		return nil, err
	}
	if p.Codes, err = d.problemCodes(); err != nil {
		return nil, err
	}
	if p.Statuses, err = d.statuses(); err != nil {
		return nil, err
	}
	if p.Headers, err = d.headers(); err != nil {
		return nil, err
	}
	curl := map[string]string{}
	if p.Tags, err = d.tags(curl); err != nil {
		return nil, err
	}
	if p.Webhooks, err = d.webhooks(); err != nil {
		return nil, err
	}
	p.MoreIDs = highlight(shellToken, moreIDs(curl))
	for _, name := range schemas.names() {
		s, err := d.schema(name, schemas.object(name))
		if err != nil {
			return nil, err
		}
		p.Schemas = append(p.Schemas, s)
	}
	return p, nil
}

// tags builds the operations by tag, and records the curl command of each operation by id.
func (d *document) tags(curl map[string]string) ([]tag, error) {
	var out []tag
	for _, t := range d.root.list("tags") {
		t := t.(*object)
		description, err := d.markdown(t.text("description"))
		if err != nil {
			return nil, err
		}
		out = append(out, tag{ID: "tag-" + strings.ToLower(t.text("name")), Name: t.text("name"), Description: description})
	}
	paths := d.root.object("paths")
	for _, path := range paths.names() {
		item := paths.object(path)
		for _, method := range methods {
			if !item.has(method) {
				continue
			}
			op, err := d.operation(strings.ToUpper(method), path, item, curl)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			name := item.object(method).list("tags")
			i := slices.IndexFunc(out, func(t tag) bool { return len(name) == 1 && t.Name == name[0] })
			if i < 0 {
				return nil, fmt.Errorf("%s %s: has not one tag of the list of tags", method, path)
			}
			out[i].Operations = append(out[i].Operations, op)
		}
	}
	return out, nil
}

func (d *document) operation(method, path string, item *object, curl map[string]string) (operation, error) {
	op := item.object(strings.ToLower(method))
	security := op.list("security")
	out := operation{
		ID: op.text("operationId"), Method: method, Path: path, Summary: op.text("summary"),
		Public: op.has("security") && (len(security) == 0 || slices.ContainsFunc(security, isEmpty)),
		Scopes: scopes(security),
	}
	if err := d.describeOperation(item, op, &out); err != nil {
		return out, err
	}
	if err := d.replies(op.object("responses"), &out); err != nil {
		return out, err
	}
	c := d.call(method, path, op, out.Public)
	curl[out.ID] = c.curl(d.baseURL)
	out.Requests = c.requests(d.baseURL)
	return out, nil
}

// describeOperation adds the description, the parameters and the fields of the request.
func (d *document) describeOperation(item, op *object, out *operation) error {
	var err error
	if out.Description, err = d.markdown(withoutEvents(op)); err != nil {
		return err
	}
	if out.Params, err = d.params(append(slices.Clone(item.list("parameters")), op.list("parameters")...)); err != nil {
		return err
	}
	out.Body, err = d.body(op.object("requestBody"))
	return err
}

// scopes returns the scopes of keys of which an operation needs one.
func scopes(security []any) []string {
	var out []string
	for _, alternative := range security {
		o, _ := alternative.(*object)
		for _, scope := range o.list("bearer") {
			out = append(out, fmt.Sprint(scope))
		}
	}
	return out
}

// isEmpty reports whether an alternative of security needs no credential.
func isEmpty(alternative any) bool {
	o, _ := alternative.(*object)
	return len(o.names()) == 0
}

func (d *document) params(list []any) ([]param, error) {
	var out []param
	for _, p := range list {
		o, _ := d.resolve(p.(*object))
		description, err := d.describe(o.text("description"), o.object("schema"))
		if err != nil {
			return nil, err
		}
		out = append(out, param{
			Name: o.text("name"), In: o.text("in"), Type: d.typeOf(o.object("schema")),
			Required: o.text("required") == "true", Description: description, Example: o.text("example"),
		})
	}
	return out, nil
}

func (d *document) body(o *object) (*body, error) {
	content := o.object("content")
	s := content.object("application/json").object("schema")
	if s == nil {
		s = content.object(formType).object("schema")
	}
	if s == nil {
		return nil, nil //nolint:nilnil // most operations have no body
	}
	fields, err := d.fields(s, maxDepth, true)
	if err != nil {
		return nil, err
	}
	return &body{Required: o.text("required") == "true", Fields: fields}, nil
}

func (d *document) schema(name string, s *object) (schema, error) {
	description, err := d.markdown(withoutTable(s.text("description")))
	if err != nil {
		return schema{}, err
	}
	fields, err := d.fields(s, 0, false)
	if err != nil {
		return schema{}, err
	}
	return schema{Name: name, Description: description, Fields: fields}, nil
}
