package quote

import (
	"slices"
	"strings"
	"unicode"

	"carrel/internal/search/analysis"
)

// Kind is the kind of text that a sentence belongs to.
type Kind uint8

// The kinds of sentences. Only prose and list items are statements.
const (
	Prose   Kind = iota
	Item         // of a list
	Heading      // within the text
	Matter       // code, table rows, rules; quoted only if there is nothing else
)

// block is a paragraph, a list item, a heading or a line of code. Its body follows its mark.
type block struct {
	start, body, end int
	kind             Kind
	lines            int
}

// unwrappedLength is the length from which a line is a paragraph, because text is not wrapped at this width.
const unwrappedLength = 200

// longestHeading is the maximum length of a heading without a mark.
const longestHeading = 70

// blocks splits a text into blocks, which hold every visible code point in order.
func blocks(text []rune) []block {
	r := blockReader{text: text}
	for from := 0; from < len(text); {
		to := from
		for to < len(text) && !isLineEnd(text[to]) {
			to++
		}
		r.line(from, to)
		if to < len(text) && (text[to] == '\f' || text[to] == '\u2029') {
			r.open = false
		}
		if from = to + 1; from < len(text) && text[to] == '\r' && text[from] == '\n' {
			from++ // one line end, not an empty line
		}
	}
	return r.blocks
}

// blockReader reads a text line by line.
type blockReader struct {
	text   []rune
	blocks []block
	open   bool // the next line may continue the last block
	fence  rune // the mark of the open code fence
}

func (r *blockReader) line(from, to int) {
	start, end := trim(r.text, from, to)
	line := r.text[start:end]
	if len(line) == 0 {
		r.open = false
		return
	}
	fence := fenceOf(line)
	switch {
	case fence != 0 && (r.fence == 0 || r.fence == fence):
		r.fence ^= fence // opens or closes
		r.add(block{start, start, end, Matter, 1}, false)
		return
	case r.fence != 0 || line[0] == '|':
		r.add(block{start, start, end, Matter, 1}, false)
		return
	case isRule(line):
		r.rule(line[0])
		r.add(block{start, end, end, Matter, 1}, false)
		return
	}
	if size := headingMark(line); size > 0 {
		r.add(block{start, start + size, end, Heading, 1}, false)
		return
	}
	if size := r.itemMark(line); size > 0 {
		r.add(block{start, start + size, end, Item, 1}, true)
		return
	}
	if r.isPlainHeading(line, to) {
		r.add(block{start, start, end, Heading, 1}, false)
		return
	}
	long := to-from > unwrappedLength
	if !r.open {
		r.add(block{start, start, end, Prose, 1}, !long)
		return
	}
	last := &r.blocks[len(r.blocks)-1]
	last.end = end
	last.lines++
	r.open = !long
}

func (r *blockReader) add(b block, open bool) {
	r.blocks = append(r.blocks, b)
	r.open = open
}

// rule turns an underlined line into a heading.
func (r *blockReader) rule(mark rune) {
	if r.open && (mark == '=' || mark == '-') {
		if last := &r.blocks[len(r.blocks)-1]; last.kind == Prose && last.lines == 1 {
			last.kind = Heading
		}
	}
}

// mayEnd reports whether the text so far may end with this line.
func (r *blockReader) mayEnd() bool {
	if !r.open {
		return true
	}
	last := r.blocks[len(r.blocks)-1]
	before := r.text[last.end-1]
	return last.kind == Item || isStop(before) || analysis.IsClosing(before) || strings.ContainsRune(":;：；", before)
}

