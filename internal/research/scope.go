package research

import (
	"cmp"
	"context"
	"math"
	"slices"

	"carrel/internal/core"
	"carrel/internal/search"
	"carrel/internal/search/analysis"
	"carrel/internal/source"
)

// limitTo limits the sources of a turn to the scope of its question, and sets the documents of the scope.
func (t *turn) limitTo(ctx context.Context, p *prepared) error {
	scope := t.q.Scope
	if len(scope.SourceIDs) > 0 {
		p.Sources = slices.DeleteFunc(p.Sources, func(s knownSource) bool {
			return !slices.Contains(scope.SourceIDs, s.ID)
		})
	}
	if len(scope.DocumentIDs) == 0 {
		return nil
	}
	held := map[string]int{}
	for _, id := range scope.DocumentIDs {
		d, err := t.document(ctx, id)
		if core.IsKind(err, core.KindNotFound) {
			continue // deleted since the question was sent
		}
		if err != nil {
			return err
		}
		if slices.ContainsFunc(p.Sources, func(s knownSource) bool { return s.ID == d.SourceID }) {
			p.Documents = append(p.Documents, cited{d.ID, d.SourceID})
			held[d.SourceID]++
		}
	}
	p.Sources = slices.DeleteFunc(p.Sources, func(s knownSource) bool { return held[s.ID] == 0 })
	for i, s := range p.Sources {
		p.Sources[i].Documents = held[s.ID]
	}
	return nil
}

// ofDocuments reports whether the question is limited to documents.
func (t *turn) ofDocuments() bool { return len(t.q.Scope.DocumentIDs) > 0 }

// inScope reports whether a turn may use a document.
func (t *turn) inScope(documentID, sourceID string) bool {
	switch {
	case t.ofDocuments():
		return slices.Contains(t.ready.Documents, cited{documentID, sourceID})
	case !t.q.Scope.Empty():
		return slices.Contains(t.q.Scope.SourceIDs, sourceID)
	}
	return true
}

// sourceIDs returns the ids of the sources in scope.
func (p prepared) sourceIDs() []string {
	ids := make([]string, len(p.Sources))
	for i, s := range p.Sources {
		ids[i] = s.ID
	}
	return ids
}

// reach returns how far around a found passage a document is read, in code points. A document that the question is
// limited to is read completely.
func (t *turn) reach() int {
	if t.ofDocuments() {
		return math.MaxInt32
	}
	return longestRead / 2
}

// scopedPassage is a passage of a document in scope, with the number of times that it holds each term of the lookups.
type scopedPassage struct {
	start, end, length int
	held               map[string]int
}

// lookUpInDocuments runs lookups in the documents of the scope: all of them are found, in the order of their best
// passages. A search in the index could miss a document among better ones.
func (t *turn) lookUpInDocuments(ctx context.Context, lookups []lookup) ([]lookupResult, error) {
	terms := make(map[string]bool)
	analysers := map[string]*analysis.Analyser{}
	for _, s := range t.ready.Sources {
		if analysers[s.Language] == nil {
			analysers[s.Language] = analysis.New(s.Language)
		}
	}
	wanted := make([]map[string]bool, len(lookups))
	for i, l := range lookups {
		wanted[i] = map[string]bool{}
		for _, a := range analysers {
			for token := range a.Tokens(l.Text) {
				if !token.Stop {
					wanted[i][token.Term], terms[token.Term] = true, true
				}
			}
		}
	}
	var documents []source.Document
	var passages [][]scopedPassage
	for _, c := range t.ready.Documents {
		d, err := t.document(ctx, c.DocumentID)
		if core.IsKind(err, core.KindNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		documents = append(documents, d)
		passages = append(passages, readPassages(analysers[t.ready.source(d.SourceID).Language], d, terms))
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	results := make([]lookupResult, len(lookups))
	for i := range lookups {
		results[i].found.Cards = rankDocuments(documents, passages, wanted[i])
	}
	return results, nil
}

// readPassages counts terms in the passages of a document.
func readPassages(a *analysis.Analyser, d source.Document, terms map[string]bool) []scopedPassage {
	var out []scopedPassage
	for _, part := range analysis.Passages(d.Text) {
		p := scopedPassage{start: part.Start, end: part.End, held: map[string]int{}}
		for token := range a.Tokens(part.Of(d.Text)) {
			p.length++
			if terms[token.Term] {
				p.held[token.Term]++
			}
		}
		out = append(out, p)
	}
	return out
}

// The parameters of BM25, as in the index.
const (
	saturation = 1.2
	lengthBias = 0.75
)

// rankDocuments returns all documents with their best passages by BM25, best first.
func rankDocuments(documents []source.Document, passages [][]scopedPassage, terms map[string]bool) []source.Card {
	all, words := 0, 0
	holders := map[string]int{}
	for _, of := range passages {
		for _, p := range of {
			all++
			words += p.length
			for term := range p.held {
				holders[term]++
			}
		}
	}
	average := float64(max(words, 1)) / float64(max(all, 1))
	cards := make([]source.Card, len(documents))
	for i, d := range documents {
		cards[i] = source.Card{Document: d}
		for at, p := range passages[i] {
			score := 0.0
			for term := range terms {
				n := float64(p.held[term])
				rarity := math.Log1p((float64(all-holders[term]) + 0.5) / (float64(holders[term]) + 0.5))
				score += rarity * n * (saturation + 1) /
					(n + saturation*(1-lengthBias+lengthBias*float64(p.length)/average))
			}
			if at == 0 || score > cards[i].Score {
				cards[i].Score, cards[i].Snippet = score, search.Snippet{Start: p.start, End: p.end}
			}
		}
	}
	slices.SortStableFunc(cards, func(a, b source.Card) int { return cmp.Compare(b.Score, a.Score) })
	return cards
}
