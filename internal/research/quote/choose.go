package quote

import (
	"math"
	"slices"
)

// How many sentences are quoted, and which.
const (
	maxQuoted     = 5
	usualQuoted   = 3
	maxOfDocument = 2
	relevance     = 0.7 // how much being an answer counts against saying something new (the λ of MMR)
	pool          = 40  // the best so many are looked at
	// A sentence is worth showing at all from this share of the best one's score, and beyond the usual number from
	// the higher one.
	worthUsual = 0.65
	worthMore  = 0.85
	// sameSubject is how much of what the best sentence holds of the question another one must hold.
	sameSubject = 0.5
	// titledSubject raises that where the best one's title is what is asked for: what only has its words is less likely
	// to be about it.
	titledSubject = 1.7
	otherForm     = 0.45 // what a word of the same stem counts for that, which may mean something else
	sameText      = 0.95 // two sentences this alike are the same, in two documents
	// longestQuote is the length up to which the sentence before is added.
	longestQuote = 700
)

// choose picks sentences from the ranked ones by maximal marginal relevance: good answers that do not repeat each
// other, and not all from one document.
func (m *material) choose(ranked []int) []int {
	ranked = ranked[:min(len(ranked), pool)]
	best := m.sentences[ranked[0]].score
	about := m.about(ranked[0]) * sameSubject
	if m.entitled(&m.passages[m.sentences[ranked[0]].passage]) >= subject {
		about *= titledSubject
	}
	words := make([]map[string]bool, len(ranked))
	for i, at := range ranked {
		words[i] = contentOf(&m.sentences[at])
	}
	var chosen []int // places in ranked
	for len(chosen) < maxQuoted {
		next, value := -1, math.Inf(-1)
		for i, at := range ranked {
			share := m.sentences[at].score / best
			if len(chosen) > 0 && m.about(at) < about {
				continue // it shares only what everything shares with the question
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

// about returns how much of the question a sentence is about: the rarer a word, the more. What it takes over from the
// sentence before it and from its title counts less.
func (m *material) about(at int) float64 {
	c := &m.sentences[at]
	p := &m.passages[c.passage]
	sum := 0.0
	for t, weight := range m.weights {
		held := min(1, c.holds[t])
		if held == 1 && !c.verbatim[t] {
			held = otherForm
		}
		if p.titled[t] {
			held = max(held, titleHolds)
		}
		if c.pointing && m.together(at-1, at) {
			held = max(held, carriedPoint*min(1, m.sentences[at-1].holds[t]))
		}
		sum += weight * held
	}
	return sum
}

// allowed reports whether a sentence may join the chosen: it is none of them, and its document has room.
func (m *material) allowed(ranked, chosen []int, i int) bool {
	document := m.passages[m.sentences[ranked[i]].passage].DocumentID
	same := 0
	for _, at := range chosen {
		if at == i {
			return false
		}
		if m.passages[m.sentences[ranked[at]].passage].DocumentID == document {
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

// similarity is the cosine of two sets of words.
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

// stretch is sentences in a row of one passage, the last included.
type stretch struct{ first, last int }

// quotes makes quotes of sentences. One that points back takes the sentence before it along; sentences that stand
// together become one quote.
func (m *material) quotes(chosen []int) []Quote {
	var stretches []stretch
	for _, at := range chosen {
		s := stretch{at, at}
		if m.sentences[at].pointing && m.together(at-1, at) && m.length(stretch{at - 1, at}) <= longestQuote {
			s.first--
		}
		stretches = append(stretches, s)
	}
	// One may have come to touch several others.
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
		// Passages may overlap; what is quoted once is enough.
		if q := m.quote(s); !slices.ContainsFunc(out, q.overlaps) {
			out = append(out, q)
		}
	}
	return out
}

// together reports whether two sentences follow each other in one paragraph.
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

// slice returns the code points from..to of a text, byte for byte.
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
