package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"carrel/api"
)

func TestCommittedFilesAreCurrent(t *testing.T) {
	t.Parallel()
	c, err := readContract(api.Document)
	if err != nil {
		t.Fatal(err)
	}
	for name, generate := range c.files() {
		want, err := generate()
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from the contract; run: go generate ./client", name)
		}
	}
}

func TestUnknownShapesAreErrors(t *testing.T) {
	t.Parallel()
	const document = `
paths:
  %s:
    get:
      operationId: getThing
      responses: {"200": {content: {application/json: {schema: {$ref: "#/components/schemas/Thing"}}}}}
components: {schemas: {Thing: {type: object, properties: {id: %s}}, Problem: {type: object}}}`
	for name, values := range map[string][2]string{
		"a parameter of the path that is not declared": {`"/api/things/{id}"`, "{type: string}"},
		"a schema without a type":                      {"/api/things", "{oneOf: []}"},
	} {
		c, err := readContract(fmt.Appendf(nil, document, values[0], values[1]))
		if err == nil {
			_, err = c.typeFile()
		}
		if err == nil {
			t.Errorf("%s is generated", name)
		}
	}
}

func TestNamesFollowGo(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"id": "ID", "agentId": "AgentID", "openAccessUrl": "OpenAccessURL", "spend_cap_reached": "SpendCapReached",
		"identity": "Identity", "documentIds": "DocumentIDs",
	} {
		if got := exported(name); got != want {
			t.Errorf("%s becomes %s, want %s", name, got, want)
		}
	}
}

func TestNamesFollowPython(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"agentId": "agent_id", "listAgents": "list_agents", "q": "q", "from": "from_",
	} {
		if got := snake(name); got != want {
			t.Errorf("%s becomes %s, want %s", name, got, want)
		}
	}
}

func TestCallsOfSDKs(t *testing.T) {
	t.Parallel()
	c, err := readContract([]byte(`
paths:
  /api/shelves/{shelfId}/books:
    get:
      operationId: listBooks
      summary: List the books
      parameters:
        - {name: shelfId, in: path, schema: {type: string}}
        - {name: cursor, in: query, schema: {type: string}}
        - {name: from, in: query, schema: {type: integer}}
        - {name: order, in: query, schema: {$ref: "#/components/schemas/Order"}}
      responses: {"200": {content: {application/json: {schema: {$ref: "#/components/schemas/BookList"}}}}}
    post:
      operationId: addBook
      summary: Add a book
      parameters:
        - {name: shelfId, in: path, schema: {type: string}}
        - {name: Idempotency-Key, in: header, schema: {type: string}}
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Book"}}}}
      responses:
        "200": {content: {application/json: {schema: {$ref: "#/components/schemas/Book"}}}}
        "202": {content: {application/json: {schema: {$ref: "#/components/schemas/Queued"}}}}
components:
  schemas:
    BookList:
      properties: {books: {type: array, items: {$ref: "#/components/schemas/Book"}}, nextCursor: {type: string}}
`))
	if err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string]struct {
		generate func() ([]byte, error)
		texts    []string
	}{
		"TypeScript": {c.typescriptFile, []string{
			"path: `/api/shelves/${segment(shelfId)}/books`",
			"order?: t.Order | undefined;",
			"from?: number | undefined;",
			"): AsyncGenerator<t.Book> {",
			"addBook(shelfId: string, body: t.Book, options: CallOptions = {}): Promise<t.Book | t.Queued> {",
			"keyed: true,",
		}},
		"Python": {c.pythonFile, []string{
			`f"/api/shelves/{segment(shelf_id)}/books"`,
			"order: t.Order | None = None,",
			`"from": from_`,
			"-> Iterator[t.Book]:",
			"-> t.Book | t.Queued:",
			"keyed=True,",
		}},
	} {
		source, err := wants.generate()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants.texts {
			if !bytes.Contains(source, []byte(want)) {
				t.Errorf("%s has no %s:\n%s", name, want, source)
			}
		}
	}
}

func TestAParameterOfAnUnknownShapeIsAnError(t *testing.T) {
	t.Parallel()
	c, err := readContract([]byte(`
paths:
  /api/things:
    get:
      operationId: listThings
      parameters: [{name: filter, in: query, schema: {type: object}}]
      responses: {"200": {content: {text/csv: {schema: {type: string}}}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, generate := range []func() ([]byte, error){c.typescriptFile, c.pythonFile} {
		if source, err := generate(); err == nil {
			t.Errorf("it is generated:\n%s", source)
		}
	}
}
