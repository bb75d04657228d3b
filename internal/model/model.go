// Package model is a client for language and embedding models. It implements the wire formats of OpenAI and Anthropic
// on net/http behind two small interfaces, Provider and Embedder. Other packages do not depend on a provider's format.
//
// The formats are written by hand instead of with the providers' SDKs: those cost 36 MB of binary, and their HTTP
// client, retries and error parsing had to be replaced anyway to behave the same for all servers.
package model

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"time"

	"carrel/internal/core"
)

// Provider streams answers of language models. It is safe for concurrent use.
type Provider interface {
	// Stream sends a request and yields the answer as it arrives: any number of Text and ToolCall events, then one
	// Usage, then one Done. An error is yielded last, after the Usage of a failed attempt if it cost anything; it is a
	// *core.Error, or the cause of a cancelled context. Each iteration sends a new request. A caller that stops early
	// gets no Usage and should use Estimate.
	Stream(ctx context.Context, r Request) iter.Seq2[Event, error]
	// Models returns the allowed values of Request.Model, the default first. It is empty if no model is configured.
	Models() []string
	// Close closes idle connections.
	Close()
}

// Request is a request to a model, independent of the provider.
type Request struct {
	// Model is one of Provider.Models; empty means the first.
	Model string
	// System holds the instructions. It must not contain text of sources.
	System   string
	Messages []Message
	Tools    []Tool
	// MaxTokens limits the answer; 0 means DefaultMaxTokens.
	MaxTokens int
	// Temperature is not sent when nil, or to a model that has refused it.
	Temperature *float64
	// Schema requests an answer that is JSON of this shape. It is not sent to a model that has refused it, so the
	// answer must be validated in any case.
	Schema *Schema
}

// DefaultMaxTokens is the default of Request.MaxTokens.
const DefaultMaxTokens = 4096

// Role is the author of a message.
type Role string

// Roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of a conversation. The first is the user's. Messages of RoleTool follow the message that
// contains their calls, one for each call.
type Message struct {
	Role Role
	Text string
	// Calls are the tool calls of the assistant.
	Calls []ToolCall
	// CallID is the call that a message of RoleTool answers. Failed is set if the tool returned an error.
	CallID string
	Failed bool
}

// Tool is a function that a model can call. Schema is the JSON Schema of its arguments, which are an object.
type Tool struct {
	Name, Description string
	Schema            json.RawMessage
}

// Schema is the JSON Schema of an answer. Name consists of letters, digits, - and _.
type Schema struct {
	Name string
	JSON json.RawMessage
}

// Event is a part of an answer: Text, ToolCall, Usage or Done.
type Event interface{ event() }

// Text is a piece of the answer. It is valid UTF-8 without NUL and ends at a character boundary.
type Text string

// ToolCall is a tool call of the model. Arguments is a JSON object that is not validated against the tool's schema.
type ToolCall struct {
	ID, Name  string
	Arguments json.RawMessage
}

// Done marks the end of a complete answer.
type Done struct{ Finish Finish }

// Finish is the reason why a model stopped.
type Finish string

// Finish reasons.
const (
	FinishStop   Finish = "stop"
	FinishLength Finish = "length" // MaxTokens or the context window is exhausted
	FinishTools  Finish = "tools"
)

func (Text) event()     {}
func (ToolCall) event() {}
func (Usage) event()    {}
func (Done) event()     {}

// API is a wire format.
type API string

// APIs.
const (
	None      API = "none"
	OpenAI    API = "openai"
	Anthropic API = "anthropic"
)

// Options configure a Provider.
type Options struct {
	API API
	// BaseURL defaults to the address of OpenAI or Anthropic.
	BaseURL string
	// Key is the API key; empty means none.
	Key string
	// Name is the default model. Allowed are further models that a Request may name.
	Name    string
	Allowed []string
	// Idle is the longest time without a byte of the answer, including the time before the first; 0 means 5 minutes.
	Idle time.Duration
}

// baseURL returns the address of the provider.
func (o Options) baseURL() (*url.URL, error) {
	var base string
	switch o.API {
	case OpenAI:
		base = "https://api.openai.com/v1"
	case Anthropic:
		base = "https://api.anthropic.com"
	default:
		return nil, fmt.Errorf("unknown model API %q", o.API)
	}
	u, err := url.Parse(cmp.Or(o.BaseURL, base))
	if err != nil || u.Host == "" {
		return nil, errors.New("the model's base URL is not valid") // not quoted, it may contain a secret
	}
	return u, nil
}

// New returns a provider. With None, or without an API, its Stream fails with ErrNoModel.
func New(o Options, clock core.Clock) (Provider, error) {
	if o.API == None || o.API == "" {
		return none{}, nil
	}
	u, err := o.baseURL()
	if err != nil {
		return nil, err
	}
	if o.Name == "" {
		return nil, errors.New("the name of the model is missing")
	}
	c := &chatClient{
		key: o.Key, clock: clock, http: newStreamingClient(), sleep: sleep, idle: cmp.Or(o.Idle, idleTimeout),
		models: []string{o.Name}, quirks: map[string]quirk{},
	}
	for _, name := range o.Allowed {
		if !slices.Contains(c.models, name) {
			c.models = append(c.models, name)
		}
	}
	if o.API == OpenAI {
		c.format = newOpenAIFormat(u, o.Key)
	} else {
		c.format = newAnthropicFormat(u, o.Key)
	}
	return c, nil
}

// none is the Provider of an installation without a model.
type none struct{}

func (none) Models() []string { return nil }
func (none) Close()           {}

func (none) Stream(context.Context, Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) { yield(nil, (&failure{kind: ErrNoModel}).public()) }
}
