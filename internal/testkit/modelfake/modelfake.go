// Package modelfake is a provider of language models for tests, in the wire formats of OpenAI and Anthropic. It is
// strict: a request that a provider could refuse, or that has anything a test does not know of, fails the test. What it
// answers is scripted, failures of all kinds included, and every request is kept for inspection.
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

// The formats.
const (
	OpenAI    Format = "openai"
	Anthropic Format = "anthropic"
)

// Server is a provider on this machine.
type Server struct {
	Format Format
	// Key is what it asks for, and answers 401 without; empty means that none may be sent.
	Key string
	// Models are those it knows; others are answered with 404.
	Models []string
	// Unsupported are fields of a request that its models do not take, and answer with 400.
	Unsupported []string

	server   *httptest.Server
	complain func(error)

	mu       sync.Mutex
	script   []Reply
	answer   func(Request) Reply
	requests []Request
}

// New starts a provider that is closed at the test's end, knows the model "fake-1" and asks for a key.
func New(t testing.TB, format Format) *Server {
	t.Helper()
	s := Start(format, func(err error) { t.Errorf("a request to the model is wrong: %v", err) })
	t.Cleanup(s.Close)
	return s
}

// Start is New for programs that are no tests: complain is told of wrong requests, and Close ends it.
func Start(format Format, complain func(error)) *Server {
	s := &Server{Format: format, Key: "sk-secret-of-the-test", Models: []string{"fake-1"}, complain: complain}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// Close ends the server, and streams that still run.
func (s *Server) Close() {
	s.server.CloseClientConnections()
	s.server.Close()
}

// URL is the base URL that a client is given.
func (s *Server) URL() string {
	if s.Format == OpenAI {
		return s.server.URL + "/v1"
	}
	return s.server.URL
}

// Script lets the next requests be answered so, in order.
func (s *Server) Script(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, replies...)
}

// Answer lets requests be answered so for which nothing is scripted. Without it, such a request is wrong. The function
// may be called from several goroutines.
func (s *Server) Answer(answer func(Request) Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// Requests returns every request that was well formed, in the order in which they came, whatever became of them.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Request is what a client asked, the same in both formats.
type Request struct {
	// Header and Body are as they came.
	Header http.Header
	Body   string

	Model, System string
	Messages      []Message
	// Tools are the names of the tools.
	Tools       []string
	MaxTokens   int
	Temperature *float64
	// Schema is the JSON schema that the answer shall have.
	Schema json.RawMessage
}

// Message is a message of a request. An answer to a call has Role "tool".
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

// Call is a call of a tool. In a Reply, Arguments is sent in pieces of a few bytes.
type Call struct{ ID, Name, Arguments string }

// refusal is an answer with another status than 200.
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
		s.complain(err)
		s.refuse(w, Reply{Status: http.StatusBadRequest, Code: "invalid_request_error", Message: err.Error()})
		return
	}
	reply, err := s.next(request)
	if err != nil {
		s.complain(err)
	}
	switch {
	case reply.Status != 0:
		s.refuse(w, reply)
	case reply.Body != "":
		w.Header().Set("Content-Type", reply.ContentType)
		_, _ = io.WriteString(w, reply.Body) // a client that left does not want it
	default:
		s.stream(w, r, request, reply)
	}
}

// next notes a request and returns what is to be answered.
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
		return Reply{Status: http.StatusTeapot}, errors.New("no answer is scripted for it")
	}
	return answer(r), nil
}

// read holds a request to its format.
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
	if err := s.authorise(r.Header); err != nil {
		return Request{}, err
	}
	request, err := check(body)
	if err != nil {
		return Request{}, err
	}
	request.Header, request.Body = r.Header.Clone(), string(body)
	if strings.ContainsRune(request.Body, 0) || strings.Contains(request.Body, `\u0000`) {
		return Request{}, errors.New("it has a NUL")
	}
	if !slices.Contains(s.Models, request.Model) {
		return Request{}, refusal{http.StatusNotFound, "model_not_found", "The model does not exist or you do not have access to it."}
	}
	return request, checkOrder(request.Messages)
}

func (s *Server) authorise(h http.Header) error {
	given, other := h.Get("Authorization"), "X-Api-Key"
	want := "Bearer " + s.Key
	if s.Format == Anthropic {
		given, other, want = h.Get("X-Api-Key"), "Authorization", s.Key
		if h.Get("Anthropic-Version") != "2023-06-01" {
			return errors.New("the wrong anthropic-version")
		}
	}
	if s.Key == "" {
		want = ""
	}
	switch {
	case h.Get(other) != "":
		return errors.New("it has " + other)
	case given != want:
		return refusal{http.StatusUnauthorized, "authentication_error", "Incorrect API key provided: " + given}
	}
	return nil
}

// decode reads JSON that may have no fields but those of v, and none that are unwelcome.
func (s *Server) decode(body []byte, v any) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return err
	}
	for _, name := range s.Unsupported {
		if _, ok := fields[name]; ok {
			return refusal{http.StatusBadRequest, "unsupported_parameter", "Unsupported parameter: '" + name + "' is not supported with this model."}
		}
	}
	return strict(body, v)
}

func strict(body []byte, v any) error {
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// checkOrder holds a conversation to the rules: the user first, the assistant never twice, each call answered at once.
func checkOrder(messages []Message) error {
	var open []string
	before := ""
	for i, m := range messages {
		switch {
		case i == 0 && m.Role != "user":
			return errors.New("it does not start with the user")
		case m.Role != "tool" && len(open) > 0:
			return fmt.Errorf("message %d comes before the answers to %d calls", i, len(open))
		case m.Role != "tool" && m.Role == before:
			return fmt.Errorf("message %d is a second one of the %s", i, m.Role)
		case m.Text == "" && len(m.Calls) == 0 && m.Role != "tool":
			return fmt.Errorf("message %d is empty", i)
		}
		before = m.Role
		for _, call := range m.Calls {
			var arguments map[string]any
			if call.ID == "" || call.Name == "" || json.Unmarshal([]byte(call.Arguments), &arguments) != nil {
				return fmt.Errorf("message %d has a call that is not whole", i)
			}
			open = append(open, call.ID)
		}
		if m.Role == "tool" {
			at := slices.Index(open, m.CallID)
			if at < 0 {
				return fmt.Errorf("message %d answers no call", i)
			}
			open = slices.Delete(open, at, at+1)
		}
	}
	switch {
	case len(messages) == 0:
		return errors.New("it has no messages")
	case len(open) > 0:
		return fmt.Errorf("%d calls have no answer", len(open))
	case before == "assistant":
		return errors.New("it ends with the assistant")
	}
	return nil
}
