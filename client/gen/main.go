// Command gen writes the types and calls of package client and the calls of the SDKs from the contract. scripts/sdk-gen
// writes the types of the SDKs.
//
// The contract uses few features of OpenAPI: objects, arrays, references and enumerations, no unions. A generator for
// these needs no runtime library, and its output is a tenth of the code of the general generators.
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"carrel/api"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run() error {
	c, err := readContract(api.Document)
	if err != nil {
		return err
	}
	for name, generate := range c.files() {
		source, err := generate()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(name, source, 0o644); err != nil { //nolint:gosec // source code is world-readable
			return err
		}
	}
	return nil
}

// files returns the generators by the path of their file, relative to package client.
func (c *contract) files() map[string]func() ([]byte, error) {
	return map[string]func() ([]byte, error){
		"operation_gen.go": c.operationFile, "type_gen.go": c.typeFile,
		"../sdk/typescript/src/operations.ts": c.typescriptFile, "../sdk/python/src/carrel/_operations.py": c.pythonFile,
	}
}

// contract is the parsed document with the operations that the client offers.
type contract struct {
	root       *yaml.Node
	operations []operation
	// sent and received are the names of the schemas in request bodies and in replies, with those they refer to.
	sent, received map[string]bool
}

// operation is one operation of the contract.
type operation struct {
	id, summary, method, path string
	// arguments are the parameters of the path, in its order.
	arguments []string
	query     []parameter
	// keyed reports whether the operation reads Idempotency-Key.
	keyed bool
	// body and reply are names of schemas. An empty reply is a file.
	body, reply string
	// replies are the names of the schemas of all successful statuses. The first is reply.
	replies []string
}

type parameter struct {
	name, description string
	schema            *yaml.Node
}

func readContract(document []byte) (*contract, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(document, &doc); err != nil {
		return nil, err
	}
	c := &contract{root: doc.Content[0], sent: map[string]bool{}, received: map[string]bool{}}
	for path, item := range entries(get(c.root, "paths")) {
		if !strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/api/auth/") ||
			strings.HasPrefix(path, "/api/billing/") {
			continue
		}
		for method, node := range entries(item) {
			if method == "parameters" || text(get(node, "x-carrel"), "session") == "true" {
				continue
			}
			op, ok, err := c.readOperation(path, method, item, node)
			if err != nil {
				return nil, err
			}
			if ok {
				c.operations = append(c.operations, op)
			}
		}
	}
	for _, op := range c.operations {
		c.mark(c.sent, op.body)
		c.mark(c.received, op.reply)
	}
	c.mark(c.received, "Problem")
	return c, nil
}

// readOperation reads an operation. It reports false for one with a body that is not JSON or a reply that is a stream,
// which package client implements by hand.
func (c *contract) readOperation(path, method string, item, node *yaml.Node) (op operation, ok bool, err error) {
	op = operation{
		id: text(node, "operationId"), summary: text(node, "summary"), method: strings.ToUpper(method), path: path,
	}
	if body := get(node, "requestBody"); body != nil {
		schema := get(get(get(body, "content"), "application/json"), "schema")
		if op.body = reference(schema); op.body == "" {
			return op, false, nil
		}
	}
	for status, reply := range entries(get(node, "responses")) {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		content := get(c.resolve(reply), "content")
		if content == nil || get(content, "text/event-stream") != nil && get(content, "application/json") == nil {
			return op, false, nil
		}
		reply := reference(get(get(content, "application/json"), "schema"))
		if !slices.Contains(op.replies, reply) {
			op.replies = append(op.replies, reply)
		}
	}
	// A message is answered with 200 or 202. The fields of the second reply are a subset of the first.
	if len(op.replies) > 0 {
		op.reply = op.replies[0]
	}
	for _, list := range []*yaml.Node{get(item, "parameters"), get(node, "parameters")} {
		if list == nil {
			continue
		}
		for _, p := range list.Content {
			c.addParameter(&op, c.resolve(p))
		}
	}
	slices.SortStableFunc(op.arguments, func(a, b string) int {
		return strings.Index(path, "{"+a+"}") - strings.Index(path, "{"+b+"}")
	})
	if n := strings.Count(path, "{"); n != len(op.arguments) {
		return op, false, fmt.Errorf("%s: the path has %d parameters, %d are declared", op.id, n, len(op.arguments))
	}
	return op, true, nil
}

func (c *contract) addParameter(op *operation, p *yaml.Node) {
	switch name := text(p, "name"); text(p, "in") {
	case "path":
		op.arguments = append(op.arguments, name)
	case "query":
		op.query = append(op.query, parameter{name, text(p, "description"), get(p, "schema")})
	case "header":
		op.keyed = op.keyed || name == "Idempotency-Key"
	}
}

// mark adds a schema and the schemas it refers to.
func (c *contract) mark(set map[string]bool, name string) {
	if name == "" || set[name] {
		return
	}
	set[name] = true
	c.markReferences(set, c.schema(name))
}

func (c *contract) markReferences(set map[string]bool, n *yaml.Node) {
	if n == nil {
		return
	}
	if n.Kind == yaml.MappingNode {
		c.mark(set, reference(n))
	}
	for _, child := range n.Content {
		c.markReferences(set, child)
	}
}

func (c *contract) schema(name string) *yaml.Node {
	return get(get(get(c.root, "components"), "schemas"), name)
}

// resolve follows a reference to a component.
func (c *contract) resolve(n *yaml.Node) *yaml.Node {
	ref := get(n, "$ref")
	if ref == nil {
		return n
	}
	target := c.root
	for part := range strings.SplitSeq(strings.TrimPrefix(ref.Value, "#/"), "/") {
		target = get(target, part)
	}
	return target
}

// formatted returns a generated file with its header.
func formatted(body *bytes.Buffer, imports ...string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("// Code generated by client/gen from api/openapi.yaml. DO NOT EDIT.\n\npackage client\n\nimport (\n")
	for _, path := range imports {
		fmt.Fprintf(&b, "%q\n", path)
	}
	b.WriteString(")\n\n")
	b.Write(body.Bytes())
	return format.Source(b.Bytes())
}
