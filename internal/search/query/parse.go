package query

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/internal/search/analysis"
)

// piece is a part of a query: plain words, or the value of an operator.
type piece struct {
	text     string
	start    int // code point offset in the query
	field    Field
	operator bool
	exclude  bool
	tokens   []analysis.Token
}

// pieces splits a query at its operators.
func pieces(text string) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		var plain piece
		from := 0 // start of the plain words, in bytes
		before := ' '
		for i, at := 0, 0; i < len(text); {
			p, size := operator(text[i:], before)
			if size == 0 {
				r, width := utf8.DecodeRuneInString(text[i:])
				before, i, at = r, i+width, at+1
				continue
			}
			plain.text = text[from:i]
			p.start += at
			if !yield(plain) || !yield(p) {
				return
			}
			at += utf8.RuneCountInString(text[i : i+size])
			i += size
			from, plain = i, piece{start: at}
			before, _ = utf8.DecodeLastRuneInString(text[:i])
		}
		plain.text = text[from:]
		yield(plain)
	}
}

// operator parses an operator at the start of the text, given the code point before it. It returns the operator's
// value, with its offset from the start of the text, and the size of operator and value in bytes: 0 if there is no
// operator.
func operator(text string, before rune) (piece, int) {
	p := piece{operator: true}
	size := 0
	if unicode.IsSpace(before) {
		if text[0] == '-' && beginsValue(text[1:]) {
			p.exclude = true
			size = 1
		}
		field, length := fieldName(text[size:])
		p.field = field
		size += length
	}
	p.start = size // the minus and the field names are ASCII
	if value, length := quoted(text[size:]); length > 0 {
		p.text = value
		p.start++
		return p, size + length
	}
	if size == 0 {
		return piece{}, 0
	}
	p.text = text[size:]
	if end := strings.IndexFunc(p.text, isValueEnd); end >= 0 {
		p.text = p.text[:end]
	}
	return p, size + len(p.text)
}

// fieldNames are compared without case.
var fieldNames = map[Field]string{Author: "author:", Title: "title:", Text: "text:"}

// fieldName returns the field that the text begins with and the size of its name and colon. A name that is not directly
// followed by a value is an ordinary word.
func fieldName(text string) (Field, int) {
	for field, name := range fieldNames {
		n := len(name)
		if len(text) > n && strings.EqualFold(text[:n], name) && beginsValue(text[n:]) {
			return field, n
		}
	}
	return Any, 0
}

// beginsValue reports whether the text begins with the value of an operator.
func beginsValue(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLetter(r) || unicode.IsDigit(r) || quoteFamily(r) != 0
}

func isValueEnd(r rune) bool { return unicode.IsSpace(r) || quoteFamily(r) != 0 }

// quoted returns the text inside quotation marks at the start of the text, and its size in bytes with the marks: 0 if
// there is no pair of marks.
func quoted(text string) (string, int) {
	mark, size := utf8.DecodeRuneInString(text)
	family := quoteFamily(mark)
	if family == 0 {
		return "", 0
	}
	for i, r := range text[size:] {
		if quoteFamily(r) == family {
			return text[size : size+i], size + i + utf8.RuneLen(r)
		}
	}
	return "", 0
}

// quoteFamily returns the kind of a quotation mark, 0 for none. Marks of one kind form pairs; which of them opens
// depends on the language. Single quotation marks are not included, because they may be apostrophes.
func quoteFamily(r rune) int {
	switch r {
	case '"', '“', '”', '„', '‟', '＂':
		return 1
	case '«', '»':
		return 2
	}
	return 0
}

// onlyStops reports whether all words of the piece are stop words.
func (p *piece) onlyStops() bool {
	return !slices.ContainsFunc(p.tokens, func(t analysis.Token) bool { return !t.Stop })
}

// clause returns the clause of an operator. It has no terms if the index cannot match it.
func (p *piece) clause() Clause {
	c := Clause{Field: p.field}
	stops := p.onlyStops()
	if stops && p.field == Text {
		return c
	}
	// Stop words of texts are not indexed, so there they only keep a position between other words.
	exact := stops || p.field == Title || p.field == Author
	for _, token := range p.tokens {
		switch {
		case exact || !token.Stop:
			c.Terms = append(c.Terms, termOf(token))
		case len(c.Terms) > 0:
			c.Terms = append(c.Terms, "")
		}
	}
	for len(c.Terms) > 0 && c.Terms[len(c.Terms)-1] == "" {
		c.Terms = c.Terms[:len(c.Terms)-1]
	}
	return c
}

// termOf returns the indexed term of a token.
func termOf(token analysis.Token) string {
	if token.Stop {
		return analysis.StopMark + token.Term
	}
	return token.Term
}
