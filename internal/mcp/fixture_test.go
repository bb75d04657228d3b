//nolint:staticcheck // the suite also tests deprecated parts of the protocol
package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
	"carrel/internal/httpapi"
	"carrel/internal/secretbox"
)

// The conformance suite requires its own tools, resources and prompts. They are served behind the real endpoint, with
// its credentials, eras, sessions and streams.

const fixtureToken = "test-token"

// fixture starts a server with the suite's tools behind the endpoint and returns its URL.
func fixture(t testing.TB) (address string) {
	t.Helper()
	box, err := secretbox.New([]byte("a secret of the installation"), "test")
	if err != nil {
		t.Fatal(err)
	}
	draining := make(chan struct{})
	listener := httptest.NewUnstartedServer(nil)
	base := "http://" + listener.Listener.Addr().String()
	log := slog.New(slog.DiscardHandler)
	e := Deps{
		BaseURL: base, Sealer: box, Draining: draining, Log: log,
		Authenticate: func(_ context.Context, token string) (core.Actor, error) {
			if token != fixtureToken {
				return core.Actor{}, core.Unauthenticated("invalid_credential", "Use the test token.")
			}
			return core.Actor{UserID: "usr_1"}, nil
		},
		Admit: func(context.Context, core.Actor) error { return nil }, Problem: httpapi.NewProblems(base, log).Write,
	}
	server := func(o sdk.ServerOptions) *sdk.Server {
		o.CompletionHandler = func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}, nil
		}
		o.SubscribeHandler = func(context.Context, *sdk.SubscribeRequest) error { return nil }
		o.UnsubscribeHandler = func(context.Context, *sdk.UnsubscribeRequest) error { return nil }
		o.SetCacheable = func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" }
		s := sdk.NewServer(&sdk.Implementation{Name: "fixture", Version: "1"}, &o)
		fixtureTools(s)
		fixtureInputs(s, box)
		fixtureResources(s)
		fixturePrompts(s)
		return s
	}
	extensions := &sdk.ServerCapabilities{}
	extensions.AddExtension(tasksExtension, nil)
	p := protocol{
		stateful:  server(sdk.ServerOptions{}),
		stateless: server(sdk.ServerOptions{Capabilities: extensions}), sessions: newSessions(box),
		check:       func(core.Actor, message) error { return nil },
		singleReply: func(message) bool { return false },
		cacheKey:    func(core.Actor, message) string { return "" },
	}
	p.sdkSessions = newHandler(p.stateful, sdk.StreamableHTTPOptions{EventStore: sdk.NewMemoryEventStore(nil)})
	if err := addTasks(p.stateless, fixtureTasks(p.stateless)); err != nil {
		t.Fatal(err)
	}
	endpoint, err := newEndpoint(e, p)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(path, endpoint)
	listener.Config.Handler = mux
	listener.Start()
	t.Cleanup(func() {
		close(draining)
		for session := range p.stateful.Sessions() {
			_ = session.Close()
		}
		listener.CloseClientConnections()
		listener.Close()
	})
	return base + path
}

// toolFunc carries out a tool of the suite.
type toolFunc func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error)

func add(s *sdk.Server, name, schema string, do toolFunc) {
	if schema == "" {
		schema = `{"type":"object"}`
	}
	s.AddTool(
		&sdk.Tool{Name: name, Description: "For the conformance suite: " + name, InputSchema: json.RawMessage(schema)},
		sdk.ToolHandler(do))
}

func replyWith(content ...sdk.Content) toolFunc {
	return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: content}, nil
	}
}

func textResult(format string, args ...any) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}, nil
}

func decode(s string) []byte {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

var (
	// pixel is a PNG of one pixel, silence a WAV of one sample.
	pixel   = decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	silence = decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==")
)

func embedded(uri string) sdk.Content {
	return &sdk.EmbeddedResource{
		Resource: &sdk.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "A part of the reply."},
	}
}

