package favourite

import (
	"fmt"

	"github.com/gowebpki/jcs"
)

// Canonical returns the canonical form of a JSON text (RFC 8785, JCS), the one text that all spellings of the same
// value share: keys in the order of their UTF-16 code units, numbers as ECMAScript prints them, no white space.
//
// What RFC 8785 can't give a form is an error: invalid JSON or UTF-8, lone surrogates, a key twice in one object,
// numbers past a double, nesting past 10,000. Whole numbers past 2^53 are rounded to doubles, as the RFC has it.
// The library was tried on each of these, and the tests here hold it to them when its version moves.
func Canonical(json []byte) ([]byte, error) {
	out, err := jcs.Transform(json)
	if err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	return out, nil
}
