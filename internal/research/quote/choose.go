package quote

import (
	"math"
	"slices"
)

// Limits and weights for choosing quotes.
const (
	maxQuoted     = 5
	usualQuoted   = 3
	maxOfDocument = 2
	relevance     = 0.7 // weight of the score against novelty (the λ of MMR)
	pool          = 40  // number of best sentences considered
	// A sentence must reach the share worthUsual of the best score, and worthMore beyond the usual number of quotes.
	worthUsual = 0.65
	worthMore  = 0.85
	// sameSubject is how much of the best sentence's part of the question another sentence must hold.
	sameSubject = 0.5
	// titledSubject raises that if the title of the best sentence is the subject: other sentences with its words
	// are then less likely to be on the subject.
	titledSubject = 1.7
	otherForm     = 0.45 // weight of a word of the same stem, which may mean something else
	sameText      = 0.95 // similarity from which two sentences are duplicates
	// longestQuote is the maximum length of a quote that is extended by the preceding sentence.
	longestQuote = 700
)

// choose picks sentences by maximal marginal relevance: good answers that do not repeat each other and come from
// several documents.
func (m *material) choose(ranked []int) []int {
	ranked = ranked[:min(len(ranked), pool)]
	best := m.sentences[ranked[0]].score
	about := m.about(ranked[0]) * sameSubject
	if m.titleCoverage(&m.passages[m.sentences[ranked[0]].passage]) >= subject {
		about *= titledSubject
	}
	words := make([]map[string]bool, len(ranked))
	for i, at := range ranked {
		words[i] = contentOf(&m.sentences[at])
	}
	var chosen []int // indexes in ranked
	for len(chosen) < maxQuoted {
		next, value := -1, math.Inf(-1)
		for i, at := range ranked {
			share := m.sentences[at].score / best
			if m.documentOf(at) != m.documentOf(ranked[0]) {
				// Another document that shares a word of its title is not therefore about the question.
				share -= m.sentences[at].titled / best
			}
			if len(chosen) > 0 && m.about(at) < about {
				continue // it shares only common words with the question
			}
			if share < worthUsual || len(chosen) >= usualQuoted && share < worthMore || !m.allowed(ranked, chosen, i) {
				continue
			}
			alike := 0.0
			for _, c := range chosen {
				alike = max(alike, similarity(words[i], words[c]))
			}
			if alike >= sameText {
				continue
			}
			if v := relevance*share - (1-relevance)*alike; v > value {
				next, value = i, v
			}
		}
		if next < 0 {
			break
		}
		chosen = append(chosen, next)
	}
	out := make([]int, len(chosen))
	for i, c := range chosen {
		out[i] = ranked[c]
	}
	return out
}

// about returns how much of the question a sentence is about, weighted by the rarity of words. Words of its title and
// of the preceding sentence, if it refers back, count less.
func (m *material) about(at int) float64 {
	c := &m.sentences[at]
	p := &m.passages[c.passage]
	sum := 0.0
	for t, weight := range m.weights {
		held := min(1, c.holds[t])
		if held == 1 && !c.verbatim[t] {
			held = otherForm
		}
		if p.inTitle[t] {
			held = max(held, titleHolds)
		}
		if c.refersBack && m.together(at-1, at) {
			held = max(held, carriedByPronoun*min(1, m.sentences[at-1].holds[t]))
		}
		sum += weight * held
	}
	return sum
}

func (m *material) documentOf(at int) string { return m.passages[m.sentences[at].passage].DocumentID }

// allowed reports whether a sentence can be added: it is not chosen yet, and its document has not reached its limit.
func (m *material) allowed(ranked, chosen []int, i int) bool {
	document := m.documentOf(ranked[i])
	same := 0
	for _, at := range chosen {
		if at == i {
			return false
		}
		if m.documentOf(ranked[at]) == document {
			same++
		}
	}
	return same < maxOfDocument
}

func contentOf(c *candidate) map[string]bool {
	set := make(map[string]bool, c.length)
	for _, token := range c.tokens {
		if !token.Stop {
			set[token.Term] = true
		}
	}
	return set
}

// similarity returns the cosine of two sets of words.
func similarity(a, b map[string]bool) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	both := 0
	for word := range a {
		if b[word] {
			both++
		}
	}
	return float64(both) / math.Sqrt(float64(len(a)*len(b)))
}

// stretch is a range of consecutive sentences of one passage, the last included.
type stretch struct{ first, last int }

// quotes turns sentences into quotes. A sentence that refers back is preceded by the sentence before it, and adjacent
// sentences are joined.
func (m *material) quotes(chosen []int) []Quote {
	var stretches []stretch
	for i, at := range chosen {
		s := stretch{at, at}
		if m.sentences[at].refersBack && m.together(at-1, at) && m.length(stretch{at - 1, at}) <= longestQuote {
			s.first--
		}
		if i == 0 && m.continues(at) && m.length(stretch{s.first, at + 1}) <= longestQuote {
			s.last++
		}
		stretches = append(stretches, s)
	}
	// A joined stretch may touch further ones.
	for i := 0; i < len(stretches); i++ {
		for j := 0; j < len(stretches); j++ {
			a, b := stretches[i], stretches[j]
			if i == j || a.first > b.first || b.first > a.last && (b.first != a.last+1 || !m.together(a.last, b.first)) {
				continue
			}
			joined := stretch{a.first, max(a.last, b.last)}
			stretches[min(i, j)] = joined
			stretches = slices.Delete(stretches, max(i, j), max(i, j)+1)
			i, j = 0, -1
		}
	}
	var out []Quote
	for _, s := range stretches {
		// Passages may overlap; quote each part once.
		if q := m.quote(s); !slices.ContainsFunc(out, q.overlaps) {
			out = append(out, q)
		}
	}
	return out
}

// continues reports whether the sentence after the best one is quoted with it: it gives the reason that is asked for,
// or goes on to explain the subject that the best one introduces.
func (m *material) continues(at int) bool {
	if at+1 >= len(m.sentences) || !m.together(at, at+1) {
		return false
	}
	switch m.query.kind {
	case cause:
		return m.sentences[at+1].explains && !m.sentences[at].rightKind
	case manner, definition:
		return m.sentences[at+1].explains || m.opens(at) || m.introduces(at)
	}
	return false
}

// together reports whether two sentences are consecutive in one paragraph.
func (m *material) together(first, second int) bool {
	if first < 0 || m.sentences[first].passage != m.sentences[second].passage {
		return false
	}
	a, b := &m.sentences[first], &m.sentences[second]
	return a.Paragraph == b.Paragraph && (b.Kind == Prose || b.Kind == Item)
}

func (m *material) length(s stretch) int { return m.sentences[s.last].End - m.sentences[s.first].Body }

func (m *material) quote(s stretch) Quote {
	from, to := m.sentences[s.first].Body, m.sentences[s.last].End
	p := m.passages[m.sentences[s.first].passage].Passage
	return Quote{
		DocumentID: p.DocumentID, SourceID: p.SourceID, Title: p.Title, Year: p.Year, Page: p.Page, Heading: p.Heading,
		Text: slice(p.Text, from, to), Start: p.Start + from, End: p.Start + to,
	}
}

func (q Quote) overlaps(other Quote) bool {
	return q.DocumentID == other.DocumentID && q.Start < other.End && other.Start < q.End
}

// slice returns a part of a text by code point offsets.
func slice(text string, from, to int) string {
	start, at := len(text), 0
	for i := range text {
		if at == from {
			start = i
		}
		if at == to {
			return text[start:i]
		}
		at++
	}
	return text[start:]
}
