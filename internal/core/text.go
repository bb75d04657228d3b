package core

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// HasNUL reports whether s contains a NUL character, which PostgreSQL cannot store in text.
func HasNUL(s string) bool { return strings.IndexByte(s, 0) >= 0 }

// TextRule limits the length of a text field. Lengths count Unicode code points, without leading and trailing white
// space.
type TextRule struct {
	Min, Max int
	// Verbatim includes leading and trailing white space, for passwords.
	Verbatim bool
}

// Clean returns the text in the form to store, trimmed unless Verbatim, and the error detail of Check.
func (r TextRule) Clean(s string) (text, detail string) {
	if !r.Verbatim {
		s = strings.TrimSpace(s)
	}
	return s, r.Check(s)
}

// Check returns an error detail, or "" if the text is valid. A text of white space counts as empty.
func (r TextRule) Check(s string) string {
	counted := s
	if !r.Verbatim {
		counted = strings.TrimSpace(s)
	}
	switch n := utf8.RuneCountInString(counted); {
	case !utf8.ValidString(s):
		return "Must be valid UTF-8."
	case HasNUL(s):
		return "Must not contain a NUL character."
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

// Fold normalises a text for comparison: NFKC, lower case, and each run of white space as one space.
func Fold(s string) string {
	return strings.ToLower(strings.Join(strings.FieldsFunc(norm.NFKC.String(s), unicode.IsSpace), " "))
}

// OneLine replaces each run of white space by a space, removes control characters and replaces invalid UTF-8.
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

// EditDistance returns the Levenshtein distance of two texts, in bytes.
func EditDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
