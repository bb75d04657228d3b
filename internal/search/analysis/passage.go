package analysis

import (
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lengths of passages in code points. An answer is a paragraph or two; longer passages dilute its words, shorter ones
// split it.
const (
	wholeLength = 3000 // a text up to this length is one passage
	minLength   = 1600 // a passage may be cut from here on
	maxLength   = 2200 // and must be cut here
	tinyLength  = 400  // shorter parts are not cut off at page breaks and headings
)

// Passage is a part of a text: code point offsets, the end exclusive.
type Passage struct {
	Start, End int
	// Page counts from 1 in a text with form feeds, and is 0 otherwise.
	Page int
	// Heading is the nearest Markdown heading above the passage, or the one it begins with.
	Heading string
}

// Of returns the text of the passage. It reads only up to the passage's end.
func (p Passage) Of(text string) string {
	from := skip(text, p.Start)
	return text[from : from+skip(text[from:], p.End-p.Start)]
}

// skip returns the size in bytes of the text's first n code points.
func skip(text string, n int) int {
	i := 0
	for ; n >= 8 && len(text)-i >= 8; n, i = n-8, i+8 {
		const ascii = 0x8080808080808080
		if binary.NativeEndian.Uint64([]byte(text[i:i+8]))&ascii != 0 {
			break
		}
	}
	for ; n > 0 && i < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[i:])
		i += size
	}
	return i
}

// Passages splits a text into the parts that are searched separately. They are consecutive and cover the whole text;
// there is at least one. A short text is one passage. A long one is cut at pages and sections, and otherwise into parts
// of similar length: between paragraphs if possible, else sentences, else words, and never within a character.
//
// The cuts depend only on the text, so an index need not store them.
func Passages(text string) []Passage {
	c := cutter{total: utf8.RuneCountInString(text), before: '\n'}
	if strings.Contains(text, "\f") {
		c.page = 1
	}
	c.current.Page = c.page
	whole := c.total <= wholeLength
	if !whole {
		c.passages = make([]Passage, 0, c.total/minLength+1)
	}
	for i, r := range text {
		if isBreakingSpace(r) {
			c.space(r)
		} else {
			c.visible(text[i:], r)
			if whole && c.begun {
				break
			}
		}
		c.before = r
		c.at++
	}
	c.current.End = c.total
	return append(c.passages, c.current)
}

// PassageTexts returns the texts of Passages(text). It reads the text once, however many passages there are.
func PassageTexts(text string) []string {
	passages := Passages(text)
	out := make([]string, len(passages))
	from, start := 0, 0 // of the last passage, in bytes and in code points
	for i, p := range passages {
		from += skip(text[from:], p.Start-start)
		start = p.Start
		out[i] = text[from : from+skip(text[from:], p.End-p.Start)]
	}
	return out
}

// cutter reads a text code point by code point.
type cutter struct {
	passages []Passage
	current  Passage
	begun    bool // the current passage holds more than white space and headings
	total    int
	cut      int // the best position to end the current passage
	quality  boundary

	at      int
	before  rune
	gap     boundary // boundary formed by the white space since the last visible code point
	lines   int      // line breaks in it
	ended   rune     // the code point that ended a sentence, if only closing marks have followed, else 0
	page    int
	heading string // the last one
	inside  bool   // in a heading line
	fence   byte   // the mark of the open code fence
}

// boundary is the quality of a cut.
type boundary uint8

const (
	nowhere boundary = iota
	characters
	words
	sentences
	paragraphs
	pages
)

// space reads white space.
func (c *cutter) space(r rune) {
	c.gap = max(c.gap, words)
	switch r {
	case '\n':
		c.inside = false
		if c.lines++; c.lines > 1 {
			c.gap = max(c.gap, paragraphs)
		}
	case '\u2029':
		c.inside = false
		c.gap = max(c.gap, paragraphs)
	case '\f':
		c.inside = false
		c.gap = pages
		c.page++
	}
}

// visible reads any other code point, the first of rest.
func (c *cutter) visible(rest string, r rune) {
	forced := c.gap == pages
	if isLineEnd(c.before) && c.line(rest) {
		forced = true
	}
	if !c.begun {
		c.current.Page, c.current.Heading = c.page, c.heading
	}
	if forced || c.at-c.current.Start >= minLength {
		c.consider(c.boundary(r), forced)
	}
	c.begun = c.begun || !c.inside

	if IsSentenceEnd(r) {
		c.ended = r
	} else if !IsClosing(r) {
		c.ended = 0
	}
	c.gap, c.lines = nowhere, 0
}

