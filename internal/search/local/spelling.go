package local

import (
	"context"

	"carrel/internal/search/local/rank"
)

// vocabulary are the terms of the searched sources in a snapshot.
type vocabulary struct {
	views   []rank.View
	sources []string
}

// Holders returns how many passages hold each of the terms.
func (v vocabulary) Holders(ctx context.Context, terms []string) ([]int, error) {
	out := make([]int, len(terms))
	for i, term := range terms {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if out[i], err = rank.Holders(v.views, v.sources, term); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Suggest returns a readable form of the term that is closest in spelling to an unknown one, or "".
func (v vocabulary) Suggest(ctx context.Context, _, term string) (string, error) {
	meant, _, err := rank.Suggest(ctx, v.views, v.sources, term)
	return meant, err
}
