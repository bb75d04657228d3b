package query

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/internal/search/analysis"
)

// piece is a stretch of a query's text: plain words, or what an operator is about.
type piece struct {
	text     string
	start    int // code points of the query before it
	field    Field
	operator bool
	exclude  bool
	tokens   []analysis.Token
}

// pieces cuts a query at its operators.
func pieces(text string) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		var plain piece
		from := 0 // where the plain stretch begins, in bytes
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

// operator reads the operator that the text begins with, given the code point before it. It returns what the
// operator is about, placed from the start of the text, and the size of it all in bytes: 0 when there is no operator.
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
	p.start = size // a minus and the names of fields are ASCII
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

// fieldName returns the field that the text begins with and the bytes of its name and colon. A name that nothing
// follows at once is a word like others.
func fieldName(text string) (Field, int) {
	for field, name := range fieldNames {
		n := len(name)
		if len(text) > n && strings.EqualFold(text[:n], name) && beginsValue(text[n:]) {
			return field, n
		}
	}
	return Any, 0
}

// beginsValue reports whether what an operator can be about stands at the start of the text.
func beginsValue(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLetter(r) || unicode.IsDigit(r) || quoteFamily(r) != 0
}

func isValueEnd(r rune) bool { return unicode.IsSpace(r) || quoteFamily(r) != 0 }

// quoted returns what stands in quotation marks at the start of the text, and the bytes of it with its marks: 0 when
// there are none, or the first has no partner.
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

// quoteFamily tells which quotation marks can be partners; 0 is none. Which one opens and which one closes differs
// by language. Single ones are left out: they may be apostrophes.
func quoteFamily(r rune) int {
	switch r {
	case '"', '“', '”', '„', '‟', '＂':
		return 1
	case '«', '»':
		return 2
	}
	return 0
}

// onlyStops reports whether the piece has no word but stop words.
func (p *piece) onlyStops() bool {
	return !slices.ContainsFunc(p.tokens, func(t analysis.Token) bool { return !t.Stop })
}

// clause returns what an operator asks for, without terms when that is nothing that an index holds.
func (p *piece) clause() Clause {
	c := Clause{Field: p.field}
	stops := p.onlyStops()
	if stops && p.field == Text {
		return c
	}
	// Texts hold no stop words, so that in them one is no more than a place between others.
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

// termOf returns the term under which a token is indexed.
func termOf(token analysis.Token) string {
	if token.Stop {
		return analysis.StopMark + token.Term
	}
	return token.Term
}
