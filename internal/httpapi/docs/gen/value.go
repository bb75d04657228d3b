package main

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
)

// lineWidth is the width up to which a list or an object of an example stays on one line.
const lineWidth = 60

// notation is how a language writes values.
type notation struct {
	yes, no, none string
	// key writes the name of a field. Without name, the object is written as JSON.
	key func(name string) string
	// tight has no spaces inside of braces.
	tight bool
}

var (
	jsonNotation   = notation{yes: "true", no: "false", none: "null", key: quoted, tight: true}
	pythonNotation = notation{yes: "True", no: "False", none: "None", key: quoted, tight: true}
	scriptNotation = notation{yes: "true", no: "false", none: "null", key: propertyName}
)

// quoted returns a text as a JSON string, which is also one in TypeScript and Python.
func quoted(text string) string {
	var b bytes.Buffer
	_ = writeJSON(&b, text) // a string can always be encoded
	return b.String()
}

// propertyName returns the name of a property of a TypeScript object, quoted only if it is no identifier.
func propertyName(name string) string {
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' {
			return quoted(name)
		}
	}
	return name
}

// write returns a value as an expression. The value begins at a column of a line with an indentation; objects and lists
// that do not fit on the line are broken into lines.
func (n notation) write(v any, indent, column int) string {
	if line := n.line(v); column+len(line) <= lineWidth {
		return line
	}
	inner := strings.Repeat(" ", indent+2)
	var items []string
	opening, closing := "{", "}"
	switch v := v.(type) {
	case *object:
		for _, name := range v.names() {
			key := n.key(name) + ": "
			items = append(items, inner+key+n.write(v.values[name], indent+2, indent+2+len(key)+1))
		}
	case []any:
		opening, closing = "[", "]"
		for _, item := range v {
			items = append(items, inner+n.write(item, indent+2, indent+3))
		}
	default:
		return n.line(v)
	}
	return opening + "\n" + strings.Join(items, ",\n") + "\n" + strings.Repeat(" ", indent) + closing
}

// line returns a value on one line.
func (n notation) line(v any) string {
	switch v := v.(type) {
	case nil:
		return n.none
	case bool:
		if v {
			return n.yes
		}
		return n.no
	case string:
		return quoted(v)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = n.line(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case *object:
		items := make([]string, 0, len(v.names()))
		for _, name := range v.names() {
			items = append(items, n.key(name)+": "+n.line(v.values[name]))
		}
		if n.tight || len(items) == 0 {
			return "{" + strings.Join(items, ", ") + "}"
		}
		return "{ " + strings.Join(items, ", ") + " }"
	}
	return fmt.Sprint(v)
}
