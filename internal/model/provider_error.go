package model

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"carrel/internal/outbound"
)

// quirk is a set of request fields that a model refuses.
type quirk uint8

const (
	// noTemperature: the model has a fixed temperature.
	noTemperature quirk = 1 << iota
	// otherMaxTokens: the model wants max_completion_tokens where others want max_tokens, or the reverse.
	otherMaxTokens
	// noStreamOptions: the server can't include usage in a stream.
	noStreamOptions
	// noSchema: the model has no structured output.
	noSchema
)

// providerError is the error object of a response.
type providerError struct {
	code, kind, param, message string
	// status is an HTTP status that some servers send as the code.
	status int
}

// parseProviderError reads an error response in any of the forms that are in use:
//
//	{"error": {"message", "type", "param", "code"}}   OpenAI, Anthropic and most others; code may be a number
//	[{"error": {…}}]                                  Gemini
//	{"error": "message"}                              Ollama
//	{"message", "type", "code"}                       older vLLM
func parseProviderError(body []byte) providerError {
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
		_ = json.Unmarshal(body, &f) // a field of another type does not affect the others
	}
	p := providerError{kind: f.Type, param: f.Param, message: f.Message}
	if p.kind == "" {
		p.kind = f.Status
	}
	if json.Unmarshal(f.Code, &p.status) != nil {
		_ = json.Unmarshal(f.Code, &p.code) // null leaves it empty
	}
	return p
}

// label returns the code or type for the log. Anything but a plain word is dropped, because it could quote the prompt
// or the key.
func (p providerError) label(key string) string {
	for _, word := range []string{p.code, p.kind} {
		plain := word != "" && len(word) <= 60 && !strings.ContainsFunc(word, func(r rune) bool {
			return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		})
		if plain && (key == "" || !strings.Contains(word, key)) {
			return word
		}
	}
	return ""
}

// httpStatus returns the status that corresponds to an error in a stream, where the response had status 200.
func (p providerError) httpStatus() int {
	if p.status >= 400 && p.status < 600 {
		return p.status
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
		if strings.Contains(p.code+" "+p.kind, s.part) {
			return s.status
		}
	}
	return http.StatusInternalServerError
}

// streamError returns the failure for an error event. Providers charge nothing if it is the first event.
func streamError(data []byte, key string, started bool) *failure {
	p := parseProviderError(data)
	f := classify(p.httpStatus(), p, key)
	f.uncharged = !started
	return f
}

// classify returns the failure for an error response.
func classify(status int, p providerError, key string) *failure {
	f := &failure{status: status, code: p.label(key)}
	codes := strings.ToLower(p.code + " " + p.kind)
	text := codes + " " + strings.ToLower(p.message)
	switch {
	case status == http.StatusPaymentRequired, containsAny(codes, "insufficient_quota", "billing"),
		strings.Contains(text, "credit balance"):
		f.kind = ErrCredit
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		f.kind = ErrKey
	case status >= 300 && status <= 399, status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		f.kind = ErrUnknownModel
	case status == http.StatusTooManyRequests:
		f.kind, f.retryable = ErrRateLimited, true
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		f.kind, f.retryable = ErrProvider, true
	case status == http.StatusRequestEntityTooLarge,
		containsAny(text, "context length", "context_length", "context window", "context size", "context_size",
			"maximum context", "prompt is too long", "too many tokens", "input is too long", "token count exceeds"):
		// Checked before 5xx: llama.cpp and others send this with status 500.
		f.kind = ErrTooLong
	case status >= 500:
		f.kind, f.retryable = ErrProvider, status != http.StatusNotImplemented
	case containsAny(text, "content_filter", "content_policy", "content management policy"):
		f.kind = ErrRefused
	case containsAny(text, "api key not valid", "api_key_invalid", "invalid api key"):
		f.kind = ErrKey
	case containsAny(text, "model_not_found", "unknown model", "invalid model", "not a valid model", "model not exist"):
		f.kind = ErrUnknownModel
	default:
		f.kind, f.unsupported = ErrRequest, unsupportedFields(p, text)
	}
	return f
}

// unsupportedFields returns the request fields that an error message names as unsupported.
func unsupportedFields(p providerError, text string) quirk {
	if !containsAny(text, "unsupported", "not support", "unrecognized", "unknown", "deprecated", "not permitted",
		"extra inputs", "only the default") {
		return 0
	}
	text = p.param + " " + text
	var q quirk
	for field, bit := range map[string]quirk{
		"temperature": noTemperature, "max_tokens": otherMaxTokens, "max_completion_tokens": otherMaxTokens,
		"stream_options": noStreamOptions, "response_format": noSchema, "output_config": noSchema, "json_schema": noSchema,
	} {
		if strings.Contains(text, field) {
			q |= bit
		}
	}
	return q
}

func containsAny(s string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// requestedDelay returns the delay of the Retry-After headers, or 0.
func requestedDelay(h http.Header, now time.Time) time.Duration {
	// OpenAI's header is more precise than the standard one.
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	return outbound.RetryAfter(h, now)
}
