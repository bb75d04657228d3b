package main

import (
	"bytes"
	"go/format"
	"os"
	"strings"
	"testing"

	"carrel/api"
)

// document returns a contract with one GET operation.
func document(path, operation string) []byte {
	return []byte("paths:\n  " + path + ":\n    get:\n" + "      " + strings.ReplaceAll(operation, "\n", "\n      ") +
		"\n")
}

// The security of operations that need the scopes agents and manage.
const (
	agentsSecurity = "security: [{ bearer: [agents] }, { oauth2: [agents] }, { sessionCookie: [] }]\n"
	manageSecurity = "security: [{ bearer: [manage] }, { oauth2: [manage] }, { sessionCookie: [] }]\n"
)

func TestOperationWithIncompleteTraitsStopsTheGenerator(t *testing.T) {
	t.Parallel()
	const agentPath = "/api/agents/{agentId}/x"
	trait := func(members string) string { return "operationId: x\nx-carrel: { " + members + " }" }
	for name, c := range map[string]struct{ path, operation, want string }{
		"no id":                   {"/api/x", "x-carrel: { access: account, noTool: account }", "no operationId"},
		"no trait":                {"/api/x", "operationId: x", "no x-carrel trait"},
		"no level":                {"/api/x", trait("metered: true, noTool: account"), "access must be one of"},
		"unknown level":           {"/api/x", trait("access: write, noTool: account"), "access must be one of"},
		"unknown member":          {"/api/x", trait("access: read, levle: read"), "levle"},
		"unknown area":            {"/api/x", trait("access: read, area: chess, noTool: account"), "no area chess"},
		"unknown capability":      {"/api/x", trait("access: read, plan: chess, noTool: account"), "no capability chess"},
		"agent without a level":   {agentPath, trait("access: account, noTool: account"), "on an agent"},
		"public with security":    {"/api/x", trait("access: public, noTool: account"), "public"},
		"no security, not public": {"/api/x", "security: []\n" + trait("access: read, noTool: account"), "public"},
		"public agent":            {agentPath, "security: []\n" + trait("access: public, noTool: account"), "on an agent"},
		"proof for reading":       {"/api/x", trait("access: read, proof: true, noTool: account"), "session and proof"},
		"no tool and no reason":   {"/api/x", trait("access: read"), "needs tool, or noTool"},
		"unknown reason":          {"/api/x", trait("access: read, noTool: laziness"), "noTool must be one of"},
		"tool and reason": {
			"/api/x", trait("access: read, tool: { order: 1 }, noTool: account"), "both tool and noTool",
		},
		"tool without an order": {"/api/x", trait("access: read, tool: {}"), "needs an order"},
		"unknown creates": {
			"/api/x", trait("access: read, creates: chaos, noTool: account"), "creates must be resource or turn",
		},
		"creates without the key": {"/api/x", trait("access: read, creates: turn, noTool: account"), "Idempotency-Key"},
		"the key without creates": {
			"/api/x",
			"parameters: [{ $ref: \"#/components/parameters/idempotencyKey\" }]\n" + trait("access: read, noTool: account"),
			"Idempotency-Key",
		},
		"deprecated without dates": {
			"/api/x", "deprecated: true\n" + agentsSecurity + trait("access: read, noTool: account"), "needs x-deprecated-since",
		},
		"deprecated without an end": {
			"/api/x", "x-deprecated-since: \"2026-11-17\"\n" + agentsSecurity + trait("access: read, noTool: account"),
			"must be dates",
		},
		"deprecated after its end": {
			"/api/x", "deprecated: true\nx-deprecated-since: \"2026-11-17\"\nx-sunset: \"2026-11-16\"\n" + agentsSecurity +
				trait("access: read, noTool: account"), "must be dates",
		},
		"no scope": {"/api/x", trait("access: read, noTool: account"), "security must be"},
		"a bearer token for an operation of sessions": {
			"/api/x",
			"security: [{ bearer: [account] }, { sessionCookie: [] }]\n" +
				trait("access: account, session: true, noTool: account"),
			"security must be",
		},
		"OAuth for the account": {
			"/api/x", "security: [{ bearer: [account] }, { oauth2: [account] }, { sessionCookie: [] }]\n" +
				trait("access: account, noTool: account"), "security must be",
		},
		"secret of nothing": {"/api/x", trait("access: read, secret: true, noTool: account"), "secret is for"},
	} {
		if _, err := read(document(c.path, c.operation)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
}

func TestTraitsAreCompletedFromTheContract(t *testing.T) {
	t.Parallel()
	found, err := read(document("/api/agents/{agentId}/x",
		"operationId: readX\n"+manageSecurity+"x-carrel: { access: own, tool: { order: 7 } }"))
	if err != nil {
		t.Fatal(err)
	}
	op := found[0]
	if op.traits.Area != "manage" || op.traits.Plan != "manage" || !op.onAgent() || op.body() != "" {
		t.Errorf("read %+v", op)
	}
	if want := (tool{Name: "read_x", Order: 7, ReadOnly: true, Idempotent: true}); *op.traits.Tool != want {
		t.Errorf("the tool of a GET is %+v, want %+v", *op.traits.Tool, want)
	}
	found, err = read(document("/api/x",
		"operationId: x\n"+agentsSecurity+"requestBody: { required: true }\nx-carrel: { access: read, noTool: account }"))
	if err != nil || found[0].body() != "BodyRequired" {
		t.Errorf("a required body is %q, %v", found[0].body(), err)
	}
	found, err = read(document("/api/x",
		"operationId: x\n"+agentsSecurity+"requestBody: {}\nx-carrel: { access: read, noTool: account }"))
	if err != nil || found[0].body() != "BodyOptional" {
		t.Errorf("an optional body is %q, %v", found[0].body(), err)
	}
}

func TestDuplicateToolsStopTheGenerator(t *testing.T) {
	t.Parallel()
	paths := "paths:\n"
	for _, path := range []string{"/api/x", "/api/y"} {
		paths += "  " + path + ":\n    get: { operationId: " + path[5:] +
			", x-carrel: { access: read, tool: { name: same, order: 1 } } }\n"
	}
	_, err := read([]byte(paths))
	if err == nil || !strings.Contains(err.Error(), "tool name same") || !strings.Contains(err.Error(), "tool order 1") {
		t.Errorf("two tools of one name and order: %v", err)
	}
}

func TestGeneratedTableMatchesTheContract(t *testing.T) {
	t.Parallel()
	found, err := read(api.Document)
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile("../operation_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	want, err := format.Source(write(found))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(table, want) {
		t.Error("operation_gen.go does not match the contract: run make gen")
	}
}
