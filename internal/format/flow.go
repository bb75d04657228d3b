package format

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// gap is what must stand between what was written and what comes next. A wider gap swallows a narrower one.
type gap int

const (
	gapNone gap = iota
	gapSpace
	gapCell
	gapLine
	gapParagraph
)

var gaps = [...]string{gapNone: "", gapSpace: " ", gapCell: " | ", gapLine: "\n", gapParagraph: "\n\n"}

// flow builds readable plain text from the pieces of a marked-up one: white space is folded, and blocks ask for
// the room around them. Gaps are written only between words, so the text neither begins nor ends with one.
type flow struct {
	b   strings.Builder
	due gap
}

// want asks for a gap before what comes next.
func (f *flow) want(g gap) { f.due = max(f.due, g) }

// words writes running text.
func (f *flow) words(s string) {
	if s == "" {
		return
	}
	if r, _ := utf8.DecodeRuneInString(s); unicode.IsSpace(r) {
		f.want(gapSpace)
	}
	for word := range strings.FieldsSeq(s) {
		f.write(word)
		f.want(gapSpace)
	}
	// The last word asked for a space that only the text itself can grant.
	if r, _ := utf8.DecodeLastRuneInString(s); !unicode.IsSpace(r) {
		f.due = gapNone
	}
}

// verbatim writes text whose line breaks and spaces mean something, such as code. It may come in pieces.
func (f *flow) verbatim(s string) {
	if strings.HasPrefix(s, "\n") {
		f.want(gapLine)
	}
	if body := strings.Trim(s, "\n"); strings.TrimSpace(body) != "" {
		f.write(body)
	} else if body != "" {
		f.want(gapSpace)
	}
	if strings.HasSuffix(s, "\n") {
		f.want(gapLine)
	}
}

// write appends text. Past the limit of a document the rest is dropped: the document is refused for its length, and need
// not be held in memory for that.
func (f *flow) write(s string) {
	if f.b.Len() > maxText {
		return
	}
	if f.b.Len() > 0 {
		f.b.WriteString(gaps[f.due])
	}
	f.due = gapNone
	f.b.WriteString(s)
}

func (f *flow) String() string { return f.b.String() }
