package format

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// gap is the white space between the text written and the next text. A wider gap replaces a narrower one.
type gap int

const (
	gapNone gap = iota
	gapSpace
	gapCell
	gapLine
	gapParagraph
)

var gaps = [...]string{gapNone: "", gapSpace: " ", gapCell: " | ", gapLine: "\n", gapParagraph: "\n\n"}

// flow builds plain text from marked-up text: it folds white space, and blocks request gaps around them. Gaps are
// written only between words, so the text neither begins nor ends with one.
type flow struct {
	b   strings.Builder
	due gap
}

// want requests a gap before the next text.
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
	// Unless the text ends with white space, no space follows its last word.
	if r, _ := utf8.DecodeLastRuneInString(s); !unicode.IsSpace(r) {
		f.due = gapNone
	}
}

// verbatim writes text with significant white space, such as code. It may be called several times for one block.
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

// write appends text. Beyond the limit of a document the rest is dropped to save memory, because the document will be
// rejected for its length.
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
