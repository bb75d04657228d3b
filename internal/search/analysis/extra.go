package analysis

import (
	"unicode"
	"unicode/utf8"
)

// Extra collects further terms by which a text is found. The zero value is ready for the tokens of one text.
type Extra struct {
	Terms []string
	end   int // end of the last pair of characters
}

// Add adds the extra terms of the text's next token: the word without accents if its term keeps them, because many
// people type without, or the Han characters of a pair, most of which are words of their own.
func (x *Extra) Add(t Token) {
	if t.Plain != "" {
		x.Terms = append(x.Terms, t.Plain)
		return
	}
	first, second, ok := Pair(t.Term)
	if !ok {
		return
	}
	if t.Start >= x.end && IsHan(first) { // the first pair of a run of characters
		x.Terms = append(x.Terms, first)
	}
	if IsHan(second) {
		x.Terms = append(x.Terms, second)
	}
	x.end = t.End
}

// Pair returns the characters of a term that is a pair of unspaced characters.
func Pair(term string) (first, second string, ok bool) {
	if term == "" || term[0] < utf8.RuneSelf {
		return "", "", false
	}
	r, size := utf8.DecodeRuneInString(term)
	if !IsUnspaced(r) || size == len(term) {
		return "", "", false
	}
	return term[:size], term[size:], true
}

// IsHan reports whether a character of a pair is of the Han script.
func IsHan(character string) bool {
	r, _ := utf8.DecodeRuneInString(character)
	return unicode.Is(unicode.Han, r)
}
