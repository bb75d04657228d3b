// Command gen writes the REST server's types and router, the table by which other protocols invoke operations, and the
// table of the fields of requests.
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
var ownParameters = []string{"ifMatch", "ifNoneMatch", "idempotencyKey", "prefer"}

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
	if err := writeInvokers(); err != nil {
		return err
	}
	if err := tighten("oas"); err != nil {
		return err
	}
	return writeFields()
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
	dropKeys(doc, "security", "webhooks")
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
	dropKeys(components, "securitySchemes", "headers", "examples")
	dropKeys(get(components, "parameters"), ownParameters...)
	responses := get(components, "responses")
	drop(responses, func(_ string, reply *yaml.Node) bool {
		return get(get(reply, "content"), "application/problem+json") != nil
	})
	for i := 1; i < len(responses.Content); i += 2 {
		dropOwnHeaders(responses.Content[i])
		dropExamples(responses.Content[i])
	}
	// These are stored and returned unchanged, as raw JSON: a map would lose the order of members.
	for _, raw := range []string{"AnyCard", "AuditDetail"} {
		dropKeys(get(get(components, "schemas"), raw), "type", "additionalProperties", "example")
	}
	for _, n := range []*yaml.Node{components, paths} {
		inlineText(n, "#/components/schemas/DocumentLanguage")
		loosen(n)
	}
}

func reduceOperation(op *yaml.Node) {
	dropKeys(op, "security")
	if params := get(op, "parameters"); params != nil {
		params.Content = slices.DeleteFunc(params.Content, func(p *yaml.Node) bool {
			ref := get(p, "$ref")
			return ref != nil && slices.Contains(ownParameters, path.Base(ref.Value))
		})
	}
	dropExamples(op)
	replies := get(op, "responses")
	drop(replies, func(status string, _ *yaml.Node) bool { return !strings.HasPrefix(status, "2") })
	for i := 1; i < len(replies.Content); i += 2 {
		dropOwnHeaders(replies.Content[i])
		if content := get(replies.Content[i], "content"); get(content, "application/json") != nil {
			dropKeys(content, "text/event-stream") // see streamturn.go
		}
	}
	var problem yaml.Node
	_ = yaml.Unmarshal([]byte(`default: {description: A problem., content: {application/problem+json: {schema: {$ref: "#/components/schemas/Problem"}}}}`),
		&problem)
	replies.Content = append(replies.Content, problem.Content[0].Content...)
}

// dropExamples removes the examples of bodies, which are documentation.
func dropExamples(n *yaml.Node) {
	if get(n, "schema") != nil {
		dropKeys(n, "example", "examples")
	}
	for _, c := range n.Content {
		dropExamples(c)
	}
}

// dropOwnHeaders removes the headers that middleware sets.
func dropOwnHeaders(reply *yaml.Node) {
	headers := get(reply, "headers")
	dropKeys(headers, "ETag", "X-Request-Id", "Cache-Control", "WWW-Authenticate", "RateLimit", "RateLimit-Policy",
		"Deprecation", "Sunset", "Link", "Preference-Applied")
	if headers != nil && len(headers.Content) == 0 {
		dropKeys(reply, "headers")
	}
}

// inlineText replaces the references to an enum by a plain string. Its values are checked by a service, which knows the
// configured ones.
func inlineText(n *yaml.Node, ref string) {
	if at := get(n, "$ref"); n.Kind == yaml.MappingNode && at != nil && at.Value == ref {
		_ = n.Encode(map[string]string{"type": "string"}) // a map of strings always encodes
		return
	}
	for _, c := range n.Content {
		inlineText(c, ref)
	}
}

// keptFormats are the formats that the generated types follow. All other formats would become types that services do
// not use: times lose their milliseconds, and URLs and dates are checked by the services.
var keptFormats = []string{"int64", "binary"}

// loosen removes the rules of texts, which the services check with better error details. A minLength without a
// maxLength belongs to an id and stays, because services treat an empty id as absent.
func loosen(n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		isText := get(n, "maxLength") != nil
		drop(n, func(key string, value *yaml.Node) bool {
			return isText && (key == "minLength" || key == "maxLength") ||
				key == "format" && value.Kind == yaml.ScalarNode && !slices.Contains(keptFormats, value.Value) ||
				key == "pattern" && value.Kind == yaml.ScalarNode || key == "not"
		})
	}
	for _, c := range n.Content {
		loosen(c)
	}
}
