package main

import (
	"iter"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
)

// get returns the value of a key in a mapping, or nil.
func get(n *yaml.Node, key string) *yaml.Node {
	for k, value := range entries(n) {
		if k == key {
			return value
		}
	}
	return nil
}

// text returns the scalar value of a key, or an empty text.
func text(n *yaml.Node, key string) string {
	if value := get(n, key); value != nil {
		return value.Value
	}
	return ""
}

// entries iterates over a mapping in the order of the document.
func entries(n *yaml.Node) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

// values returns the scalars of a sequence.
func values(n *yaml.Node) []string {
	var out []string
	if n != nil {
		for _, item := range n.Content {
			out = append(out, item.Value)
		}
	}
	return out
}

// reference returns the name of the schema that a node refers to, or an empty text.
func reference(n *yaml.Node) string {
	if ref := text(n, "$ref"); strings.HasPrefix(ref, "#/components/schemas/") {
		return path.Base(ref)
	}
	return ""
}

// initialisms are the words that Go writes in capitals.
var initialisms = map[string]string{
	"Id": "ID", "Ids": "IDs", "Url": "URL", "Doi": "DOI", "Mcp": "MCP", "Totp": "TOTP", "Eta": "ETA", "Html": "HTML",
}

// exported returns a name of the contract as an exported Go name: openAccessUrl becomes OpenAccessURL.
func exported(name string) string {
	var out strings.Builder
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' }) {
		out.WriteString(capitalised(strings.ToUpper(part[:1]) + part[1:]))
	}
	return out.String()
}

// capitalised replaces the initialisms of a name in camel case.
func capitalised(name string) string {
	var out strings.Builder
	for start := 0; start < len(name); {
		end := start + 1
		for end < len(name) && (name[end] < 'A' || name[end] > 'Z') {
			end++
		}
		word := name[start:end]
		if capital, ok := initialisms[word]; ok {
			word = capital
		}
		out.WriteString(word)
		start = end
	}
	return out.String()
}

// unexported returns a name of the contract as an argument: agentId becomes agentID.
func unexported(name string) string {
	name = exported(name)
	return strings.ToLower(name[:1]) + name[1:]
}

// comment returns text as a comment, wrapped at 100 columns.
func comment(text string) string {
	var out strings.Builder
	line := "//"
	for word := range strings.FieldsSeq(text) {
		if len(line)+len(word) > 100 && line != "//" {
			out.WriteString(line + "\n")
			line = "//"
		}
		line += " " + word
	}
	if line != "//" {
		out.WriteString(line + "\n")
	}
	return out.String()
}
