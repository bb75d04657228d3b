package modelfake

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

// validName matches the names of tools and schemas.
var validName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// checkTool validates a tool by the rules of both formats.
func checkTool(name string, schema json.RawMessage) error {
	var s struct {
		Type string `json:"type"`
	}
	if !validName.MatchString(name) || json.Unmarshal(schema, &s) != nil || s.Type != "object" {
		return fmt.Errorf("a tool has an invalid name, or a schema of type %q", s.Type)
	}
	return nil
}

type openAIRequest struct {
	Model         string          `json:"model"`
	Messages      []openAIMessage `json:"messages"`
	Stream        bool            `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           *int     `json:"max_tokens"`
	MaxCompletionTokens *int     `json:"max_completion_tokens"`
	Temperature         *float64 `json:"temperature"`
	Tools               []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	ResponseFormat *struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Name   string          `json:"name"`
			Strict bool            `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

type openAIMessage struct {
	Role       string  `json:"role"`
	Content    *string `json:"content"`
	ToolCallID string  `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func (s *Server) readOpenAI(body []byte) (Request, error) {
	var b openAIRequest
	if err := s.decode(body, &b); err != nil {
		return Request{}, err
	}
	out := Request{Model: b.Model, Temperature: b.Temperature}
	switch {
	case !b.Stream:
		return out, errors.New("stream is not true")
	case b.StreamOptions != nil && !b.StreamOptions.IncludeUsage:
		return out, errors.New("include_usage is not true")
	case (b.MaxTokens == nil) == (b.MaxCompletionTokens == nil):
		return out, errors.New("max_tokens and max_completion_tokens: need exactly one")
	case b.Temperature != nil && (*b.Temperature < 0 || *b.Temperature > 2):
		return out, fmt.Errorf("temperature %v", *b.Temperature)
	case b.MaxTokens != nil:
		out.MaxTokens = *b.MaxTokens
	default:
		out.MaxTokens = *b.MaxCompletionTokens
	}
	for _, t := range b.Tools {
		if err := checkTool(t.Function.Name, t.Function.Parameters); err != nil || t.Type != "function" {
			return out, fmt.Errorf("tool of type %q: %w", t.Type, err)
		}
		out.Tools = append(out.Tools, t.Function.Name)
	}
	if f := b.ResponseFormat; f != nil {
		if f.Type != "json_schema" || !validName.MatchString(f.JSONSchema.Name) || !json.Valid(f.JSONSchema.Schema) {
			return out, fmt.Errorf("response_format of type %q", f.Type)
		}
		out.Schema = f.JSONSchema.Schema
	}
	for i, m := range b.Messages {
		if m.Role == "system" {
			if i != 0 || m.Content == nil || *m.Content == "" {
				return out, fmt.Errorf("message %d is an empty or late system message", i)
			}
			out.System = *m.Content
			continue
		}
		message, err := m.read()
		if err != nil {
			return out, fmt.Errorf("message %d: %w", i, err)
		}
		out.Messages = append(out.Messages, message)
	}
	return out, nil
}

func (m openAIMessage) read() (Message, error) {
	out := Message{Role: m.Role, CallID: m.ToolCallID}
	if m.Content != nil {
		out.Text = *m.Content
	}
	switch {
	case m.Role != "user" && m.Role != "assistant" && m.Role != "tool":
		return out, fmt.Errorf("role %q", m.Role)
	case m.Role != "assistant" && (len(m.ToolCalls) > 0 || m.Content == nil):
		return out, errors.New("a " + m.Role + " message has tool calls or no content")
	case (m.Role == "tool") != (m.ToolCallID != ""):
		return out, errors.New("tool_call_id is missing or misplaced")
	}
	for _, call := range m.ToolCalls {
		if call.Type != "function" {
			return out, fmt.Errorf("tool call of type %q", call.Type)
		}
		out.Calls = append(out.Calls, Call{call.ID, call.Function.Name, call.Function.Arguments})
	}
	return out, nil
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type anthropicRequest struct {
	Model       string      `json:"model"`
	MaxTokens   int         `json:"max_tokens"`
	System      []textBlock `json:"system"`
	Stream      bool        `json:"stream"`
	Temperature *float64    `json:"temperature"`
	Messages    []struct {
		Role    string            `json:"role"`
		Content []json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	OutputConfig *struct {
		Format struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
}

func (s *Server) readAnthropic(body []byte) (Request, error) {
	var b anthropicRequest
	if err := s.decode(body, &b); err != nil {
		return Request{}, err
	}
	out := Request{Model: b.Model, MaxTokens: b.MaxTokens, Temperature: b.Temperature}
	switch {
	case !b.Stream:
		return out, errors.New("stream is not true")
	case b.MaxTokens < 1:
		return out, errors.New("max_tokens is missing")
	case b.Temperature != nil && (*b.Temperature < 0 || *b.Temperature > 1):
		return out, fmt.Errorf("temperature %v", *b.Temperature)
	}
	for _, block := range b.System {
		if block.Type != "text" || block.Text == "" {
			return out, errors.New("empty text block in system")
		}
		out.System += block.Text
	}
	for _, t := range b.Tools {
		if err := checkTool(t.Name, t.InputSchema); err != nil {
			return out, err
		}
		out.Tools = append(out.Tools, t.Name)
	}
	if b.OutputConfig != nil {
		if f := b.OutputConfig.Format; f.Type != "json_schema" || !json.Valid(f.Schema) {
			return out, fmt.Errorf("output_config of type %q", f.Type)
		}
		out.Schema = b.OutputConfig.Format.Schema
	}
	before := ""
	for i, m := range b.Messages {
		if m.Role == before || len(m.Content) == 0 {
			return out, fmt.Errorf("message %d has the role %s again, or no content", i, m.Role)
		}
		before = m.Role
		messages, err := readBlocks(m.Role, m.Content)
		if err != nil {
			return out, fmt.Errorf("message %d: %w", i, err)
		}
		out.Messages = append(out.Messages, messages...)
	}
	return out, nil
}

// readBlocks converts the content blocks of a message to messages like OpenAI's: one for each tool result, followed by
// one with the texts.
func readBlocks(role string, blocks []json.RawMessage) ([]Message, error) {
	var out []Message
	rest := Message{Role: role}
	for _, raw := range blocks {
		var kind struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(raw, &kind) // an invalid block has no type
		var err error
		switch {
		case kind.Type == "text" && len(rest.Calls) == 0:
			var b textBlock
			if err = strict(raw, &b); err == nil && b.Text == "" {
				err = errors.New("empty text block")
			}
			rest.Text += b.Text
		case kind.Type == "tool_use" && role == "assistant":
			var b struct {
				Type, ID, Name string
				Input          json.RawMessage
			}
			err = strict(raw, &b)
			rest.Calls = append(rest.Calls, Call{b.ID, b.Name, string(b.Input)})
		case kind.Type == "tool_result" && role == "user" && rest.Text == "":
			var b struct {
				Type      string      `json:"type"`
				ToolUseID string      `json:"tool_use_id"`
				IsError   bool        `json:"is_error"`
				Content   []textBlock `json:"content"`
			}
			err = strict(raw, &b)
			m := Message{Role: "tool", CallID: b.ToolUseID, Failed: b.IsError}
			for _, block := range b.Content {
				if block.Type != "text" || block.Text == "" {
					err = errors.New("empty tool result block")
				}
				m.Text += block.Text
			}
			out = append(out, m)
		default:
			err = fmt.Errorf("misplaced block %q of the %s", kind.Type, role)
		}
		if err != nil {
			return nil, err
		}
	}
	if rest.Text != "" || len(rest.Calls) > 0 {
		out = append(out, rest)
	}
	return out, nil
}
