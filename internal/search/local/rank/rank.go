// Package rank ranks the documents of segments for a query, and counts them.
//
// The result is exact: the best k documents are those that scoring every document would find, regardless of how
// documents are spread over segments, of deletions and of merges. A test compares the two. It is fast because most
// documents are never scored: upper bounds on the scores in a block of postings let whole ranges be skipped once enough
// better documents are known.
package rank

import (
	"context"
	"slices"

	"carrel/internal/search"
	"carrel/internal/search/local/segment"
	"carrel/internal/search/query"
	"carrel/internal/search/scoring"
)

// View is a segment with its deletions. The views of a search are in the order of the change log, so that of
// documents with equal scores the first to change wins.
type View struct {
	Segment    *segment.Segment
	Deleted    *segment.Bits // deleted documents, or nil
	Deductions *Deductions   // of the deleted documents, or nil
}

// Request is a query and its parsed text.
type Request struct {
	search.Query
	Parsed query.Parsed
	// LeastCosine is the least similarity of a document that holds no word of the query.
	LeastCosine float64
	// CellsFrom is the number of units from which only the nearest cells are compared with the embedding, 0 if units have
	// no cells.
	CellsFrom int
}

// semantic reports whether the query is also ranked by its embedding.
func (r *Request) semantic() bool {
	return r.Vector != nil && r.VectorWeight > 0 && !r.Plain && !r.Parsed.Exact()
}

// Hit is a matching document and its best unit.
type Hit struct {
	View      int
	Doc, Unit uint32
	Score     float64
	// ByMeaning is set if the document holds no word of the query.
	ByMeaning bool
}

// Answer is the outcome of a search over views.
type Answer struct {
	Hits []Hit
	search.Facets
	// Unknown are the indexes in Parsed.Terms of the terms that no document holds. Weak is set if because of them no
	// hit holds at least half of the query's weight.
	Unknown []int
	Weak    bool
}

// Search ranks the documents of the views. An error comes from reading a segment or from the context.
func Search(ctx context.Context, views []View, r Request) (Answer, error) {
	p, err := newPlan(ctx, views, r)
	if err != nil || len(p.parts) == 0 {
		return Answer{}, err
	}
	if r.Parsed.DOIKey != 0 {
		named, err := p.named(r.Parsed.DOIKey, (*segment.Segment).FindDOI)
		if err != nil {
			return Answer{}, err
		}
		if len(named) > 0 {
			return p.answerNamed(named), nil
		}
	}
	if err := p.applyClauses(); err != nil {
		return Answer{}, err
	}
	found, weak, err := p.rank()
	if err != nil {
		return Answer{}, err
	}
	if r.Parsed.TitleKey != 0 {
		titled, err := p.named(r.Parsed.TitleKey, (*segment.Segment).FindTitle)
		if err != nil {
			return Answer{}, err
		}
		found = p.putFirst(titled, found)
	}
	answer := Answer{Unknown: p.unknown(), Weak: weak}
	if err := p.count(&answer, found); err != nil {
		return Answer{}, err
	}
	answer.Hits = p.hits(found)
	return answer, nil
}

// rank returns the best documents, and whether none holds at least half of the query's weight.
func (p *plan) rank() (found []candidate, weak bool, err error) {
	p.filter()
	if !p.request.semantic() {
		found, err = p.rankByWords(0)
		return found, err == nil && p.isWeak(found), err
	}
	near, err := p.neighboursDuring(func() (err error) {
		found, err = p.rankByWords(scoring.RerankDepth)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	weak = p.isWeak(found)
	found, err = p.fuse(found, near)
	return found, weak, err
}

// rankByWords ranks the best documents, and computes the proximity of the query's words for at least so many of them.
func (p *plan) rankByWords(least int) ([]candidate, error) {
	found, err := p.best(max(scoring.RerankDepth, p.request.Limit))
	if err != nil {
		return nil, err
	}
	return found, p.rerank(found, least)
}

// hits converts the first candidates to hits. Scores never increase down the list, so that clients can rely on them: a
// document that is named by the query gets at least the score of the next.
func (p *plan) hits(found []candidate) []Hit {
	hits := make([]Hit, min(len(found), p.request.Limit))
	least := points(0)
	for i, c := range slices.Backward(found[:len(hits)]) {
		least = max(least, c.score)
		hits[i] = Hit{
			View: p.parts[c.part].view, Doc: c.doc, Unit: c.unit, Score: least.Float(), ByMeaning: c.wordless,
		}
	}
	return hits
}
