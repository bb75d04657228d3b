package analysis

import (
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lengths of passages in code points. A question is answered in a paragraph or two; longer passages dilute the words
// that answer it, shorter ones part them.
const (
	wholeLength = 3000 // a text up to here is one passage
	minLength   = 1600 // where a passage may be cut
	maxLength   = 2200 // where it must be
	tinyLength  = 400  // too short to stand alone: page breaks and headings do not cut it off
)

// Passage is a part of a text: code point offsets, the end exclusive.
type Passage struct {
	Start, End int
	// Page counts from 1 where form feeds part the text's pages, and is 0 where there are none.
	Page int
	// Heading is the Markdown heading that the passage begins with or is nearest above it.
	Heading string
}

// Of returns the passage's part of its text. It reads the text up to the passage's end and no further.
func (p Passage) Of(text string) string {
	from := skip(text, p.Start)
	return text[from : from+skip(text[from:], p.End-p.Start)]
}

// skip returns the number of bytes of the text's first n code points.
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

// Passages cuts a text into the parts that are searched on their own: after one another, covering all of it, at least
// one. A short text is exactly one. A long one is cut where a page or a section begins, and else into parts of about
// the same length, between paragraphs if possible, else sentences, else words, and never within a character.
//
// The cuts depend on nothing but the text, so an index need not store them.
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
	cut      int // the best place to end the current passage
	quality  boundary

	at      int
	before  rune
	gap     boundary // what the white space read since the last visible code point parts
	lines   int      // ends of lines in it
	ended   rune     // what ended a sentence, when at most closing marks came since, else 0
	page    int
	heading string // the nearest so far
	inside  bool   // in a line that is a heading
	fence   byte   // the mark of the block of code that is open
}

// boundary is how well a text may be cut at a place.
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

// line reads the beginning of a line and reports whether it is a heading. A line of code is none, whatever it
// begins with.
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

// boundary tells what is parted by the place before r.
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

// consider ends the current passage here, or remembers the place, or ends it at a place remembered.
func (c *cutter) consider(b boundary, forced bool) {
	length := c.at - c.current.Start
	if forced && b > nowhere && c.begun && length >= tinyLength {
		c.end(c.at)
		c.begun = false
		c.current.Page, c.current.Heading = c.page, c.heading
		return
	}
	// What is left for the last passage is never tiny.
	if length < minLength || c.total <= wholeLength || c.total-c.current.Start <= maxLength+tinyLength {
		return
	}
	if b > nowhere && (length <= maxLength && b >= c.quality || c.quality == nowhere) {
		c.cut, c.quality = c.at, b
	}
	if length >= maxLength && c.quality > nowhere {
		// Pages and headings in between would have been cuts of their own: what holds here held there.
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

// headingLine returns the text of the Markdown heading that begins here.
func headingLine(rest string) (string, bool) {
	const longest = 400 // bytes: anything longer is a paragraph that begins with a number sign
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
	// A heading may be closed by number signs of its own.
	if open := strings.TrimRight(line, "#"); open == "" || strings.HasSuffix(open, " ") {
		line = strings.TrimSpace(open)
	}
	return line, line != ""
}

// fenceMark returns the mark of the fence around a block of code that begins here, 0 for none.
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

// IsSentenceEnd reports whether a sentence ends with r: full stops and their like in the scripts of the world.
func IsSentenceEnd(r rune) bool {
	switch r {
	case '.', '!', '?', '…', '։', '؟', '۔', '।', '॥', '።', '၊', '။', '។':
		return true
	}
	return IsUnspacedEnd(r)
}

// IsUnspacedEnd reports whether a sentence ends with r without a space after it.
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
