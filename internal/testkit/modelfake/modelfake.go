// Package modelfake is a fake model provider for tests, in the wire formats of OpenAI and Anthropic. It is strict: a
// request that a provider could refuse, or that has an unknown field, fails the test. Replies and failures are
// scripted, and all requests are recorded.
package modelfake

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Format is a wire format.
type Format string

// Formats.
const (
	OpenAI    Format = "openai"
	Anthropic Format = "anthropic"
)

// Server is a fake provider.
type Server struct {
	Format Format
	// Key is the required API key. Empty means that a request must not have one.
	Key string
	// Models are the known models. The reply for other models is 404.
	Models []string
	// Unsupported are request fields that are refused with 400.
	Unsupported []string

	server    *httptest.Server
	onInvalid func(error)

	mu       sync.Mutex
	script   []Reply
	answer   func(Request) Reply
	requests []Request
}

// New starts a provider with the model "fake-1" and an API key. It is closed at the end of the test.
func New(t testing.TB, format Format) *Server {
	t.Helper()
	s := Start(format, func(err error) { t.Errorf("invalid request to the model: %v", err) })
	t.Cleanup(s.Close)
	return s
}

// Start is New for programs that are not tests. It calls onInvalid for invalid requests, and the caller calls Close.
func Start(format Format, onInvalid func(error)) *Server {
	s := &Server{Format: format, Key: "sk-secret-of-the-test", Models: []string{"fake-1"}, onInvalid: onInvalid}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// Close stops the server and all running streams.
func (s *Server) Close() {
	s.server.CloseClientConnections()
	s.server.Close()
}

// URL returns the base URL for clients.
func (s *Server) URL() string {
	if s.Format == OpenAI {
		return s.server.URL + "/v1"
	}
	return s.server.URL
}

// Script sets the replies to the next requests, in order.
func (s *Server) Script(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, replies...)
}

// Answer sets a function for requests without a scripted reply, which are invalid otherwise. It may be called
// concurrently.
func (s *Server) Answer(answer func(Request) Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// Requests returns all valid requests in the order of their arrival, whatever the replies were.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Request is a decoded request, independent of the format.
type Request struct {
	// Header and Body are the raw request.
	Header http.Header
	Body   string

	Model, System string
	Messages      []Message
	// Tools are the names of the tools.
	Tools       []string
	MaxTokens   int
	Temperature *float64
	// Schema is the JSON schema of the answer.
	Schema json.RawMessage
}

// Message is a message of a request. The result of a tool call has the Role "tool".
type Message struct {
	Role, Text string
	Calls      []Call
	CallID     string
	Failed     bool
}

// Last returns the text of the last message.
func (r Request) Last() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[len(r.Messages)-1].Text
}

// Call is a tool call. In a Reply, Arguments are sent in pieces of a few bytes.
type Call struct{ ID, Name, Arguments string }

// refusal is a reply with a status other than 200.
type refusal struct {
	status        int
	code, message string
}

func (r refusal) Error() string { return fmt.Sprintf("%d %s: %s", r.status, r.code, r.message) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	request, err := s.read(r)
	var refused refusal
	switch {
	case errors.As(err, &refused):
		s.refuse(w, Reply{Status: refused.status, Code: refused.code, Message: refused.message})
		return
	case err != nil:
		s.onInvalid(err)
		s.refuse(w, Reply{Status: http.StatusBadRequest, Code: "invalid_request_error", Message: err.Error()})
		return
	}
	reply, err := s.next(request)
	if err != nil {
		s.onInvalid(err)
	}
	switch {
	case reply.Status != 0:
		s.refuse(w, reply)
	case reply.Body != "":
		w.Header().Set("Content-Type", reply.ContentType)
		_, _ = io.WriteString(w, reply.Body) // the client may have disconnected
	default:
		s.stream(w, r, request, reply)
	}
}

// next records a request and returns the reply.
func (s *Server) next(r Request) (Reply, error) {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	if len(s.script) > 0 {
		reply := s.script[0]
		s.script = s.script[1:]
		s.mu.Unlock()
		return reply, nil
	}
	answer := s.answer
	s.mu.Unlock()
	if answer == nil {
		return Reply{Status: http.StatusTeapot}, errors.New("no reply is scripted")
	}
	return answer(r), nil
}

