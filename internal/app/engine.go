package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"carrel/internal/core"
	"carrel/internal/embedding"
	"carrel/internal/search"
	"carrel/internal/search/analysis"
	"carrel/internal/search/query"
	"carrel/internal/source"
)

// engine answers searches from the index of this node, with embeddings where they are set up. Commands have none.
type engine struct {
	index     atomic.Pointer[search.Index]
	embedding *embedding.Service // or nil
	log       *slog.Logger
}

// queryWait is how long a search waits for the embedding of its query before it goes on without.
const queryWait = 2 * time.Second

// Rank finds the documents that answer a query best.
func (e *engine) Rank(ctx context.Context, q source.Query) (source.Ranking, error) {
	index := e.index.Load()
	if index == nil {
		return source.Ranking{}, indexClosed()
	}
	ask := search.Query{
		Text: q.Text, Language: q.Language, Sources: q.Sources, Limit: q.Limit,
		FromYear: q.FromYear, ToYear: q.ToYear, Facets: q.Counts,
	}
	var out source.Ranking
	if e.embedding != nil {
		out.Warnings = e.embed(ctx, &ask)
	}
	found, err := index.Search(ctx, ask)
	if err != nil {
		return source.Ranking{}, err
	}
	out.Total, out.UndatedExcluded, out.Corrected = found.Total, found.UndatedExcluded, found.Corrected
	for _, h := range found.Hits {
		out.Hits = append(out.Hits, source.Hit{DocumentID: h.ID, Passage: h.Passage, Score: h.Score})
	}
	for _, y := range found.Years {
		out.Years = append(out.Years, source.YearCount(y))
	}
	for _, s := range found.Sources {
		out.Sources = append(out.Sources, source.SourceCount(s))
	}
	return out, nil
}

// embed adds the query's embedding. Without it words decide alone, and the reply says so.
func (e *engine) embed(ctx context.Context, q *search.Query) []source.Warning {
	ctx, cancel := context.WithTimeout(ctx, queryWait)
	defer cancel()
	vector, err := e.embedding.Query(ctx, q.Text)
	if err == nil {
		q.Vector, q.Model = vector, e.embedding.Model()
		return nil
	}
	e.log.DebugContext(ctx, "a query was searched without its embedding", slog.Any("error", err))
	return []source.Warning{{
		Code:   source.WarnEmbeddingsUnavailable,
		Detail: "The endpoint for embeddings did not answer; results are ranked by words alone.",
	}}
}

// Snippets shows where documents answer a query.
func (e *engine) Snippets(q source.Query) func(source.Document, int) source.Snippet {
	a := analysis.New(q.Language)
	h := query.NewHighlighter(a, query.Parse(a, q.Text), query.SnippetWidth)
	return func(d source.Document, number int) source.Snippet {
		passages := analysis.Passages(d.Text)
		if number == source.BestPassage {
			number = best(h, d, passages)
		}
		// The document may have changed since it was indexed, and be shorter now.
		p := passages[min(number, len(passages)-1)]
		text, spans, page := h.Snippet(d.Title, d.Text, p)
		out := source.Snippet{
			Text: text, Highlights: make([]source.Span, len(spans)), Page: page, Start: p.Start, End: p.End, Heading: p.Heading,
		}
		for i, span := range spans {
			out.Highlights[i] = source.Span(span)
		}
		return out
	}
}

// best returns the passage whose snippet shows the most of the query, for a document that no index has ranked. Most of
// those are an abstract, which is one passage.
func best(h *query.Highlighter, d source.Document, passages []analysis.Passage) int {
	if len(passages) == 1 {
		return 0
	}
	at, most := 0, 0
	for i, p := range passages {
		if _, lit, _ := h.Snippet(d.Title, d.Text, p); len(lit) > most {
			at, most = i, len(lit)
		}
	}
	return at
}

// Indexed returns how many of a source's documents a search can find.
func (e *engine) Indexed(sourceID string) (int, bool) {
	index := e.index.Load()
	if index == nil {
		return 0, false
	}
	return index.Stats().Sources[sourceID], true
}

// Statistics returns how rare words are in the sources.
func (e *engine) Statistics(ctx context.Context, sources, terms []string) (int, []int, error) {
	index := e.index.Load()
	if index == nil {
		return 0, nil, indexClosed()
	}
	return index.Statistics(ctx, sources, terms)
}

// indexClosed is the answer while there is no index.
func indexClosed() *core.Error {
	return &core.Error{
		Kind: core.KindUnavailable, Code: "unavailable", RetryAfter: time.Second,
		Detail: "The search index is not open; try again in a moment.",
	}
}

// changeLog is the documents' change log with the embeddings of the documents.
type changeLog struct {
	search.Log
	embedding *embedding.Service // or nil
}

// Changes reads the log and puts the vectors to the documents.
func (l changeLog) Changes(ctx context.Context, after, through uint64, limit int) ([]search.Change, error) {
	changes, err := l.Log.Changes(ctx, after, through, limit)
	if err != nil || l.embedding == nil {
		return changes, err
	}
	texts := make([]embedding.Text, 0, len(changes))
	for _, c := range changes {
		if c.Op == search.Put {
			texts = append(texts, embedding.Text{ID: c.ID, Title: c.Document.Title, Text: c.Document.Text})
		}
	}
	vectors, err := l.embedding.Vectors(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("read embeddings: %w", err)
	}
	for i := range changes {
		if v, ok := vectors[changes[i].ID]; ok {
			changes[i].Document.Vectors = &search.Vectors{Model: v.Model, Dims: v.Dims, Passages: v.Passages}
		}
	}
	return changes, nil
}

// ErrNotIndexed ends a wait that can't succeed.
var ErrNotIndexed = errors.New("the documents are stored, but no running server has indexed them")
