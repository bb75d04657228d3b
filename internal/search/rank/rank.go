// Package rank answers a query from segments: which documents are best, and how many there are.
//
// The answer is exact. The best k are those that scoring every document would find, whatever segments the documents
// lie in, whatever was deleted since and whenever segments were merged; a test holds it to that. What makes it fast
// is that most documents are never looked at: bounds on what a block of postings can be worth let whole stretches
// of a segment be passed over once enough better documents are known.
package rank

import (
	"context"
	"slices"

	"carrel/internal/search"
	"carrel/internal/search/query"
	"carrel/internal/search/segment"
)

// View is a segment as a reader sees it. The views of a search are in the order of the log, so that the document
// that changed first wins among equals.
type View struct {
	Segment *segment.Segment
	Deleted *segment.Bits // documents that are gone, or nil
	Lost    *Lost         // what they take from the statistics, or nil
}

// Request is a query and its parsed text.
type Request struct {
	search.Query
	Parsed query.Parsed
}

// Hit is a matching document and its best unit.
type Hit struct {
	View      int
	Doc, Unit uint32
	Score     float64
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

// rerankDepth is how many of the best documents are looked at again for the nearness of the query's words.
const rerankDepth = 200

// Search answers a request. An error is one of reading a segment, or the context's.
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
	found, err := p.best(max(rerankDepth, r.Limit))
	if err != nil {
		return Answer{}, err
	}
	if err := p.rerank(found, r.Vector != nil); err != nil {
		return Answer{}, err
	}
	weak := p.isWeak(found)
	if r.Vector != nil {
		if found, err = p.fuse(found); err != nil {
			return Answer{}, err
		}
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

// hits turns the first of what was found into hits. Scores never rise down the list, so that a client may rely on
// them: a document that is named takes at least the score of what it was put before.
func (p *plan) hits(found []candidate) []Hit {
	hits := make([]Hit, min(len(found), p.request.Limit))
	least := points(0)
	for i, c := range slices.Backward(found[:len(hits)]) {
		least = max(least, c.score)
		hits[i] = Hit{View: p.parts[c.part].view, Doc: c.doc, Unit: c.unit, Score: least.float()}
	}
	return hits
}
