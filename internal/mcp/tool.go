package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
	"carrel/internal/httpapi"
)

// API carries out operations of the REST contract for an actor. Tools have no other way to do anything, so that they can
// do neither more nor less, nor do it differently.
type API interface {
	Invoke(ctx context.Context, who core.Actor, c httpapi.Call) (body []byte, contentType string, err error)
}

// tool is an operation as it is offered.
type tool struct {
	entry
	operation *operation
	sdk       *sdk.Tool
}

// newTools makes the tools of a contract, in the order of the table.
func newTools(c *contract, baseURL string) ([]*tool, error) {
	tools := make([]*tool, 0, len(table))
	for _, e := range table {
		op := c.operations[e.operation]
		if op == nil {
			return nil, fmt.Errorf("the contract has no operation %s", e.operation)
		}
		t := &tool{entry: e, operation: op}
		description := sentence(op.summary)
		for _, more := range []string{op.description, e.more} {
			if more != "" {
				description += "\n\n" + more
			}
		}
		name := e.toolName()
		t.sdk = &sdk.Tool{
			Name: name, Title: title(name), Description: description, Annotations: e.annotations(op.method),
			InputSchema: marshal(op.input()), OutputSchema: marshal(t.output()), Icons: icons(baseURL, op.tag),
		}
		if name == askTool {
			t.describeAsk()
		}
		tools = append(tools, t)
	}
	return tools, nil
}

func sentence(s string) string { return strings.TrimSuffix(s, ".") + "." }

// file is what an operation answers with whose reply is no JSON.
type file struct {
	ContentType string `json:"contentType"`
	Content     string `json:"content"`
}

func (t *tool) output() map[string]any {
	if t.operation.output != nil {
		return t.operation.output
	}
	return map[string]any{
		"type": "object", "required": []string{"contentType", "content"},
		"properties": map[string]any{
			"contentType": map[string]any{"type": "string", "description": "The media type of the content."},
			"content":     map[string]any{"type": "string", "description": "The file."},
		},
	}
}

// call carries a tool out. What goes wrong is told in the result, where the model that called can read it.
func (s *Server) call(ctx context.Context, t *tool, who core.Actor, arguments json.RawMessage) *sdk.CallToolResult {
	request, err := t.request(arguments)
	if err != nil {
		return s.failed(ctx, err)
	}
	body, contentType, err := s.api.Invoke(ctx, who, request)
	if err != nil {
		return s.failed(ctx, err)
	}
	if t.operation.output == nil {
		return &sdk.CallToolResult{
			Content:           []sdk.Content{&sdk.TextContent{Text: string(body)}},
			StructuredContent: file{ContentType: contentType, Content: string(body)},
		}
	}
	return &sdk.CallToolResult{
		Content:           []sdk.Content{&sdk.TextContent{Text: readable(s.fencedReply(ctx, who, t, arguments, body))}},
		StructuredContent: json.RawMessage(body),
	}
}

// failed is the result of a tool that came to nothing: the code that REST answers with and a sentence that says what to
// do. Faults of ours are logged here, once, and told to nobody.
func (s *Server) failed(ctx context.Context, err error) *sdk.CallToolResult {
	e := core.AsError(err)
	if e.Kind == core.KindInternal {
		s.edge.Log.ErrorContext(ctx, "tool failed", slog.Any("error", err))
	}
	text := e.Code + ": " + e.Detail
	for _, f := range e.Fields {
		text += "\n" + strings.TrimPrefix(f.Pointer, "/") + ": " + f.Detail
	}
	meta := sdk.Meta{"carrel/code": e.Code}
	if e.RetryAfter > 0 {
		meta["carrel/retryAfterSeconds"] = int(e.RetryAfter.Seconds() + 0.999)
	}
	return &sdk.CallToolResult{Meta: meta, IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// request makes a call of the arguments: each goes to where the contract has it.
func (t *tool) request(arguments json.RawMessage) (httpapi.Call, error) {
	given := map[string]json.RawMessage{}
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, &given); err != nil {
			return httpapi.Call{}, core.InvalidField("/arguments", "Must be a JSON object.")
		}
	}
	op := t.operation
	for name, value := range given {
		if string(value) == "null" && !slices.Contains(op.required, name) {
			delete(given, name) // how many models say that they leave something out
		}
	}
	c := httpapi.Call{Method: op.method, Target: op.path}
	for _, name := range op.inPath {
		var id string
		if json.Unmarshal(given[name], &id) != nil || id == "" {
			return httpapi.Call{}, core.InvalidField("/"+name, "Is required, and must be a text.")
		}
		c.Target = strings.ReplaceAll(c.Target, "{"+name+"}", url.PathEscape(id))
	}
	query := url.Values{}
	for _, name := range op.inQuery {
		if value, ok := given[name]; ok {
			query.Set(name, scalar(value))
		}
	}
	if len(query) > 0 {
		c.Target += "?" + query.Encode()
	}
	if op.method != http.MethodGet && op.method != http.MethodDelete {
		c.Body = pick(given, op.inBody)
	}
	return c, nil
}

// scalar is a JSON value as it stands in a query: a text without its quotes, all else as it is.
func scalar(value json.RawMessage) string {
	if plain, ok := httpapi.WholeNumber(string(value)); ok {
		return plain // 10.0 is an integer to JSON Schema, but not in a query
	}
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	return string(value)
}

// pick makes an object of some of the arguments, as they were sent.
func pick(given map[string]json.RawMessage, names []string) []byte {
	body := []byte{'{'}
	for _, name := range names {
		value, ok := given[name]
		if !ok {
			continue
		}
		if len(body) > 1 {
			body = append(body, ',')
		}
		body = append(append(append(body, marshal(name)...), ':'), value...)
	}
	return append(body, '}')
}

// shows reports whether somebody is shown a tool. What costs money stays shown to those who have none left: the answer
// says how to get on, which a tool that is not there could not.
func (*Server) shows(who core.Actor, t *tool) bool {
	err := who.Allow(core.Operation(t.operation.id))
	return err == nil || core.IsKind(err, core.KindPaymentRequired)
}

// shown returns the tools that somebody may use.
func (s *Server) shown(who core.Actor) []*sdk.Tool {
	out := make([]*sdk.Tool, 0, len(s.tools))
	for _, t := range s.tools {
		if s.shows(who, t) {
			out = append(out, t.sdk)
		}
	}
	return out
}

// check refuses the call of a tool that the credential was not made for. It is answered by HTTP, with a challenge that
// has clients ask their user for more; it names what they have as well, because they ask for exactly what it says.
func (s *Server) check(who core.Actor, m message) error {
	if m.Method != "tools/call" {
		return nil
	}
	t := s.byName[m.Params.Name]
	if t == nil {
		return nil
	}
	var e *core.Error
	if err := who.Allow(core.Operation(t.operation.id)); !errors.As(err, &e) || e.Scope == "" {
		return nil
	}
	wider := *e
	scopes := make([]string, 0, len(who.Scopes)+1)
	for _, have := range who.Scopes {
		scopes = append(scopes, string(have))
	}
	wider.Scope = core.Scope(strings.Join(append(scopes, string(e.Scope)), " "))
	return &wider
}
