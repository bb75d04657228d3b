package query

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/internal/search/analysis"
)

// SnippetWidth is the default length of a snippet in code points, without ellipses.
const SnippetWidth = 240

const ellipsis = "…"

// Span is a part of a text: code point offsets, the end exclusive.
type Span struct {
	Start, End int
}

// Highlighter cuts snippets and highlights the words of a query. It is not safe for concurrent use.
type Highlighter struct {
	analyser *analysis.Analyser
	terms    map[string]int // indexes of the query's terms
	stops    bool
	counts   []int
	width    int
}

// NewHighlighter returns a highlighter for a query. The analyser is for the language of the texts. Snippets are at most
// width code points long, without ellipses; SnippetWidth if width is not positive.
func NewHighlighter(a *analysis.Analyser, q Parsed, width int) *Highlighter {
	if width <= 0 {
		width = SnippetWidth
	}
	h := &Highlighter{
		analyser: a, terms: make(map[string]int, len(q.Terms)), stops: q.Stops, counts: make([]int, len(q.Terms)),
		width: width,
	}
	for i, term := range q.Terms {
		// Stop words are highlighted only if the query has no other words, because they are in every line.
		word, stop := strings.CutPrefix(term.Text, analysis.StopMark)
		if stop == q.Stops {
			h.terms[word] = i
		}
	}
	return h
}

// Snippet returns the part of a passage that holds the most of the query, on one line, with an ellipsis where it was
// cut, and the matching spans, sorted and without overlaps. A passage without a match is shown from its start, and one
// without text shows the title. A passage may span pages; the page contains the first match or else the snippet's
// start, and 0 if the text has no pages.
func (h *Highlighter) Snippet(title, text string, p analysis.Passage) (shown string, lit []Span, page int) {
	line := lineOf(title, text, p)
	occurrences := h.find(line)
	return h.show(text, p, []rune(line), h.densest(occurrences), occurrences)
}

// Sentence is Snippet for a passage that holds no word of the query: it shows and highlights one sentence. Choose
// returns the index of that sentence, or -1 for none.
func (h *Highlighter) Sentence(
	title, text string, p analysis.Passage, choose func(sentences []string) int,
) (shown string, lit []Span, page int) {
	runes := []rune(lineOf(title, text, p))
	spans := sentences(runes)
	texts := make([]string, len(spans))
	for i, s := range spans {
		texts[i] = string(runes[s.Start:s.End])
	}
	chosen := choose(texts)
	if chosen < 0 {
		return h.show(text, p, runes, Span{}, nil)
	}
	core := spans[chosen]
	core.End = min(core.End, core.Start+h.width)
	return h.show(text, p, runes, core, []occurrence{{Span: core}})
}

// lineOf returns a passage on one line, or the title if the passage has no text.
func lineOf(title, text string, p analysis.Passage) string {
	if line := flatten(p.Of(text)); line != "" {
		return line
	}
	return flatten(title)
}

// shortestSentence keeps abbreviations and numbers of lists from counting as sentences, in code points. A lower-case
// letter does not begin a sentence either.
const shortestSentence = 20

// sentences returns the sentences of a line, without the spaces between them.
func sentences(line []rune) []Span {
	var out []Span
	start := 0
	ended := false // only closing marks have followed the end of a sentence
	for i, r := range line {
		switch {
		case ended && (r == ' ' || !analysis.IsClosing(r) && analysis.IsUnspacedEnd(line[i-1])):
			if i-start >= shortestSentence && (i+1 == len(line) || !unicode.IsLower(line[i+1])) {
				out = append(out, Span{start, i})
				start = i
			}
			ended = false
		case analysis.IsSentenceEnd(r):
			ended = true
		case !analysis.IsClosing(r):
			ended = false
		}
		if i == start && r == ' ' {
			start++
		}
	}
	if start < len(line) {
		out = append(out, Span{start, len(line)})
	}
	return out
}

// show cuts the part of a line around the core.
func (h *Highlighter) show(
	text string, p analysis.Passage, runes []rune, core Span, occurrences []occurrence,
) (shown string, lit []Span, page int) {
	part := h.window(runes, core)
	snippet := string(runes[part.Start:part.End])
	shift := -part.Start
	if part.Start > 0 {
		snippet = ellipsis + snippet
		shift++
	}
	if part.End < len(runes) {
		snippet += ellipsis
	}
	lit = highlights(occurrences, part, shift)
	if p.Page > 0 {
		at := part.Start
		if len(lit) > 0 {
			at = lit[0].Start - shift
		}
		page = pageOf(text, p, at)
	}
	return snippet, lit, page
}

// pageOf returns the page of a code point of a flattened passage.
func pageOf(text string, p analysis.Passage, at int) int {
	before := analysis.Passage{End: p.Start}
	page := 1 + strings.Count(before.Of(text), "\f")
	for part := range strings.SplitSeq(p.Of(text), "\f") {
		width := utf8.RuneCountInString(flatten(part))
		if at < width {
			break
		}
		page++
		if width > 0 {
			at -= width + 1 // flatten puts one space between pages
		}
	}
	return page
}

// occurrence is an occurrence of a query term in a text.
type occurrence struct {
	Span
	term int
}

