package opensearch

import (
	"slices"
	"strings"

	"carrel/internal/search/analysis"
	"carrel/internal/search/scoring"
)

// candidate is a document that may be listed, with its best passage.
type candidate struct {
	id, source string
	seq        uint64
	passage    int
	score      scoring.Points
	year       int
	strong     bool // it holds at least half of the query's weight
	named      bool // the query is its title or DOI, so that it comes first
	norm       float64
	vectors    string
	held       uint32  // weight of the query's terms in the passage
	positions  [][]int // of the query's terms in title and text, for their proximity
}

// candidates scores documents by their words, and sorts them.
func (r *request) candidates(from reply) []candidate {
	places := make(map[string]int, len(r.terms))
	for i, t := range r.terms {
		places[t.token] = i
	}
	out := make([]candidate, len(from.Hits.Hits))
	for i := range from.Hits.Hits {
		out[i] = r.candidate(&from.Hits.Hits[i], places)
	}
	slices.SortFunc(out, compare)
	return out
}

func (r *request) candidate(h *hit, places map[string]int) candidate {
	c := candidate{
		id: h.ID, source: first(h.Fields.Source), seq: first(h.Fields.Seq), vectors: first(h.Fields.Vectors),
		year: first(h.Fields.Year), strong: slices.Contains(h.Matched, strongName),
		positions: make([][]int, len(r.terms)),
	}
	frequencies := make([]int, len(r.terms))
	position := 0
	read := func(text string, weight int, placed bool) {
		for word := range strings.FieldsSeq(text) {
			// Words that are not indexed have no position, so that "state of the art" has two adjacent words.
			if word == gap || !r.parsed.Stops && strings.HasPrefix(word, analysis.StopMark) {
				if t, ok := places[word]; ok {
					frequencies[t] += weight
				}
				continue
			}
			position++
			t, ok := places[word]
			if !ok {
				continue
			}
			frequencies[t] += weight
			if placed {
				c.positions[t] = append(c.positions[t], position)
			}
		}
	}
	read(first(h.Fields.Title), scoring.TitleWeight, true)
	if passages := h.Inner.Passages.Hits.Hits; len(passages) > 0 {
		p := &passages[0].Fields
		c.passage, c.norm = first(p.Number), r.satur.Norm(first(p.Length))
		read(first(p.Text), 1, true)
	}
	for _, name := range h.Fields.Authors {
		read(name, 1, false)
	}
	for i, t := range r.terms {
		if f := frequencies[i]; f > 0 && t.holders > 0 {
			c.score += scoring.Score(t.gain, uint8(min(f, 255)), c.norm)
			c.held += t.mass
		}
	}
	return c
}

// rerank adds the proximity scores of the query's words, and sorts.
func (r *request) rerank(found []candidate) {
	sequence := r.parsed.Sequence
	for i := 1; i < len(sequence); i++ {
		x, y := sequence[i-1], sequence[i]
		if x == y || r.terms[x].holders == 0 || r.terms[y].holders == 0 {
			continue
		}
		adjacentGain, withinGain := scoring.PairGains(r.terms[x].idf, r.terms[y].idf)
		for j := range found {
			c := &found[j]
			adjacent, within := scoring.Near(c.positions[x], c.positions[y])
			c.score += scoring.Score(adjacentGain, adjacent, c.norm) + scoring.Score(withinGain, within, c.norm)
		}
	}
	slices.SortFunc(found, compare)
}

// isWeak reports whether unknown words make up so much of the query that even the best documents hold less than half of
// its weight.
func (r *request) isWeak(found []candidate) bool {
	unknown := r.unknown()
	if len(unknown) == 0 {
		return false
	}
	all := uint64(r.mass)
	for _, i := range unknown {
		all += uint64(scoring.Mass(r.terms[i].count, scoring.IDF(r.units, 0)))
	}
	const look = 10
	return !slices.ContainsFunc(found[:min(look, len(found))], func(c candidate) bool { return 2*uint64(c.held) >= all })
}

// fuse combines the scores by words with the similarity of the embeddings.
func (r *request) fuse(found []candidate) {
	if r.vector == nil || len(found) == 0 {
		return
	}
	byWords, dense := make([]float64, len(found)), make([]float64, len(found))
	for i, c := range found {
		byWords[i], dense[i] = c.score.Float(), nearest(c.vectors, r.vector)
	}
	for i, fused := range scoring.Fuse(byWords, dense, r.VectorWeight) {
		found[i].score = fused
	}
	slices.SortFunc(found, compare)
}

// putFirst moves the documents whose title is the query to the front.
func putFirst(titled, found []candidate) []candidate {
	if len(titled) == 0 {
		return found
	}
	var out []candidate
	for _, c := range found {
		c.named = slices.ContainsFunc(titled, func(t candidate) bool { return t.id == c.id })
		out = append(out, c)
	}
	for _, t := range titled {
		if !slices.ContainsFunc(found, func(c candidate) bool { return c.id == t.id }) {
			t.named = true
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, compare)
	return out
}
