package search

import (
	"context"
	"fmt"

	"carrel/internal/search/rank"
)

// Statistics returns how many passages the sources have now, and how many of them hold each of the terms, which are
// those of an analyser.
func (ix *Index) Statistics(ctx context.Context, sources, terms []string) (units int, holders []int, err error) {
	for {
		s, err := ix.acquire()
		if err != nil {
			return 0, nil, err
		}
		err = guard(func() (err error) {
			units, holders, err = s.statistics(sources, terms)
			return err
		})
		again := isDamage(err) && ix.dropDamaged(ctx, s)
		s.release()
		if err == nil {
			return units, holders, nil
		}
		if !again {
			return 0, nil, fmt.Errorf("count in the search index: %w", err)
		}
	}
}

func (s *snapshot) statistics(sources, terms []string) (int, []int, error) {
	parts := s.files()
	views := make([]rank.View, len(parts))
	for i, p := range parts {
		var err error
		if views[i], err = p.view(); err != nil {
			return 0, nil, err
		}
	}
	return rank.Statistics(views, sources, terms)
}