// itemMark returns the length of a list mark with the space after it, or 0.
func (r *blockReader) itemMark(line []rune) int {
	size := 0
	switch first := line[0]; {
	case strings.ContainsRune("-*+•‣◦▪·", first):
		size = 1
	case (first == '–' || first == '—') && r.mayEnd():
		size = 1
	case first == '[' || first == '(':
		size = labelSize(line, first)
	case unicode.IsDigit(first) && r.mayEnd():
		for size < len(line) && size < 3 && unicode.IsDigit(line[size]) {
			size++
		}
		size = closedBy(line, size, '.', ')')
	case unicode.IsLetter(first) && r.mayEnd():
		// "A." begins a name as often as an item.
		size = closedBy(line, 1, ')', ')')
	}
	if size == 0 || size >= len(line) || !isSpaceAt(line, size) {
		return 0
	}
	for size < len(line) && isSpaceAt(line, size) {
		size++
	}
	return size
}

// labelSize returns the length of a label such as [12], (iv) or (a) at the start of a line.
func labelSize(line []rune, open rune) int {
	end := 1
	for end < len(line) && end < 6 && (unicode.IsDigit(line[end]) || open == '(' && unicode.IsLower(line[end])) {
		end++
	}
	if end == 1 {
		return 0
	}
	if open == '[' {
		return closedBy(line, end, ']', ']')
	}
	return closedBy(line, end, ')', ')')
}

func closedBy(line []rune, at int, marks ...rune) int {
	if at < len(line) && slices.Contains(marks, line[at]) {
		return at + 1
	}
	return 0
}

// headingMark returns the length of the number signs of a Markdown heading with the space after them, or 0.
func headingMark(line []rune) int {
	level := 0
	for level < len(line) && line[level] == '#' {
		level++
	}
	size := level
	for size < len(line) && isSpaceAt(line, size) {
		size++
	}
	if level > 6 || size == level || size == len(line) {
		return 0
	}
	return size
}

// isPlainHeading reports whether a line is a heading without a mark, as in text extracted from paged documents: short,
// not a continuation of the line before nor continued by the next, and numbered or capitalized.
func (r *blockReader) isPlainHeading(line []rune, to int) bool {
	if len(line) > longestHeading || !r.mayEnd() || !slices.ContainsFunc(line, unicode.IsLetter) {
		return false
	}
	if last := line[len(line)-1]; analysis.IsClosing(last) || unicode.IsPunct(last) {
		return false
	}
	next := to
	for next < len(r.text) && isSpaceAt(r.text, next) {
		next++
	}
	if next == len(r.text) || !unicode.IsUpper(r.text[next]) && !unicode.IsDigit(r.text[next]) {
		return false
	}
	if !slices.ContainsFunc(line, unicode.IsLower) || unicode.IsDigit(line[0]) && isTitleCase(line) {
		return true
	}
	// A wrapped line is about as long as the next one.
	end := next
	for end < len(r.text) && !isLineEnd(r.text[end]) {
		end++
	}
	return 2*len(line) < end-next && isTitleCase(line)
}

// isTitleCase reports whether the first word and all longer words begin with a capital or a digit.
func isTitleCase(line []rune) bool {
	const short = 3
	for from := 0; from < len(line); {
		to := from
		for to < len(line) && !isSpaceAt(line, to) {
			to++
		}
		if (from == 0 || to-from > short) && !unicode.IsUpper(line[from]) && !unicode.IsDigit(line[from]) {
			return false
		}
		from = to + 1
	}
	return true
}

// fenceOf returns the mark of a code fence, 0 for none.
func fenceOf(line []rune) rune {
	if len(line) >= 3 && (line[0] == '`' || line[0] == '~') && line[1] == line[0] && line[2] == line[0] {
		return line[0]
	}
	return 0
}

// isRule reports whether a line is a horizontal rule.
func isRule(line []rune) bool {
	if len(line) < 3 {
		return false
	}
	for _, r := range line {
		switch r {
		case '-', '=', '*', '_', '~', '+', ' ', '─', '—':
		default:
			return false
		}
	}
	return true
}

// trim returns a part of a text without surrounding white space.
func trim(text []rune, from, to int) (int, int) {
	for from < to && isSpaceAt(text, from) {
		from++
	}
	for to > from && isSpaceAt(text, to-1) {
		to--
	}
	return from, to
}

func isLineEnd(r rune) bool {
	switch r {
	case '\n', '\r', '\f', '\v', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}
