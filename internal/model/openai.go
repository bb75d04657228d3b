package model

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/shared"
)

// openAIWire speaks OpenAI's chat completions, which most servers of models speak too.
type openAIWire struct {
	completions openai.ChatCompletionService
	// newNames says that the length of an answer is called max_completion_tokens there.
	newNames bool
	key      string
}

// newOpenAIWire makes the service without the client around it, which would read settings from the environment.
func newOpenAIWire(base, key string, client *http.Client, newNames bool) *openAIWire {
	options := []option.RequestOption{option.WithBaseURL(base + "/"), option.WithHTTPClient(client), option.WithMaxRetries(0)}
	if key != "" {
		options = append(options, option.WithAPIKey(key))
	}
	return &openAIWire{openai.NewChatCompletionService(options...), newNames, key}
}

// send implements wire.
func (w *openAIWire) send(ctx context.Context, x *exchange, r Request, q quirk, s *sink) (reply, error) {
	stream := w.completions.NewStreaming(ctx, w.params(r, q), option.WithMiddleware(x.do))
	defer func() { _ = stream.Close() }() // it was only read
	answer := openAIAnswer{sink: s}
	for stream.Next() {
		if err := answer.take(stream.Current()); err != nil {
			return answer.reply, err
		}
	}
	err := stream.Err()
	var said *ssestream.StreamError
	switch {
	case errors.As(err, &said):
		complaint := complain(said.Event.Data)
		f := classify(complaint.statusOf(), complaint, w.key)
		f.free = !answer.begun
		return answer.reply, f
	case err != nil && answer.reason == "":
		return answer.reply, err
	}
	// What breaks after the reason to finish breaks nothing of the answer.
	return answer.end()
}

func (w *openAIWire) params(r Request, q quirk) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: r.Model, Messages: openAIMessages(r)}
	if w.newNames == (q&otherMaxTokens == 0) {
		p.MaxCompletionTokens = openai.Int(int64(r.MaxTokens))
	} else {
		p.MaxTokens = openai.Int(int64(r.MaxTokens))
	}
	if r.Temperature != nil && q&noTemperature == 0 {
		p.Temperature = openai.Float(*r.Temperature)
	}
	if q&noStreamOptions == 0 {
		p.StreamOptions.IncludeUsage = openai.Bool(true)
	}
	for _, t := range r.Tools {
		// As it is written, and not through a map: models read the order of properties.
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(param.Override[shared.FunctionDefinitionParam](struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parameters"`
		}{t.Name, t.Description, t.Schema})))
	}
	if r.Schema != nil && q&noSchema == 0 {
		p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name: r.Schema.Name, Schema: r.Schema.JSON, Strict: openai.Bool(true),
			},
		}
	}
	return p
}

func openAIMessages(r Request) []openai.ChatCompletionMessageParamUnion {
	out := make([]openai.ChatCompletionMessageParamUnion, 0, len(r.Messages)+1)
	if r.System != "" {
		out = append(out, openai.SystemMessage(r.System))
	}
	for _, m := range r.Messages {
		switch m.Role {
		case RoleUser:
			out = append(out, openai.UserMessage(m.Text))
		case RoleTool:
			out = append(out, openai.ToolMessage(m.Text, m.CallID))
		case RoleAssistant:
			var a openai.ChatCompletionAssistantMessageParam
			if m.Text != "" {
				a.Content.OfString = openai.String(m.Text)
			}
			for _, call := range m.Calls {
				a.ToolCalls = append(a.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
					OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
						ID: call.ID,
						Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
							Name: call.Name, Arguments: string(call.Arguments),
						},
					},
				})
			}
			out = append(out, openai.ChatCompletionMessageParamUnion{OfAssistant: &a})
		}
	}
	return out
}

// openAIAnswer puts the chunks of an answer together.
type openAIAnswer struct {
	sink   *sink
	reply  reply
	reason string
	// begun says that a chunk has come.
	begun   bool
	refused bool
	calls   []pendingCall
}

// take reads one chunk. Any of its parts may be missing.
func (a *openAIAnswer) take(chunk openai.ChatCompletionChunk) error {
	a.begun = true
	if u := chunk.Usage; u.PromptTokens > 0 || u.CompletionTokens > 0 {
		a.reply.usage = Usage{
			In: int(u.PromptTokens), Cached: int(u.PromptTokensDetails.CachedTokens),
			// Gemini counts thoughts in the total only.
			Out: int(max(u.CompletionTokens, u.TotalTokens-u.PromptTokens)),
		}
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue // we ask for one
		}
		delta := choice.Delta
		for _, field := range delta.JSON.ExtraFields {
			a.sink.said.add(field.Raw()) // thoughts, under a name of each server's own
		}
		a.refused = a.refused || delta.Refusal != ""
		for _, call := range delta.ToolCalls {
			a.takeCall(call)
		}
		if err := a.sink.text(delta.Content); err != nil {
			return err
		}
		if choice.FinishReason != "" {
			a.reason = choice.FinishReason
		}
	}
	return nil
}

// takeCall adds a piece of a call to the call it belongs to. Some servers number all calls 0, or give them no ids.
func (a *openAIAnswer) takeCall(piece openai.ChatCompletionChunkChoiceDeltaToolCall) {
	a.sink.said.add(piece.Function.Name + piece.Function.Arguments)
	var p *pendingCall
	for i := range a.calls {
		if a.calls[i].index == piece.Index {
			p = &a.calls[i]
		}
	}
	another := p != nil && (piece.ID != "" && p.id != "" && piece.ID != p.id ||
		piece.ID == "" && piece.Function.Name != "" && p.name != "" && object(p.args))
	if p == nil || another {
		a.calls = append(a.calls, pendingCall{index: piece.Index})
		p = &a.calls[len(a.calls)-1]
	}
	if piece.ID != "" {
		p.id = piece.ID
	}
	if piece.Function.Name != "" {
		p.name = piece.Function.Name
	}
	p.args = append(p.args, piece.Function.Arguments...)
}

// end passes on the calls, which are whole only now, and says how it ended.
func (a *openAIAnswer) end() (reply, error) {
	a.reply.counted = a.reply.usage != (Usage{})
	switch {
	case a.reason == "":
		// Also with a [DONE]: a server that gives no reason has lost its model.
		a.reply.counted = false
		return a.reply, &failure{what: ErrCut, again: true}
	case a.reason == "error":
		return a.reply, &failure{what: ErrProvider, again: true}
	case a.reason == "content_filter" || a.refused:
		return a.reply, &failure{what: ErrRefused}
	}
	for _, call := range a.calls {
		if err := a.sink.call(call); err != nil {
			return a.reply, err
		}
	}
	switch {
	case a.reason == "length":
		a.reply.finish = FinishLength
	case len(a.calls) > 0: // some say "stop" then
		a.reply.finish = FinishTools
	default:
		a.reply.finish = FinishStop
	}
	return a.reply, nil
}
