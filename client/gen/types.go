package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// typeFile returns the source of the types, in the order of the contract, and of the codes of problems.
func (c *contract) typeFile() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("// Codes of problems. The contract has the solution of each.\nconst (\n")
	for _, code := range values(get(get(get(c.schema("Problem"), "properties"), "code"), "enum")) {
		fmt.Fprintf(&b, "Code%s = %q\n", exported(code), code)
	}
	b.WriteString(")\n\n")
	for name, schema := range entries(get(get(c.root, "components"), "schemas")) {
		if name == "Problem" || !c.sent[name] && !c.received[name] || isScalar(schema) {
			continue // Problem is Error
		}
		if err := c.writeType(&b, name, schema); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return formatted(&b, "encoding/json", "time")
}

func (c *contract) writeType(b *bytes.Buffer, name string, schema *yaml.Node) error {
	doc := text(schema, "description")
	doc, _, _ = strings.Cut(doc, "\n")
	b.WriteString(comment(exported(name) + " is the schema " + name + " of the contract. " + doc))
	properties := get(schema, "properties")
	if properties == nil {
		goType, err := c.goType(schema)
		if err != nil {
			return err
		}
		if goType == "json.RawMessage" {
			fmt.Fprintf(b, "type %s = %s\n\n", exported(name), goType) // an alias keeps its methods
			return nil
		}
		fmt.Fprintf(b, "type %s %s\n\n", exported(name), goType)
		return nil
	}
	fmt.Fprintf(b, "type %s struct {\n", exported(name))
	if err := c.writeFields(b, schema, c.sent[name]); err != nil {
		return err
	}
	b.WriteString("}\n\n")
	return nil
}

// writeFields writes the fields of an object. In a schema that is sent, an optional field is a pointer, because absent
// and empty differ.
func (c *contract) writeFields(b *bytes.Buffer, schema *yaml.Node, sent bool) error {
	required := values(get(schema, "required"))
	for name, property := range entries(get(schema, "properties")) {
		goType, err := c.goType(property)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		optional := !slices.Contains(required, name)
		nullable := slices.Contains(values(get(property, "type")), "null")
		tag := name
		switch {
		case nullable && optional:
			goType = "json.RawMessage" // absent, null or a value
			tag += ",omitempty"
		case nullable:
			goType = "*" + goType
		case optional && sent && !strings.HasPrefix(goType, "[]") && goType != "json.RawMessage":
			goType = "*" + goType
			tag += ",omitempty"
		case optional && reference(property) != "" && !c.isArray(property) && !isScalar(c.resolve(property)):
			goType = "*" + strings.TrimPrefix(goType, "*")
			tag += ",omitempty"
		case optional:
			tag += ",omitzero"
		}
		note := text(property, "description")
		described := property
		if isScalar(c.resolve(property)) {
			described = c.resolve(property)
			note = cmp.Or(note, text(described, "description"))
		}
		if allowed := values(get(described, "enum")); len(allowed) > 0 {
			note = strings.TrimSpace("One of " + strings.Join(allowed, ", ") + ". " + note)
		}
		b.WriteString(comment(note))
		fmt.Fprintf(b, "%s %s `json:%q`\n", exported(name), goType, tag)
	}
	return nil
}

// isScalar reports whether a schema is a string, a number or a boolean.
func isScalar(schema *yaml.Node) bool {
	return slices.Contains([]string{"string", "integer", "number", "boolean"}, text(schema, "type"))
}

func (c *contract) isArray(property *yaml.Node) bool {
	return text(c.resolve(property), "type") == "array"
}

// goType returns the Go type of a schema.
func (c *contract) goType(schema *yaml.Node) (string, error) {
	if name := reference(schema); name != "" {
		if named := c.schema(name); isScalar(named) {
			return c.goType(named) // a name for a string or number is of use in the contract only
		}
		return exported(name), nil
	}
	kind := text(schema, "type")
	if list := values(get(schema, "type")); len(list) > 0 {
		kind = list[0]
	}
	switch {
	case kind == "string" && text(schema, "format") == "date-time":
		return "time.Time", nil
	case kind == "string":
		return "string", nil
	case kind == "boolean" || text(schema, "const") == "true":
		return "bool", nil
	case kind == "integer":
		return "int64", nil
	case kind == "number":
		return "float64", nil
	case kind == "array":
		item, err := c.goType(get(schema, "items"))
		return "[]" + item, err
	case kind == "object" && get(schema, "properties") != nil:
		var b bytes.Buffer
		b.WriteString("struct {\n")
		err := c.writeFields(&b, schema, false)
		b.WriteString("}")
		return b.String(), err
	case kind == "object":
		return "json.RawMessage", nil
	case text(schema, "const") != "":
		return "string", nil
	}
	return "", fmt.Errorf("the schema at line %d has no type", schema.Line)
}
