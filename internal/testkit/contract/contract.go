// Package contract checks replies of a server against its OpenAPI document, in both directions: every reply must be
// documented, and every documented operation, reply, field and enum value must occur in some reply.
//
// Values are validated by santhosh-tekuri/jsonschema. This package adds the checks that a validator does not have:
// coverage, unknown properties, integers written as 1.0, and keywords that the validator would ignore.
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

// Checker checks replies and records their coverage. It is safe for concurrent use.
type Checker struct {
	t   testing.TB
	doc *document

	mu   sync.Mutex
	seen map[string]bool
}

// New returns a checker for a YAML document. An unsupported document fails the test.
func New(t testing.TB, source []byte) *Checker {
	t.Helper()
	doc, err := parse(source)
	if err != nil {
		t.Fatalf("the OpenAPI document: %v", err)
	}
	return &Checker{t: t, doc: doc, seen: map[string]bool{}}
}

// Transport returns a RoundTripper that sends requests with base and fails the test for every undocumented reply.
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

// Check fails the test if a reply does not match the document.
func (c *Checker) Check(req *http.Request, resp *http.Response, body []byte) {
	c.t.Helper()
	for _, violation := range c.Violations(req, resp, body) {
		c.t.Errorf("%s %s: %d: %s\n%s", req.Method, req.URL.Path, resp.StatusCode, violation, excerpt(body))
	}
}

// CheckMessage fails the test if the body of a webhook's message does not match the document.
func (c *Checker) CheckMessage(body []byte) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	value, err := decode(body)
	if err != nil {
		c.t.Errorf("the message is not JSON: %v\n%s", err, excerpt(body))
		return
	}
	fields, _ := value.(map[string]any)
	event, _ := fields["type"].(string)
	v := &visit{doc: c.doc, seen: c.seen}
	if b, err := c.doc.message(event); err != nil {
		v.fail("the event %q: %v", event, err)
	} else {
		v.value(b, value, "")
	}
	for _, violation := range v.violations {
		c.t.Errorf("a message of a webhook: %s\n%s", violation, excerpt(body))
	}
}

// excerpt returns the beginning of a body.
func excerpt(body []byte) string {
	const limit = 600
	if len(body) > limit {
		return string(body[:limit]) + "…"
	}
	return string(body)
}

// Violations returns the differences between a reply and the document, and records the coverage of the reply.
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
		v.noOperation(resp, body, http.StatusMethodNotAllowed, "method_not_allowed")
		if resp.Header.Get("Allow") == "" {
			v.fail("the header Allow is missing")
		}
	default:
		v.noOperation(resp, body, http.StatusNotFound, "not_found")
	}
	return v.violations
}

// visit is the check of one reply.
type visit struct {
	doc        *document
	seen       map[string]bool
	violations []string
}

func (v *visit) fail(format string, args ...any) {
	v.violations = append(v.violations, fmt.Sprintf(format, args...))
}

func (v *visit) note(format string, args ...any) { v.seen[fmt.Sprintf(format, args...)] = true }

// noOperation checks the reply to a request without an operation. The document describes it for all paths at once.
func (v *visit) noOperation(resp *http.Response, body []byte, status int, code string) {
	if resp.StatusCode != status {
		v.fail("the operation is not documented, so the status must be %d", status)
		return
	}
	reply := &response{content: map[string]*checked{problemType: v.doc.problem}}
	v.content(reply, resp, body, "")
	v.problem(resp, body, code)
}

func (v *visit) operation(op *operation, resp *http.Response, body []byte, head bool) {
	v.note("operation %s", op.id)
	documented, ok := op.responses[resp.StatusCode]
	if !ok {
		v.fail("the status is not documented for %s", op.id)
		return
	}
	name := fmt.Sprintf("%s %d", op.id, resp.StatusCode)
	v.note("reply %s", name)
	for header, s := range documented.headers {
		if documented.optional[header] {
			if resp.Header.Get(header) == "" {
				continue
			}
			v.note("header %s", header)
		}
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

func (v *visit) header(resp *http.Response, name string, b *checked) {
	text := resp.Header.Get(name)
	if text == "" {
		v.fail("the header %s is missing", name)
		return
	}
	var value any = text
	if b.types["integer"] {
		value = headerNumber(text)
	}
	v.value(b, value, name)
}

// content checks the media type and the body. name is the operation and status, or empty without an operation.
func (v *visit) content(documented *response, resp *http.Response, body []byte, name string) {
	if len(documented.content) == 0 {
		if len(body) > 0 {
			v.fail("a body is not documented")
		}
		return
	}
	media := mediaType(resp)
	b, ok := documented.content[media]
	if !ok {
		v.fail("the content type %q is not documented", media)
		return
	}
	if len(documented.content) > 1 {
		v.note("type %s %s", name, media)
	}
	if !strings.HasSuffix(media, "json") {
		v.value(b, string(body), "")
		if media == "text/event-stream" {
			v.events(documented, string(body))
		}
		return
	}
	value, err := decode(body)
	if err != nil {
		v.fail("the body is not JSON: %v", err)
		return
	}
	if media != problemType {
		v.warnings(b, value)
	}
	v.value(b, value, "")
}

// events checks the data of server-sent events. Comments have no data.
func (v *visit) events(documented *response, body string) {
	for block := range strings.SplitSeq(body, "\n\n") {
		var name, data string
		for line := range strings.SplitSeq(block, "\n") {
			if value, ok := strings.CutPrefix(line, "event: "); ok {
				name = value
			}
			if value, ok := strings.CutPrefix(line, "data: "); ok {
				data += value
			}
		}
		if data == "" {
			continue
		}
		b, ok := documented.events[name]
		if !ok {
			v.fail("the event %q is not documented", name)
			continue
		}
		value, err := decode([]byte(data))
		if err != nil {
			v.fail("the data of the event %s is not JSON: %v", name, err)
			continue
		}
		v.value(b, value, "/"+name)
	}
}

// warnings checks the warnings of a reply whose schema does not list them, and removes them. The document describes
// them for all replies at once.
func (v *visit) warnings(b *checked, value any) {
	fields, _ := value.(map[string]any)
	list, given := fields["warnings"].([]any)
	if !given || v.doc.warning == nil || b.properties["warnings"] != nil {
		return
	}
	for i, warning := range list {
		v.value(v.doc.warning, warning, "/warnings/"+strconv.Itoa(i))
	}
	delete(fields, "warnings")
}

// problem compares the fields of a problem with the status and headers of its reply.
func (v *visit) problem(resp *http.Response, body []byte, code string) {
	value, _ := decode(body) // invalid JSON is already reported
	fields, _ := value.(map[string]any)
	given, _ := fields["code"].(string)
	if code != "" && given != code {
		v.fail("the code must be %s", code)
	}
	if want, ok := v.doc.codes[given]; ok && want != resp.StatusCode {
		v.fail("the documented status of %s is %d", given, want)
	}
	if fmt.Sprint(fields["status"]) != strconv.Itoa(resp.StatusCode) {
		v.fail("the field status is %v", fields["status"])
	}
	if fields["requestId"] != resp.Header.Get("X-Request-Id") {
		v.fail("the field requestId differs from the header")
	}
	if link, _ := fields["type"].(string); !strings.HasSuffix(link, "/docs#"+given) {
		v.fail("the field type does not link to the code")
	}
}

func mediaType(resp *http.Response) string {
	media, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(media))
}
