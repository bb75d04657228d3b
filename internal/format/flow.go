package format

import (
	"strconv"
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
	gapPage
)

var gaps = [...]string{
	gapNone: "", gapSpace: " ", gapCell: " | ", gapLine: "\n", gapParagraph: "\n\n", gapPage: "\n\f\n",
}

// flow builds text from marked-up text: it folds white space, and blocks request gaps around them. Gaps are written
// only between words, so the text neither begins nor ends with one. Headings, list items and tables are marked as in
// Markdown, because passages and quotes are cut at these marks.
type flow struct {
	b   strings.Builder
	due gap
	// plain leaves out the marks.
	plain bool
	// mark is written before the next word.
	mark string
	// inHeading keeps a heading on one line.
	inHeading bool
	lists     []list
	table     *table
	// untabled is the number of open tables that are nested too deep to be kept.
	untabled int
}

// want requests a gap before the next text.
func (f *flow) want(g gap) {
	f = f.innermost()
	if f.mark != "" {
		return // the gap was written before the mark
	}
	if f.inHeading {
		g = min(g, gapSpace)
	}
	f.due = max(f.due, g)
}

// words writes running text.
func (f *flow) words(s string) {
	if s == "" {
		return
	}
	f = f.innermost()
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
	f = f.innermost()
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
	f.b.WriteString(f.mark)
	f.mark = ""
	f.b.WriteString(s)
}

// String closes open tables and returns the text.
func (f *flow) String() string {
	for f.table != nil {
		f.closeTable()
	}
	return f.b.String()
}

// openHeading begins a heading of a level from 1 to 6.
func (f *flow) openHeading(level int) {
	f = f.innermost()
	f.closeHeading()
	f.want(gapParagraph)
	if !f.plain && f.mark == "" {
		f.mark = strings.Repeat("#", max(1, min(level, 6))) + " "
	}
	f.inHeading = true
}

// closeHeading ends a heading. Without words it leaves no mark.
func (f *flow) closeHeading() {
	f = f.innermost()
	if f.inHeading {
		f.inHeading, f.mark = false, ""
	}
	f.want(gapParagraph)
}

// list is an open list. next is the number of its next item, or 0 if the items have no numbers.
type list struct{ next, items int }

// maxIndent limits the indentation of nested lists.
const maxIndent = 6

// openList begins a list; start is the number of its first item, or 0 for bullets.
func (f *flow) openList(start int) {
	f = f.innermost()
	if len(f.lists) > 0 {
		f.want(gapLine)
	} else {
		f.want(gapParagraph)
	}
	if len(f.lists) <= maxXMLDepth {
		f.lists = append(f.lists, list{next: start})
	}
}

func (f *flow) closeList() {
	f = f.innermost()
	f.mark = ""
	if n := len(f.lists); n > 0 {
		f.lists = f.lists[:n-1]
	}
	if len(f.lists) > 0 {
		f.want(gapLine)
	} else {
		f.want(gapParagraph)
	}
}

// openItem begins an item of the innermost list.
func (f *flow) openItem() {
	f = f.innermost()
	n := len(f.lists)
	if n == 0 || f.inHeading {
		f.item(0, 0)
		return
	}
	l := &f.lists[n-1]
	l.items++
	f.tighten(l.items > 1 || n > 1)
	f.item(n-1, l.next)
	if l.next > 0 {
		l.next++
	}
}

// item begins an item at a depth from 0; number 0 stands for a bullet.
func (f *flow) item(depth, number int) {
	f = f.innermost()
	f.mark = ""
	f.want(gapLine)
	if f.plain || f.inHeading {
		return
	}
	bullet := "- "
	if number > 0 {
		bullet = strconv.Itoa(number) + ". "
	}
	f.mark = strings.Repeat("  ", max(0, min(depth, maxIndent))) + bullet
}

// tighten removes the empty line before an item that follows another.
func (f *flow) tighten(afterItem bool) {
	if f = f.innermost(); afterItem && f.mark == "" && f.due == gapParagraph {
		f.due = gapLine
	}
}
