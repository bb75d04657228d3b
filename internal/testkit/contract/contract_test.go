package contract

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// small is a document with every supported keyword.
const small = `
openapi: 3.1.0
paths:
  /things:
    get:
      operationId: listThings
      responses:
        "200":
          description: All.
          headers: { ETag: { $ref: "#/components/headers/ETag" } }
          content: { application/json: { schema: { $ref: "#/components/schemas/ThingList" } } }
        "304": { description: Nothing new. }
        "429": { $ref: "#/components/responses/RateLimited" }
  /things/{thingId}:
    parameters: []
    get:
      operationId: getThing
      responses:
        "200":
          description: One.
          content:
            text/csv: { schema: { type: string } }
            application/vnd.x+json: { schema: { type: array, items: { type: object, additionalProperties: true } } }
  /things/export:
    get:
      operationId: exportThings
      responses:
        "200": { description: None. }
components:
  headers:
    ETag: { schema: { type: string } }
  responses:
    RateLimited:
      description: Slow down.
      headers: { Retry-After: { schema: { type: integer } } }
      content: { application/problem+json: { schema: { $ref: "#/components/schemas/Problem" } } }
  schemas:
    ThingList:
      type: object
      required: [things]
      properties:
        things: { type: array, items: { $ref: "#/components/schemas/Thing" } }
    Thing:
      type: object
      required: [id, kind, at]
      properties:
        id: { type: string, minLength: 1, maxLength: 3 }
        kind: { type: string, enum: [red, blue] }
        at: { type: [string, "null"], format: date-time }
        size: { type: integer, minimum: 1, maximum: 9 }
        weight: { type: number }
        sure: { type: boolean, const: true }
        parts: { type: array, items: { $ref: "#/components/schemas/Thing" } }
        card: { type: object, additionalProperties: true }
        none: { type: object }
    Problem:
      type: object
      description: |
        | Status | code | Cure |
        |---|---|---|
        | 404 | ` + "`not_found`" + ` | - |
        | 405 | ` + "`method_not_allowed`" + ` | - |
        | 429 | ` + "`rate_limited`" + ` | - |
      required: [type, status, code, requestId]
      properties:
        type: { type: string }
        status: { type: integer }
        code: { type: string, enum: [not_found, method_not_allowed, rate_limited] }
        requestId: { type: string }
`

// reply is a reply to check. The defaults are GET /things, status 200 and JSON.
type reply struct {
	method, path string
	status       int
	headers      map[string]string
	body         string
}

func (r reply) violations(t *testing.T, c *Checker) []string {
	t.Helper()
	if r.method == "" {
		r.method = http.MethodGet
	}
	if r.path == "" {
		r.path = "/things"
	}
	if r.status == 0 {
		r.status = http.StatusOK
	}
	headers := map[string]string{"X-Request-Id": "req_1", "Etag": `"x"`, "Content-Type": "application/json; charset=utf-8"}
	maps.Copy(headers, r.headers)
	resp := &http.Response{StatusCode: r.status, Header: http.Header{}}
	for name, value := range headers {
		if value != "" {
			resp.Header.Set(name, value)
		}
	}
	return c.Violations(httptest.NewRequest(r.method, r.path, http.NoBody), resp, []byte(r.body))
}

const thing = `{"id": "a", "kind": "red", "at": "2026-11-15T10:00:00.000Z"}`

func problem(status, code string) string {
	return `{"type": "https://example.org/docs#` + code + `", "status": ` + status + `, "code": "` + code +
		`", "requestId": "req_1"}`
}

var problemHeaders = map[string]string{"Content-Type": "application/problem+json", "Retry-After": "1", "Allow": "GET"}

