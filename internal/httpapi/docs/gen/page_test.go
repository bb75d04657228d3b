package main

import (
	"html"
	"regexp"
	"strings"
	"testing"
)

// small is a minimal document with some edge cases.
const small = `
openapi: 3.1.0
info:
  title: Small
  version: "1"
  summary: A test.
  description: 'See <script>alert(1)</script> and "invalid", code ` + "`bad_thing`" + `.'
tags: [{ name: Things, description: All of them. }]
paths:
  /things/{thingId}:
    parameters:
      - { name: thingId, in: path, required: true, schema: { type: string } }
    put:
      operationId: putThing
      tags: [Things]
      summary: Put <b>it</b>
      requestBody:
        required: true
        content: { application/json: { schema: { $ref: "#/components/schemas/Thing" } } }
      responses:
        "200":
          description: Put.
          content: { application/json: { schema: { $ref: "#/components/schemas/Thing" } } }
components:
  schemas:
    Thing:
      type: object
      required: [name]
      properties:
        name: { type: string, description: "It's a name.", example: "Ada's <thing>" }
        size: { type: integer, minimum: 1, maximum: 9 }
        secretId: { type: string }
    Problem:
      type: object
      description: |
        Codes:

        | Status | code | Solution |
        |---|---|---|
        | 400 | ` + "`bad_thing`" + ` | Mend it. |
      properties:
        code: { type: string, enum: [bad_thing] }
`

func render(t *testing.T) string {
	t.Helper()
	b, err := renderPage([]byte(small), "https://example.org")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestMarkupInTheDocumentStaysText(t *testing.T) {
	t.Parallel()
	got := render(t)
	for _, bad := range []string{"<script>", "<b>it</b>", "<thing>"} {
		if strings.Contains(got, bad) {
			t.Errorf("%s is on the page as markup", bad)
		}
	}
	if !strings.Contains(got, "Put &lt;b&gt;it&lt;/b&gt;") {
		t.Error("the summary is not on the page as text")
	}
}

func TestProblemCodesHaveAnAddressAndAreLinkedFromProse(t *testing.T) {
	t.Parallel()
	got := render(t)
	for _, want := range []string{`<tr id="bad_thing">`, `<a href="#bad_thing"><code>bad_thing</code></a>.`, "Mend it."} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not on the page", want)
		}
	}
}

