package docs

import (
	"fmt"
	"html/template"
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
	p := &page{Title: info.text("title"), Version: info.text("version"), Summary: info.text("summary"), BaseURL: d.baseURL}
	var err error
	if p.Intro, err = d.markdown(info.text("description")); err != nil {
		return nil, err
	}
	if p.Codes, err = d.problemCodes(); err != nil {
		return nil, err
	}
	curl := map[string]string{}
	if p.Tags, err = d.tags(curl); err != nil {
		return nil, err
	}
	p.Steps = highlight(shellToken, d.firstSteps(curl))
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
	security := op.get("security")
	out := operation{
		ID: op.text("operationId"), Method: method, Path: path, Summary: op.text("summary"),
		Public: security != nil && len(op.list("security")) == 0,
	}
	var err error
	if out.Description, err = d.markdown(op.text("description")); err != nil {
		return out, err
	}
	if out.Params, err = d.params(append(slices.Clone(item.list("parameters")), op.list("parameters")...)); err != nil {
		return out, err
	}
	if out.Body, err = d.body(op.object("requestBody")); err != nil {
		return out, err
	}
	if err = d.replies(op.object("responses"), &out); err != nil {
		return out, err
	}
	command, err := d.curl(method, path, op, out.Public)
	curl[out.ID] = command
	out.Curl = highlight(shellToken, command)
	return out, err
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
	s := o.object("content").object("application/json").object("schema")
	if s == nil {
		return nil, nil //nolint:nilnil // most operations have no body
	}
	fields, err := d.fields(s, true, true)
	if err != nil {
		return nil, err
	}
	return &body{Required: o.text("required") == "true", Fields: fields}, nil
}

// replies splits the replies of an operation into successes and errors.
func (d *document) replies(responses *object, op *operation) error {
	for _, status := range responses.names() {
		o, _ := d.resolve(responses.object(status))
		r, err := d.reply(status, o)
		if err != nil {
			return err
		}
		if status >= "400" {
			op.Errors = append(op.Errors, r)
			continue
		}
		op.Replies = append(op.Replies, r)
		s := o.object("content").object("application/json").object("schema")
		if s != nil && op.Sample == "" {
			op.SampleStatus = status
			if op.Sample, err = jsonSample(d.sample(s, false)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *document) reply(status string, o *object) (reply, error) {
	out := reply{Status: status}
	var err error
	if out.Description, err = d.inline(o.text("description")); err != nil || status >= "400" {
		return out, err
	}
	headers := o.object("headers")
	for _, name := range headers.names() {
		h, _ := d.resolve(headers.object(name))
		description, err := d.inline(h.text("description"))
		if err != nil {
			return out, err
		}
		out.Headers = append(out.Headers, param{Name: name, Description: description, Example: h.text("example")})
	}
	content := o.object("content")
	for _, media := range content.names() {
		out.Media = append(out.Media, media)
		s := content.object(media).object("schema")
		if !s.has("$ref") {
			continue
		}
		out.Schema = d.typeOf(s)
		if out.Fields, err = d.fields(s, true, false); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (d *document) schema(name string, s *object) (schema, error) {
	description, err := d.markdown(withoutTable(s.text("description")))
	if err != nil {
		return schema{}, err
	}
	fields, err := d.fields(s, false, false)
	if err != nil {
		return schema{}, err
	}
	var sample template.HTML
	if s.has("example") || len(fields) > 0 {
		sample, err = jsonSample(d.sample(s, false))
	}
	return schema{Name: name, Description: description, Fields: fields, Sample: sample}, err
}
