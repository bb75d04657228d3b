package local

import (
	"context"
	"fmt"

	"carrel/internal/search"
	"carrel/internal/search/local/rank"
)

// Statistics counts the passages of the sources that hold each term.
func (ix *Index) Statistics(ctx context.Context, sources, terms []string) (search.Statistics, error) {
	var out search.Statistics
	err := ix.read(ctx, func(s *snapshot) (err error) {
		out, err = s.statistics(sources, terms)
		return err
	})
	if err != nil {
		return search.Statistics{}, fmt.Errorf("count in the search index: %w", err)
	}
	return out, nil
}

func (s *snapshot) statistics(sources, terms []string) (search.Statistics, error) {
	views, err := viewsOf(s.files())
	if err != nil {
		return search.Statistics{}, err
	}
	passages, holders, err := rank.Statistics(views, sources, terms)
	if err != nil {
		return search.Statistics{}, err
	}
	out := search.Statistics{Passages: passages, Holders: make(map[string]int, len(terms))}
	for i, term := range terms {
		out.Holders[term] = holders[i]
	}
	return out, nil
}