func TestDocumentedRepliesAreValid(t *testing.T) {
	t.Parallel()
	c := New(t, []byte(small))
	for name, r := range map[string]reply{
		"an empty list": {body: `{"things": []}`},
		"a full object": {
			body: `{"things": [{"id": "a", "kind": "blue", "at": null, "size": 9, "weight": 1.5, "sure": true, ` +
				`"parts": [` + thing + `], "card": {"any": ["thing"]}, "none": {}}]}`,
		},
		"a whole number for a number": {body: `{"things": [{"id": "äöü", "kind": "blue", "at": null, "weight": 2}]}`},
		"not modified":                {status: 304},
		"HEAD":                        {method: http.MethodHead},
		"a text": {
			path: "/things/x", headers: map[string]string{"Content-Type": "text/csv"},
			body: "a,b",
		},
		"JSON of another name": {
			path:    "/things/x",
			headers: map[string]string{"Content-Type": "application/vnd.x+json"}, body: `[{"a": 1}]`,
		},
		"a fixed path before parameter": {path: "/things/export"},
		"a documented problem":          {status: 429, headers: problemHeaders, body: problem("429", "rate_limited")},
		"an unknown method": {method: http.MethodPut, status: 405, headers: problemHeaders, body: problem("405",
			"method_not_allowed")},
		"an unknown path": {path: "/other", status: 404, headers: problemHeaders, body: problem("404",
			"not_found")},
	} {
		if got := r.violations(t, c); got != nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestUndocumentedRepliesAreReported(t *testing.T) {
	t.Parallel()
	list := func(thing string) string { return `{"things": [` + thing + `]}` }
	with := func(field string) string { return list(strings.TrimSuffix(thing, "}") + ", " + field + "}") }
	for name, tc := range map[string]struct {
		reply
		want string
	}{
		"an extra field": {
			reply{body: with(`"colour": "x"`)},
			"/things/0: additional properties 'colour' not allowed",
		},
		"an extra field at the top": {
			reply{body: `{"things": [], "more": 1}`},
			"the body: additional properties 'more' not allowed",
		},
		"a field of an empty object": {
			reply{body: with(`"none": {"a": 1}`)},
			"/things/0/none: additional properties 'a' not allowed",
		},
		"a missing field": {
			reply{body: list(`{"id": "a", "kind": "red"}`)},
			"/things/0: missing property 'at'",
		},
		"a wrong type": {reply{body: with(`"size": "9"`)}, "/things/0/size: got string, want integer"},
		"a fraction": {
			reply{body: with(`"size": 1.0`)},
			"/things/0/size: 1.0 is not written as an integer",
		},
		"a null":                  {reply{body: with(`"size": null`)}, "/things/0/size: got null, want integer"},
		"a wrong type at the top": {reply{body: `[]`}, "the body: got array, want object"},
		"an unknown enum value": {
			reply{body: list(`{"id": "a", "kind": "green", "at": null}`)},
			"/things/0/kind: value must be one of",
		},
		"a wrong constant": {reply{body: with(`"sure": false`)}, "/things/0/sure: value must be true"},
		"a time without millis": {
			reply{body: list(`{"id": "a", "kind": "red", "at": "2026-11-15T10:00:00Z"}`)},
			"not a time in UTC with milliseconds",
		},
		"a time in another zone": {
			reply{body: list(`{"id": "a", "kind": "red", "at": "2026-11-15T10:00:00.000+01:00"}`)},
			"not a time in UTC with milliseconds",
		},
		"an impossible day": {
			reply{body: list(`{"id": "a", "kind": "red", "at": "2026-02-30T10:00:00.000Z"}`)},
			"not a time in UTC with milliseconds",
		},
		"a number out of bounds": {reply{body: with(`"size": 10`)}, "/things/0/size: maximum: got 10, want 9"},
		"a text that is too short": {
			reply{body: list(`{"id": "", "kind": "red", "at": null}`)},
			"/things/0/id: minLength: got 0, want 1",
		},
		"a text that is too long": {
			reply{body: list(`{"id": "abcd", "kind": "red", "at": null}`)},
			"/things/0/id: maxLength: got 4, want 3",
		},
		"a nested extra field": {
			reply{body: with(`"parts": [{"id": "b", "kind": "red", "at": null, "x": 1}]`)},
			"/things/0/parts/0: additional properties 'x' not allowed",
		},
		"no JSON":    {reply{body: `{`}, "the body is not JSON"},
		"two values": {reply{body: `{"things": []} {}`}, "data follows the value"},
		"an undocumented status": {
			reply{status: 201, body: list(thing)},
			"the status is not documented for listThings",
		},
		"an undocumented path":   {reply{path: "/other", body: `{}`}, "the status must be 404"},
		"an undocumented method": {reply{method: http.MethodPost, body: `{}`}, "the status must be 405"},
		"a part of a path":       {reply{path: "/things/a/b", body: `{}`}, "the status must be 404"},
		"an empty parameter":     {reply{path: "/things/", body: `{}`}, "the status must be 404"},
		"another content type": {
			reply{headers: map[string]string{"Content-Type": "text/html"}},
			`the content type "text/html" is not documented`,
		},
		"no content type": {
			reply{headers: map[string]string{"Content-Type": ""}},
			`the content type "" is not documented`,
		},
		"a body of a reply without one": {reply{status: 304, body: `{}`}, "a body is not documented"},
		"a missing header": {
			reply{headers: map[string]string{"Etag": ""}, body: `{"things": []}`},
			"the header ETag is missing",
		},
		"no request id": {
			reply{headers: map[string]string{"X-Request-Id": ""}, body: `{"things": []}`},
			"the header X-Request-Id is missing",
		},
		"a header of another type": {
			reply{
				status: 429, headers: map[string]string{"Content-Type": problemType, "Retry-After": "soon"},
				body: problem("429", "rate_limited"),
			},
			"Retry-After: got string, want integer",
		},
		"405 without Allow": {
			reply{
				method: http.MethodPut, status: 405, headers: map[string]string{"Content-Type": problemType},
				body: problem("405", "method_not_allowed"),
			},
			"the header Allow is missing",
		},
		"404 with another code": {reply{path: "/other", status: 404, headers: problemHeaders, body: problem("404",
			"rate_limited")}, "the code must be not_found"},
		"a code of another status": {
			reply{status: 429, headers: problemHeaders, body: problem("429", "not_found")},
			"the documented status of not_found is 404",
		},
		"a problem of another status": {
			reply{status: 429, headers: problemHeaders, body: problem("400", "rate_limited")},
			"the field status is 400",
		},
		"a problem of another request": {reply{status: 429, headers: problemHeaders, body: strings.Replace(problem("429",
			"rate_limited"), "req_1", "req_2", 1)}, "the field requestId differs from the header"},
		"a problem with another link": {reply{status: 429, headers: problemHeaders, body: strings.Replace(problem("429",
			"rate_limited"), "#rate", "#", 1)}, "the field type does not link to the code"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tc.violations(t, New(t, []byte(small)))
			if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, tc.want) }) {
				t.Errorf("got %q, want one with %q", got, tc.want)
			}
		})
	}
}

