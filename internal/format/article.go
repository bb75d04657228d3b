package format

import (
	"strings"

	"golang.org/x/net/html/atom"
)

// The constants are those of Mozilla's Readability, whose method this file follows.
const (
	minArticle      = 500 // code points; for a shorter article the rules are relaxed
	minParagraph    = 25
	scoredAncestors = 5
	topCandidates   = 5
)

// rules selects the steps of the search for an article.
type rules struct{ unlikely, weights, clean bool }

// article finds the main text of a page. It returns the HTML of that text, or false if the page has no such text.
func (o *outline) article(content string) (string, bool) {
	if o.tooLarge {
		return "", false
	}
	data := o.dataTables()
	var best *selection
	for _, r := range []rules{{true, true, true}, {false, true, true}, {false, false, true}, {false, false, false}} {
		s := o.choose(r, data)
		if best == nil || s.chars > best.chars {
			best = s
		}
		if best.chars >= minArticle {
			break
		}
	}
	if best.chars == 0 {
		return "", false
	}
	return best.html(content), true
}

// selection is the state of one search.
type selection struct {
	*outline
	rules rules
	// data marks tables of data and the elements in them.
	data []bool
	// gone marks elements that are left out, with all elements in them.
	gone []bool
	sums []counts
	// score is the score of each element, scored whether it has one.
	score  []float64
	scored []bool
	// roots are the elements that form the article.
	roots []int
	chars int
}

func (o *outline) choose(r rules, data []bool) *selection {
	n := len(o.elements)
	s := &selection{
		outline: o, rules: r, data: data, gone: make([]bool, n), sums: make([]counts, n), score: make([]float64, n),
		scored: make([]bool, n),
	}
	s.dropUnlikely()
	s.sum(nil)
	s.scoreParagraphs()
	s.chooseRoots()
	s.cleanUp()
	return s
}

// dropUnlikely leaves out scripts, hidden elements and, by the rules, elements named like navigation.
func (s *selection) dropUnlikely() {
	for i := 1; i < len(s.elements); i++ {
		e := &s.elements[i]
		switch {
		case s.gone[e.parent] || ignoredTags[e.tag] || e.hidden:
			s.gone[i] = true
		case !s.rules.unlikely || !e.names.unlikely || e.tag == atom.Body || e.tag == atom.A:
		case !e.inTable && !e.inCode:
			s.gone[i] = true
		}
	}
}

var ignoredTags = tagSet(
	atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Title, atom.Iframe, atom.Nav, atom.Select,
	atom.Textarea, atom.Button, atom.Svg,
)

// sum counts the text of all elements, innermost first. An element for which drop returns true is left out.
func (s *selection) sum(drop func(i int) bool) {
	for i := range s.sums {
		s.sums[i] = s.elements[i].own
		if e := &s.elements[i]; e.tag == atom.Div {
			s.sums[i].paragraphs += e.inline.paragraphs
		}
	}
	for i := len(s.elements) - 1; i > 0; i-- {
		if s.gone[i] {
			continue
		}
		if drop != nil && drop(i) {
			s.gone[i] = true
			continue
		}
		c := s.sums[i]
		tag := s.elements[i].tag
		if textyTags[tag] {
			c.texty = c.chars
		}
		if tag == atom.Ul || tag == atom.Ol {
			c.listed = c.chars
		}
		s.sums[s.elements[i].parent].add(c)
	}
	for i := 1; i < len(s.elements); i++ {
		s.gone[i] = s.gone[i] || s.gone[s.elements[i].parent]
	}
}

var textyTags = tagSet(
	atom.Span, atom.Li, atom.Td, atom.Blockquote, atom.Dl, atom.Div, atom.Img, atom.Ol, atom.P, atom.Pre, atom.Table,
	atom.Ul,
)

func (s *selection) linkDensity(i int) float64 {
	return float64(s.sums[i].linked) / float64(max(s.sums[i].chars, 1))
}

func (s *selection) weight(i int) int {
	if !s.rules.weights {
		return 0
	}
	return s.elements[i].names.weight
}

// isParagraph reports whether an element is a paragraph, as divisions without blocks are.
func (s *selection) isParagraph(i int) bool {
	e := &s.elements[i]
	return e.tag == atom.P || e.tag == atom.Div && !e.hasBlock
}

var scoredTags = tagSet(
	atom.Section, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.P, atom.Td, atom.Pre,
)

// scoreParagraphs gives points to the elements around paragraphs.
func (s *selection) scoreParagraphs() {
	for i := 1; i < len(s.elements); i++ {
		if s.gone[i] {
			continue
		}
		switch e := &s.elements[i]; {
		case scoredTags[e.tag] || s.isParagraph(i):
			s.credit(e.parent, s.sums[i])
		case e.tag == atom.Div:
			s.credit(i, e.inline)
		}
	}
	for i := range s.score {
		if s.scored[i] {
			s.score[i] *= 1 - s.linkDensity(i)
		}
	}
}

