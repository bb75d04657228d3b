package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// object is a JSON object.
type object = map[string]any

// answer is an HTTP response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (p *testUser) get(path string, headers ...string) answer {
	p.t.Helper()
	return p.send(http.MethodGet, path, "", headers...)
}

func (p *testUser) post(path string, body any, headers ...string) answer {
	p.t.Helper()
	return p.send(http.MethodPost, path, encode(p.t, body), headers...)
}

func encode(t testing.TB, body any) string {
	t.Helper()
	if s, ok := body.(string); ok {
		return s
	}
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// send sends a request with the user's credential. Headers are pairs of a name and a value, which replace the
// defaults; "+Name" adds a further line, and the value "-" removes the header.
func (p *testUser) send(method, path, body string, headers ...string) answer {
	p.t.Helper()
	a, err := p.try(method, path, strings.NewReader(body), headers...)
	if err != nil {
		p.t.Fatal(err)
	}
	return a
}

// try is send for use in other goroutines.
func (p *testUser) try(method, path string, body io.Reader, headers ...string) (answer, error) {
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.w.url+path, body)
	if err != nil {
		return answer{}, err
	}
	if req.ContentLength > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	for pair := range slices.Chunk(headers, 2) {
		name, value := pair[0], pair[1]
		if added, ok := strings.CutPrefix(name, "+"); ok {
			req.Header.Add(added, value)
		} else if req.Header.Del(name); value != "-" {
			req.Header.Set(name, value)
		}
	}
	return p.w.roundTrip(req)
}

func (w *testServer) roundTrip(req *http.Request) (answer, error) {
	res, err := w.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, body}, err
}

// ok fails the test unless the reply is 200.
func (a answer) ok(t testing.TB) answer {
	t.Helper()
	if a.status != http.StatusOK {
		t.Fatalf("got %d: %s", a.status, a.body)
	}
	return a
}

// refused fails the test unless the reply is a complete problem document with this status and code.
func (a answer) refused(t testing.TB, status int, code string) answer {
	t.Helper()
	if a.status != status || a.str("code") != code {
		t.Fatalf("got %d %s, want %d %s", a.status, a.body, status, code)
	}
	a.checkProblem(t)
	return a
}

// checkProblem checks a problem document against the contract: RFC 9457 with additional members.
func (a answer) checkProblem(t testing.TB) {
	t.Helper()
	var p struct {
		Type, Title, Detail, Code, RequestID *string
		Status                               *int
		Errors                               []struct{ Pointer, Detail *string }
		CapMicros, UsedMicros                *int64
		ResetsAt, Link                       *string
	}
	d := json.NewDecoder(bytes.NewReader(a.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		t.Fatalf("not a problem: %v: %s", err, a.body)
	}
	for name, member := range map[string]*string{
		"type": p.Type, "title": p.Title, "detail": p.Detail, "code": p.Code, "requestId": p.RequestID,
	} {
		if member == nil || *member == "" {
			t.Fatalf("%s is missing: %s", name, a.body)
		}
	}
	if p.Status == nil || *p.Status != a.status || *p.Title != http.StatusText(a.status) {
		t.Errorf("the status is %d, the body says %s", a.status, a.body)
	}
	if *p.Type != baseURL+"/docs#"+*p.Code {
		t.Errorf("type is %s", *p.Type)
	}
	if id := a.header.Get("X-Request-Id"); *p.RequestID != id {
		t.Errorf("the request id is %q in the header and %q in the body", id, *p.RequestID)
	}
	for _, e := range p.Errors {
		if e.Pointer == nil || e.Detail == nil || *e.Detail == "" {
			t.Errorf("half an error: %s", a.body)
		}
	}
	for name, want := range map[string]string{
		"Content-Type": "application/problem+json", "Cache-Control": "no-store", "ETag": "",
		"X-Content-Type-Options": "nosniff",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// pointers returns the pointers of a problem's errors, in order.
func (a answer) pointers() []string {
	var p struct{ Errors []struct{ Pointer string } }
	_ = json.Unmarshal(a.body, &p) // other replies have no pointers
	out := []string{}
	for _, e := range p.Errors {
		out = append(out, e.Pointer)
	}
	return out
}

// value returns the value at a path of keys, or nil.
func (a answer) value(path ...string) any {
	var v any
	_ = json.Unmarshal(a.body, &v) // other replies have no values
	for _, key := range path {
		o, _ := v.(object)
		v = o[key]
	}
	return v
}

func (a answer) str(path ...string) string {
	s, _ := a.value(path...).(string)
	return s
}

// list returns the values of a field of the objects in a list.
func (a answer) list(name, field string) []string {
	items, _ := a.value(name).([]any)
	out := make([]string, len(items))
	for i, item := range items {
		o, _ := item.(object)
		out[i] = fmt.Sprint(o[field])
	}
	return out
}