// line reads the beginning of a line and reports whether it is a heading. Lines of code never are.
func (c *cutter) line(rest string) bool {
	if mark := fenceMark(rest); mark != 0 {
		switch c.fence {
		case 0:
			c.fence = mark
		case mark:
			c.fence = 0
		}
		return false
	}
	if c.fence != 0 {
		return false
	}
	heading, ok := headingLine(rest)
	if ok {
		c.heading, c.inside = heading, true
	}
	return ok
}

// boundary returns the quality of a cut before r.
func (c *cutter) boundary(r rune) boundary {
	switch {
	case !BetweenCharacters(c.before, r):
		return nowhere
	case c.gap >= paragraphs:
		return c.gap
	case IsUnspacedEnd(c.ended) && !IsClosing(r), c.ended != 0 && c.gap > nowhere:
		return sentences
	case c.gap > nowhere, IsUnspaced(c.before) && IsUnspaced(r):
		return words
	}
	return characters
}

// consider ends the current passage here, records the position as a candidate, or ends the passage at the best
// candidate.
func (c *cutter) consider(b boundary, forced bool) {
	length := c.at - c.current.Start
	if forced && b > nowhere && c.begun && length >= tinyLength {
		c.end(c.at)
		c.begun = false
		c.current.Page, c.current.Heading = c.page, c.heading
		return
	}
	// The last passage must not become tiny.
	if length < minLength || c.total <= wholeLength || c.total-c.current.Start <= maxLength+tinyLength {
		return
	}
	if b > nowhere && (length <= maxLength && b >= c.quality || c.quality == nowhere) {
		c.cut, c.quality = c.at, b
	}
	if length >= maxLength && c.quality > nowhere {
		// A page or heading after the cut would have been a cut itself, so page and heading are the same there.
		c.end(c.cut)
		c.current.Page, c.current.Heading = c.page, c.heading
	}
}

func (c *cutter) end(at int) {
	c.current.End = at
	c.passages = append(c.passages, c.current)
	c.current = Passage{Start: at}
	c.quality = nowhere
}

// headingLine returns the text of a Markdown heading at the start of rest.
func headingLine(rest string) (string, bool) {
	const longest = 400 // bytes; a longer line is a paragraph that begins with a number sign
	level := 0
	for level < len(rest) && rest[level] == '#' {
		level++
	}
	if level < 1 || level > 6 || level == len(rest) || rest[level] != ' ' && rest[level] != '\t' {
		return "", false
	}
	line := rest[level:min(len(rest), level+longest)]
	end := strings.IndexAny(line, "\n\r\f")
	if end < 0 && len(rest)-level > longest {
		return "", false
	}
	if end >= 0 {
		line = line[:end]
	}
	line = strings.TrimSpace(line)
	// Remove the closing number signs of a heading.
	if open := strings.TrimRight(line, "#"); open == "" || strings.HasSuffix(open, " ") {
		line = strings.TrimSpace(open)
	}
	return line, line != ""
}

// fenceMark returns the mark of a code fence at the start of rest, 0 for none.
func fenceMark(rest string) byte {
	if strings.HasPrefix(rest, "```") || strings.HasPrefix(rest, "~~~") {
		return rest[0]
	}
	return 0
}

// isBreakingSpace reports whether a text may be cut after r.
func isBreakingSpace(r rune) bool {
	const noBreak, narrowNoBreak = '\u00a0', '\u202f'
	if r < utf8.RuneSelf {
		return r == ' ' || '\t' <= r && r <= '\r'
	}
	return unicode.IsSpace(r) && r != noBreak && r != narrowNoBreak
}

func isLineEnd(r rune) bool {
	return r == '\n' || r == '\r' || r == '\f' || r == '\u2028' || r == '\u2029'
}

// IsSentenceEnd reports whether r ends a sentence, in any script.
func IsSentenceEnd(r rune) bool {
	switch r {
	case '.', '!', '?', '…', '։', '؟', '۔', '।', '॥', '።', '၊', '။', '។':
		return true
	}
	return IsUnspacedEnd(r)
}

// IsUnspacedEnd reports whether r ends a sentence without a space after it.
func IsUnspacedEnd(r rune) bool {
	switch r {
	case '。', '！', '？', '．', '｡':
		return true
	}
	return false
}

// IsClosing reports whether r belongs to the sentence that ended before it.
func IsClosing(r rune) bool {
	switch r {
	case ')', ']', '"', '\'':
		return true
	}
	return r >= utf8.RuneSelf && unicode.In(r, unicode.Pe, unicode.Pf)
}