func TestACommandQuotesWhatTheShellWouldRead(t *testing.T) {
	t.Parallel()
	root, err := parse([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	d := &document{root: root, baseURL: "https://example.org"}
	item := root.object("paths").object("/things/{thingId}")
	c := d.call("PUT", "/things/{thingId}", item.object("put"), false)
	got := c.curl(d.baseURL)
	want := `curl -sS -X PUT "https://example.org/things/$THING_ID" \
  -H "Authorization: Bearer $CARREL_KEY" \
  -H 'Content-Type: application/json' \
  -d '{"name": "Ada'\''s <thing>"}'`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestARequestShowsOnlyWhatHasAnExampleAndAReplyShowsAll(t *testing.T) {
	t.Parallel()
	root, err := parse([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	d := &document{root: root}
	thing := root.object("components").object("schemas").object("Thing")
	for request, want := range map[bool]string{
		true:  `{"name":"Ada's <thing>"}`,
		false: `{"name":"Ada's <thing>","size":1}`,
	} {
		b, err := d.sample(thing, request).(*object).MarshalJSON()
		if err != nil || string(b) != want {
			t.Errorf("request %t: got %s, want %s (%v)", request, b, want, err)
		}
	}
}

func TestAnOperationWithoutAKnownTagIsRefused(t *testing.T) {
	t.Parallel()
	_, err := renderPage([]byte(strings.Replace(small, "tags: [Things]", "tags: [Other]", 1)), "")
	if err == nil {
		t.Error("an operation that would be missing from the page was accepted")
	}
}

func TestJSONKeepsTheOrderOfKeys(t *testing.T) {
	t.Parallel()
	got, err := toJSON([]byte("{z: 1, a: [true, null, 1.5], m: {y: '2026-01-01', b: <&>}}"))
	want := `{
  "z": 1,
  "a": [
    true,
    null,
    1.5
  ],
  "m": {
    "y": "2026-01-01",
    "b": "<&>"
  }
}
`
	if err != nil || string(got) != want {
		t.Errorf("got %s (%v)", got, err)
	}
	for _, bad := range []string{"", "[]", "a: &x 1\nb: *x\n", "a: [", "text"} {
		if _, err := toJSON([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestFormsAreSentWithTheirExample(t *testing.T) {
	t.Parallel()
	root, err := parse([]byte(`
paths:
  /token:
    post:
      requestBody:
        content:
          application/x-www-form-urlencoded:
            schema: { type: object, properties: { name: { type: string } } }
            examples: { default: { $ref: "#/components/examples/Form" } }
components:
  examples:
    Form: { value: { name: "Ada's", list: [x] } }
`))
	if err != nil {
		t.Fatal(err)
	}
	d := &document{root: root, baseURL: "https://example.org"}
	op := root.object("paths").object("/token").object("post")
	c := d.call("POST", "/token", op, true)
	want := "curl -sS \"https://example.org/token\" \\\n  --data-urlencode 'name=Ada'\\''s'"
	if got := c.curl(d.baseURL); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if b, err := d.body(op.object("requestBody")); err != nil || len(b.Fields) != 1 {
		t.Errorf("the fields of the form: %+v (%v)", b, err)
	}
}

func TestValuesAreWrittenInTheNotationOfALanguage(t *testing.T) {
	t.Parallel()
	root, err := parse([]byte("{name: Ada's, 'a-b': [1, 2.5], none: null, yes: true, inner: {x: []}}"))
	if err != nil {
		t.Fatal(err)
	}
	for want, n := range map[string]notation{
		`{"name": "Ada's", "a-b": [1, 2.5], "none": null, "yes": true, "inner": {"x": []}}`: jsonNotation,
		`{"name": "Ada's", "a-b": [1, 2.5], "none": None, "yes": True, "inner": {"x": []}}`: pythonNotation,
		`{ name: "Ada's", "a-b": [1, 2.5], none: null, yes: true, inner: { x: [] } }`:       scriptNotation,
	} {
		if got := n.line(root); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	want := `{
  name: "Ada's",
  "a-b": [1, 2.5],
  none: null,
  yes: true,
  inner: { x: [] }
}`
	if got := scriptNotation.write(root, 0, 0); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestRequestsAreWrittenInEveryLanguage(t *testing.T) {
	t.Parallel()
	c := call{
		id: "addMemory", method: "POST", path: "/api/agents/{agentId}/memories", inClients: true,
		query: []pair{{"dryRun", "yes"}}, body: "x",
	}
	got := map[string]string{}
	for _, r := range c.requests("https://example.org") {
		got[r.Classes] = html.UnescapeString(tags.ReplaceAllString(string(r.Code), ""))
	}
	for classes, want := range map[string]string{
		"cli":        `carrel memories add --agent "$AGENT_ID" "I prefer primary sources."`,
		"typescript": `const reply = await carrel.addMemory(agentId, "x", { dryRun: "yes" });`,
		"python":     `reply = carrel.add_memory(agent_id, "x", dry_run="yes")`,
	} {
		if got[classes] != want {
			t.Errorf("%s: got %s, want %s", classes, got[classes], want)
		}
	}
	c = call{id: "issueToken", method: "POST", path: "/api/auth/mcp/token"}
	if all := c.requests("https://example.org"); len(all) != 1 || all[0].Classes != "curl cli typescript python" {
		t.Errorf("an operation without methods has %+v", all)
	}
}

var tags = regexp.MustCompile(`<[^>]*>`)

func TestStreamsAndWebhookMessagesAreOnThePage(t *testing.T) {
	t.Parallel()
	b, err := renderPage([]byte(small+`
    Note: { type: object, description: A note., properties: { text: { type: string, example: Hello } } }
webhooks:
  thing.made:
    post:
      operationId: thingMade
      summary: A thing was made
      parameters: [{ name: webhook-id, in: header, schema: { type: string }, example: dlv_1 }]
      requestBody: { content: { application/json: { schema: { $ref: "#/components/schemas/Note" } } } }
      responses: { "2XX": { description: Received. } }
`), "")
	if err != nil {
		t.Fatal(err)
	}
	page := html.UnescapeString(tags.ReplaceAllString(string(b), ""))
	for _, want := range []string{"thing.made", "webhook-id: dlv_1", `{"text": "Hello"}`, "Received."} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	root, err := parse([]byte(small + `
    Note: { type: object, description: A note., properties: { text: { type: string, example: Hello } } }
`))
	if err != nil {
		t.Fatal(err)
	}
	media, err := parse([]byte(`x-events: { note: { $ref: "#/components/schemas/Note" } }`))
	if err != nil {
		t.Fatal(err)
	}
	d := &document{root: root}
	stream := html.UnescapeString(tags.ReplaceAllString(string(d.streamSample(media)), ""))
	if want := "id: 1.0\nevent: note\ndata: {\"text\": \"Hello\"}"; stream != want {
		t.Errorf("got %q, want %q", stream, want)
	}
}
