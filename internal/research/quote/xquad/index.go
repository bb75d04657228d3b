package xquad

import (
	"cmp"
	"math"
	"slices"

	"carrel/internal/research/quote"
	"carrel/internal/search/analysis"
	"carrel/internal/search/query"
)

// Index is a small in-memory search: BM25 over passages, in which words of the title count like words of the text.
type Index struct {
	passages []quote.Passage
	analyser *analysis.Analyser
	postings map[string][]posting
	lengths  []float64 // relative to the average
	scores   []float64 // of the current query
}

type posting struct {
	passage int
	count   float64
}

const k1, b = 1.2, 0.75

// NewIndex indexes passages in a language, given by its code.
func NewIndex(passages []quote.Passage, code string) *Index {
	x := &Index{
		passages: passages, analyser: analysis.New(code), postings: make(map[string][]posting),
		lengths: make([]float64, len(passages)), scores: make([]float64, len(passages)),
	}
	total := 0.0
	for i, p := range passages {
		for _, text := range []string{p.Title, p.Text} {
			for token := range x.analyser.Tokens(text) {
				if token.Stop {
					continue
				}
				x.lengths[i]++
				list := x.postings[token.Term]
				if n := len(list); n > 0 && list[n-1].passage == i {
					list[n-1].count++
					continue
				}
				x.postings[token.Term] = append(list, posting{i, 1})
			}
		}
		total += x.lengths[i]
	}
	for i := range x.lengths {
		x.lengths[i] /= max(1, total/float64(len(passages)))
	}
	return x
}

// Units returns the number of passages.
func (x *Index) Units() int { return len(x.passages) }

// Holders returns how many passages hold a term.
func (x *Index) Holders(term string) int { return len(x.postings[term]) }

// Retrieve returns the n passages with the highest BM25.
func (x *Index) Retrieve(text string, n int) ([]quote.Passage, error) {
	clear(x.scores)
	var found []int
	for _, term := range query.Parse(x.analyser, text).Terms {
		list := x.postings[term.Text]
		idf := math.Log1p((float64(len(x.passages)-len(list)) + 0.5) / (float64(len(list)) + 0.5))
		for _, p := range list {
			if x.scores[p.passage] == 0 {
				found = append(found, p.passage)
			}
			x.scores[p.passage] += float64(term.Count) * idf * p.count * (k1 + 1) / (p.count + k1*(1-b+b*x.lengths[p.passage]))
		}
	}
	best := make([]int, 0, n+1)
	for _, i := range found {
		if len(best) == n && x.compare(i, best[n-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, i, x.compare)
		best = slices.Insert(best, at, i)
		best = best[:min(n, len(best))]
	}
	out := make([]quote.Passage, 0, n)
	for _, i := range best {
		p := x.passages[i]
		p.Score = x.scores[i]
		out = append(out, p)
	}
	return out, nil
}

// compare sorts passages by score, best first.
func (x *Index) compare(i, j int) int {
	return cmp.Or(cmp.Compare(x.scores[j], x.scores[i]), cmp.Compare(i, j))
}