func fixtureTools(s *sdk.Server) {
	image := &sdk.ImageContent{Data: pixel, MIMEType: "image/png"}
	add(s, "test_simple_text", "", replyWith(&sdk.TextContent{Text: "This is a simple text response for testing."}))
	add(s, "test_image_content", "", replyWith(image))
	add(s, "test_audio_content", "", replyWith(&sdk.AudioContent{Data: silence, MIMEType: "audio/wav"}))
	add(s, "test_embedded_resource", "", replyWith(embedded("test://embedded-resource")))
	add(s, "test_multiple_content_types", "",
		replyWith(&sdk.TextContent{Text: "Three kinds:"}, image, embedded("test://mixed-content-resource")))
	add(s, "test_error_handling", "", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		result := &sdk.CallToolResult{}
		result.SetError(errors.New("This tool intentionally returns an error for testing"))
		return result, nil
	})
	logs := func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for _, text := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if err := r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: text}); err != nil {
				return nil, err
			}
			time.Sleep(50 * time.Millisecond) // the suite expects separate messages
		}
		return textResult("logged")
	}
	add(s, "test_tool_with_logging", "", logs)
	add(s, "test_logging_tool", "", logs)
	add(s, "test_tool_with_progress", "", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for _, done := range []float64{0, 50, 100} {
			err := r.Session.NotifyProgress(ctx,
				&sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: done, Total: 100})
			if err != nil {
				return nil, err
			}
			time.Sleep(50 * time.Millisecond)
		}
		return textResult("%v", r.Params.GetProgressToken())
	})
	add(s, "test_streaming_elicitation", "", replyWith(&sdk.TextContent{Text: "no input needed"}))
	add(s, "test_missing_capability", "", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if c := r.ClientCapabilities(); c != nil && c.Sampling != nil {
			return textResult("it can sample")
		}
		return nil, &jsonrpc.Error{
			Code: sdk.CodeMissingRequiredClientCapabilities, Message: "sampling is needed",
			Data: marshal(map[string]any{"requiredCapabilities": map[string]any{"sampling": map[string]any{}}}),
		}
	})
	add(s, "test_reconnection", "", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		r.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		time.Sleep(100 * time.Millisecond) // time for the client to reconnect
		return textResult("back again")
	})
	add(s, "test_trigger_tool_change", "", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		add(s, "test_passing_tool", "", replyWith())
		return textResult("changed")
	})
	add(s, "test_trigger_prompt_change", "", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		s.AddPrompt(&sdk.Prompt{Name: "test_passing_prompt", Description: "Comes and goes."},
			promptOf(&sdk.TextContent{Text: "x"}))
		return textResult("changed")
	})
	add(s, "test_x_mcp_header",
		`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`,
		replyWith(&sdk.TextContent{Text: "the header fits"}))
	add(s, "json_schema_2020_12_tool", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"$anchor":"addressDef","type":"object",
			"properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},
			"contactMethod":{"type":"string","enum":["phone","email"]},
			"phone":{"type":"string"},"email":{"type":"string"}},
		"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
		"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
			"then":{"required":["phone"]},"else":{"required":["email"]},
		"additionalProperties":false}`, replyWith(&sdk.TextContent{Text: "called"}))
	fixtureQuestions(s)
}

// fixtureQuestions adds the tools that send a request to the client during a call, which only the stateful era allows.
func fixtureQuestions(s *sdk.Server) {
	add(s, "test_sampling", `{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`,
		func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var in struct{ Prompt string }
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
				return nil, err
			}
			reply, err := r.Session.CreateMessage(ctx, &sdk.CreateMessageParams{
				MaxTokens: 100, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: in.Prompt}}},
			})
			if err != nil {
				return nil, err
			}
			text, _ := reply.Content.(*sdk.TextContent)
			return textResult("LLM response: %s", text.Text)
		})
	elicit := func(schema string) toolFunc {
		return func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			reply, err := r.Session.Elicit(ctx,
				&sdk.ElicitParams{Message: "Please say", RequestedSchema: json.RawMessage(schema)})
			if err != nil {
				return nil, err
			}
			return textResult("action=%s, content=%v", reply.Action, reply.Content)
		}
	}
	add(s, "test_elicitation", `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`,
		elicit(`{"type":"object","properties":{"username":{"type":"string","description":"Your name"},
			"email":{"type":"string","description":"Your address"}},"required":["username","email"]}`))
	add(s, "test_elicitation_sep1034_defaults", "", elicit(`{"type":"object","properties":{
		"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},
			"score":{"type":"number","default":95.5},
		"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
			"verified":{"type":"boolean","default":true}}}`))
	add(s, "test_elicitation_sep1330_enums", "", elicit(`{"type":"object","properties":{
		"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","oneOf":[
			{"const":"value1","title":"One"},{"const":"value2","title":"Two"},{"const":"value3","title":"Three"}]},
		"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["One","Two","Three"]},
		"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
		"titledMulti":{"type":"array","items":{"anyOf":[
			{"const":"value1","title":"One"},{"const":"value2","title":"Two"},{"const":"value3","title":"Three"}]}}}}`))
}

// elicitField requests one field from the user.
func elicitField(field, kind string) *sdk.ElicitParams {
	return &sdk.ElicitParams{
		Message: "Please say " + field,
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"` + field + `":{"type":"` + kind +
			`"}},"required":["` + field + `"]}`),
	}
}

