// Command gen writes the table of operations, with the access that each one needs, from the x-carrel traits of the
// contract. An operation without a level of access stops it, so that none can be served that nobody decided about.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"carrel/api"
)

// trait is the x-carrel member of an operation.
type trait struct {
	Access  string `yaml:"access"`
	Area    string `yaml:"area"`
	Plan    string `yaml:"plan"`
	Metered bool   `yaml:"metered"`
	Session bool   `yaml:"session"`
	Proof   bool   `yaml:"proof"`
}

// operation is an operation of the contract, as far as access is concerned.
type operation struct {
	ID       string    `yaml:"operationId"`
	Carrel   yaml.Node `yaml:"x-carrel"`
	Security *[]any    `yaml:"security"`
	trait    trait
	path     string
}

// levels are the levels of access, with the area that an operation belongs to unless its trait names another one and the
// capability that the plan must include likewise.
var levels = map[string]struct{ name, area, plan string }{
	"read":    {"AccessRead", "agents", ""},
	"use":     {"AccessUse", "agents", ""},
	"manage":  {"AccessManage", "manage", "manage"},
	"own":     {"AccessOwn", "manage", "manage"},
	"account": {"AccessAccount", "account", ""},
	"admin":   {"AccessAdmin", "admin", ""},
	"user":    {"AccessUser", "", ""},
	"public":  {"AccessPublic", "", ""},
}

// onAgents are the levels that say what the caller's grant for the agent must be.
var onAgents = []string{"read", "use", "manage", "own"}

var areas = []string{"agents", "search", "chat", "memories", "favourites", "manage", "keys", "billing", "account", "admin"}

var plans = []string{"search", "chat", "research", "memories", "favourites", "manage"}

const agentsPath = "/api/agents/{agentId}"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run() error {
	found, err := read(api.Document)
	if err != nil {
		return err
	}
	out, err := format.Source(write(found))
	if err != nil {
		return err
	}
	return os.WriteFile("operation_gen.go", out, 0o644) //nolint:gosec // source code, which everybody may read
}

// read returns the operations of a contract, sorted by id. All that is wrong with their traits is one error.
func read(document []byte) ([]operation, error) {
	var doc struct {
		Paths map[string]map[string]yaml.Node `yaml:"paths"`
	}
	if err := yaml.Unmarshal(document, &doc); err != nil {
		return nil, err
	}
	var found []operation
	var bad []error
	for path, item := range doc.Paths {
		for method, node := range item {
			if method == "parameters" {
				continue
			}
			op := operation{path: path}
			err := node.Decode(&op)
			if err == nil {
				err = op.decide()
			}
			if err != nil {
				bad = append(bad, fmt.Errorf("%s %s: %w", strings.ToUpper(method), path, err))
			}
			found = append(found, op)
		}
	}
	slices.SortFunc(found, func(a, b operation) int { return strings.Compare(a.ID, b.ID) })
	for i := 1; i < len(found); i++ {
		if found[i].ID == found[i-1].ID {
			bad = append(bad, fmt.Errorf("two operations are called %s", found[i].ID))
		}
	}
	return found, errors.Join(bad...)
}

// decide reads the trait of an operation and completes it by the defaults of its level.
func (op *operation) decide() error {
	if op.ID == "" {
		return errors.New("it has no operationId")
	}
	if op.Carrel.IsZero() {
		return errors.New("it has no x-carrel trait: say which access it needs")
	}
	raw, err := yaml.Marshal(&op.Carrel)
	if err != nil {
		return err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(raw))
	decoder.KnownFields(true)
	if err := decoder.Decode(&op.trait); err != nil {
		return err
	}
	t := &op.trait
	level, known := levels[t.Access]
	if !known {
		return fmt.Errorf("x-carrel: access must be one of %s", strings.Join(names(), ", "))
	}
	if t.Area == "" {
		t.Area = level.area
	}
	if t.Plan == "" {
		t.Plan = level.plan
	}
	public := op.Security != nil && len(*op.Security) == 0
	switch {
	case t.Area != "" && !slices.Contains(areas, t.Area):
		return fmt.Errorf("x-carrel: there is no area %s", t.Area)
	case t.Plan != "" && !slices.Contains(plans, t.Plan):
		return fmt.Errorf("x-carrel: there is no capability %s", t.Plan)
	case public != (t.Access == "public"):
		return errors.New(`x-carrel: access must be "public" exactly where security is empty`)
	case op.onAgent() && !slices.Contains(onAgents, t.Access):
		return errors.New("x-carrel: an operation on an agent needs one of the levels " + strings.Join(onAgents, ", "))
	case t.Proof && t.Access != "account" && t.Access != "admin" || t.Session && t.Access != "account" && t.Access != "admin":
		return errors.New("x-carrel: session and proof are for the account and the administration")
	}
	return nil
}

func (op *operation) onAgent() bool {
	return op.path == agentsPath || strings.HasPrefix(op.path, agentsPath+"/")
}

func names() []string {
	out := make([]string, 0, len(levels))
	for name := range levels {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// title makes the end of a Go name of a word.
func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

func write(found []operation) []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated by internal/core/gen from api/openapi.yaml. DO NOT EDIT.\n\npackage core\n\n")
	b.WriteString("// The operations of the contract.\nconst (\n")
	for _, op := range found {
		fmt.Fprintf(&b, "\tOp%s Operation = %q\n", title(op.ID), op.ID)
	}
	b.WriteString(")\n\n// operations is the access that each operation needs, as the contract declares it.\n")
	b.WriteString("var operations = map[Operation]Rule{\n")
	for _, op := range found {
		t := op.trait
		fmt.Fprintf(&b, "\tOp%s: {Access: %s", title(op.ID), levels[t.Access].name)
		if t.Area != "" {
			fmt.Fprintf(&b, ", Area: Area%s", title(t.Area))
		}
		if t.Plan != "" {
			fmt.Fprintf(&b, ", Plan: Cap%s", title(t.Plan))
		}
		for _, flag := range []struct {
			name string
			set  bool
		}{{"Metered", t.Metered}, {"Session", t.Session}, {"Proof", t.Proof}, {"OnAgent", op.onAgent()}} {
			if flag.set {
				fmt.Fprintf(&b, ", %s: true", flag.name)
			}
		}
		b.WriteString("},\n")
	}
	b.WriteString("}\n")
	return b.Bytes()
}
