// Command gen writes the REST server's types and router, and the table by which other protocols invoke operations.
//
// The contract documents every status and header. ogen gets a reduced copy of it: problem replies become one default
// reply, and the parts that our own middleware answers (304, ETag, request ids) are dropped.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"carrel/api"
)

// ownParameters are the headers that middleware reads.
var ownParameters = []string{"ifNoneMatch", "idempotencyKey", "prefer"}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run() error {
	var doc yaml.Node
	if err := yaml.Unmarshal(api.Document, &doc); err != nil {
		return err
	}
	reduce(doc.Content[0])
	out, err := yaml.Marshal(&doc)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "carrel-gen")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a leftover temporary directory does no harm
	file := filepath.Join(dir, "openapi.yaml")
	if err := os.WriteFile(file, out, 0o600); err != nil {
		return err
	}
	//nolint:gosec // the arguments are constants and our own temporary file
	cmd := exec.CommandContext(context.Background(), "go", "tool", "ogen",
		"--target", "oas", "--package", "oas", "--clean", "--config", "ogen.yml", file)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	return writeInvokers()
}

// The document is edited as YAML nodes, not as maps, to keep the order of fields, which is also their order in replies.

func get(n *yaml.Node, key string) *yaml.Node {
	for i := 0; n != nil && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// drop removes the entries of a mapping for which which returns true.
func drop(n *yaml.Node, which func(key string, value *yaml.Node) bool) {
	if n == nil {
		return
	}
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !which(n.Content[i].Value, n.Content[i+1]) {
			kept = append(kept, n.Content[i], n.Content[i+1])
		}
	}
	n.Content = kept
}

func dropKeys(n *yaml.Node, keys ...string) {
	drop(n, func(key string, _ *yaml.Node) bool { return slices.Contains(keys, key) })
}

func isTrue(n *yaml.Node) bool { return n != nil && n.Value == "true" }

func reduce(doc *yaml.Node) {
	dropKeys(doc, "security")
	paths, components := get(doc, "paths"), get(doc, "components")
	drop(paths, func(_ string, item *yaml.Node) bool {
		operations := 0
		drop(item, func(method string, op *yaml.Node) bool {
			if method == "parameters" {
				return false
			}
			if isTrue(get(get(op, "x-carrel"), "plain")) {
				return true
			}
			reduceOperation(op)
			operations++
			return false
		})
		return operations == 0
	})
	dropKeys(components, "securitySchemes", "headers")
	dropKeys(get(components, "parameters"), ownParameters...)
	responses := get(components, "responses")
	drop(responses, func(_ string, reply *yaml.Node) bool {
		return get(get(reply, "content"), "application/problem+json") != nil
	})
	for i := 1; i < len(responses.Content); i += 2 {
		dropOwnHeaders(responses.Content[i])
	}
	// These are stored and returned unchanged, as raw JSON: a map would lose the order of members.
	for _, raw := range []string{"AnyCard", "AuditDetail"} {
		dropKeys(get(get(components, "schemas"), raw), "type", "additionalProperties", "example")
	}
	loosen(components)
	loosen(paths)
}

func reduceOperation(op *yaml.Node) {
	dropKeys(op, "security")
	if params := get(op, "parameters"); params != nil {
		params.Content = slices.DeleteFunc(params.Content, func(p *yaml.Node) bool {
			ref := get(p, "$ref")
			return ref != nil && slices.Contains(ownParameters, path.Base(ref.Value))
		})
	}
	replies := get(op, "responses")
	drop(replies, func(status string, _ *yaml.Node) bool { return !strings.HasPrefix(status, "2") })
	for i := 1; i < len(replies.Content); i += 2 {
		dropOwnHeaders(replies.Content[i])
	}
	var problem yaml.Node
	_ = yaml.Unmarshal([]byte(`default: {description: A problem., content: {application/problem+json: {schema: {$ref: "#/components/schemas/Problem"}}}}`),
		&problem)
	replies.Content = append(replies.Content, problem.Content[0].Content...)
}

// dropOwnHeaders removes the headers that middleware sets.
func dropOwnHeaders(reply *yaml.Node) {
	headers := get(reply, "headers")
	dropKeys(headers, "ETag", "X-Request-Id", "Cache-Control", "WWW-Authenticate")
	if headers != nil && len(headers.Content) == 0 {
		dropKeys(reply, "headers")
	}
}

// loosen removes the length limits of texts, which the services check with better error details. A minLength without a
// maxLength belongs to an id and stays, because services treat an empty id as absent. Times become plain strings,
// because the generated encoder omits the milliseconds.
func loosen(n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		isText := get(n, "maxLength") != nil
		drop(n, func(key string, value *yaml.Node) bool {
			return isText && (key == "minLength" || key == "maxLength") || key == "format" && value.Value == "date-time"
		})
	}
	for _, c := range n.Content {
		loosen(c)
	}
}
