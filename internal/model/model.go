package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strings"

	"carrel/internal/core"
)

// Provider asks language models. It may be used from many goroutines.
type Provider interface {
	// Stream asks a model and yields what it says as it says it: Text and ToolCall in any number, then one Usage, then
	// one Done. A failure is the last thing that is yielded, after the Usage of what it has cost until then, if
	// anything; it is a *core.Error, or the cause of a context that was cancelled. Each use of the sequence asks anew.
	// Who stops in the midst sees no Usage, and counts by Estimate.
	Stream(ctx context.Context, r Request) iter.Seq2[Event, error]
	// Models are the names that a Request may have, the installation's own first; none where there is no model.
	Models() []string
	// Close gives back the connections that are kept for the next request.
	Close()
}

// Request is what to ask a model. It says the same to every provider.
type Request struct {
	// Model is one of Provider.Models; empty means the first.
	Model string
	// System is what the model shall do. No text of a source belongs there.
	System   string
	Messages []Message
	Tools    []Tool
	// MaxTokens bounds the answer; 0 means DefaultMaxTokens.
	MaxTokens int
	// Temperature is left to the provider when nil, and where a model does not let one choose.
	Temperature *float64
	// Schema asks for an answer that is JSON of this shape. A provider that can't promise it is asked without, so what
	// comes has to be checked as any text of a model.
	Schema *Schema
}

// DefaultMaxTokens is how long an answer gets when the request does not say.
const DefaultMaxTokens = 4096

// Role is who speaks in a message.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of a conversation. It starts with the user; each call of a tool is answered by a message of
// RoleTool right after the message that has it.
type Message struct {
	Role Role
	Text string
	// Calls are what the assistant asked for.
	Calls []ToolCall
	// CallID is the call that a message of RoleTool answers, and Failed whether the tool could not do it.
	CallID string
	Failed bool
}

// Tool is something that a model may ask for. Schema is the JSON schema of its arguments, an object.
type Tool struct {
	Name, Description string
	Schema            json.RawMessage
}

// Schema is the JSON schema of an answer. Name is for the provider: letters, digits, - and _.
type Schema struct {
	Name string
	JSON json.RawMessage
}

// Event is a part of an answer: Text, ToolCall, Usage or Done.
type Event interface{ event() }

// Text is a piece of the answer. It is valid UTF-8 without NUL, and never part of a character.
type Text string

// ToolCall is a tool that the model wants to be used. Arguments is a whole JSON object; whether it fits the schema is
// for the tool to say.
type ToolCall struct {
	ID, Name  string
	Arguments json.RawMessage
}

// Done ends an answer that is whole.
type Done struct{ Finish Finish }

// Finish is why a model stopped.
type Finish string

// The reasons.
const (
	FinishStop   Finish = "stop"
	FinishLength Finish = "length" // MaxTokens or the model's own limit
	FinishTools  Finish = "tools"
)

func (Text) event()     {}
func (ToolCall) event() {}
func (Usage) event()    {}
func (Done) event()     {}

// API is the protocol that a provider is spoken to in.
type API string

// The protocols.
const (
	None      API = "none"
	OpenAI    API = "openai"
	Anthropic API = "anthropic"
)

// Options say which provider to ask, and for what.
type Options struct {
	API API
	// BaseURL is where the provider is; empty means the API's own maker.
	BaseURL string
	// Key is empty for providers that ask for none.
	Key string
	// Name is the model, and Allowed are further ones that a Request may name.
	Name    string
	Allowed []string
}

// New returns the provider that the options name. With None, or no API, that is one without models, whose every answer
// is ErrNone.
func New(o Options, clock core.Clock) (Provider, error) {
	var base string
	switch o.API {
	case None, "":
		return none{}, nil
	case OpenAI:
		base = "https://api.openai.com/v1"
	case Anthropic:
		base = "https://api.anthropic.com"
	default:
		return nil, fmt.Errorf("%q is no API of models", o.API)
	}
	if o.BaseURL != "" {
		base = o.BaseURL
	}
	at, err := url.Parse(base)
	if err != nil || at.Host == "" {
		return nil, errors.New("the address of the model's provider is not a URL") // it may hold a secret
	}
	if o.Name == "" {
		return nil, errors.New("a provider of models needs the name of one")
	}
	c := &chat{
		key: o.Key, clock: clock, http: newStreamingClient(), pause: sleep, silence: maxSilence,
		models: []string{o.Name}, quirks: map[string]quirk{},
	}
	for _, name := range o.Allowed {
		if !slices.Contains(c.models, name) {
			c.models = append(c.models, name)
		}
	}
	base = strings.TrimRight(base, "/")
	if o.API == OpenAI {
		c.wire = newOpenAIWire(base, o.Key, c.http, makersOwn(at.Hostname()))
	} else {
		c.wire = newAnthropicWire(base, o.Key, c.http)
	}
	return c, nil
}

// makersOwn reports whether OpenAI itself, or Azure for it, runs the host: their newer models refuse the field for the
// length of an answer that all others know.
func makersOwn(host string) bool {
	return host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com")
}

// none is the provider of an installation without a model.
type none struct{}

func (none) Models() []string { return nil }
func (none) Close()           {}

func (none) Stream(context.Context, Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) { yield(nil, (&failure{what: ErrNone}).public()) }
}
