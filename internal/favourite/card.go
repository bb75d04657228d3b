package favourite

import (
	"crypto/sha256"
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-faster/jx"

	"carrel/internal/core"
)

// MaxCard is the maximum size of a card, in bytes of JSON as sent.
const MaxCard = 64 << 10

const (
	// maxCardID limits the id of a card, in code points.
	maxCardID = 200
	// maxCardDepth is the maximum nesting that SQLite's JSON functions accept. PostgreSQL and most clients accept
	// somewhat more.
	maxCardDepth = 1000
	// derivedPrefix marks an id derived from the content of a card.
	derivedPrefix = "card_"
)

// CardID validates a card and returns the id of its favourite: its cardId, else its id, else one derived from its
// content, so that the same card in another spelling is the same favourite.
//
// A card with its own id must have a canonical form as well. Otherwise acceptance would depend on an unrelated field,
// and a lone surrogate in a title would reach databases and exports that can't store it.
func CardID(card []byte) (string, error) {
	if len(card) > MaxCard {
		return "", core.InvalidField("/card", "Must be at most 65536 bytes of JSON.")
	}
	canonical, err := Canonical(card)
	if err != nil {
		// The library's error quotes the card, which must not be logged, so it is dropped.
		return "", core.InvalidField(
			"/card",
			"Must be a JSON object in valid UTF-8, without lone surrogates, repeated keys or numbers past a double.",
		)
	}
	if canonical[0] != '{' {
		return "", core.InvalidField("/card", "Must be a JSON object.")
	}
	depth, nul := inspect(canonical)
	switch {
	case nul:
		return "", core.InvalidField("/card", "Must not hold a NUL character.")
	case depth > maxCardDepth:
		return "", core.InvalidField("/card", "Must not be nested deeper than 1000 levels.")
	}
	if id, ok := ownID(canonical); ok {
		return id, nil
	}
	sum := sha256.Sum256(canonical)
	return derivedPrefix + base58(sum[:]), nil
}

// ValidCardID reports whether s can be the id of a favourite. The id is percent-encoded in paths, so it may contain a
// slash, as DOIs do. It must not be a dot segment, which browsers remove even if encoded (URL Standard, section 4.4),
// and must not contain control characters, which proxies reject.
func ValidCardID(s string) bool {
	switch n := utf8.RuneCountInString(s); {
	case n < 1 || n > maxCardID, s == ".", s == "..", !utf8.ValidString(s):
		return false
	}
	return !strings.ContainsFunc(s, unicode.IsControl)
}

// inspect returns the nesting of canonical JSON, and whether a string or key contains NUL, which the canonical form
// writes as \u0000.
func inspect(canonical []byte) (depth int, nul bool) {
	level, inString := 0, false
	for i := 0; i < len(canonical); i++ {
		switch c := canonical[i]; {
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			if strings.HasPrefix(string(canonical[i+1:min(i+6, len(canonical))]), "u0000") {
				return depth, true
			}
			i++ // skip the escaped character
		case !inString && (c == '{' || c == '['):
			level++
			depth = max(depth, level)
		case !inString && (c == '}' || c == ']'):
			level--
		}
	}
	return depth, false
}

// ownID returns the id in the card. Keys are compared exactly, unlike in encoding/json, which accepts CARDID for
// cardId.
func ownID(object []byte) (string, bool) {
	d := jx.DecodeBytes(object)
	var cardID, id string
	err := d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		var target *string
		switch string(key) {
		case "cardId":
			target = &cardID
		case "id":
			target = &id
		}
		if target == nil || d.Next() != jx.String {
			return d.Skip()
		}
		s, err := d.Str()
		*target = s
		return err
	})
	switch {
	case err != nil:
		return "", false
	case ValidCardID(cardID):
		return cardID, true
	}
	return id, ValidCardID(id)
}

// base58Alphabet is Bitcoin's, without the easily confused 0, O, I and l.
const base58Alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// base58 encodes bytes as Bitcoin does: as a base-58 number, with a 1 for each leading zero byte.
func base58(b []byte) string {
	n, radix, digit := new(big.Int).SetBytes(b), big.NewInt(58), new(big.Int)
	var reversed []byte
	for n.Sign() > 0 {
		n.DivMod(n, radix, digit)
		reversed = append(reversed, base58Alphabet[digit.Int64()])
	}
	for _, c := range b {
		if c != 0 {
			break
		}
		reversed = append(reversed, base58Alphabet[0])
	}
	out := make([]byte, len(reversed))
	for i, c := range reversed {
		out[len(out)-1-i] = c
	}
	return string(out)
}
