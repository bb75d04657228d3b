package model

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// openAIFormat is the wire format of OpenAI's chat completions, which most model servers implement:
// https://platform.openai.com/docs/api-reference/chat-streaming
type openAIFormat struct {
	url, key string
	// maxCompletionTokens selects max_completion_tokens over max_tokens for the length limit.
	maxCompletionTokens bool
}

func newOpenAIFormat(base *url.URL, key string) *openAIFormat {
	// The newer models of OpenAI and Azure refuse max_tokens, the only name that other servers accept.
	host := base.Hostname()
	return &openAIFormat{
		url: base.JoinPath("chat/completions").String(), key: key,
		maxCompletionTokens: host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com"),
	}
}

type openAIRequest struct {
	Model               string                `json:"model"`
	Messages            []openAIMessage       `json:"messages"`
	Stream              bool                  `json:"stream"`
	StreamOptions       *openAIStreamOptions  `json:"stream_options,omitempty"`
	MaxTokens           int                   `json:"max_tokens,omitempty"`
	MaxCompletionTokens int                   `json:"max_completion_tokens,omitempty"`
	Temperature         *float64              `json:"temperature,omitempty"`
	Tools               []openAITool          `json:"tools,omitempty"`
	ResponseFormat      *openAIResponseFormat `json:"response_format,omitempty"`
}

type openAIStreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type openAIMessage struct {
	Role string `json:"role"`
	// Content is nil only in assistant messages that consist of tool calls.
	Content    *string          `json:"content,omitempty"`
	ToolCalls  []openAIToolCall `json:"tool_calls,omitempty"`
	ToolCallID string           `json:"tool_call_id,omitempty"`
}

type openAIToolCall struct {
	ID       string             `json:"id"`
	Type     string             `json:"type"`
	Function openAIFunctionCall `json:"function"`
}

type openAIFunctionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type openAITool struct {
	Type     string         `json:"type"`
	Function openAIFunction `json:"function"`
}

// openAIFunction has the schema as raw JSON: models read the order of its properties.
type openAIFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type openAIResponseFormat struct {
	Type       string           `json:"type"`
	JSONSchema openAIJSONSchema `json:"json_schema"`
}

type openAIJSONSchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

// newRequest implements wireFormat.
func (w *openAIFormat) newRequest(ctx context.Context, r Request, q quirk) (*http.Request, error) {
	req, err := newRequest(ctx, w.url, w.body(r, q))
	if err == nil && w.key != "" {
		req.Header.Set("Authorization", "Bearer "+w.key)
	}
	return req, err
}

func (w *openAIFormat) body(r Request, q quirk) openAIRequest {
	b := openAIRequest{Model: r.Model, Messages: openAIMessages(r), Stream: true}
	if w.maxCompletionTokens == (q&otherMaxTokens == 0) {
		b.MaxCompletionTokens = r.MaxTokens
	} else {
		b.MaxTokens = r.MaxTokens
	}
	if q&noTemperature == 0 {
		b.Temperature = r.Temperature
	}
	if q&noStreamOptions == 0 {
		b.StreamOptions = &openAIStreamOptions{IncludeUsage: true}
	}
	for _, t := range r.Tools {
		b.Tools = append(b.Tools, openAITool{"function", openAIFunction{t.Name, t.Description, t.Schema}})
	}
	if r.Schema != nil && q&noSchema == 0 {
		b.ResponseFormat = &openAIResponseFormat{"json_schema", openAIJSONSchema{r.Schema.Name, true, r.Schema.JSON}}
	}
	return b
}

func openAIMessages(r Request) []openAIMessage {
	out := make([]openAIMessage, 0, len(r.Messages)+1)
	if r.System != "" {
		out = append(out, openAIMessage{Role: "system", Content: &r.System})
	}
	for _, m := range r.Messages {
		message := openAIMessage{Role: string(m.Role), Content: &m.Text}
		switch {
		case m.Role == RoleTool:
			message.ToolCallID = m.CallID
		case m.Role == RoleAssistant && m.Text == "":
			message.Content = nil
		}
		for _, call := range m.Calls {
			message.ToolCalls = append(message.ToolCalls, openAIToolCall{
				call.ID, "function", openAIFunctionCall{call.Name, string(call.Arguments)},
			})
		}
		out = append(out, message)
	}
	return out
}

