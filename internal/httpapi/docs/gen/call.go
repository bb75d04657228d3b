package main

import (
	"strings"
	"unicode"
)

// call is the example request of an operation, from which the samples of all languages are written.
type call struct {
	id, method, path string
	public           bool
	query, header    []pair
	// body is a JSON body, and form an encoded form. An upload has neither.
	body   any
	form   []pair
	upload upload
	// inHeader says that the result is in the header Location.
	inHeader bool
	// stream says that the reply is a stream of events only.
	stream bool
	// inClients says that the client libraries have a method that is generated from the operation.
	inClients bool
}

type pair struct{ name, value string }

// upload is a kind of body that is a file.
type upload string

const (
	noUpload   upload = ""
	formUpload upload = "multipart/form-data"
	partUpload upload = "application/offset+octet-stream"
	bibtexFile upload = "application/x-bibtex"
)

// formType is the media type of forms.
const formType = "application/x-www-form-urlencoded"

// call reads the example request of an operation.
func (d *document) call(method, path string, op *object, public bool) call {
	c := call{id: op.text("operationId"), method: method, path: path, public: public}
	for _, p := range op.list("parameters") {
		parameter, _ := d.resolve(p.(*object))
		if parameter.text("required") != "true" {
			continue
		}
		given := pair{parameter.text("name"), parameter.text("example")}
		switch parameter.text("in") {
		case "query":
			c.query = append(c.query, given)
		case "header":
			c.header = append(c.header, given)
		}
	}
	body := op.object("requestBody")
	content := body.object("content")
	switch {
	case content.has("application/json"):
		c.body = d.mediaSample(content.object("application/json"), true)
	case content.has(formType):
		fields, _ := d.mediaSample(content.object(formType), true).(*object)
		for _, name := range fields.names() {
			if value := fields.text(name); value != "" {
				c.form = append(c.form, pair{name, value})
			}
		}
	case content.has(string(formUpload)):
		c.upload = formUpload
	case content.has(string(bibtexFile)):
		c.upload = bibtexFile
	case content.has(string(partUpload)) && body.text("required") == "true":
		c.upload = partUpload
	}
	responses := op.object("responses")
	c.inHeader = responses.object("201").object("headers").has("Location")
	success := responses.object("200").object("content")
	c.stream = len(success.names()) == 1 && success.has(eventStream)
	c.inClients = c.generated(op, d)
	return c
}

// generated reports whether the generator of the clients (client/gen) makes a method of the operation: one with a JSON
// body or none, with a reply that is no stream, which does not need a session of the web app.
func (c *call) generated(op *object, d *document) bool {
	ofAPI := strings.HasPrefix(c.path, "/api/") && !strings.HasPrefix(c.path, "/api/auth/") &&
		!strings.HasPrefix(c.path, "/api/billing/")
	if !ofAPI || op.object("x-carrel").text("session") == "true" || c.stream || len(c.form) > 0 || c.upload != noUpload {
		return false
	}
	for code, r := range op.object("responses").all() {
		if strings.HasPrefix(code, "2") {
			reply, _ := d.resolve(r)
			return reply.has("content")
		}
	}
	return false
}

// parameters returns the names of the parameters in the path.
func (c *call) parameters() []string {
	var out []string
	for _, part := range strings.Split(c.path, "{")[1:] {
		name, _, _ := strings.Cut(part, "}")
		out = append(out, name)
	}
	return out
}

// snake returns a name of the contract in the form of Python variables: agent_id for agentId.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// variable returns the shell variable of a path parameter: AGENT_ID for agentId.
func variable(name string) string { return strings.ToUpper(snake(name)) }