func sampleText(question string) *sdk.CreateMessageParams {
	return &sdk.CreateMessageParams{
		MaxTokens: 50, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: question}}},
	}
}

// accepted returns a field of the user's response, if the user accepted.
func accepted(from sdk.InputResponseMap, key, field string) (any, bool) {
	reply, ok := from[key].(*sdk.ElicitResult)
	if !ok || reply.Action != "accept" || reply.Content[field] == nil {
		return nil, false
	}
	return reply.Content[field], true
}

// inputState encrypts the state of tools that request input.
type inputState struct{ box Sealer }

// requires returns a result that requests input.
func (i inputState) requires(state string, requests sdk.InputRequestMap) (*sdk.CallToolResult, error) {
	if state != "" {
		state = base64.RawURLEncoding.EncodeToString(i.box.Seal([]byte(state), "state"))
	}
	return &sdk.CallToolResult{InputRequests: requests, RequestState: state}, nil
}

// open decrypts the state of a request and refuses a modified one.
func (i inputState) open(r *sdk.CallToolRequest) (string, error) {
	if r.Params.RequestState == "" {
		return "", nil
	}
	sealed, err := base64.RawURLEncoding.DecodeString(r.Params.RequestState)
	if err == nil {
		var plain []byte
		if plain, err = i.box.Open(sealed, "state"); err == nil {
			return string(plain), nil
		}
	}
	return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the requestState is invalid"}
}

// fixtureInputs adds the tools whose result requests input and which are then called again with it.
func fixtureInputs(s *sdk.Server, box Sealer) {
	state := inputState{box}
	fixtureInputRounds(s, state)
	add(s, "test_input_required_result_elicitation", "",
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if name, ok := accepted(r.Params.InputResponses, "user_name", "name"); ok {
				return textResult("Hello, %v!", name)
			}
			return state.requires("", sdk.InputRequestMap{"user_name": elicitField("name", "string")})
		})
	add(s, "test_input_required_result_sampling", "",
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if r.Params.InputResponses["capital_question"] != nil {
				return textResult("The capital was said.")
			}
			return state.requires("", sdk.InputRequestMap{"capital_question": sampleText("What is the capital of France?")})
		})
	add(s, "test_input_required_result_list_roots", "",
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if roots, ok := r.Params.InputResponses["client_roots"].(*sdk.ListRootsResult); ok {
				return textResult("%d roots", len(roots.Roots))
			}
			return state.requires("", sdk.InputRequestMap{"client_roots": &sdk.ListRootsParams{}})
		})
	add(s, "test_input_required_result_capabilities", "",
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if len(r.Params.InputResponses) > 0 {
				return textResult("answered")
			}
			requests := sdk.InputRequestMap{}
			if c := r.ClientCapabilities(); c != nil {
				if c.Elicitation != nil {
					requests["user_name"] = elicitField("name", "string")
				}
				if c.Sampling != nil {
					requests["greeting"] = sampleText("Greet")
				}
				if c.RootsV2 != nil {
					requests["client_roots"] = &sdk.ListRootsParams{}
				}
			}
			if len(requests) == 0 {
				return textResult("no input can be requested")
			}
			return state.requires("", requests)
		})
}

