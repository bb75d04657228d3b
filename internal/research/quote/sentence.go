package quote

import (
	"unicode"

	"carrel/internal/search/analysis"
)

// Sentence is a sentence with code point offsets, the end exclusive. The body follows the mark of an item or heading.
// Sentences of one paragraph share its number.
type Sentence struct {
	Start, Body, End int
	Kind             Kind
	Paragraph        int
}

// Lengths of sentences in code points. In scripts without stops, tables and code there may be no end, so longer ones
// are cut at a comma or between words if possible.
const (
	longestSentence = 800
	cutSentence     = 600
	longestBracket  = 300 // longer brackets contain separate sentences
)

// Sentences splits a text into sentences, in order. Only white space is between them, and no character is split. The
// language decides which abbreviations are known.
func Sentences(text, language string) []Sentence {
	return sentencesOf([]rune(text), rulesOf(language))
}

func sentencesOf(text []rune, rules *rules) []Sentence {
	var out []Sentence
	s := splitter{text: text, rules: rules}
	for number, b := range blocks(text) {
		s.read(b)
		for i, span := range s.spans {
			sentence := Sentence{Start: span.start, Body: span.start, End: span.end, Kind: b.kind, Paragraph: number}
			if i == 0 {
				sentence.Body = min(b.body, span.end)
			}
			out = append(out, sentence)
		}
	}
	return out
}

type span struct{ start, end int }

// splitter splits blocks into sentences.
type splitter struct {
	text     []rune
	rules    *rules
	block    block
	spans    []span
	brackets []span // of the block, sorted and without overlaps; the end is the closing bracket
}

func (s *splitter) read(b block) {
	s.block = b
	s.spans = s.spans[:0]
	if b.kind == Heading || b.kind == Matter {
		s.add(b.start, b.end)
		return
	}
	s.findBrackets()
	start := b.start
	bracket := 0
	for i := b.body; i < b.end; {
		for bracket < len(s.brackets) && s.brackets[bracket].end < i {
			bracket++
		}
		end := 0
		switch {
		case bracket < len(s.brackets) && s.brackets[bracket].start == i:
			end = s.afterBracket(start, s.brackets[bracket])
			i = s.brackets[bracket].end
		case isStop(s.text[i]):
			end = s.afterStop(i)
		}
		i++
		if end > start {
			s.add(start, end)
			for start = end; start < b.end && isSpaceAt(s.text, start); {
				start++
			}
			i = start
		}
	}
	if start < b.end {
		s.add(start, b.end)
	}
}

// add adds a sentence, in parts if it is too long.
func (s *splitter) add(start, end int) {
	for end-start > longestSentence {
		cut := s.cut(start)
		if cut >= end {
			break
		}
		_, to := trim(s.text, start, cut)
		s.spans = append(s.spans, span{start, to})
		for start = cut; start < end && isSpaceAt(s.text, start); {
			start++
		}
	}
	if start < end {
		s.spans = append(s.spans, span{start, end})
	}
}

// cut returns the best position to end an overlong sentence.
func (s *splitter) cut(start int) int {
	comma, space, between := 0, 0, 0
	for i := start + cutSentence; i > start+cutSentence/2; i-- {
		if !analysis.BetweenCharacters(s.text[i-1], s.text[i]) {
			continue
		}
		between = max(between, i)
		switch before := s.text[i-1]; {
		case before == ';' || before == '；':
			return i
		case (before == ',' || before == ':') && isSpaceAt(s.text, i), before == '，', before == '、':
			comma = max(comma, i)
		case isSpaceAt(s.text, i-1):
			space = max(space, i)
		}
	}
	for _, place := range []int{comma, space, between} {
		if place > 0 {
			return place
		}
	}
	// A single character longer than this is kept whole.
	i := start + cutSentence
	for i < len(s.text) && !analysis.BetweenCharacters(s.text[i-1], s.text[i]) {
		i++
	}
	return i
}

// findBrackets finds the outermost pairs of brackets in the block. Stops inside of them do not end a sentence.
func (s *splitter) findBrackets() {
	s.brackets = s.brackets[:0]
	var open []int
	for i := s.block.body; i < s.block.end; i++ {
		r := s.text[i]
		if partner(r) != 0 {
			open = append(open, i)
			continue
		}
		if len(open) == 0 || partner(s.text[open[len(open)-1]]) != r {
			continue
		}
		pair := span{open[len(open)-1], i}
		open = open[:len(open)-1]
		if pair.end-pair.start > longestBracket {
			continue
		}
		for len(s.brackets) > 0 && s.brackets[len(s.brackets)-1].start > pair.start {
			s.brackets = s.brackets[:len(s.brackets)-1]
		}
		s.brackets = append(s.brackets, pair)
	}
}

