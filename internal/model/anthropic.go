package model

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
)

// anthropicWire speaks Anthropic's messages.
type anthropicWire struct {
	messages anthropic.MessageService
	key      string
}

// newAnthropicWire makes the service without the client around it, which would read settings from the environment.
func newAnthropicWire(base, key string, client *http.Client) *anthropicWire {
	options := []option.RequestOption{
		option.WithBaseURL(base + "/"), option.WithHTTPClient(client), option.WithMaxRetries(0),
		option.WithoutOpenTelemetry(), // a variable could put prompts into traces
	}
	if key != "" {
		options = append(options, option.WithAPIKey(key))
	}
	return &anthropicWire{anthropic.NewMessageService(options...), key}
}

// send implements wire.
func (w *anthropicWire) send(ctx context.Context, x *exchange, r Request, q quirk, s *sink) (reply, error) {
	stream := w.messages.NewStreaming(ctx, anthropicParams(r, q), option.WithMiddleware(x.do))
	defer func() { _ = stream.Close() }() // it was only read
	answer := anthropicAnswer{sink: s}
	for stream.Next() {
		if done, err := answer.take(stream.Current()); err != nil {
			return answer.reply, err
		} else if done {
			return answer.end()
		}
	}
	err := stream.Err()
	var said *anthropic.Error
	switch {
	case errors.As(err, &said):
		complaint := complain([]byte(said.RawJSON()))
		f := classify(complaint.statusOf(), complaint, w.key)
		f.free = !answer.begun
		return answer.reply, f
	case err != nil:
		return answer.reply, err
	}
	return answer.reply, &failure{what: ErrCut, again: true}
}

func anthropicParams(r Request, q quirk) anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{Model: r.Model, MaxTokens: int64(r.MaxTokens), Messages: anthropicMessages(r.Messages)}
	if r.System != "" {
		p.System = []anthropic.TextBlockParam{{Text: r.System}}
	}
	if r.Temperature != nil && q&noTemperature == 0 {
		p.Temperature = anthropic.Float(min(*r.Temperature, 1)) // others go to 2
	}
	for _, t := range r.Tools {
		tool := &anthropic.ToolParam{
			Name: t.Name,
			// As it is written, and not through a map: models read the order of properties.
			InputSchema: param.Override[anthropic.ToolInputSchemaParam](t.Schema),
		}
		if t.Description != "" {
			tool.Description = anthropic.String(t.Description)
		}
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: tool})
	}
	if r.Schema != nil && q&noSchema == 0 {
		p.OutputConfig.Format = param.Override[anthropic.JSONOutputFormatParam](struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		}{"json_schema", r.Schema.JSON})
	}
	return p
}

// anthropicMessages puts the answers of tools into messages of the user, all that belong together into one.
func anthropicMessages(messages []Message) []anthropic.MessageParam {
	var out []anthropic.MessageParam
	add := func(role anthropic.MessageParamRole, blocks ...anthropic.ContentBlockParamUnion) {
		if last := len(out) - 1; last >= 0 && out[last].Role == role {
			out[last].Content = append(out[last].Content, blocks...)
			return
		}
		out = append(out, anthropic.MessageParam{Role: role, Content: blocks})
	}
	for _, m := range messages {
		switch m.Role {
		case RoleUser:
			add(anthropic.MessageParamRoleUser, anthropic.NewTextBlock(m.Text))
		case RoleTool:
			result := &anthropic.ToolResultBlockParam{ToolUseID: m.CallID}
			if m.Text != "" { // an empty block is refused
				result.Content = []anthropic.ToolResultBlockParamContentUnion{{OfText: &anthropic.TextBlockParam{Text: m.Text}}}
			}
			if m.Failed {
				result.IsError = anthropic.Bool(true)
			}
			add(anthropic.MessageParamRoleUser, anthropic.ContentBlockParamUnion{OfToolResult: result})
		case RoleAssistant:
			if m.Text != "" {
				add(anthropic.MessageParamRoleAssistant, anthropic.NewTextBlock(m.Text))
			}
			for _, call := range m.Calls {
				add(anthropic.MessageParamRoleAssistant, anthropic.NewToolUseBlock(call.ID, call.Arguments, call.Name))
			}
		}
	}
	return out
}

// anthropicAnswer puts the events of an answer together.
type anthropicAnswer struct {
	sink   *sink
	reply  reply
	reason anthropic.StopReason
	// begun says that an event has come.
	begun bool
	calls []pendingCall
}

// take reads one event, and reports whether it was the last.
func (a *anthropicAnswer) take(e anthropic.MessageStreamEventUnion) (done bool, err error) {
	a.begun = true
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		a.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens)
	case "content_block_start":
		switch e.ContentBlock.Type {
		case "tool_use":
			a.calls = append(a.calls, pendingCall{index: e.Index, id: e.ContentBlock.ID, name: e.ContentBlock.Name})
		case "text":
			err = a.sink.text(e.ContentBlock.Text)
		}
	case "content_block_delta":
		switch e.Delta.Type {
		case "text_delta":
			err = a.sink.text(e.Delta.Text)
		case "input_json_delta":
			for i := range a.calls {
				if a.calls[i].index == e.Index {
					a.sink.said.add(e.Delta.PartialJSON)
					a.calls[i].args = append(a.calls[i].args, e.Delta.PartialJSON...)
				}
			}
		case "thinking_delta":
			a.sink.said.add(e.Delta.Thinking)
		}
	case "message_delta":
		if e.Delta.StopReason != "" {
			a.reason = e.Delta.StopReason
		}
		u := e.Usage
		a.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens)
		a.reply.counted = u.OutputTokens > 0
	case "message_stop":
		return true, nil
	}
	return false, err
}

// count notes usage. Each event that has some tells the total, but the later ones may leave out what was read.
func (a *anthropicAnswer) count(in, cached, written, out int64) {
	u := &a.reply.usage
	u.In = max(u.In, int(in+cached+written))
	u.Cached = max(u.Cached, int(cached))
	u.Out = max(u.Out, int(out))
}

// end passes on the calls, so that an answer that is cut has passed on none, and says how it ended.
func (a *anthropicAnswer) end() (reply, error) {
	switch a.reason {
	case "":
		a.reply.counted = false
		return a.reply, &failure{what: ErrCut, again: true}
	case anthropic.StopReasonRefusal:
		return a.reply, &failure{what: ErrRefused}
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		a.reply.finish = FinishLength
	default:
		a.reply.finish = FinishStop
	}
	for _, call := range a.calls {
		if err := a.sink.call(call); err != nil {
			return a.reply, err
		}
	}
	if len(a.calls) > 0 && a.reply.finish == FinishStop {
		a.reply.finish = FinishTools
	}
	return a.reply, nil
}
