package search

import (
	"context"
	"strings"

	"carrel/internal/search/query"
	"carrel/internal/search/rank"
)

// correct returns the query with its unknown words replaced by what was likely meant, "" when nothing is known.
// Unknown are the places of the terms that no searched document holds.
func correct(ctx context.Context, views []rank.View, q Query, parsed query.Query, unknown []int) (string, error) {
	if len(unknown) == 0 {
		return "", nil
	}
	unheld := make(map[string]bool)
	for _, place := range unknown {
		unheld[parsed.Terms[place].Text] = true
	}
	text := []rune(q.Text)
	var out strings.Builder
	at, corrected := 0, false
	for _, word := range parsed.Words {
		if !unheld[word.Term] || word.Start < at {
			continue
		}
		meant, ok, err := rank.Suggest(ctx, views, q.Sources, word.Term)
		if err != nil {
			return "", err
		}
		if !ok {
			continue
		}
		out.WriteString(string(text[at:word.Start]))
		out.WriteString(meant)
		at, corrected = word.End, true
	}
	if !corrected {
		return "", nil
	}
	out.WriteString(string(text[at:]))
	return out.String(), nil
}