// afterBracket returns the end of the sentence that a closing bracket ends, or 0. It ends one if the brackets contain a
// whole sentence with its stop. In scripts without spaces a quotation is often part of the sentence around it, which
// then continues with a particle.
func (s *splitter) afterBracket(start int, pair span) int {
	if pair.end == pair.start+1 || !isStop(s.text[pair.end-1]) {
		return 0
	}
	next := pair.end + 1
	switch {
	case analysis.IsUnspacedEnd(s.text[pair.end-1]):
		if next < s.block.end && (unicode.Is(unicode.Hiragana, s.text[next]) || unicode.IsPunct(s.text[next])) {
			return 0
		}
	case pair.start != start || next < s.block.end && !isSpaceAt(s.text, next):
		return 0
	}
	return s.whole(next)
}

// afterStop returns the end of the sentence that the stop at i ends, or 0.
func (s *splitter) afterStop(i int) int {
	if isEllipsisInBrackets(s.text, i) {
		return 0
	}
	last := i
	end := s.absorb(i+1, &last)
	if analysis.IsUnspacedEnd(s.text[last]) {
		if s.text[i] == '．' && i+1 < s.block.end && unicode.IsDigit(s.text[i+1]) {
			return 0
		}
		return s.whole(end)
	}
	end = s.notes(i, end)
	if end < s.block.end && !isSpaceAt(s.text, end) {
		if isFree(s.text[last]) || s.text[last] != '.' && analysis.IsUnspaced(s.text[end]) {
			return s.whole(end)
		}
		return 0
	}
	next := end
	for next < s.block.end && isSpaceAt(s.text, next) {
		next++
	}
	if marks := s.citation(next); marks > next {
		end, next = marks, marks
		for next < s.block.end && isSpaceAt(s.text, next) {
			next++
		}
	}
	if next >= s.block.end || s.ends(i, last, end, next) {
		return s.whole(end)
	}
	return 0
}

// absorb returns the end of the stops and closing marks from i on, and sets last to the last stop.
func (s *splitter) absorb(i int, last *int) int {
	for i < s.block.end {
		switch r := s.text[i]; {
		case isStop(r):
			*last = i
		case r == '"' || r == '\'':
			// An opening mark is directly followed by a word.
			if i+1 < s.block.end && (unicode.IsLetter(s.text[i+1]) || unicode.IsDigit(s.text[i+1])) {
				return i
			}
		case r == '*' || r == '_':
			// Emphasis around a sentence ends with it.
			if i+1 < s.block.end && !isSpaceAt(s.text, i+1) && s.text[i+1] != r {
				return i
			}
		case isSpaceAt(s.text, i) && i+1 < s.block.end && (s.text[i+1] == '.' || s.text[i+1] == '»'):
			// An ellipsis may be spaced out, and French quotation marks have a space before them.
			if i+2 < s.block.end && !isSpaceAt(s.text, i+2) {
				return i
			}
		case !analysis.IsClosing(r):
			return i
		}
		i++
	}
	return i
}

// notes returns the end of note numbers directly after a stop: .12 or .¹ or .[3][4].
func (s *splitter) notes(stop, end int) int {
	i := end
	for i < s.block.end && isSuperscript(s.text[i]) {
		i++
	}
	if i == end && stop > s.block.body && unicode.IsLetter(s.text[stop-1]) {
		for i < s.block.end && i < end+3 && '0' <= s.text[i] && s.text[i] <= '9' {
			i++
		}
		if i < s.block.end && !isSpaceAt(s.text, i) {
			i = end
		}
	}
	for i < s.block.end && s.text[i] == '[' {
		size := citationSize(s.text[i:s.block.end])
		if size == 0 {
			break
		}
		i += size
	}
	return i
}

// citation returns the end of citations such as [1] [2, 3] from i on that belong to the preceding sentence because
// white space or nothing follows.
func (s *splitter) citation(i int) int {
	end := i
	for i < s.block.end {
		size := citationSize(s.text[i:s.block.end])
		if size == 0 {
			break
		}
		i += size
		if i == s.block.end || isSpaceAt(s.text, i) {
			end = i
		}
		for i < s.block.end && isSpaceAt(s.text, i) {
			i++
		}
	}
	return end
}

// whole moves an end so that no character is split.
func (s *splitter) whole(end int) int {
	for end < s.block.end && !analysis.BetweenCharacters(s.text[end-1], s.text[end]) {
		end++
	}
	return end
}

// citationSize returns the length of the citation at the start of a text: numbers in square brackets, separated by
// commas, semicolons, dashes or spaces; 0 if there is none.
func citationSize(text []rune) int {
	if len(text) < 3 || text[0] != '[' {
		return 0
	}
	const longest = 40
	digits := 0
	for i := 1; i < len(text) && i < longest; i++ {
		switch r := text[i]; {
		case '0' <= r && r <= '9':
			digits++
		case r == ']':
			if digits == 0 {
				return 0
			}
			return i + 1
		case digits > 0 && (r == ',' || r == ';' || r == ' ' || r == '-' || r == '–'):
		default:
			return 0
		}
	}
	return 0
}
