package source

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"carrel/internal/search"
)

// SourcesOf returns the sources of an agent, without an access check.
func (s *Service) SourcesOf(ctx context.Context, userID, agentID string) ([]Source, error) {
	return s.store.Sources(ctx, userID, agentID)
}

// IndexWarnings returns a warning for each source whose documents are not all indexed.
func (s *Service) IndexWarnings(sources []Source) []Warning {
	var out []Warning
	for _, src := range sources {
		out = append(out, s.indexWarning(src)...)
	}
	return out
}

// FindPassages returns the stored documents of sources that match a text, best first, each with its best passage. It is
// for many searches in a row: it matches words only, loads no documents, and neither queries federated sources nor
// checks access.
func (s *Service) FindPassages(ctx context.Context, sources []Source, text string, limit int) ([]search.Hit, error) {
	var hits []search.Hit
	groups := idsByLanguage(sources)
	for _, language := range slices.Sorted(maps.Keys(groups)) {
		result, err := s.engine.Search(ctx, search.Query{
			Text: text, Language: language, Sources: groups[language], Limit: limit, Plain: true,
		})
		if err != nil {
			return nil, err
		}
		hits = append(hits, result.Hits...)
	}
	// Stable, so that equal scores stay in the order of languages and ranks.
	slices.SortStableFunc(hits, func(a, b search.Hit) int { return cmp.Compare(b.Score, a.Score) })
	return hits[:min(len(hits), limit)], nil
}

// DocumentsIn returns the documents with these ids in the sources, in any order and without an access check.
func (s *Service) DocumentsIn(ctx context.Context, sources []Source, ids []string) ([]Document, error) {
	sourceIDs := make([]string, len(sources))
	for i, src := range sources {
		sourceIDs[i] = src.ID
	}
	return s.store.DocumentsByID(ctx, sourceIDs, ids)
}
