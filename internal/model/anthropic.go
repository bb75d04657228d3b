package model

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// anthropicVersion is the version of the API that the structs of this file describe.
const anthropicVersion = "2023-06-01"

// anthropicFormat is the wire format of Anthropic's messages: https://docs.anthropic.com/en/api/messages-streaming
type anthropicFormat struct{ url, key string }

func newAnthropicFormat(base *url.URL, key string) *anthropicFormat {
	return &anthropicFormat{base.JoinPath("v1/messages").String(), key}
}

type anthropicRequest struct {
	Model        string                 `json:"model"`
	MaxTokens    int                    `json:"max_tokens"`
	System       []anthropicText        `json:"system,omitempty"`
	Messages     []anthropicMessage     `json:"messages"`
	Stream       bool                   `json:"stream"`
	Temperature  *float64               `json:"temperature,omitempty"`
	Tools        []anthropicTool        `json:"tools,omitempty"`
	OutputConfig *anthropicOutputConfig `json:"output_config,omitempty"`
}

type anthropicMessage struct {
	Role string `json:"role"`
	// Content consists of anthropicText, anthropicToolUse and anthropicToolResult.
	Content []any `json:"content"`
}

type anthropicText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type anthropicToolUse struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// anthropicToolResult leaves Content out when it is empty: the API refuses empty text blocks.
type anthropicToolResult struct {
	Type      string          `json:"type"`
	ToolUseID string          `json:"tool_use_id"`
	Content   []anthropicText `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
}

// anthropicTool has the schema as raw JSON: models read the order of its properties.
type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type anthropicOutputConfig struct {
	Format anthropicOutputFormat `json:"format"`
}

type anthropicOutputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// newRequest implements wireFormat.
func (w *anthropicFormat) newRequest(ctx context.Context, r Request, q quirk) (*http.Request, error) {
	req, err := newRequest(ctx, w.url, anthropicBody(r, q))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Anthropic-Version", anthropicVersion)
	if w.key != "" {
		req.Header.Set("X-Api-Key", w.key)
	}
	return req, nil
}

func anthropicBody(r Request, q quirk) anthropicRequest {
	b := anthropicRequest{Model: r.Model, MaxTokens: r.MaxTokens, Messages: anthropicMessages(r.Messages), Stream: true}
	if r.System != "" {
		b.System = anthropicTexts(r.System)
	}
	if r.Temperature != nil && q&noTemperature == 0 {
		t := min(*r.Temperature, 1) // other APIs go up to 2
		b.Temperature = &t
	}
	for _, t := range r.Tools {
		b.Tools = append(b.Tools, anthropicTool{t.Name, t.Description, t.Schema})
	}
	if r.Schema != nil && q&noSchema == 0 {
		b.OutputConfig = &anthropicOutputConfig{anthropicOutputFormat{"json_schema", r.Schema.JSON}}
	}
	return b
}

func anthropicTexts(text string) []anthropicText { return []anthropicText{{"text", text}} }

// anthropicMessages turns tool results into user messages, and joins consecutive messages of one role: the API wants
// all results of a turn in a single message.
func anthropicMessages(messages []Message) []anthropicMessage {
	var out []anthropicMessage
	add := func(role Role, block any) {
		if last := len(out) - 1; last >= 0 && out[last].Role == string(role) {
			out[last].Content = append(out[last].Content, block)
			return
		}
		out = append(out, anthropicMessage{Role: string(role), Content: []any{block}})
	}
	for _, m := range messages {
		switch m.Role {
		case RoleUser:
			add(RoleUser, anthropicText{"text", m.Text})
		case RoleTool:
			result := anthropicToolResult{Type: "tool_result", ToolUseID: m.CallID, IsError: m.Failed}
			if m.Text != "" {
				result.Content = anthropicTexts(m.Text)
			}
			add(RoleUser, result)
		case RoleAssistant:
			if m.Text != "" {
				add(RoleAssistant, anthropicText{"text", m.Text})
			}
			for _, call := range m.Calls {
				add(RoleAssistant, anthropicToolUse{"tool_use", call.ID, call.Name, call.Arguments})
			}
		}
	}
	return out
}

// anthropicEvent holds the fields of all event types. The API may add types; unknown ones are ignored.
type anthropicEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage anthropicUsage `json:"usage"`
	} `json:"message"`
	ContentBlock struct {
		Type string    `json:"type"`
		ID   string    `json:"id"`
		Name string    `json:"name"`
		Text textDelta `json:"text"`
	} `json:"content_block"`
	Delta anthropicDelta `json:"delta"`
	Usage anthropicUsage `json:"usage"`
}

type anthropicDelta struct {
	Type        string    `json:"type"`
	Text        textDelta `json:"text"`
	PartialJSON textDelta `json:"partial_json"`
	Thinking    textDelta `json:"thinking"`
	StopReason  string    `json:"stop_reason"`
}

// anthropicUsage counts cached tokens apart from InputTokens.
type anthropicUsage struct {
	InputTokens              int `json:"input_tokens"`
	CacheReadInputTokens     int `json:"cache_read_input_tokens"`
	CacheCreationInputTokens int `json:"cache_creation_input_tokens"`
	OutputTokens             int `json:"output_tokens"`
}

// anthropicAnswer assembles the events of an answer.
type anthropicAnswer struct {
	out        *emitter
	key        string
	reply      reply
	stopReason string
	started    bool
	stopped    bool
	calls      []partialCall
}

// newAnswer implements wireFormat.
func (w *anthropicFormat) newAnswer(out *emitter) answer {
	return &anthropicAnswer{out: out, key: w.key}
}

// add implements answer.
func (a *anthropicAnswer) add(e event) (done bool, err error) {
	if string(e.name) == "error" {
		return false, streamError(e.data, a.key, a.started)
	}
	var v anthropicEvent
	if err := decodeChunk(e.data, &v); err != nil {
		return false, err
	}
	switch v.Type {
	case "ping":
		return false, nil
	case "error":
		return false, streamError(e.data, a.key, a.started)
	case "message_start":
		a.count(v.Message.Usage)
	case "content_block_start":
		switch block := v.ContentBlock; block.Type {
		case "tool_use":
			a.calls = append(a.calls, partialCall{index: v.Index, id: block.ID, name: block.Name})
		case "text":
			err = a.out.text(string(block.Text))
		}
	case "content_block_delta":
		err = a.addDelta(v.Index, v.Delta)
	case "message_delta":
		if v.Delta.StopReason != "" {
			a.stopReason = v.Delta.StopReason
		}
		a.count(v.Usage)
		a.reply.counted = v.Usage.OutputTokens > 0
	case "message_stop":
		a.stopped = true
	}
	a.started = true
	return a.stopped, err
}

func (a *anthropicAnswer) addDelta(index int, d anthropicDelta) error {
	switch d.Type {
	case "text_delta":
		return a.out.text(string(d.Text))
	case "thinking_delta":
		a.out.written.add(string(d.Thinking))
	case "input_json_delta":
		for i := range a.calls {
			if a.calls[i].index == index {
				a.out.written.add(string(d.PartialJSON))
				a.calls[i].arguments = append(a.calls[i].arguments, d.PartialJSON...)
			}
		}
	}
	return nil
}

// count records usage. The numbers of every event are totals, but later events may leave out the input tokens.
func (a *anthropicAnswer) count(v anthropicUsage) {
	u := &a.reply.usage
	u.In = max(u.In, v.InputTokens+v.CacheReadInputTokens+v.CacheCreationInputTokens)
	u.Cached = max(u.Cached, v.CacheReadInputTokens)
	u.Out = max(u.Out, v.OutputTokens)
}

// end implements answer.
func (a *anthropicAnswer) end(err error) (reply, error) {
	switch {
	case err != nil:
		return a.reply, err
	case !a.stopped:
		return a.reply, &failure{kind: ErrTruncated, retryable: true}
	}
	switch a.stopReason {
	case "":
		a.reply.counted = false
		return a.reply, &failure{kind: ErrTruncated, retryable: true}
	case "refusal":
		return a.reply, &failure{kind: ErrRefused}
	case "max_tokens", "model_context_window_exceeded":
		a.reply.finish = FinishLength
	default:
		a.reply.finish = FinishStop
	}
	if err := a.out.calls(a.calls); err != nil {
		return a.reply, err
	}
	if len(a.calls) > 0 && a.reply.finish == FinishStop {
		a.reply.finish = FinishTools
	}
	return a.reply, nil
}
