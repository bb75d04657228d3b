package query

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/internal/search/analysis"
)

// piece is a stretch of a query's text: plain words, or what stands after an operator.
type piece struct {
	text    string
	start   int // code points before it
	field   Field
	clause  bool
	exclude bool
	tokens  []analysis.Token
}

var fields = map[string]Field{"author": Author, "title": Title, "text": Text}

// pieces cuts a query at its operators.
func pieces(text string) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		plain := piece{}
		from := 0 // byte at which the plain stretch begins
		before := ' '
		for i, at := 0, 0; i < len(text); {
			p, size := operator(text[i:], before)
			if size == 0 {
				r, width := utf8.DecodeRuneInString(text[i:])
				before = r
				i, at = i+width, at+1
				continue
			}
			plain.text = text[from:i]
			if !yield(plain) {
				return
			}
			p.start += at
			if !yield(p) {
				return
			}
			at += utf8.RuneCountInString(text[i : i+size])
			i += size
			from, before = i, rune(text[i-1])
			plain = piece{start: at}
		}
		plain.text = text[from:]
		yield(plain)
	}
}

// operator reads the operator at the start of the text, given the code point before it, and returns its piece and
// its size in bytes, 0 when there is none.
func operator(text string, before rune) (piece, int) {
	p := piece{clause: true}
	size := 0
	if unicode.IsSpace(before) {
		if strings.HasPrefix(text, "-") && excludes(text[1:]) {
			p.exclude = true
			size = 1
		}
		if field, length := fieldName(text[size:]); length > 0 {
			p.field = field
			size += length
		}
	}
	p.start = size // all ASCII so far
	if value, length := quoted(text[size:]); length > 0 {
		p.text = value
		p.start++
		return p, size + length
	}
	if size == 0 {
		return p, 0
	}
	end := strings.IndexFunc(text[size:], func(r rune) bool { return unicode.IsSpace(r) || quoteFamily(r) != 0 })
	if end < 0 {
		end = len(text) - size
	}
	p.text = text[size : size+end]
	return p, size + end
}

func excludes(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsLetter(r) || unicode.IsDigit(r) || quoteFamily(r) != 0
}

// fieldName returns the field named at the start of the text and the bytes of its name and colon, when a word or a
// quotation mark follows at once.
func fieldName(text string) (Field, int) {
	name, rest, found := strings.Cut(text, ":")
	if !found || len(name) > len("author") || !excludes(rest) {
		return Any, 0
	}
	field, known := fields[strings.ToLower(name)]
	if !known {
		return Any, 0
	}
	return field, len(name) + 1
}

// quoted returns what stands in quotation marks at the start of the text, and the bytes of it with its marks.
func quoted(text string) (string, int) {
	open, size := utf8.DecodeRuneInString(text)
	family := quoteFamily(open)
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

// quoteFamily tells quotation marks that can be partners from others: which of them opens and which closes differs
// by language.
func quoteFamily(r rune) int {
	switch r {
	case '"', '“', '”', '„', '‟', '＂':
		return 1
	case '«', '»':
		return 2
	}
	return 0
}

func (p *piece) allStops() bool {
	return !slices.ContainsFunc(p.tokens, func(t analysis.Token) bool { return !t.Stop })
}

// phrase returns the clause that the piece asks for; without terms when it asks for nothing that is indexed.
func (p *piece) phrase() Clause {
	c := Clause{Field: p.field}
	if p.field == Text && p.allStops() {
		return c
	}
	// Texts hold no stop words, so that a place is all that is known of one there.
	exact := p.field == Title || p.field == Author || p.allStops()
	for _, token := range p.tokens {
		switch {
		case !token.Stop || exact:
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
