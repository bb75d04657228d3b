package model

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// quirk is a part of a request that a model does not take, as a set.
type quirk uint8

const (
	// noTemperature is a model that chooses its temperature itself.
	noTemperature quirk = 1 << iota
	// otherMaxTokens is a model that wants the other of the two names for the length of its answer.
	otherMaxTokens
	// noStreamOptions is a server that can't be asked for usage.
	noStreamOptions
	// noSchema is a model that can't promise a shape.
	noSchema
)

// complaint is what a provider says about a failure.
type complaint struct {
	code, kind, param, message string
	status                     int // where it is part of the text
}

// complain reads the body of a failure in any of the forms that are in use:
//
//	{"error": {"message", "type", "param", "code"}}   OpenAI, Anthropic and most others; code may be a number
//	[{"error": {…}}]                                  Gemini
//	{"error": "message"}                              Ollama
//	{"message", "type", "code"}                       older vLLM
func complain(body []byte) complaint {
	body = bytes.TrimSpace(body)
	if list := []json.RawMessage(nil); json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	type fields struct {
		Code    json.RawMessage `json:"code"`
		Type    string          `json:"type"`
		Status  string          `json:"status"`
		Param   string          `json:"param"`
		Message string          `json:"message"`
	}
	var outer struct {
		Error json.RawMessage `json:"error"`
	}
	var f fields
	if json.Unmarshal(body, &outer) == nil && len(outer.Error) > 0 {
		body = outer.Error
	}
	if json.Unmarshal(body, &f.Message) != nil {
		_ = json.Unmarshal(body, &f) // a field of another type leaves the others readable
	}
	c := complaint{kind: f.Type, param: f.Param, message: f.Message}
	if c.kind == "" {
		c.kind = f.Status
	}
	if json.Unmarshal(f.Code, &c.status) != nil {
		_ = json.Unmarshal(f.Code, &c.code) // null is no code
	}
	return c
}

// label is the code or type of a complaint, if it is a plain word that the log may hold.
func (c complaint) label(key string) string {
	for _, word := range []string{c.code, c.kind} {
		plain := word != "" && len(word) <= 60 && !strings.ContainsFunc(word, func(r rune) bool {
			return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		})
		if plain && (key == "" || !strings.Contains(word, key)) {
			return word
		}
	}
	return ""
}

// statusOf is the status that a failure in the midst of a stream would have had as an answer.
func (c complaint) statusOf() int {
	if c.status >= 400 && c.status < 600 {
		return c.status
	}
	for _, s := range []struct {
		part   string
		status int
	}{
		{"overloaded", http.StatusServiceUnavailable},
		{"rate_limit", http.StatusTooManyRequests},
		{"insufficient_quota", http.StatusTooManyRequests},
		{"billing", http.StatusPaymentRequired},
		{"authentication", http.StatusUnauthorized},
		{"permission", http.StatusForbidden},
		{"not_found", http.StatusNotFound},
		{"too_large", http.StatusRequestEntityTooLarge},
		{"timeout", http.StatusGatewayTimeout},
		{"invalid_request", http.StatusBadRequest},
	} {
		if strings.Contains(c.code+" "+c.kind, s.part) {
			return s.status
		}
	}
	return http.StatusInternalServerError
}

// classify makes a failure of a status and what the provider said with it.
func classify(status int, said complaint, key string) *failure {
	f := &failure{status: status, code: said.label(key)}
	codes := strings.ToLower(said.code + " " + said.kind)
	words := codes + " " + strings.ToLower(said.message)
	switch {
	case status == http.StatusPaymentRequired || contains(codes, "insufficient_quota", "billing") || contains(words, "credit balance"):
		f.what = ErrCredit
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		f.what = ErrKey
	case status >= 300 && status <= 399, status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		f.what = ErrUnknownModel
	case status == http.StatusTooManyRequests:
		f.what, f.again = ErrRateLimited, true
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		f.what, f.again = ErrProvider, true
	case status == http.StatusRequestEntityTooLarge || contains(words, "context length", "context_length", "context window", "context size",
		"context_size", "maximum context", "prompt is too long", "too many tokens", "input is too long", "token count exceeds"):
		// llama.cpp and others say so with 500.
		f.what = ErrTooLong
	case status >= 500:
		f.what, f.again = ErrProvider, status != http.StatusNotImplemented
	case contains(words, "content_filter", "content_policy", "content management policy"):
		f.what = ErrRefused
	case contains(words, "api key not valid", "api_key_invalid", "invalid api key"):
		f.what = ErrKey
	case contains(words, "model_not_found", "unknown model", "invalid model", "not a valid model", "model not exist"):
		f.what = ErrUnknownModel
	default:
		f.what, f.unwelcome = ErrRequest, unwelcome(said, words)
	}
	return f
}

// unwelcome finds out which field of the request it was that the provider does not take.
func unwelcome(said complaint, words string) quirk {
	if !contains(words, "unsupported", "not support", "unrecognized", "unknown", "deprecated", "not permitted", "extra inputs", "only the default") {
		return 0
	}
	words = said.param + " " + words
	var q quirk
	for part, field := range map[string]quirk{
		"temperature": noTemperature, "max_tokens": otherMaxTokens, "max_completion_tokens": otherMaxTokens,
		"stream_options": noStreamOptions, "response_format": noSchema, "output_config": noSchema, "json_schema": noSchema,
	} {
		if strings.Contains(words, part) {
			q |= field
		}
	}
	return q
}

func contains(s string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// pauseAsked is how long the provider wants to be left alone.
func pauseAsked(h http.Header, now time.Time) time.Duration {
	// OpenAI's own header is finer than the standard's.
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	return retryAfter(h, now)
}
