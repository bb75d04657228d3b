package pdf

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Headings in the layout of a page. Sizes are relative to that of the running text.
const (
	largerSize   = 1.15
	largestSize  = 1.6
	boldSize     = 0.95
	maxBoldShare = 0.4 // of a page; bold text is no heading if the page is bold
	// The most lines and characters of a heading in larger and in bold type. Longer ones are quotations and notices.
	maxHeadingLines, maxHeading         = 4, 200
	maxBoldHeadingLines, maxBoldHeading = 2, 120
)

func (l *line) add(s *segment) {
	l.segments++
	l.glyphs += s.glyphs
	l.sizes += s.sizes
	l.bold += s.bold
	own := logical(strings.TrimSpace(s.text.String()))
	switch {
	case s.note:
	case s.size > 1.04*l.topSize:
		l.top, l.topSize = own, s.size
	case s.size >= 0.96*l.topSize:
		l.top += " " + own
	}
}

// markHeadings returns the lines of a page with its headings marked as in Markdown. A heading of several lines becomes
// one line.
func markHeadings(lines []line) []line {
	body, bold := bodyType(lines)
	out := make([]line, 0, len(lines))
	for i := 0; i < len(lines); {
		level := lines[i].level(body, bold)
		n := 1
		for level > 0 && i+n < len(lines) && lines[i+n].continues(lines[i+n-1], level, body, bold) {
			n++
		}
		if !isHeading(lines[i:i+n], level) {
			out = append(out, lines[i:i+n]...)
			i += n
			continue
		}
		heading := lines[i+n-1]
		heading.heading, heading.text = level, strings.Repeat("#", level)+" "+joined(lines[i:i+n])
		out = append(out, heading)
		i += n
	}
	return out
}

// bodyType returns the size of most of the text of a page, and whether bold type stands out on it.
func bodyType(lines []line) (size float64, bold bool) {
	glyphs := map[float64]int{} // by size in half points
	all, bolds := 0, 0
	for _, l := range lines {
		glyphs[math.Round(2*l.meanSize())/2] += l.glyphs
		all, bolds = all+l.glyphs, bolds+l.bold
	}
	most := 0
	for s, n := range glyphs {
		if n > most || n == most && s < size {
			size, most = s, n
		}
	}
	return size, float64(bolds) < maxBoldShare*float64(all)
}

// meanSize is the size of a line without the effect of an initial letter, which defines size.
func (l *line) meanSize() float64 { return l.sizes / math.Max(1, float64(l.glyphs)) }

// level returns the level that the type of a line has as a heading, or 0.
func (l *line) level(body float64, boldStandsOut bool) int {
	size := l.meanSize()
	switch {
	case body == 0:
		return 0
	case size >= largestSize*body:
		return 1
	case size >= largerSize*body:
		return 2
	case boldStandsOut && size >= boldSize*body && 10*l.bold >= 9*l.glyphs && l.segments == 1:
		return 3
	}
	return 0
}

// continues reports whether a line has the type of the heading line above it and follows it closely.
func (l *line) continues(above line, level int, body float64, boldStandsOut bool) bool {
	drop := above.y - l.y
	return l.column == above.column && l.level(body, boldStandsOut) == level &&
		math.Abs(l.meanSize()-above.meanSize()) < 0.04*l.meanSize() && drop > 0 && drop < 1.6*l.size &&
		10*l.bold >= 9*l.glyphs == (10*above.bold >= 9*above.glyphs) && !isNumbered(l.text)
}

// isHeading reports whether lines of the type of headings read like one.
func isHeading(lines []line, level int) bool {
	most, longest := maxHeadingLines, maxHeading
	if level == 3 {
		most, longest = maxBoldHeadingLines, maxBoldHeading
	}
	text := joined(lines)
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	letters := 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	runes := utf8.RuneCountInString(text)
	switch {
	case level == 0 || len(lines) > most || runes > longest:
		return false
	case letters < 2 || letters < 3 && unicode.In(first, unicode.Latin) || 2*letters < runes:
		return false
	case unicode.IsLower(first) || !unicode.IsLetter(first) && !unicode.IsDigit(first) && first != '§':
		return false
	case strings.ContainsRune(",;-\u2010=", last):
		return false
	case last == '.' && runes > maxBoldHeading/2: // a sentence
		return false
	}
	return true
}

// isNumbered reports whether a text begins with the number of a section, as in "3.2 Methods".
func isNumbered(text string) bool {
	number, rest, found := strings.Cut(text, " ")
	return found && rest != "" && number != "" && strings.Trim(number, "0123456789.") == "" && number[0] != '.'
}

// A heading on this many pages, and on this share of them, is a running header.
const (
	minHeaderPages = 4
	headerShare    = 0.2
)

// unmarkHeaders removes the marks of running headers.
func unmarkHeaders(pages []string) {
	on := map[string]int{} // pages by header, without page numbers
	for _, page := range pages {
		seen := map[string]bool{}
		for line := range strings.Lines(page) {
			if header, _, ok := cutHeader(line); ok && !seen[header] {
				seen[header] = true
				on[header]++
			}
		}
	}
	for i, page := range pages {
		if !strings.Contains(page, "# ") {
			continue
		}
		var b strings.Builder
		for line := range strings.Lines(page) {
			header, text, ok := cutHeader(line)
			if n := on[header]; ok && n >= minHeaderPages && float64(n) >= headerShare*float64(len(pages)) {
				line = text
			}
			b.WriteString(line)
		}
		pages[i] = b.String()
	}
}

// cutHeader returns the text of a heading line, and that text without digits, which are the same on all pages of a
// running header.
func cutHeader(line string) (header, text string, ok bool) {
	marks := len(line) - len(strings.TrimLeft(line, "#"))
	if marks == 0 || marks > 3 || !strings.HasPrefix(line[marks:], " ") {
		return "", "", false
	}
	text = line[marks+1:]
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, text)), text, true
}

// joined returns the lines of a heading as one.
func joined(lines []line) string {
	var b strings.Builder
	for i, l := range lines {
		text := l.text
		if i+1 < len(lines) && endsWithHyphen(text) && startsLower(lines[i+1].text) {
			b.WriteString(strings.TrimRight(text, "-\u2010\u00ad"))
			continue
		}
		b.WriteString(text)
		if i+1 < len(lines) {
			b.WriteByte(' ')
		}
	}
	return b.String()
}