func (h *Highlighter) find(text string) []occurrence {
	var out []occurrence
	for token := range h.analyser.Tokens(text) {
		// Stop words match only a query of stop words: "can" does not match "cans", although their stems are equal.
		if token.Stop != h.stops {
			continue
		}
		term, ok := h.terms[token.Term]
		if !ok && token.Plain != "" {
			term, ok = h.terms[token.Plain]
		}
		if ok {
			out = append(out, occurrence{Span{token.Start, token.End}, term})
		}
	}
	return out
}

// densest returns the span within the width that holds the most different terms, then the most occurrences, then the
// first. It is empty if there is no occurrence.
func (h *Highlighter) densest(occurrences []occurrence) Span {
	var best Span
	bestTerms, bestCount := 0, 0
	counts := h.counts
	clear(counts)
	terms, first := 0, 0
	for last, o := range occurrences {
		if counts[o.term]++; counts[o.term] == 1 {
			terms++
		}
		for first < last && o.End-occurrences[first].Start > h.width {
			if counts[occurrences[first].term]--; counts[occurrences[first].term] == 0 {
				terms--
			}
			first++
		}
		count := last - first + 1
		if terms > bestTerms || terms == bestTerms && count > bestCount {
			bestTerms, bestCount = terms, count
			best = Span{occurrences[first].Start, o.End}
		}
	}
	// A single word can be longer than the snippet.
	best.End = min(best.End, best.Start+h.width)
	return best
}

// window returns the part of the text to show: as wide as allowed, with the core in the middle if there is room, and
// cut between words.
func (h *Highlighter) window(text []rune, core Span) Span {
	end := min(len(text), max(0, core.Start-(h.width-(core.End-core.Start))/2)+h.width)
	start := max(0, end-h.width)
	if start > 0 {
		start = cutForward(text, start, min(core.Start, start+h.width/4))
	}
	if end < len(text) {
		end = cutBackward(text, end, max(core.End, end-h.width/4))
	}
	start, end = wholeCharacters(text, start, end, core)
	for start < end && text[start] == ' ' {
		start++
	}
	for start < end && text[end-1] == ' ' {
		end--
	}
	return Span{start, end}
}

// wholeCharacters moves the ends of a window inwards so that no character is cut, unless a character is wider than the
// window around the beginning of the core.
func wholeCharacters(text []rune, start, end int, core Span) (int, int) {
	whole := func(i int) bool {
		return i == 0 || i == len(text) || analysis.BetweenCharacters(text[i-1], text[i])
	}
	for i := start; i <= core.Start; i++ {
		if whole(i) {
			start = i
			break
		}
	}
	for i := end; i > max(start, core.Start); i-- {
		if whole(i) {
			end = i
			break
		}
	}
	return start, end
}

// cutForward returns the first good position for a cut from from to limit.
func cutForward(text []rune, from, limit int) int {
	for _, mayCut := range cuts {
		for i := from; i <= limit; i++ {
			if mayCut(text[i-1], text[i]) {
				return i
			}
		}
	}
	return from
}

// cutBackward returns the last good position for a cut from from down to limit.
func cutBackward(text []rune, from, limit int) int {
	for _, mayCut := range cuts {
		for i := from; i >= max(limit, 1); i-- {
			if mayCut(text[i-1], text[i]) {
				return i
			}
		}
	}
	return from
}

// cuts decide by the code points before and after whether a text may be cut there, in descending order of quality.
var cuts = []func(before, after rune) bool{betweenWords, besidePunctuation, analysis.BetweenCharacters}

func betweenWords(before, after rune) bool {
	return before == ' ' || after == ' ' ||
		analysis.IsUnspaced(before) && analysis.IsUnspaced(after) && analysis.BetweenCharacters(before, after)
}

func besidePunctuation(before, after rune) bool {
	return (unicode.IsPunct(before) || unicode.IsPunct(after)) && analysis.BetweenCharacters(before, after)
}

// highlights returns the spans of the occurrences in the shown part, moved by shift. Overlapping spans, as of bigrams,
// are joined.
func highlights(occurrences []occurrence, part Span, shift int) []Span {
	var out []Span
	for _, o := range occurrences {
		span := Span{max(o.Start, part.Start) + shift, min(o.End, part.End) + shift}
		if span.Start >= span.End {
			continue
		}
		if n := len(out); n > 0 && span.Start < out[n-1].End {
			out[n-1].End = max(out[n-1].End, span.End)
			continue
		}
		out = append(out, span)
	}
	return out
}

// flatten puts a text on one line: white space and control characters become single spaces. Bidirectional control
// characters are removed, because a cut could separate an opening from its closing one.
func flatten(text string) string {
	line := make([]byte, 0, len(text))
	space := false
	for _, r := range text {
		switch {
		case ' ' < r && r <= '~':
		case unicode.IsSpace(r), unicode.IsControl(r):
			space = len(line) > 0
			continue
		case '\u202a' <= r && r <= '\u202e', '\u2066' <= r && r <= '\u2069':
			continue
		}
		if space {
			line = append(line, ' ')
			space = false
		}
		line = utf8.AppendRune(line, r)
	}
	return string(line)
}