// openAIChunk is the data of one event. Any field may be missing.
type openAIChunk struct {
	// Object is "error" in the errors of older vLLM versions, which have no Error.
	Object  string          `json:"object"`
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Index        int         `json:"index"`
		Delta        openAIDelta `json:"delta"`
		FinishReason string      `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
		TotalTokens      int `json:"total_tokens"`
		Details          struct {
			CachedTokens int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

type openAIDelta struct {
	Content textDelta `json:"content"`
	Refusal string    `json:"refusal"`
	// Reasoning goes by two names: OpenRouter, Ollama and vLLM use the first, DeepSeek and llama.cpp the second.
	Reasoning        textDelta            `json:"reasoning"`
	ReasoningContent textDelta            `json:"reasoning_content"`
	ToolCalls        []openAIToolCallPart `json:"tool_calls"`
}

type openAIToolCallPart struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments textDelta `json:"arguments"`
	} `json:"function"`
}

// openAIAnswer assembles the chunks of an answer.
type openAIAnswer struct {
	out          *emitter
	key          string
	reply        reply
	finishReason string
	started      bool
	refused      bool
	calls        []partialCall
}

// newAnswer implements wireFormat.
func (w *openAIFormat) newAnswer(out *emitter) answer { return &openAIAnswer{out: out, key: w.key} }

// add implements answer.
func (a *openAIAnswer) add(e event) (done bool, err error) {
	if string(e.data) == "[DONE]" {
		return true, nil
	}
	var chunk openAIChunk
	if err := decodeChunk(e.data, &chunk); err != nil {
		return false, err
	}
	if len(chunk.Error) > 0 && string(chunk.Error) != "null" || chunk.Object == "error" {
		return false, streamError(e.data, a.key, a.started)
	}
	a.started = true
	if u := chunk.Usage; u.PromptTokens > 0 || u.CompletionTokens > 0 {
		a.reply.usage = Usage{
			In: u.PromptTokens, Cached: u.Details.CachedTokens,
			// Gemini includes reasoning only in the total.
			Out: max(u.CompletionTokens, u.TotalTokens-u.PromptTokens),
		}
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue // only one is requested
		}
		if err := a.addDelta(choice.Delta); err != nil {
			return false, err
		}
		if choice.FinishReason != "" {
			a.finishReason = choice.FinishReason
		}
	}
	return false, nil
}

func (a *openAIAnswer) addDelta(d openAIDelta) error {
	a.out.written.add(string(d.Reasoning + d.ReasoningContent))
	a.refused = a.refused || d.Refusal != ""
	for _, part := range d.ToolCalls {
		a.addToolCall(part)
	}
	return a.out.text(string(d.Content))
}

// addToolCall appends a part to its call. Parts belong together by index, but some servers give every call the index 0,
// or no id: a second id, or a name after complete arguments, starts another call.
func (a *openAIAnswer) addToolCall(part openAIToolCallPart) {
	f := part.Function
	a.out.written.add(f.Name + string(f.Arguments))
	var call *partialCall
	for i := range a.calls {
		if a.calls[i].index == part.Index {
			call = &a.calls[i]
		}
	}
	another := call != nil && (part.ID != "" && call.id != "" && part.ID != call.id ||
		part.ID == "" && f.Name != "" && call.name != "" && isObject(call.arguments))
	if call == nil || another {
		a.calls = append(a.calls, partialCall{index: part.Index})
		call = &a.calls[len(a.calls)-1]
	}
	if part.ID != "" {
		call.id = part.ID
	}
	if f.Name != "" {
		call.name = f.Name
	}
	call.arguments = append(call.arguments, f.Arguments...)
}

// end implements answer. A stream that breaks after the finish reason has delivered the whole answer.
func (a *openAIAnswer) end(err error) (reply, error) {
	var f *failure
	if err != nil && (a.finishReason == "" || errors.Is(err, errStopped) || errors.As(err, &f)) {
		return a.reply, err
	}
	a.reply.counted = a.reply.usage != (Usage{})
	switch {
	case a.finishReason == "":
		// Even after [DONE]: a server whose model has crashed ends the stream like this.
		a.reply.counted = false
		return a.reply, &failure{kind: ErrTruncated, retryable: true}
	case a.finishReason == "error":
		return a.reply, &failure{kind: ErrProvider, retryable: true}
	case a.finishReason == "content_filter" || a.refused:
		return a.reply, &failure{kind: ErrRefused}
	}
	if err := a.out.calls(a.calls); err != nil {
		return a.reply, err
	}
	switch {
	case a.finishReason == "length":
		a.reply.finish = FinishLength
	case len(a.calls) > 0: // with the reason "stop" on some servers
		a.reply.finish = FinishTools
	default:
		a.reply.finish = FinishStop
	}
	return a.reply, nil
}
