package pdf

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// segment is a part of a line without a wide gap, such as a line of a column or a cell of a table.
type segment struct {
	text      strings.Builder
	x, end, y float64
	size      float64
	glyphs    int
	// sizes is the sum of the sizes of the glyphs, bold the number of bold ones.
	sizes float64
	bold  int
	// note is set for form fields and annotations.
	note bool
	// column numbers the columns of a page; -1 means that the segment spans columns.
	column int
}

// Gaps that separate words and segments, in ems.
const (
	wordGap    = 0.16
	segmentGap = 1.1
	// lineShift is how far the baseline may move within a line, as in superscripts, in ems.
	lineShift = 0.45
)

// laidOut is the text of a page in reading order. In text the headings are marked as in Markdown; plain has no marks
// and no annotations. title is the text in the largest font in the upper half, titleBelow on the whole page. row is
// set if the first line is the row of a table.
type laidOut struct {
	text, plain, title, titleBelow string
	row                            bool
}

// layOut puts the glyphs of a page in reading order. Text in other directions, such as vertical text in the margin,
// follows upright text, unless nearly all of the page is turned.
func layOut(glyphs []glyph) (out laidOut) {
	var by [turns][]glyph
	for _, g := range glyphs {
		by[g.turn] = append(by[g.turn], g)
	}
	if rest := len(glyphs) - len(by[upright]); 4*len(by[upright]) < rest {
		slices.SortStableFunc(by[:], func(a, b []glyph) int { return cmp.Compare(len(b), len(a)) })
	}
	var parts, plain []string
	for i, group := range by {
		segments := segmentsOf(compose(visual(group)))
		arrange(segments, 0)
		lines := linesOf(segments)
		if i == 0 {
			out.title, out.titleBelow = normal(largest(lines, 0.5)), normal(largest(lines, 1))
			out.row = len(lines) > 0 && lines[0].segments >= minRow
		}
		if own := paragraphs(markHeadings(lines)); own != "" {
			parts = append(parts, own)
		}
		printed := slices.DeleteFunc(slices.Clone(lines), func(l line) bool { return l.top == "" })
		if own := paragraphs(printed); own != "" {
			plain = append(plain, own)
		}
	}
	out.text, out.plain = normal(strings.Join(parts, "\n\n")), normal(strings.Join(plain, "\n\n"))
	return out
}

// minRow is the least number of texts with gaps between them in the row of a table.
const minRow = 4

// segmentsOf joins glyphs that follow each other in the content stream and on the page.
func segmentsOf(glyphs []glyph) []*segment {
	var out []*segment
	var s *segment
	for _, g := range glyphs {
		blank := strings.TrimSpace(g.text) == ""
		em := g.size
		if s != nil {
			em = math.Max(em, s.size*0.8)
		}
		switch {
		case s == nil || math.Abs(g.y-s.y) > lineShift*em || g.x-s.end > segmentGap*em || g.x < s.end-2*em:
			if blank {
				s = nil
				continue
			}
			s = &segment{x: g.x, end: g.end, y: g.y, size: g.size, note: g.note}
			out = append(out, s)
		case blank:
			// A space may be drawn, be a gap, or both.
			s.space()
			continue
		case g.x-s.end > wordGap*math.Min(em, g.size*1.3) || g.x < s.end-em*0.5:
			s.space()
		}
		s.text.WriteString(g.text)
		s.glyphs++
		s.sizes += g.size
		if g.bold {
			s.bold++
		}
		s.end = math.Max(s.end, g.end)
		if g.size > s.size*1.05 { // a drop cap or subscript came first; the larger glyphs define the line
			s.size, s.y = g.size, g.y
		}
	}
	return out
}

func (s *segment) space() {
	if !strings.HasSuffix(s.text.String(), " ") {
		s.text.WriteByte(' ')
	}
}

const (
	// maxColumnDepth limits how often a page is split into columns.
	maxColumnDepth = 3
	// minLines is the minimum of segments on each side of a gutter.
	minLines = 6
)

