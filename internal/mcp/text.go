package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
)

// outlineNames are the members with another name in an outline. They are left out if they are false.
var outlineNames = map[string]string{"byMeaning": "found by meaning"}

// outline formats a JSON object for people and models: one line per value, in the order of the object, without quotes
// and braces. Empty values are left out.
func outline(body []byte) string {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var b strings.Builder
	if err := outlineValue(&b, d, 0, false); err != nil {
		return string(body) // not JSON: show it unchanged
	}
	out := strings.TrimSpace(b.String())
	if out == "" {
		return "Nothing."
	}
	return out
}

// outlineValue writes the next value. inline means that its line has begun.
func outlineValue(b *strings.Builder, d *json.Decoder, depth int, inline bool) error {
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
	b.WriteString(scalarText(token, depth))
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
		if err := outlineValue(&value, d, depth+1, false); err != nil {
			return err
		}
		name, _ := key.(string)
		if text := strings.TrimSpace(value.String()); text == "" || text == "no" && outlineNames[name] != "" {
			continue
		}
		if !inline {
			b.WriteString(strings.Repeat("  ", depth))
		}
		inline = false
		b.WriteString(cmp.Or(outlineNames[name], name) + ": ")
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
		if err := outlineValue(b, d, depth+1, true); err != nil {
			return err
		}
		if !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n') // an empty object wrote nothing
		}
	}
	_, err := d.Token()
	return err
}

// scalarText formats a scalar. Further lines of a text are indented.
func scalarText(token json.Token, depth int) string {
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
