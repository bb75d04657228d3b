package main

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// eventStream is the media type of server-sent events.
const eventStream = "text/event-stream"

// commonHeaders are headers of every reply. The page describes them once.
var commonHeaders = []string{"X-Request-Id", "RateLimit", "RateLimit-Policy"}

// replies splits the replies of an operation into successes and errors, and chooses the example of a reply.
func (d *document) replies(responses *object, op *operation) error {
	for _, code := range responses.names() {
		o, _ := d.resolve(responses.object(code))
		if code >= "400" {
			op.Errors = append(op.Errors, code)
			continue
		}
		r, err := d.reply(code, o)
		if err != nil {
			return err
		}
		op.Replies = append(op.Replies, r)
		content := o.object("content")
		switch {
		case op.Sample != "":
		case content.has("application/json"):
			op.SampleTitle = code
			op.Sample = jsonSample(d.mediaSample(content.object("application/json"), false))
		case content.has(eventStream):
			op.SampleTitle = "Events"
			op.Sample = d.streamSample(content.object(eventStream))
		}
	}
	return nil
}

func (d *document) reply(code string, o *object) (reply, error) {
	out := reply{Status: code}
	var err error
	if out.Description, err = d.inline(o.text("description")); err != nil {
		return out, err
	}
	for _, name := range o.object("headers").names() {
		if !slices.Contains(commonHeaders, name) {
			out.Headers = append(out.Headers, name)
		}
	}
	content := o.object("content")
	for _, media := range content.names() {
		out.Media = append(out.Media, media)
		if events := content.object(media).object("x-events"); events != nil {
			if out.Events, err = d.events(events); err != nil {
				return out, err
			}
		}
		s := content.object(media).object("schema")
		if !s.has("$ref") {
			continue
		}
		out.Schema = d.typeOf(s)
		if out.Fields, err = d.fields(s, replyDepth, false); err != nil {
			return out, err
		}
	}
	return out, nil
}

// events describes the kinds of events of a stream.
func (d *document) events(kinds *object) ([]event, error) {
	out := make([]event, 0, len(kinds.names()))
	for _, name := range kinds.names() {
		data, _ := d.resolve(kinds.object(name))
		description, err := d.inline(data.text("description"))
		if err != nil {
			return nil, err
		}
		out = append(out, event{Name: name, Data: d.typeOf(kinds.object(name)), Description: description})
	}
	return out, nil
}

// streamSample returns a stream with one event of each kind.
func (d *document) streamSample(media *object) template.HTML {
	var b strings.Builder
	kinds := media.object("x-events")
	for i, name := range kinds.names() {
		if name != "queued" { // the place in the queue is not stored, so its events have no id
			fmt.Fprintf(&b, "id: 1.%d\n", i)
		}
		data, _ := d.resolve(kinds.object(name))
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, jsonNotation.line(d.sample(data, false)))
	}
	if b.Len() == 0 {
		b.WriteString(media.text("example"))
	}
	return highlight(streamToken, strings.TrimSpace(b.String()))
}

// withoutEvents returns the description of an operation without its table of events, which the page shows with the
// reply.
func withoutEvents(op *object) string {
	description := op.text("description")
	stream := op.object("responses").object("200").object("content").object(eventStream)
	if stream.object("x-events") == nil {
		return description
	}
	return withoutTable(description)
}

// statuses describes the errors that several operations share.
func (d *document) statuses() ([]status, error) {
	responses := d.root.object("components").object("responses")
	var out []status
	for _, code := range d.errorStatuses() {
		s := status{ID: "status-" + code, Status: code}
		var texts []string
		for _, name := range responses.names() {
			r := responses.object(name)
			if d.statusOf(name) == code && !slices.Contains(texts, r.text("description")) {
				texts = append(texts, r.text("description"))
			}
		}
		var err error
		if s.Description, err = d.inline(strings.Join(texts, " ")); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// errorStatuses returns the error statuses of all operations in order.
func (d *document) errorStatuses() []string {
	var out []string
	d.eachResponse(func(code string, _ *object) {
		if code >= "400" && !slices.Contains(out, code) {
			out = append(out, code)
		}
	})
	slices.Sort(out)
	return out
}

// statusOf returns the status with which operations use a shared response.
func (d *document) statusOf(name string) string {
	var out string
	d.eachResponse(func(code string, r *object) {
		if strings.HasSuffix(r.text("$ref"), "/"+name) {
			out = code
		}
	})
	return out
}

func (d *document) eachResponse(visit func(code string, r *object)) {
	paths := d.root.object("paths")
	for _, path := range paths.names() {
		for _, method := range methods {
			responses := paths.object(path).object(method).object("responses")
			for _, code := range responses.names() {
				visit(code, responses.object(code))
			}
		}
	}
}

// headers describes every header of a reply once.
func (d *document) headers() ([]param, error) {
	var out []param
	var failed error
	d.eachResponse(func(_ string, r *object) {
		r, _ = d.resolve(r)
		for _, name := range r.object("headers").names() {
			if slices.ContainsFunc(out, func(p param) bool { return p.Name == name }) {
				continue
			}
			h, _ := d.resolve(r.object("headers").object(name))
			description, err := d.inline(h.text("description"))
			if err != nil {
				failed = err
			}
			out = append(out, param{Name: name, Description: description, Example: h.text("example")})
		}
	})
	slices.SortFunc(out, func(a, b param) int { return strings.Compare(a.Name, b.Name) })
	return out, failed
}