// fixtureInputRounds adds the tools that keep state between their calls.
func fixtureInputRounds(s *sdk.Server, state inputState) {
	confirms := func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		known, err := state.open(r)
		if err != nil {
			return nil, err
		}
		if _, ok := accepted(r.Params.InputResponses, "confirm", "ok"); ok && known == "asked" {
			return textResult("state-ok")
		}
		return state.requires("asked", sdk.InputRequestMap{"confirm": elicitField("ok", "boolean")})
	}
	add(s, "test_input_required_result_request_state", "", confirms)
	add(s, "test_input_required_result_tampered_state", "", confirms)
	add(s, "test_input_required_result_multiple_inputs", "",
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			from := r.Params.InputResponses
			if name, ok := accepted(from, "user_name", "name"); ok && from["greeting"] != nil && from["client_roots"] != nil {
				return textResult("All three, %v.", name)
			}
			return state.requires("three", sdk.InputRequestMap{
				"user_name": elicitField("name", "string"), "greeting": sampleText("Greet"), "client_roots": &sdk.ListRootsParams{},
			})
		})
	add(s, "test_input_required_result_multi_round", "",
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			round, err := state.open(r)
			if err != nil {
				return nil, err
			}
			name, first := accepted(r.Params.InputResponses, "step1", "name")
			color, second := accepted(r.Params.InputResponses, "step2", "color")
			switch {
			case second && strings.HasPrefix(round, "2 "):
				return textResult("%s likes %v", strings.TrimPrefix(round, "2 "), color)
			case first && round == "1":
				return state.requires(fmt.Sprint("2 ", name), sdk.InputRequestMap{"step2": elicitField("color", "string")})
			}
			return state.requires("1", sdk.InputRequestMap{"step1": elicitField("name", "string")})
		})
}

func fixtureResources(s *sdk.Server) {
	reads := func(mime, text string, blob []byte) sdk.ResourceHandler {
		return func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{
				Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: mime, Text: text, Blob: blob}},
			}, nil
		}
	}
	s.AddResource(&sdk.Resource{Name: "text", URI: "test://static-text", MIMEType: "text/plain"},
		reads("text/plain", "This is the content of the static text resource.", nil))
	s.AddResource(&sdk.Resource{Name: "binary", URI: "test://static-binary", MIMEType: "image/png"},
		reads("image/png", "", pixel))
	s.AddResource(&sdk.Resource{Name: "watched", URI: "test://watched-resource", MIMEType: "text/plain"},
		reads("text/plain", "watched", nil))
	s.AddResourceTemplate(
		&sdk.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json"},
		func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
			return reads("application/json",
				string(marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})), nil)(ctx, r)
		})
}

func promptOf(content ...sdk.Content) sdk.PromptHandler {
	return func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		out := &sdk.GetPromptResult{}
		for _, c := range content {
			out.Messages = append(out.Messages, &sdk.PromptMessage{Role: "user", Content: c})
		}
		return out, nil
	}
}

func fixturePrompts(s *sdk.Server) {
	s.AddPrompt(&sdk.Prompt{Name: "test_simple_prompt", Description: "For the suite."},
		promptOf(&sdk.TextContent{Text: "This is a simple prompt for testing."}))
	s.AddPrompt(&sdk.Prompt{Name: "test_prompt_with_image", Description: "For the suite."},
		promptOf(&sdk.ImageContent{Data: pixel, MIMEType: "image/png"}, &sdk.TextContent{Text: "What is it?"}))
	s.AddPrompt(&sdk.Prompt{
		Name:        "test_prompt_with_arguments",
		Description: "For the suite.",
		Arguments:   []*sdk.PromptArgument{{Name: "arg1", Required: true}, {Name: "arg2", Required: true}},
	},
		func(ctx context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			a := r.Params.Arguments
			return promptOf(
				&sdk.TextContent{Text: fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])},
			)(ctx, r)
		})
	s.AddPrompt(&sdk.Prompt{
		Name:        "test_prompt_with_embedded_resource",
		Description: "For the suite.",
		Arguments:   []*sdk.PromptArgument{{Name: "resourceUri", Required: true}},
	},
		func(ctx context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return promptOf(embedded(r.Params.Arguments["resourceUri"]), &sdk.TextContent{Text: "Read it."})(ctx, r)
		})
	s.AddPrompt(&sdk.Prompt{Name: "test_input_required_result_prompt", Description: "For the suite."},
		func(ctx context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			if given, ok := accepted(r.Params.InputResponses, "user_context", "context"); ok {
				return promptOf(&sdk.TextContent{Text: fmt.Sprint("Context: ", given)})(ctx, r)
			}
			return &sdk.GetPromptResult{
				InputRequests: sdk.InputRequestMap{"user_context": elicitField("context", "string")},
			}, nil
		})
}
