package core

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// HasNUL reports whether s holds a NUL, which PostgreSQL cannot keep in text.
func HasNUL(s string) bool { return strings.IndexByte(s, 0) >= 0 }

// TextRule says what a text field of a request must be. Lengths count Unicode code points, without white space at the
// ends.
type TextRule struct {
	Min, Max int
	// Verbatim counts the white space at the ends too: a password is used as it was typed.
	Verbatim bool
}

// Clean returns the text without white space at the ends, which is the form to keep, and what is wrong with it.
func (r TextRule) Clean(s string) (text, detail string) {
	if !r.Verbatim {
		s = strings.TrimSpace(s)
	}
	return s, r.Check(s)
}

// Check returns what is wrong with the text, or the empty string. A text of white space alone counts as empty.
func (r TextRule) Check(s string) string {
	counted := s
	if !r.Verbatim {
		counted = strings.TrimSpace(s)
	}
	switch n := utf8.RuneCountInString(counted); {
	case !utf8.ValidString(s):
		return "Must be valid UTF-8."
	case HasNUL(s):
		return "Must not hold a NUL character."
	case r.Min > 0 && strings.TrimSpace(s) == "":
		return "Must not be empty."
	case n < r.Min || n > r.Max:
		return "Must have " + rangeOf(r.Min, r.Max) + " characters."
	}
	return ""
}

func rangeOf(lo, hi int) string {
	if lo <= 0 {
		return "at most " + strconv.Itoa(hi)
	}
	return strconv.Itoa(lo) + " to " + strconv.Itoa(hi)
}

// Fold returns the form of a text by which two spellings of the same words are found equal: compatibility
// composition (NFKC), case folding, and runs of white space as one space.
func Fold(s string) string {
	return strings.ToLower(strings.Join(strings.FieldsFunc(norm.NFKC.String(s), unicode.IsSpace), " "))
}

// OneLine turns every run of white space and line breaks into a space and drops other control characters and what is no
// valid UTF-8.
func OneLine(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}
