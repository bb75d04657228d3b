package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"carrel/internal/core"
)

// operation is one operation of the REST contract as a tool needs it.
type operation struct {
	id, method, path     string
	summary, description string
	tag                  string
	// The arguments of a call by where they go in the request.
	inPath, inQuery, inBody []string
	required                []string
	// properties are the schemas of all arguments.
	properties map[string]any
	// output is the schema of the reply; nil where that is no JSON.
	output map[string]any
}

// contract is the REST contract.
type contract struct {
	root       map[string]any
	operations map[string]*operation
}

// readContract reads the document. What it does not understand is an error, so that nothing is offered half.
func readContract(document []byte) (*contract, error) {
	c := &contract{operations: map[string]*operation{}}
	if err := yaml.Unmarshal(document, &c.root); err != nil {
		return nil, fmt.Errorf("read the contract: %w", err)
	}
	for path, item := range object(c.root["paths"]) {
		item := object(item)
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			if item[method] == nil {
				continue
			}
			op, err := c.operation(path, method, item)
			if err != nil {
				return nil, fmt.Errorf("read the contract: %s %s: %w", method, path, err)
			}
			if _, known := core.Operation(op.id).Rule(); !known {
				return nil, fmt.Errorf("read the contract: %s has no access rule: add its x-carrel trait and run make gen", op.id)
			}
			c.operations[op.id] = op
		}
	}
	return c, nil
}

func (c *contract) operation(path, method string, item map[string]any) (*operation, error) {
	from := object(item[method])
	op := &operation{
		id: text(from["operationId"]), method: strings.ToUpper(method), path: path,
		summary: text(from["summary"]), description: strings.TrimSpace(text(from["description"])), properties: map[string]any{},
	}
	if tags := list(from["tags"]); len(tags) > 0 {
		op.tag = text(tags[0])
	}
	for _, p := range append(list(item["parameters"]), list(from["parameters"])...) {
		if err := c.parameter(op, p); err != nil {
			return nil, err
		}
	}
	request, err := c.resolve(from["requestBody"], 0)
	if err != nil {
		return nil, err
	}
	body := jsonSchema(object(request))
	for _, name := range slices.Sorted(maps.Keys(object(body["properties"]))) {
		if op.properties[name] != nil {
			return nil, fmt.Errorf("%s is an argument twice", name)
		}
		op.inBody, op.properties[name] = append(op.inBody, name), object(body["properties"])[name]
	}
	for _, name := range list(body["required"]) {
		op.required = append(op.required, text(name))
	}
	reply, err := c.resolve(object(from["responses"])["200"], 0)
	if err != nil {
		return nil, err
	}
	op.output = jsonSchema(object(reply))
	return op, nil
}

// parameter takes one parameter in. Those of the header belong to HTTP and not to the operation.
func (c *contract) parameter(op *operation, from any) error {
	resolved, err := c.resolve(from, 0)
	if err != nil {
		return err
	}
	p := object(resolved)
	name := text(p["name"])
	switch p["in"] {
	case "path":
		op.inPath, op.required = append(op.inPath, name), append(op.required, name)
	case "query":
		op.inQuery = append(op.inQuery, name)
		if p["required"] == true {
			op.required = append(op.required, name)
		}
	default:
		return nil
	}
	schema := maps.Clone(object(p["schema"]))
	if d := strings.TrimSpace(text(p["description"])); d != "" {
		schema["description"] = d
	}
	op.properties[name] = schema
	return nil
}

// jsonSchema returns the schema of the JSON form of a request or a reply, or nil.
func jsonSchema(of map[string]any) map[string]any {
	return object(object(object(of["content"])["application/json"])["schema"])
}

// maxDepth ends a schema that refers to itself.
const maxDepth = 32

// resolve puts what is referred to in the place of references: many who read schemas of tools do not follow them.
// Examples are for people who read the contract, and left out.
func (c *contract) resolve(node any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it refers to itself")
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
			if name == "example" || name == "examples" {
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
		return nil, fmt.Errorf("there is no %s", ref)
	}
	return at, nil
}

// input is the schema of the operation's arguments.
func (o *operation) input() map[string]any {
	schema := map[string]any{"type": "object", "properties": o.properties}
	if len(o.required) > 0 {
		schema["required"] = o.required
	}
	return schema
}

// The document as maps and lists: what is not there, or something else, is empty.

func object(v any) map[string]any { m, _ := v.(map[string]any); return m }
func list(v any) []any            { l, _ := v.([]any); return l }
func text(v any) string           { s, _ := v.(string); return s }

// marshal encodes what was decoded or made here, which always works.
func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
