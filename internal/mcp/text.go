package mcp

import (
	"bytes"
	"encoding/json"
	"strings"
)

// readable writes a JSON object as an outline for people and models: a line for each value, in the order of the object,
// without quotes and braces. What is empty is left out.
func readable(body []byte) string {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var b strings.Builder
	if err := outline(&b, d, 0, false); err != nil {
		return string(body) // not ours to lose
	}
	out := strings.TrimSpace(b.String())
	if out == "" {
		return "Nothing."
	}
	return out
}

// outline writes the next value. Inline says that its line has begun.
func outline(b *strings.Builder, d *json.Decoder, depth int, inline bool) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		return outlineObject(b, d, depth, inline)
	case json.Delim('['):
		return outlineList(b, d, depth)
	}
	b.WriteString(plain(token, depth))
	b.WriteByte('\n')
	return nil
}

func outlineObject(b *strings.Builder, d *json.Decoder, depth int, inline bool) error {
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var value strings.Builder
		if err := outline(&value, d, depth+1, false); err != nil {
			return err
		}
		if strings.TrimSpace(value.String()) == "" {
			continue
		}
		if !inline {
			b.WriteString(strings.Repeat("  ", depth))
		}
		inline = false
		name, _ := key.(string)
		b.WriteString(name + ": ")
		if nested := value.String(); strings.HasPrefix(nested, "  ") || strings.HasPrefix(nested, "- ") {
			b.WriteString("\n" + nested)
			continue
		}
		b.WriteString(value.String())
	}
	_, err := d.Token()
	return err
}

func outlineList(b *strings.Builder, d *json.Decoder, depth int) error {
	for d.More() {
		b.WriteString(strings.Repeat("  ", depth) + "- ")
		if err := outline(b, d, depth+1, true); err != nil {
			return err
		}
		if !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n') // an object with nothing in it
		}
	}
	_, err := d.Token()
	return err
}

// plain is a value on its own; the lines of a long text stand below one another.
func plain(token json.Token, depth int) string {
	switch v := token.(type) {
	case string:
		return strings.ReplaceAll(v, "\n", "\n"+strings.Repeat("  ", depth))
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "yes"
		}
		return "no"
	}
	return ""
}
