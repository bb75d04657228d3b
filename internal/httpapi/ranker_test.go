package httpapi_test

import (
	"context"
	"sync"

	"carrel/internal/search/analysis"
	"carrel/internal/search/query"
	"carrel/internal/source"
	"carrel/internal/testkit/indexed"
)

// scanner searches an index that is always up to date. Tests can script its results.
type scanner struct {
	*indexed.Ranker
	// indexed is the number of indexed documents by source; a missing source is fully indexed.
	indexed sync.Map // of a source's id to a number of documents
	// scripts are the scripted results by query.
	scripts sync.Map // of a query's text to a func(*source.Ranking)
	// shown are the snippets of documents by external id.
	shown sync.Map // of an external id to a source.Snippet
}

func (s *scanner) Rank(ctx context.Context, q source.Query) (source.Ranking, error) {
	out, err := s.Ranker.Rank(ctx, q)
	if script, ok := s.scripts.Load(q.Text); ok {
		script.(func(*source.Ranking))(&out)
	}
	return out, err
}

func (s *scanner) Snippets(q source.Query) func(source.Document, int) source.Snippet {
	a := analysis.New(q.Language)
	h := query.NewHighlighter(a, query.Parse(a, q.Text), query.SnippetWidth)
	return func(d source.Document, _ int) source.Snippet {
		if shown, ok := s.shown.Load(d.ExternalID); ok {
			return shown.(source.Snippet)
		}
		text, spans, _ := h.Snippet(d.Title, d.Text, analysis.Passages(d.Text)[0])
		out := source.Snippet{Text: text, Highlights: make([]source.Span, len(spans))}
		for i, span := range spans {
			out.Highlights[i] = source.Span(span)
		}
		return out
	}
}

func (s *scanner) Indexed(sourceID string) (int, bool) {
	n, known := s.indexed.Load(sourceID)
	if !known {
		return 0, false
	}
	return n.(int), true
}
