package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"go.yaml.in/yaml/v3"
)

// object is a mapping that keeps the order of its keys. A nil object is empty, so optional parts of the document need
// no checks.
type object struct {
	keys   []string
	values map[string]any
}

func newObject() *object { return &object{values: map[string]any{}} }

func (o *object) set(key string, value any) {
	if _, there := o.values[key]; !there {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

func (o *object) get(key string) any {
	if o == nil {
		return nil
	}
	return o.values[key]
}

func (o *object) has(key string) bool {
	if o == nil {
		return false
	}
	_, there := o.values[key]
	return there
}

func (o *object) names() []string {
	if o == nil {
		return nil
	}
	return o.keys
}

// all iterates over the mappings in a mapping, in order.
func (o *object) all() iter.Seq2[string, *object] {
	return func(yield func(string, *object) bool) {
		for _, name := range o.names() {
			if !yield(name, o.object(name)) {
				return
			}
		}
	}
}

func (o *object) object(key string) *object {
	child, _ := o.get(key).(*object)
	return child
}

func (o *object) list(key string) []any {
	child, _ := o.get(key).([]any)
	return child
}

// text returns a scalar in its JSON form without quotes, and "" for other values.
func (o *object) text(key string) string {
	switch v := o.get(key).(type) {
	case nil, *object, []any:
		return ""
	default:
		return fmt.Sprint(v)
	}
}

// MarshalJSON encodes the mapping in order.
func (o *object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, key := range o.names() {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeJSON(&b, key); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := writeJSON(&b, o.values[key]); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// writeJSON is json.Marshal without HTML escapes, which make examples hard to read.
func writeJSON(b *bytes.Buffer, v any) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the encoder ends every value with a newline
	return nil
}

// indented returns a value as indented JSON.
func indented(v any) ([]byte, error) {
	var raw, out bytes.Buffer
	if err := writeJSON(&raw, v); err != nil {
		return nil, err
	}
	err := json.Indent(&out, raw.Bytes(), "", "  ")
	return out.Bytes(), err
}

// parse parses a YAML document whose root is a mapping.
func parse(document []byte) (*object, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return nil, err
	}
	if len(root.Content) != 1 {
		return nil, errors.New("the document is empty")
	}
	v, err := valueOf(root.Content[0])
	if err != nil {
		return nil, err
	}
	o, ok := v.(*object)
	if !ok {
		return nil, errors.New("the document is not a mapping")
	}
	return o, nil
}

func valueOf(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.MappingNode:
		o := newObject()
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := valueOf(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			o.set(n.Content[i].Value, v)
		}
		return o, nil
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, c := range n.Content {
			v, err := valueOf(c)
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		return list, nil
	case yaml.ScalarNode:
		if n.Tag == "!!timestamp" {
			return n.Value, nil // JSON has no type for times
		}
		var v any
		err := n.Decode(&v)
		return v, err
	}
	return nil, fmt.Errorf("line %d: anchors and aliases are not used in the document", n.Line)
}

// resolve follows a reference inside the document and returns the last part of the reference as name. An object without
// a reference is returned unchanged.
func (d *document) resolve(o *object) (target *object, name string) {
	ref := o.text("$ref")
	if ref == "" {
		return o, ""
	}
	target = d.root
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		target, name = target.object(part), part
	}
	return target, name
}