// credit adds the points of a text to an element and its ancestors.
func (s *selection) credit(i int, c counts) {
	if c.chars < minParagraph {
		return
	}
	points := float64(2 + c.commas + min(c.chars/100, 3))
	for level := 0; level < scoredAncestors && i > 0; level++ {
		s.initScore(i)
		switch level {
		case 0:
			s.score[i] += points
		case 1:
			s.score[i] += points / 2
		default:
			s.score[i] += points / float64(3*level)
		}
		i = s.elements[i].parent
	}
}

func (s *selection) initScore(i int) {
	if s.scored[i] {
		return
	}
	s.scored[i] = true
	s.score[i] = float64(tagPoints[s.elements[i].tag] + s.weight(i))
}

var tagPoints = map[atom.Atom]int{
	atom.Div: 5, atom.Pre: 3, atom.Td: 3, atom.Blockquote: 3, atom.Address: -3, atom.Ol: -3, atom.Ul: -3, atom.Dl: -3,
	atom.Dd: -3, atom.Dt: -3, atom.Li: -3, atom.Form: -3, atom.H1: -5, atom.H2: -5, atom.H3: -5, atom.H4: -5,
	atom.H5: -5, atom.H6: -5, atom.Th: -5,
}

// outermost reports whether an element has no useful parent.
func (s *selection) outermost(i int) bool { return i <= 0 || s.elements[i].tag == atom.Body }

// chooseRoots finds the element with the best score and its siblings that belong to it.
func (s *selection) chooseRoots() {
	top := s.bestElement()
	if s.outermost(top) {
		s.roots = []int{max(top, 0)}
		return
	}
	parent := s.elements[top].parent
	s.initScore(top)
	threshold := max(10, s.score[top]/5)
	for i := parent + 1; i < s.elements[parent].next; i = s.elements[i].next {
		if !s.gone[i] && (i == top || s.belongs(i, threshold)) {
			s.roots = append(s.roots, i)
		}
	}
}

func (s *selection) belongs(i int, threshold float64) bool {
	if s.scored[i] && s.score[i] >= threshold {
		return true
	}
	if !s.isParagraph(i) {
		return false
	}
	density, length := s.linkDensity(i), s.sums[i].chars
	return length > 80 && density < 0.25 || length > 0 && length < 80 && density == 0 && s.elements[i].sentence
}

// bestElement returns the element with the best score, or one around it whose parts have similar scores; -1 if none
// has a score.
func (s *selection) bestElement() int {
	best := s.leaders()
	if len(best) == 0 {
		return -1
	}
	top := best[0]
	if s.outermost(top) {
		return top
	}
	top = s.commonAncestor(top, best[1:])
	s.initScore(top)
	last := s.score[top]
	least := last / 3
	for p := s.elements[top].parent; !s.outermost(p); p = s.elements[p].parent {
		if !s.scored[p] {
			continue
		}
		if s.score[p] < least {
			break
		}
		if s.score[p] > last {
			top = p
			break
		}
		last = s.score[p]
	}
	for p := s.elements[top].parent; !s.outermost(p) && s.onlyChild(p); p = s.elements[p].parent {
		top = p
	}
	return top
}

// leaders returns the elements with the best scores, best first.
func (s *selection) leaders() []int {
	var best []int
	for i := range s.score {
		if !s.scored[i] || s.gone[i] {
			continue
		}
		at := len(best)
		for at > 0 && s.score[i] > s.score[best[at-1]] {
			at--
		}
		if at < topCandidates {
			best = append(best[:at], append([]int{i}, best[at:]...)...)
			best = best[:min(len(best), topCandidates)]
		}
	}
	return best
}

// commonAncestor returns the innermost element around top that holds three others with similar scores, or top.
func (s *selection) commonAncestor(top int, others []int) int {
	const needed = 3
	var similar []int
	for _, i := range others {
		if s.score[i] >= 0.75*s.score[top] {
			similar = append(similar, i)
		}
	}
	if len(similar) < needed {
		return top
	}
	for p := s.elements[top].parent; !s.outermost(p); p = s.elements[p].parent {
		n := 0
		for _, i := range similar {
			if i > p && i < s.elements[p].next {
				n++
			}
		}
		if n >= needed {
			return p
		}
	}
	return top
}

func (s *selection) onlyChild(parent int) bool {
	n := 0
	for i := parent + 1; i < s.elements[parent].next; i = s.elements[i].next {
		if !s.gone[i] {
			n++
		}
	}
	return n == 1
}

// html returns the source of the article without the parts that are left out.
func (s *selection) html(content string) string {
	var b strings.Builder
	for _, root := range s.roots {
		e := &s.elements[root]
		at, end := e.start, e.end
		for i := root; i < e.next; i++ {
			if d := &s.elements[i]; s.gone[i] && d.start >= at {
				b.WriteString(content[at:d.start])
				if blockTags[d.tag] {
					b.WriteString("<p>") // keeps the texts around it apart
				}
				at = min(d.end, end)
			}
		}
		b.WriteString(content[at:end])
		b.WriteByte('\n')
	}
	return b.String()
}