func TestUnseenPartsOfTheDocumentAreReported(t *testing.T) {
	t.Parallel()
	c := New(t, []byte(small))
	reply{body: `{"things": [` + thing + `]}`}.violations(t, c)
	reply{path: "/things/x", headers: map[string]string{"Content-Type": "text/csv"}}.violations(t, c)
	got := c.Unseen("operation exportThings", "reply exportThings *", "field Thing.[ps]*", "maybe field Thing.[q]*",
		"* Problem*")
	want := []string{
		"field Thing.at as null",
		"field Thing.card",
		"field Thing.none",
		"field Thing.parts",
		"field Thing.size",
		"field Thing.sure",
		"field Thing.weight",
		"reply listThings 304",
		"reply listThings 429",
		"type getThing 200 application/vnd.x+json",
		"value Thing.kind=blue",
		`the exception "field Thing.[ps]*" matches nothing unseen`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestExceptionForASeenPartIsReported(t *testing.T) {
	t.Parallel()
	c := New(t, []byte(small))
	reply{body: `{"things": []}`}.violations(t, c)
	got := c.Unseen("*", "reply listThings 200")
	if len(got) != 1 || !strings.Contains(got[0], "reply listThings 200") {
		t.Errorf("got %q", got)
	}
}

func TestUnsupportedDocumentsAreRefused(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string][2]string{
		"a keyword":              {"minLength: 1", "contentEncoding: a"},
		"a format":               {"format: date-time", "format: uuid"},
		"a type":                 {"type: boolean", "type: truth"},
		"a bound":                {"minimum: 1", `minimum: "1"`},
		"closed objects":         {"additionalProperties: true", "additionalProperties: { type: string }"},
		"a reference to nowhere": {"#/components/schemas/Thing\" }", "#/components/schemas/Nothing\" }"},
		"beside a reference": {
			`{ $ref: "#/components/headers/ETag" }`,
			`{ $ref: "#/components/headers/ETag", required: true }`,
		},
		"a status range":       {`"429":`, `"4XX":`},
		"a missing id":         {"operationId: getThing", "summary: x"},
		"a required non-field": {"required: [things]", "required: [things, other]"},
		"no schema":            {"{ schema: { type: string } }", "{}"},
		"no paths":             {"paths:", "webhooks:"},
	} {
		edited := strings.Replace(small, edit[0], edit[1], 1)
		if edited == small {
			t.Fatalf("%s: the edit does nothing", name)
		}
		if _, err := parse([]byte(edited)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// recorder is a testing.TB that records failures.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, _ ...any) { r.failures = append(r.failures, format) }

func TestTransportChecksRepliesAndReturnsThem(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"things": []}`)
	}))
	defer server.Close()
	tb := &recorder{TB: t}
	client := &http.Client{Transport: New(tb, []byte(small)).Transport(server.Client().Transport)}
	resp, err := client.Get(server.URL + "/things")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != `{"things": []}` {
		t.Errorf("the body after the check is %q (%v)", body, err)
	}
	if len(tb.failures) != 2 { // neither X-Request-Id nor ETag
		t.Errorf("got %d failures, want 2", len(tb.failures))
	}
}

// streams is a document with an optional header, an event stream and a webhook.
const streams = `
openapi: 3.1.0
paths:
  /events:
    get:
      operationId: streamEvents
      responses:
        "200":
          description: The events.
          headers: { RateLimit: { required: false, schema: { type: string, pattern: "^[0-9]+$" } } }
          content:
            text/event-stream:
              schema: { type: string }
              x-events: { delta: { $ref: "#/components/schemas/Delta" } }
webhooks:
  thing.made:
    post:
      requestBody: { content: { application/json: { schema: { $ref: "#/components/schemas/Made" } } } }
components:
  schemas:
    Delta: { type: object, required: [text], properties: { text: { type: string } } }
    Made: { type: object, required: [type], properties: { type: { type: string, const: thing.made } } }
    Problem: { type: object, properties: { code: { type: string } } }
`

func TestEventsAndOptionalHeadersAreChecked(t *testing.T) {
	t.Parallel()
	stream := func(limit, body string) reply {
		return reply{
			path: "/events", body: body, headers: map[string]string{"Content-Type": "text/event-stream", "RateLimit": limit},
		}
	}
	c := New(t, []byte(streams))
	if got := stream("", ": idle\n\nid: 1.1\nevent: delta\ndata: {\"text\":\"x\"}\n\n").violations(t, c); got != nil {
		t.Errorf("a stream without the optional header: %v", got)
	}
	if got := c.Unseen(); !slices.Equal(got, []string{"header RateLimit"}) {
		t.Errorf("unseen: %v", got)
	}
	for name, r := range map[string]reply{
		"a header of another form": stream("x", ""),
		"an unknown event":         stream("1", "event: other\ndata: {}\n\n"),
		"data without a member":    stream("1", "event: delta\ndata: {}\n\n"),
		"data that is not JSON":    stream("1", "event: delta\ndata: x\n\n"),
	} {
		if got := r.violations(t, c); len(got) != 1 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := c.Unseen(); got != nil {
		t.Errorf("unseen: %v", got)
	}
}

func TestMessagesOfWebhooksAreChecked(t *testing.T) {
	t.Parallel()
	for body, failures := range map[string]bool{
		`{"type": "thing.made"}`: false, `{"type": "thing.lost"}`: true, `{"type": "thing.made", "x": 1}`: true, `x`: true,
	} {
		recorder := &failing{TB: t}
		c := New(t, []byte(streams))
		c.t = recorder
		c.CheckMessage([]byte(body))
		if recorder.failed != failures {
			t.Errorf("%s: failed: %t", body, recorder.failed)
		}
	}
}

// failing records a failure instead of failing the test.
type failing struct {
	testing.TB
	failed bool
}

// Errorf implements testing.TB.
func (f *failing) Errorf(string, ...any) { f.failed = true }
