package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"carrel/internal/core"
)

// contract is the REST contract.
type contract struct{ root map[string]any }

func readContract(document []byte) (*contract, error) {
	c := &contract{}
	if err := yaml.Unmarshal(document, &c.root); err != nil {
		return nil, fmt.Errorf("read the contract: %w", err)
	}
	return c, nil
}

// operation is the part of an operation that describes its tool.
type operation struct {
	summary, description, tag string
	// required are the arguments that must be given, and properties the schemas of all.
	required   []string
	properties map[string]any
	// output is the schema of the reply; nil if the reply is not JSON.
	output map[string]any
}

func (c *contract) operation(traits core.Traits) (*operation, error) {
	item := object(object(c.root["paths"])[traits.Path])
	from := object(item[strings.ToLower(traits.Method)])
	op := &operation{
		summary: text(from["summary"]), description: strings.TrimSpace(text(from["description"])),
		properties: map[string]any{},
	}
	if tags := list(from["tags"]); len(tags) > 0 {
		op.tag = text(tags[0])
	}
	for _, p := range append(list(item["parameters"]), list(from["parameters"])...) {
		if err := c.addParameter(op, p); err != nil {
			return nil, err
		}
	}
	if err := c.addBody(op, from["requestBody"]); err != nil {
		return nil, err
	}
	reply, err := c.resolve(object(from["responses"])["200"], 0)
	if err != nil {
		return nil, err
	}
	op.output = jsonSchema(object(withoutDescriptions(reply)))
	return op, nil
}

// addParameter adds a parameter of the path or the query. Headers belong to HTTP, not to the operation.
func (c *contract) addParameter(op *operation, from any) error {
	resolved, err := c.resolve(from, 0)
	if err != nil {
		return err
	}
	p := object(resolved)
	if p["in"] != "path" && p["in"] != "query" {
		return nil
	}
	name := text(p["name"])
	if p["in"] == "path" || p["required"] == true {
		op.required = append(op.required, name)
	}
	schema := maps.Clone(object(p["schema"]))
	if d := strings.TrimSpace(text(p["description"])); d != "" {
		schema["description"] = d
	}
	op.properties[name] = schema
	return nil
}

func (c *contract) addBody(op *operation, from any) error {
	request, err := c.resolve(from, 0)
	if err != nil {
		return err
	}
	body := jsonSchema(object(request))
	members := object(body["properties"])
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if op.properties[name] != nil {
			return fmt.Errorf("%s is an argument twice", name)
		}
		op.properties[name] = members[name]
	}
	for _, name := range list(body["required"]) {
		op.required = append(op.required, text(name))
	}
	return nil
}

// jsonSchema returns the schema of the JSON form of a request or a reply, or nil.
func jsonSchema(of map[string]any) map[string]any {
	return object(object(object(of["content"])["application/json"])["schema"])
}

// withoutDescriptions returns a reply without its descriptions. Clients validate results with the schemas of replies,
// and few show them to a model, but every session loads them: with descriptions, which are the same for all tools that
// return the same thing, the list of tools would be half as long again.
func withoutDescriptions(node any) any {
	switch node := node.(type) {
	case map[string]any:
		out := make(map[string]any, len(node))
		for name, child := range node {
			if _, isText := child.(string); isText && name == "description" {
				continue // a property of that name has a schema, which is not a text
			}
			out[name] = withoutDescriptions(child)
		}
		return out
	case []any:
		out := make([]any, len(node))
		for i, child := range node {
			out[i] = withoutDescriptions(child)
		}
		return out
	}
	return node
}

// maxDepth bounds the nesting of references, which a recursive schema would exceed.
const maxDepth = 32

// resolve replaces references by their targets, because many MCP clients do not follow them. It drops examples and the
// widths of integers, which models do not need.
func (c *contract) resolve(node any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errors.New("the schema is recursive")
	}
	switch node := node.(type) {
	case map[string]any:
		if ref, ok := node["$ref"].(string); ok {
			target, err := c.find(ref)
			if err != nil {
				return nil, err
			}
			return c.resolve(target, depth+1)
		}
		out := make(map[string]any, len(node))
		for name, child := range node {
			if name == "example" || name == "examples" || child == "int32" || child == "int64" {
				continue
			}
			resolved, err := c.resolve(child, depth+1)
			if err != nil {
				return nil, err
			}
			out[name] = resolved
		}
		return out, nil
	case []any:
		out := make([]any, len(node))
		for i, child := range node {
			resolved, err := c.resolve(child, depth+1)
			if err != nil {
				return nil, err
			}
			out[i] = resolved
		}
		return out, nil
	}
	return node, nil
}

func (c *contract) find(ref string) (any, error) {
	var at any = c.root
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		at = object(at)[name]
	}
	if at == nil {
		return nil, fmt.Errorf("%s is not defined", ref)
	}
	return at, nil
}

// input returns the schema of the operation's arguments.
func (o *operation) input() map[string]any {
	schema := map[string]any{"type": "object", "properties": o.properties}
	if len(o.required) > 0 {
		schema["required"] = o.required
	}
	return schema
}

// These read a decoded YAML value; one of another type reads as empty.

func object(v any) map[string]any { m, _ := v.(map[string]any); return m }
func list(v any) []any            { l, _ := v.([]any); return l }
func text(v any) string           { s, _ := v.(string); return s }