// arrange sorts the segments of a page or column into reading order. Segments that cross the gutter, such as titles
// and wide figures, divide the page into bands; in each band the left column comes first.
func arrange(segments []*segment, depth int) {
	byPlace := func(a, b *segment) int {
		return cmp.Or(cmp.Compare(b.y, a.y), cmp.Compare(a.x, b.x))
	}
	slices.SortStableFunc(segments, byPlace)
	gutter, ok := findGutter(segments)
	if !ok || depth >= maxColumnDepth {
		return
	}
	out := make([]*segment, 0, len(segments))
	var left, right []*segment
	flush := func() {
		arrange(left, depth+1)
		arrange(right, depth+1)
		for _, s := range right {
			s.column += 1 << (2 * depth)
		}
		out = append(append(out, left...), right...)
		left, right = left[:0:0], right[:0:0]
	}
	for _, s := range segments {
		switch {
		case s.end <= gutter:
			left = append(left, s)
		case s.x >= gutter:
			right = append(right, s)
		default:
			flush()
			s.column = -1
			out = append(out, s)
		}
	}
	flush()
	copy(segments, out)
}

// findGutter looks for a vertical strip near the middle that few segments cross, with text on both sides.
func findGutter(segments []*segment) (x float64, ok bool) {
	if len(segments) < 2*minLines {
		return 0, false
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range segments {
		low, high = math.Min(low, s.x), math.Max(high, s.end)
	}
	const bins = 256
	width := (high - low) / bins
	if width <= 0 {
		return 0, false
	}
	var crossed [bins + 1]int // weighted by length, so that a line counts more than a page number
	total := 0
	for _, s := range segments {
		weight := min(s.glyphs, 60)
		total += weight
		from, to := int((s.x-low)/width), int((s.end-low)/width)
		for i := max(0, from); i <= min(bins-1, to); i++ {
			crossed[i] += weight
		}
	}
	limit := total * 12 / 100
	best, bestWidth := -1, 0
	for i := bins / 5; i < bins*4/5; i++ {
		j := i
		for j < bins*4/5 && crossed[j] <= limit {
			j++
		}
		if j-i > bestWidth {
			best, bestWidth = i, j-i
		}
		i = max(i, j)
	}
	if best < 0 || float64(bestWidth)*width < 4 {
		return 0, false
	}
	// Within the strip, choose the position that the fewest segments cross.
	at := best
	for i := best; i < best+bestWidth; i++ {
		if crossed[i] < crossed[at] || crossed[i] == crossed[at] && abs(i-best-bestWidth/2) < abs(at-best-bestWidth/2) {
			at = i
		}
	}
	x = low + (float64(at)+0.5)*width
	return x, isColumns(segments, x)
}

// isColumns distinguishes columns of running text from a table or a numbered list.
func isColumns(segments []*segment, x float64) bool {
	var left, right, leftGlyphs, rightGlyphs int
	for _, s := range segments {
		switch {
		case s.end <= x:
			left, leftGlyphs = left+1, leftGlyphs+s.glyphs
		case s.x >= x:
			right, rightGlyphs = right+1, rightGlyphs+s.glyphs
		}
	}
	const runs = 12 // minimum average length of a segment in characters
	return left >= minLines && right >= minLines && leftGlyphs/left >= runs && rightGlyphs/right >= runs
}

// line is a line of a column.
type line struct {
	text      string
	x, end, y float64
	size      float64
	column    int
	// segments and glyphs are counted; sizes is the sum of the sizes of the glyphs, bold the number of bold ones.
	segments, glyphs, bold int
	sizes                  float64
	// heading is the level of a heading, 0 for other text.
	heading int
	// top is the text of the segments in the largest size, without those of annotations.
	top     string
	topSize float64
}

// linesOf joins the segments on one line of the same column.
func linesOf(segments []*segment) []line {
	var out []line
	var text strings.Builder // text of the last line; concatenation would copy it for every segment
	end := func() {
		if k := len(out); k > 0 {
			out[k-1].text = logical(text.String())
			text.Reset()
		}
	}
	for _, s := range segments {
		own := strings.TrimSpace(s.text.String())
		if own == "" {
			continue
		}
		if k := len(out); k > 0 {
			last := &out[k-1]
			if last.column == s.column && math.Abs(last.y-s.y) < lineShift*math.Max(last.size, s.size) &&
				s.x >= last.end-last.size {
				text.WriteByte(' ')
				text.WriteString(own)
				last.end, last.size = math.Max(last.end, s.end), math.Max(last.size, s.size)
				last.add(s)
				continue
			}
		}
		end()
		out = append(out, line{x: s.x, end: s.end, y: s.y, size: s.size, column: s.column})
		out[len(out)-1].add(s)
		text.WriteString(own)
	}
	end()
	return out
}

// paragraphs joins lines and inserts an empty line between paragraphs.
func paragraphs(lines []line) string {
	leading := usualLeading(lines)
	var b []byte
	for i, l := range lines {
		if i == 0 {
			b = append(b, l.text...)
			continue
		}
		prev := lines[i-1]
		switch {
		case l.heading > 0 || prev.heading > 0:
			b = append(b, "\n\n"...)
		case endsWithHyphen(prev.text) && startsLower(l.text) && !l.far(prev, leading):
			b = bytes.TrimRight(b, "-\u2010\u00ad") // the word continues on this line
		case l.column == prev.column && l.begins(prev, leading), l.column == -1 || prev.column == -1:
			b = append(b, "\n\n"...)
		default:
			b = append(b, '\n')
		}
		b = append(b, l.text...)
	}
	return string(b)
}

// far reports whether a line is too far below prev to continue its paragraph.
func (l line) far(prev line, leading float64) bool {
	return l.column == prev.column && prev.y-l.y > 3*leading
}

// begins reports whether a line of the same column starts a paragraph.
func (l line) begins(prev line, leading float64) bool {
	drop := prev.y - l.y
	return drop > 1.45*leading || drop < 0 || math.Abs(l.size-prev.size) > 0.12*math.Max(l.size, prev.size) ||
		l.x-prev.x > 0.8*l.size && l.x-prev.x < 5*l.size && endsSentence(prev.text)
}

// usualLeading returns the median distance of lines.
func usualLeading(lines []line) float64 {
	var drops []float64
	for i := 1; i < len(lines); i++ {
		if d := lines[i-1].y - lines[i].y; d > 1 && d < 60 && lines[i].column == lines[i-1].column {
			drops = append(drops, d)
		}
	}
	if len(drops) == 0 {
		return 12
	}
	slices.Sort(drops)
	return drops[len(drops)/2]
}

func endsWithHyphen(s string) bool {
	r, n := utf8.DecodeLastRuneInString(s)
	if r != '-' && r != '\u2010' && r != '\u00ad' {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(s[:len(s)-n])
	return unicode.IsLetter(before)
}

func startsLower(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLower(r)
}

func endsSentence(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".!?:;)\"”’", r)
}

// largest returns the text in the largest font size in the upper share of the page. Lines with a gap between them are
// different texts.
func largest(lines []line, share float64) string {
	if len(lines) == 0 {
		return ""
	}
	top, bottom := math.Inf(-1), math.Inf(1)
	for _, l := range lines {
		top, bottom = math.Max(top, l.y), math.Min(bottom, l.y)
	}
	low := top - share*(top-bottom)
	size, sum := 0.0, 0.0
	for _, l := range lines {
		sum += l.size
		if l.y >= low && utf8.RuneCountInString(l.top) > 3 {
			size = math.Max(size, l.topSize)
		}
	}
	mean := sum / float64(len(lines))
	if size < 1.1*mean {
		return "" // no line stands out
	}
	var parts []string
	last := line{}
	for i, l := range lines {
		if len(parts) == 0 && (i >= maxTextAbove || size < 1.2*mean && i >= maxLinesAbove) {
			return "" // the heading of a section, or a note in slightly larger type
		}
		isLarge := l.y >= low && math.Abs(l.topSize-size) < 0.04*size // not the larger, but short lines
		switch {
		case isLarge && (len(parts) == 0 || last.y-l.y < maxTitleLeading*size):
			parts, last = append(parts, l.top), l
		case len(parts) > 0:
			title := strings.Join(parts, " ")
			if body, _ := bodyType(lines); l.isSubtitle(last, body) {
				title = strings.TrimRight(title, ": ") + ": " + l.top
			}
			return title
		}
	}
	return strings.Join(parts, " ")
}

// isSubtitle reports whether a line close below a title is its subtitle: bold like the title and larger than the text.
// Names of authors have commas or fewer words.
func (l *line) isSubtitle(title line, body float64) bool {
	drop := title.y - l.y
	return l.column == title.column && drop > 0 && drop < 1.6*title.size && l.meanSize() >= largerSize*body &&
		10*l.bold >= 9*l.glyphs && 10*title.bold >= 9*title.glyphs && !strings.ContainsAny(l.top, ",@|") &&
		len(strings.Fields(l.top)) > 3
}

const (
	// maxTitleLeading is the greatest distance of two lines of a title, in ems.
	maxTitleLeading = 3
	// maxLinesAbove is how many lines may precede a title in slightly larger type.
	maxLinesAbove = 5
	// maxTextAbove is how many lines may precede any title.
	maxTextAbove = 20
)

// ligatures are expanded, so that their words can be found.
var ligatures = strings.NewReplacer(
	"ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st", "\u00ad", "",
)

func normal(s string) string { return clean(ligatures.Replace(s)) }
