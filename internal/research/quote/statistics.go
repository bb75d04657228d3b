package quote

import (
	"math"

	"carrel/internal/search/analysis"
)

// Statistics hold the frequencies of terms in all searched passages.
type Statistics interface {
	// Units returns the number of passages, or documents, in which terms are counted.
	Units() int
	// Holders returns how many of them hold the term, in the form of the analyser.
	Holders(term string) int
}

// idf returns the inverse document frequency of a term.
func idf(s Statistics, term string) float64 {
	units := float64(s.Units())
	holders := min(float64(s.Holders(term)), units)
	return math.Log1p((units - holders + 0.5) / (holders + 0.5))
}

// counted are the statistics of the found passages, for lack of better ones. They say little about the rarity of a
// word, because the passages were chosen for holding it.
type counted struct {
	units   int
	holders map[string]int
}

func (c *counted) Units() int              { return c.units }
func (c *counted) Holders(term string) int { return c.holders[term] }

// Count returns the statistics of passages.
func Count(a *analysis.Analyser, passages []Passage) Statistics {
	c := &counted{units: len(passages), holders: make(map[string]int)}
	last := make(map[string]int)
	for i, p := range passages {
		for token := range a.Tokens(p.Text) {
			if !token.Stop && last[token.Term] != i+1 {
				last[token.Term] = i + 1
				c.holders[token.Term]++
			}
		}
	}
	return c
}
