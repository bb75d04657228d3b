package main

import (
	"os"
	"strings"
	"testing"

	"carrel/api"
)

// document is a contract with one operation at a path, which the tests complete.
func document(path, operation string) []byte {
	return []byte("paths:\n  " + path + ":\n    get:\n" + "      " + strings.ReplaceAll(operation, "\n", "\n      ") + "\n")
}

func TestAnOperationWithoutAnAccessLevelStopsTheGenerator(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, operation, want string }{
		"no id":                         {"/api/x", "x-carrel: { access: account }", "no operationId"},
		"no trait":                      {"/api/x", "operationId: x", "no x-carrel trait"},
		"no level":                      {"/api/x", "operationId: x\nx-carrel: { metered: true }", "access must be one of"},
		"a level that is none":          {"/api/x", "operationId: x\nx-carrel: { access: write }", "access must be one of"},
		"a member that is none":         {"/api/x", "operationId: x\nx-carrel: { access: read, levle: read }", "levle"},
		"an area that is none":          {"/api/x", "operationId: x\nx-carrel: { access: read, area: chess }", "no area chess"},
		"a capability that is none":     {"/api/x", "operationId: x\nx-carrel: { access: read, plan: chess }", "no capability chess"},
		"an agent without a level":      {"/api/agents/{agentId}/x", "operationId: x\nx-carrel: { access: account }", "on an agent"},
		"public, but with security":     {"/api/x", "operationId: x\nx-carrel: { access: public }", "public"},
		"without security, not public":  {"/api/x", "operationId: x\nsecurity: []\nx-carrel: { access: read }", "public"},
		"proof of something else":       {"/api/x", "operationId: x\nx-carrel: { access: read, proof: true }", "session and proof"},
		"an agent that anybody may see": {"/api/agents/{agentId}", "operationId: x\nsecurity: []\nx-carrel: { access: public }", "on an agent"},
	} {
		if _, err := read(document(c.path, c.operation)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
	found, err := read(document("/api/agents/{agentId}/x", "operationId: x\nx-carrel: { access: own }"))
	if err != nil || len(found) != 1 || found[0].trait != (trait{Access: "own", Area: "manage", Plan: "manage"}) || !found[0].onAgent() {
		t.Errorf("a good one: %+v, %v", found, err)
	}
}

func TestTheGeneratedTableIsThatOfTheContract(t *testing.T) {
	t.Parallel()
	found, err := read(api.Document)
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile("../operation_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range found {
		if n := strings.Count(string(table), `"`+op.ID+`"`); n != 1 {
			t.Errorf("%s stands in the table %d times: run make gen", op.ID, n)
		}
	}
}
