package docs

import (
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
	b, err := Page([]byte(small), "https://example.org")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestMarkupInTheDocumentStaysText(t *testing.T) {
	t.Parallel()
	got := render(t)
	for _, bad := range []string{"<script", "<b>it</b>", "<thing>"} {
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
	got, err := d.curl("PUT", "/things/{thingId}", item.object("put"), false)
	if err != nil {
		t.Fatal(err)
	}
	want := `curl -sS -X PUT "https://example.org/things/$THING_ID" \
  -H "Authorization: Bearer $CARREL_KEY" \
  -H 'Content-Type: application/json' \
  -d '{"name":"Ada'\''s <thing>"}'`
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
	_, err := Page([]byte(strings.Replace(small, "tags: [Things]", "tags: [Other]", 1)), "")
	if err == nil {
		t.Error("an operation that would be missing from the page was accepted")
	}
}

func TestJSONKeepsTheOrderOfKeys(t *testing.T) {
	t.Parallel()
	got, err := JSON([]byte("{z: 1, a: [true, null, 1.5], m: {y: '2026-01-01', b: <&>}}"))
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
		if _, err := JSON([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
