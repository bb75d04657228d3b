package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"carrel/api"
	"carrel/internal/core"
)

func TestGeneratedToolsMatchTheContract(t *testing.T) {
	t.Parallel()
	want, err := generate(api.Document, core.Tools())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../tool_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("tool_gen.go does not match the contract: run make gen")
	}
}

func TestArgumentsOfAToolComeFromPathQueryAndBody(t *testing.T) {
	t.Parallel()
	c, err := readContract([]byte(`
paths:
  /api/agents:
    parameters: [{ name: agentId, in: path, required: true, schema: { type: string } }]
    get:
      summary: Read it
      tags: [Agents]
      parameters:
        - { name: limit, in: query, description: " A number. ", schema: { type: integer } }
        - { name: Prefer, in: header, schema: { type: string } }
      requestBody: { content: { application/json: { schema: { $ref: "#/components/schemas/Body" } } } }
      responses: { "200": { content: { text/plain: {} } } }
components:
  schemas:
    Body: { type: object, required: [text], properties: { text: { type: string, example: x } } }
`))
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.definition(core.OpListAgents)
	if err != nil {
		t.Fatal(err)
	}
	const input = `{"properties":{"agentId":{"type":"string"},"limit":{"description":"A number.","type":"integer"},"text":{"type":"string"}},` +
		`"required":["agentId","text"],"type":"object"}`
	var output struct{ Required []string }
	if err := json.Unmarshal([]byte(d.output), &output); err != nil {
		t.Fatal(err)
	}
	if d.input != input || d.description != "Read it." || d.tag != "Agents" || !d.file ||
		strings.Join(output.Required, " ") != "contentType content" {
		t.Errorf("the definition is %+v", d)
	}
}

func TestOutputSchemasHaveNoDescriptions(t *testing.T) {
	t.Parallel()
	c, err := readContract([]byte(`
paths:
  /api/agents:
    get:
      summary: Read it
      responses: { "200": { description: It., content: { application/json: { schema: {
        type: object, description: A reply., properties: {
          description: { type: string, description: A property of that name. },
          list: { type: array, description: Some., items: { type: string, description: One. } } } } } } } }
`))
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.definition(core.OpListAgents)
	const want = `{"properties":{"description":{"type":"string"},"list":{"items":{"type":"string"},"type":"array"}},` +
		`"type":"object"}`
	if err != nil || d.output != want {
		t.Errorf("the output schema is %s (%v), want %s", d.output, err, want)
	}
}

func TestRecursiveAndUndefinedSchemasAreErrors(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{ $ref: "#/components/schemas/Loop" }`: "recursive",
		`{ $ref: "#/components/schemas/None" }`: "not defined",
	} {
		c, err := readContract([]byte(
			"paths: { /api/agents: { get: { responses: { \"200\": { content: { application/json: { schema: " + schema +
				" } } } } } } }\n" +
				"components: { schemas: { Loop: { properties: { more: { $ref: \"#/components/schemas/Loop\" } } } } }"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.definition(core.OpListAgents); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", schema, err)
		}
	}
}
