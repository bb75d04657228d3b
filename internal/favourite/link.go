package favourite

import (
	"encoding/json"

	"github.com/go-faster/jx"

	"carrel/internal/core"
)

// linkFields are the fields of a card that clients display as links.
var linkFields = []string{"url", "openAccessUrl"}

// unsafeLinks returns the names of links that are not web addresses. Empty and null values are not links. A value of
// another type is unsafe as well, because JavaScript converts an array to a string.
func unsafeLinks(card []byte) []string {
	var unsafe []string
	err := jx.DecodeBytes(card).ObjBytes(func(d *jx.Decoder, key []byte) error {
		name := string(key)
		if name != linkFields[0] && name != linkFields[1] {
			return d.Skip()
		}
		switch d.Next() {
		case jx.Null:
			return d.Skip()
		case jx.String:
			s, err := d.Str()
			if err == nil && s != "" && core.WebLink(s) != s {
				unsafe = append(unsafe, name)
			}
			return err
		}
		unsafe = append(unsafe, name)
		return d.Skip()
	})
	if err != nil {
		return nil // CardID has rejected it
	}
	return unsafe
}

// checkLinks returns an error with the fields of unsafe links.
func checkLinks(card []byte) error {
	var bad []core.FieldError
	for _, name := range unsafeLinks(card) {
		bad = append(bad, core.FieldError{Pointer: "/card/" + name, Detail: "Must be an http or https address."})
	}
	if bad != nil {
		return core.Invalid(bad...)
	}
	return nil
}

// withoutUnsafeLinks removes links that Save would reject from a card. Cards saved by earlier versions may have them.
func withoutUnsafeLinks(card json.RawMessage) json.RawMessage {
	names := unsafeLinks(card)
	if len(names) == 0 {
		return card
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(card, &members) != nil {
		return card
	}
	for _, name := range names {
		delete(members, name)
	}
	out, err := json.Marshal(members)
	if err != nil {
		return card
	}
	return out
}

func safe(list []Favourite) []Favourite {
	for i := range list {
		list[i].Card = withoutUnsafeLinks(list[i].Card)
	}
	return list
}
