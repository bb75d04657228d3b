package favourite

import (
	"fmt"

	"github.com/gowebpki/jcs"
)

// Canonical returns the canonical form of a JSON text (RFC 8785, JCS), which is the same for all spellings of a
// value: keys ordered by UTF-16 code units, numbers as ECMAScript prints them, no white space.
//
// It returns an error for input without a canonical form: invalid JSON or UTF-8, lone surrogates, duplicate keys,
// numbers beyond a double, nesting beyond 10,000. Whole numbers beyond 2^53 are rounded to doubles, as the RFC
// requires. The tests check each of these, so that an update of the library can't change them unnoticed.
func Canonical(json []byte) ([]byte, error) {
	out, err := jcs.Transform(json)
	if err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	return out, nil
}
