package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"unicode"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
	"carrel/internal/httpapi"
)

//go:generate go run ./gen

// API invokes operations of the REST contract for an actor. Tools and resources have no other access to the services,
// so that both protocols apply the same rules.
type API interface {
	// Invoke returns the reply as the contract's generated type, or a *httpapi.File.
	Invoke(ctx context.Context, who core.Actor, op core.Operation, args httpapi.Arguments) (any, error)
}

// definition is a row of the generated table definitions: a tool as the contract describes it.
type definition struct {
	operation core.Operation
	// tag is the operation's tag in the contract, which selects the icon and the fencing of the reply.
	tag, description string
	// input and output are JSON Schemas.
	input, output string
	// file marks a tool whose result is a file, not JSON.
	file bool
}

// tool is a tool with its SDK definition.
type tool struct {
	definition
	sdk *sdk.Tool
}

// askTool is the tool that sends a message to an agent; see ask.go.
const askTool = "ask_agent"

// newTools returns the tools in the order in which they are listed.
func newTools(baseURL string) []*tool {
	tools := make([]*tool, len(definitions))
	for i, d := range definitions {
		traits, _ := d.operation.Traits()
		t := traits.Tool
		tools[i] = &tool{definition: d, sdk: &sdk.Tool{
			Name: t.Name, Title: title(t.Name), Description: d.description, Icons: icons(baseURL, d.tag),
			InputSchema: json.RawMessage(d.input), OutputSchema: json.RawMessage(d.output),
			Annotations: &sdk.ToolAnnotations{
				ReadOnlyHint: t.ReadOnly, DestructiveHint: &t.Destructive, IdempotentHint: t.Idempotent,
				OpenWorldHint: &t.OpenWorld,
			},
		}}
	}
	return tools
}

// title turns list_agents into "List agents".
func title(name string) string {
	words := strings.ReplaceAll(name, "_", " ")
	first, size := utf8.DecodeRuneInString(words)
	return string(unicode.ToUpper(first)) + words[size:]
}

// file is the structured content of a result that is a file.
type file struct {
	ContentType string `json:"contentType"`
	Content     string `json:"content"`
}

// call carries out a tool. Errors are part of the result, where the calling model can read them.
func (s *Server) call(ctx context.Context, t *tool, who core.Actor, arguments json.RawMessage) *sdk.CallToolResult {
	args, err := httpapi.ParseArguments(arguments)
	if err != nil {
		return s.failed(ctx, err)
	}
	reply, err := s.api.Invoke(ctx, who, t.operation, args)
	if err != nil {
		return s.failed(ctx, err)
	}
	if f, ok := reply.(*httpapi.File); ok {
		return fileResult(f)
	}
	body, err := httpapi.EncodeReply(reply)
	if err != nil {
		return s.failed(ctx, err)
	}
	// Warnings are added after fencing, because the server writes them.
	text := httpapi.WithWarnings(t.operation, args, s.fenceReply(ctx, who, t, args, body))
	return &sdk.CallToolResult{
		Content:           []sdk.Content{&sdk.TextContent{Text: outline(text)}},
		StructuredContent: json.RawMessage(httpapi.WithWarnings(t.operation, args, body)),
	}
}

// fileResult returns a file as text or, if it is a binary one such as a PDF, as an embedded resource.
func fileResult(f *httpapi.File) *sdk.CallToolResult {
	if utf8.Valid(f.Content) {
		return &sdk.CallToolResult{
			Content:           []sdk.Content{&sdk.TextContent{Text: string(f.Content)}},
			StructuredContent: file{ContentType: f.ContentType, Content: string(f.Content)},
		}
	}
	return &sdk.CallToolResult{
		Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{
			URI: "carrel://files/" + f.Name, MIMEType: f.ContentType, Blob: f.Content,
		}}},
		StructuredContent: file{ContentType: f.ContentType, Content: base64.StdEncoding.EncodeToString(f.Content)},
	}
}

// invoke calls an operation and returns its reply as T, the contract's generated type for it.
func invoke[T any](ctx context.Context, api API, who core.Actor, op core.Operation, args httpapi.Arguments) (T, error) {
	reply, err := api.Invoke(ctx, who, op, args)
	if err != nil {
		var none T
		return none, err
	}
	typed, ok := reply.(T)
	if !ok {
		return typed, core.Internal(fmt.Errorf("%s replied with %T", op, reply))
	}
	return typed, nil
}

// failed returns the result of a tool that failed: the error code of REST and a sentence that says what to do. Internal
// errors are logged here, once, and their cause is not shown.
func (s *Server) failed(ctx context.Context, err error) *sdk.CallToolResult {
	e := core.AsError(err)
	if e.Kind == core.KindInternal {
		s.deps.Log.ErrorContext(ctx, "tool failed", slog.Any("error", err))
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

// visible reports whether a tool is listed for an actor. Tools that are refused only for lack of payment stay listed,
// because their error tells the user what to do.
func visible(who core.Actor, t *tool) bool {
	err := who.Allow(t.operation)
	return err == nil || core.IsKind(err, core.KindPaymentRequired)
}

// visibleTools returns the tools that are listed for an actor.
func (s *Server) visibleTools(who core.Actor) []*sdk.Tool {
	out := make([]*sdk.Tool, 0, len(s.tools))
	for _, t := range s.tools {
		if visible(who, t) {
			out = append(out, t.sdk)
		}
	}
	return out
}

// checkScope refuses the call of a tool that the credential's scopes do not cover. The refusal is an HTTP 403 with a
// challenge, on which clients ask their user for consent. Clients request exactly the scopes of the challenge, so it
// names the current ones as well.
func (s *Server) checkScope(who core.Actor, m message) error {
	if m.Method != "tools/call" {
		return nil
	}
	t := s.byName[m.Params.Name]
	if t == nil {
		return nil
	}
	var e *core.Error
	if err := who.Allow(t.operation); !errors.As(err, &e) || e.Scope == "" {
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

// marshal encodes a value that is known to have a JSON form.
func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
