package mcp

import (
	"bytes"
	"fmt"

	"github.com/go-faster/jx"
)

// outlineNames are the members with another name in an outline. They are left out if they are false.
var outlineNames = map[string]string{"byMeaning": "found by meaning"}

// outline formats a JSON object for people and models: one line per value, in the order of the object, without quotes
// and braces. Empty values are left out. It reads the object once and without maps, because it takes part in every call
// of a tool.
func outline(body []byte) string {
	d := jx.GetDecoder()
	defer jx.PutDecoder(d)
	d.ResetBytes(body)
	o := outliner{d: d, out: make([]byte, 0, len(body)+len(body)/4)}
	if err := o.value(0, false); err != nil {
		return string(body) // not JSON: show it unchanged
	}
	out := bytes.TrimSpace(o.out)
	if len(out) == 0 {
		return "Nothing."
	}
	return string(out)
}

type outliner struct {
	d   *jx.Decoder
	out []byte
}

// value writes the next value. inline means that its line has begun.
func (o *outliner) value(depth int, inline bool) error {
	switch t := o.d.Next(); t {
	case jx.Object:
		return o.object(depth, inline)
	case jx.Array:
		return o.list(depth)
	case jx.String:
		text, err := o.d.StrBytes()
		if err != nil {
			return err
		}
		o.text(text, depth)
	case jx.Number:
		number, err := o.d.Num()
		if err != nil {
			return err
		}
		o.out = append(o.out, number...)
	case jx.Bool:
		yes, err := o.d.Bool()
		if err != nil {
			return err
		}
		if yes {
			o.out = append(o.out, "yes"...)
		} else {
			o.out = append(o.out, "no"...)
		}
	case jx.Null:
		if err := o.d.Null(); err != nil {
			return err
		}
	default:
		return fmt.Errorf("a JSON value of type %s", t)
	}
	o.out = append(o.out, '\n')
	return nil
}

func (o *outliner) object(depth int, inline bool) error {
	return o.d.ObjBytes(func(_ *jx.Decoder, key []byte) error {
		line := len(o.out)
		if !inline {
			o.indent(depth)
		}
		other := outlineNames[string(key)]
		if other == "" {
			o.out = append(o.out, key...)
		} else {
			o.out = append(o.out, other...)
		}
		o.out = append(o.out, ": "...)
		start := len(o.out)
		if err := o.value(depth+1, false); err != nil {
			return err
		}
		value := o.out[start:]
		if text := bytes.TrimSpace(value); len(text) == 0 || other != "" && string(text) == "no" {
			o.out = o.out[:line]
			return nil
		}
		inline = false
		if bytes.HasPrefix(value, []byte("  ")) || bytes.HasPrefix(value, []byte("- ")) {
			o.out = append(o.out, 0) // a nested value begins on its own line
			copy(o.out[start+1:], o.out[start:])
			o.out[start] = '\n'
		}
		return nil
	})
}

func (o *outliner) list(depth int) error {
	return o.d.Arr(func(*jx.Decoder) error {
		o.indent(depth)
		o.out = append(o.out, "- "...)
		if err := o.value(depth+1, true); err != nil {
			return err
		}
		if o.out[len(o.out)-1] != '\n' {
			o.out = append(o.out, '\n') // an empty object wrote nothing
		}
		return nil
	})
}

// text writes a text. Further lines of it are indented.
func (o *outliner) text(text []byte, depth int) {
	for {
		line, rest, more := bytes.Cut(text, []byte("\n"))
		o.out = append(o.out, line...)
		if !more {
			return
		}
		o.out = append(o.out, '\n')
		o.indent(depth)
		text = rest
	}
}

func (o *outliner) indent(depth int) {
	for range depth {
		o.out = append(o.out, "  "...)
	}
}
