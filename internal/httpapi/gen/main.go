// Command gen writes the server's types and router from the contract. The document tells readers every status and
// header; the generated code needs only what differs from one operation to the next, so the rest is taken out first:
// problem replies become one default reply, and what our own middleware answers (304, ETag, request ids) is dropped.
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

// ownParameters are headers that middleware reads.
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
	defer func() { _ = os.RemoveAll(dir) }() // the system would do it one day
	file := filepath.Join(dir, "openapi.yaml")
	if err := os.WriteFile(file, out, 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(context.Background(), "go", "tool", "ogen", //nolint:gosec // nothing in it comes from outside
		"--target", "oas", "--package", "oas", "--clean", "--config", "ogen.yml", file)
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// The document is edited as nodes, not as maps, so that fields keep its order in the replies too.

func get(n *yaml.Node, key string) *yaml.Node {
	for i := 0; n != nil && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// drop removes the entries of a mapping that it is told to.
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
			if isTrue(get(op, "x-carrel-plain")) {
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
	// These are kept and sent as they came: as raw JSON, not as a map, which has no order.
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
	_ = yaml.Unmarshal([]byte(`default: {description: A problem., content: {application/problem+json: {schema: {$ref: "#/components/schemas/Problem"}}}}`), &problem)
	replies.Content = append(replies.Content, problem.Content[0].Content...)
}

// dropOwnHeaders removes the headers that middleware sets on many replies alike.
func dropOwnHeaders(reply *yaml.Node) {
	headers := get(reply, "headers")
	dropKeys(headers, "ETag", "X-Request-Id", "Cache-Control", "WWW-Authenticate")
	if headers != nil && len(headers.Content) == 0 {
		dropKeys(reply, "headers")
	}
}

// loosen takes out what the services check themselves, with better words: lengths of texts. A minLength without a
// maxLength is that of an id and stays: an empty id is refused here, because to a service it is an absent one. Times become
// plain strings: the generated encoder would leave out the milliseconds.
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
