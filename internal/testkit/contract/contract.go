// Package contract holds replies of a server against its OpenAPI document, both ways: what is served must be in the
// document, and what is in the document must have been served.
//
// It knows the parts of OpenAPI and JSON Schema that our document uses and refuses any other, so that nothing in the
// document goes unchecked without anybody noticing.
package contract

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Checker checks replies and remembers what it has seen. It may be used by many goroutines.
type Checker struct {
	t   testing.TB
	doc *document

	mu   sync.Mutex
	seen map[string]bool
}

// New returns a checker for a document, which is YAML. A document that it does not understand fails the test.
func New(t testing.TB, source []byte) *Checker {
	t.Helper()
	doc, err := parse(source)
	if err != nil {
		t.Fatalf("the OpenAPI document: %v", err)
	}
	return &Checker{t: t, doc: doc, seen: map[string]bool{}}
}

// Transport returns a RoundTripper that sends requests with base and fails the test for every reply that is not as
// the document says.
func (c *Checker) Transport(base http.RoundTripper) http.RoundTripper {
	return transport{c, base}
}

type transport struct {
	checker *Checker
	base    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("read the reply: %w", err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	t.checker.Check(req, resp, body)
	return resp, nil
}

// Check fails the test if a reply is not as the document says.
func (c *Checker) Check(req *http.Request, resp *http.Response, body []byte) {
	c.t.Helper()
	for _, wrong := range c.Violations(req, resp, body) {
		c.t.Errorf("%s %s: %d: %s\n%s", req.Method, req.URL.Path, resp.StatusCode, wrong, excerpt(body))
	}
}

// excerpt is as much of a body as helps.
func excerpt(body []byte) string {
	const enough = 600
	if len(body) > enough {
		return string(body[:enough]) + "…"
	}
	return string(body)
}

// Violations returns what in a reply is not as the document says, and notes what it shows of the document.
func (c *Checker) Violations(req *http.Request, resp *http.Response, body []byte) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := &visit{doc: c.doc, seen: c.seen}
	if resp.Header.Get("X-Request-Id") == "" {
		v.fail("the header X-Request-Id is missing")
	}
	op, pathKnown := c.doc.find(req.Method, req.URL.Path)
	switch {
	case op != nil:
		v.operation(op, resp, body, req.Method == http.MethodHead)
	case pathKnown:
		v.general(resp, body, http.StatusMethodNotAllowed, "method_not_allowed")
		if resp.Header.Get("Allow") == "" {
			v.fail("the header Allow is missing")
		}
	default:
		v.general(resp, body, http.StatusNotFound, "not_found")
	}
	return v.wrong
}

// visit is the check of one reply.
type visit struct {
	doc   *document
	seen  map[string]bool
	wrong []string
}

func (v *visit) fail(format string, args ...any) {
	v.wrong = append(v.wrong, fmt.Sprintf(format, args...))
}

func (v *visit) note(format string, args ...any) { v.seen[fmt.Sprintf(format, args...)] = true }

// general checks the reply to a request that no operation is there for. The document's description promises it for
// all paths at once.
func (v *visit) general(resp *http.Response, body []byte, status int, code string) {
	if resp.StatusCode != status {
		v.fail("the document has no such operation, so the reply must be %d", status)
		return
	}
	reply := &response{content: map[string]*schema{problemType: v.doc.problem}}
	v.content(reply, resp, body, "")
	v.problem(resp, body, code)
}

func (v *visit) operation(op *operation, resp *http.Response, body []byte, head bool) {
	v.note("operation %s", op.id)
	documented, ok := op.responses[resp.StatusCode]
	if !ok {
		v.fail("the document does not have this status for %s", op.id)
		return
	}
	name := fmt.Sprintf("%s %d", op.id, resp.StatusCode)
	v.note("reply %s", name)
	for header, s := range documented.headers {
		v.header(resp, header, s)
	}
	if head {
		return
	}
	v.content(documented, resp, body, name)
	if mediaType(resp) == problemType {
		v.problem(resp, body, "")
	}
}

func (v *visit) header(resp *http.Response, name string, s *schema) {
	text := resp.Header.Get(name)
	if text == "" {
		v.fail("the header %s is missing", name)
		return
	}
	var value any = text
	if s.types["integer"] {
		value = number(text)
	}
	v.value(s, value, "header "+name, name)
}

// content checks the type of a body and the body. name is that of the reply, or empty for one that is no
// operation's.
func (v *visit) content(documented *response, resp *http.Response, body []byte, name string) {
	if len(documented.content) == 0 {
		if len(body) > 0 {
			v.fail("the document has no body for it")
		}
		return
	}
	media := mediaType(resp)
	s, ok := documented.content[media]
	if !ok {
		v.fail("the document does not have the content type %q", media)
		return
	}
	if len(documented.content) > 1 {
		v.note("type %s %s", name, media)
	}
	if !strings.HasSuffix(media, "json") {
		v.value(s, string(body), name+" "+media, "")
		return
	}
	value, err := decode(body)
	if err != nil {
		v.fail("the body is not JSON: %v", err)
		return
	}
	v.value(s, value, name+" "+media, "")
}

// problem checks what the fields of a problem say of the reply that they are in.
func (v *visit) problem(resp *http.Response, body []byte, code string) {
	value, _ := decode(body) // what is no JSON was told already
	fields, _ := value.(map[string]any)
	given, _ := fields["code"].(string)
	if code != "" && given != code {
		v.fail("the code must be %s", code)
	}
	if want, ok := v.doc.codes[given]; ok && want != resp.StatusCode {
		v.fail("the document has %s with the status %d", given, want)
	}
	if fmt.Sprint(fields["status"]) != strconv.Itoa(resp.StatusCode) {
		v.fail("the field status is %v", fields["status"])
	}
	if fields["requestId"] != resp.Header.Get("X-Request-Id") {
		v.fail("the field requestId is not that of the header")
	}
	if link, _ := fields["type"].(string); !strings.HasSuffix(link, "/docs#"+given) {
		v.fail("the field type does not link to the code")
	}
}

func mediaType(resp *http.Response) string {
	media, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(media))
}
