package main

import (
	"fmt"
	"html/template"
	"strings"
)

// webhooks builds the messages to webhooks in the form of operations.
func (d *document) webhooks() ([]operation, error) {
	hooks := d.root.object("webhooks")
	out := make([]operation, 0, len(hooks.names()))
	for _, name := range hooks.names() {
		op := hooks.object(name).object("post")
		hook := operation{ID: op.text("operationId"), Method: "POST", Path: name, Summary: op.text("summary")}
		if err := d.describeOperation(hooks.object(name), op, &hook); err != nil {
			return nil, fmt.Errorf("webhook %s: %w", name, err)
		}
		responses := op.object("responses")
		for _, code := range responses.names() {
			r, err := d.reply(code, responses.object(code))
			if err != nil {
				return nil, fmt.Errorf("webhook %s: %w", name, err)
			}
			hook.Replies = append(hook.Replies, r)
		}
		hook.SampleTitle = "Message"
		hook.Sample = d.messageSample(op)
		out = append(out, hook)
	}
	return out, nil
}

// messageSample returns the request that a webhook receives.
func (d *document) messageSample(op *object) template.HTML {
	var b strings.Builder
	b.WriteString("POST /your/path HTTP/1.1\nContent-Type: application/json\n")
	for _, p := range op.list("parameters") {
		parameter, _ := d.resolve(p.(*object))
		fmt.Fprintf(&b, "%s: %s\n", parameter.text("name"), parameter.text("example"))
	}
	b.WriteString("\n")
	media := op.object("requestBody").object("content").object("application/json")
	return highlight(streamToken, b.String()) + jsonSample(d.mediaSample(media, true))
}
