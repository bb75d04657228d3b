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

// MaxCard is the size of the largest card that is kept, in bytes of JSON as it was sent.
const MaxCard = 64 << 10

const (
	// maxCardID bounds a card's own id, in code points.
	maxCardID = 200
	// maxCardDepth is the nesting that SQLite's JSON functions still read; PostgreSQL's and most clients' readers
	// go somewhat further. A card that one of them chokes on later is better refused now.
	maxCardDepth = 1000
	// derivedPrefix marks an id that was made from a card's content.
	derivedPrefix = "card_"
)

// CardID checks a card and returns the id under which it is a favourite: its own cardId, else its own id, else one
// made from its content, so that saving the same card twice is one favourite however the JSON was spelled.
//
// A card that has an id of its own must still have a canonical form. Otherwise whether a card is accepted would hang
// on an unrelated field, and a lone surrogate in a title would reach databases and exports that can't hold it.
func CardID(card []byte) (string, error) {
	if len(card) > MaxCard {
		return "", core.InvalidField("/card", "Must be at most 65536 bytes of JSON.")
	}
	canonical, err := Canonical(card)
	if err != nil {
		// The library's message quotes the card, and what users save does not belong in logs: it is dropped.
		return "", core.InvalidField("/card", "Must be a JSON object in valid UTF-8, without lone surrogates, repeated keys or numbers past a double.")
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

// ValidCardID reports whether s can be a favourite's id. The id stands percent-encoded in a path, so it may hold a slash,
// as a DOI does. It must not be a dot segment, which browsers resolve away even when it is encoded (URL Standard, 4.4),
// nor hold control characters, which proxies refuse.
func ValidCardID(s string) bool {
	switch n := utf8.RuneCountInString(s); {
	case n < 1 || n > maxCardID, s == ".", s == "..", !utf8.ValidString(s):
		return false
	}
	return !strings.ContainsFunc(s, unicode.IsControl)
}

// inspect returns how deep canonical JSON is nested and whether any of its strings or keys holds a NUL, which the
// canonical form always writes as the escape \u0000.
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
			i++ // the escaped character is none of the others
		case !inString && (c == '{' || c == '['):
			level++
			depth = max(depth, level)
		case !inString && (c == '}' || c == ']'):
			level--
		}
	}
	return depth, false
}

// ownID returns the id that the card brings along. Keys are compared exactly, unlike encoding/json, which would
// take CARDID for cardId.
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

// base58Alphabet is Bitcoin's: no 0, O, I or l, which are misread.
const base58Alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// base58 encodes bytes as Bitcoin does: the number they form in base 58, and a 1 for each leading zero byte.
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