// read decodes and validates a request.
func (s *Server) read(r *http.Request) (Request, error) {
	path, check := "/v1/chat/completions", s.readOpenAI
	if s.Format == Anthropic {
		path, check = "/v1/messages", s.readAnthropic
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 32<<20))
	switch {
	case err != nil:
		return Request{}, err
	case r.Method != http.MethodPost || r.URL.String() != path:
		return Request{}, fmt.Errorf("%s %s", r.Method, r.URL)
	case r.Header.Get("Content-Type") != "application/json":
		return Request{}, errors.New("Content-Type " + r.Header.Get("Content-Type"))
	}
	if err := s.authorize(r.Header); err != nil {
		return Request{}, err
	}
	request, err := check(body)
	if err != nil {
		return Request{}, err
	}
	request.Header, request.Body = r.Header.Clone(), string(body)
	if strings.ContainsRune(request.Body, 0) || strings.Contains(request.Body, `\u0000`) {
		return Request{}, errors.New("the body contains NUL")
	}
	if !slices.Contains(s.Models, request.Model) {
		return Request{}, refusal{
			http.StatusNotFound, "model_not_found", "The model does not exist or you do not have access to it.",
		}
	}
	return request, checkOrder(request.Messages)
}

func (s *Server) authorize(h http.Header) error {
	given, other := h.Get("Authorization"), "X-Api-Key"
	want := "Bearer " + s.Key
	if s.Format == Anthropic {
		given, other, want = h.Get("X-Api-Key"), "Authorization", s.Key
		if h.Get("Anthropic-Version") != "2023-06-01" {
			return errors.New("unexpected anthropic-version")
		}
	}
	if s.Key == "" {
		want = ""
	}
	switch {
	case h.Get(other) != "":
		return errors.New("unexpected header " + other)
	case given != want:
		return refusal{http.StatusUnauthorized, "authentication_error", "Incorrect API key provided: " + given}
	}
	return nil
}

// decode decodes JSON with only the fields of v, and without unsupported ones.
func (s *Server) decode(body []byte, v any) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return err
	}
	for _, name := range s.Unsupported {
		if _, ok := fields[name]; ok {
			return refusal{
				http.StatusBadRequest, "unsupported_parameter",
				"Unsupported parameter: '" + name + "' is not supported with this model.",
			}
		}
	}
	if name := misspelled(body); name != "" {
		return errors.New("unknown field " + name)
	}
	return strict(body, v)
}

// freeForm are the fields whose content has any names: JSON schemas and the arguments of tools.
var freeForm = []string{"parameters", "schema", "input_schema", "input"}

// misspelled returns a field name with a capital letter, or "". Package json ignores the case of names, providers do
// not.
func misspelled(value []byte) string {
	var fields map[string]json.RawMessage
	var items []json.RawMessage
	if json.Unmarshal(value, &fields) == nil {
		for name, field := range fields {
			if name != strings.ToLower(name) {
				return name
			}
			if !slices.Contains(freeForm, name) {
				items = append(items, field)
			}
		}
	} else if json.Unmarshal(value, &items) != nil {
		return ""
	}
	for _, item := range items {
		if name := misspelled(item); name != "" {
			return name
		}
	}
	return ""
}

func strict(body []byte, v any) error {
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// checkOrder checks that the user is first, roles alternate, and results follow their tool calls.
func checkOrder(messages []Message) error {
	var open []string
	before := ""
	for i, m := range messages {
		switch {
		case i == 0 && m.Role != "user":
			return errors.New("the first message is not the user's")
		case m.Role != "tool" && len(open) > 0:
			return fmt.Errorf("message %d precedes the results of %d tool calls", i, len(open))
		case m.Role != "tool" && m.Role == before:
			return fmt.Errorf("message %d has the role %s again", i, m.Role)
		case m.Text == "" && len(m.Calls) == 0 && m.Role != "tool":
			return fmt.Errorf("message %d is empty", i)
		}
		before = m.Role
		for _, call := range m.Calls {
			var arguments map[string]any
			if call.ID == "" || call.Name == "" || json.Unmarshal([]byte(call.Arguments), &arguments) != nil {
				return fmt.Errorf("message %d has an invalid tool call", i)
			}
			open = append(open, call.ID)
		}
		if m.Role == "tool" {
			at := slices.Index(open, m.CallID)
			if at < 0 {
				return fmt.Errorf("message %d is the result of an unknown tool call", i)
			}
			open = slices.Delete(open, at, at+1)
		}
	}
	switch {
	case len(messages) == 0:
		return errors.New("there are no messages")
	case len(open) > 0:
		return fmt.Errorf("%d tool calls have no result", len(open))
	case before == "assistant":
		return errors.New("the last message is the assistant's")
	}
	return nil
}
