package httpapi

import (
	"context"
	"time"

	"carrel/internal/httpapi/oas"
	"carrel/internal/search"
	"carrel/internal/source"
)

// Search answers POST …/search.
func (h handlers) Search(ctx context.Context, req *oas.SearchRequest, p oas.SearchParams) (*oas.SearchReply, error) {
	start := time.Now()
	q := search.Query{
		Text: req.Query, Limit: req.NumResults.Value, FromYear: req.FromYear.Value, ToYear: req.ToYear.Value,
		Facets: req.Facets.Or(true),
	}
	if id := req.SourceId.Value; id != "" {
		q.Sources = []string{id}
	}
	found, err := h.Sources.Search(ctx, actor(ctx), p.AgentId, q)
	if err != nil {
		return nil, err
	}
	out := &oas.SearchReply{
		Results: make([]oas.Card, len(found.Cards)), SourceId: found.Searched[0].ID,
		TookMs:          float64(time.Since(start).Microseconds()) / 1000,
		UndatedExcluded: found.UndatedExcluded, Query: oas.QueryInfo{Corrected: optional(found.Corrected)},
		Warnings: warningsOf(found.Warnings),
	}
	if q.Facets {
		out.Total = oas.NewOptInt(found.Total)
		out.Years = make([]oas.YearCount, len(found.Years))
		for i, y := range found.Years {
			out.Years[i] = oas.YearCount{Year: y.Year, Count: y.Count}
		}
	}
	for i, c := range found.Cards {
		out.Results[i] = cardOf(c)
	}
	return out, nil
}

func warningsOf(list []source.Warning) []oas.SearchWarning {
	out := make([]oas.SearchWarning, len(list))
	for i, w := range list {
		out[i] = oas.SearchWarning{SourceId: optional(w.SourceID), Code: w.Code, Detail: w.Detail}
	}
	return out
}

func cardOf(c source.Card) oas.Card {
	out := oas.Card{
		CardId: c.CardID(), Title: c.Title, URL: link(c.URL), Doi: optional(c.DOI), Authors: emptyNotNull(c.Authors),
		Year: positive(c.Year), PublishedAt: optional(c.PublishedAt), Venue: optional(c.Venue), Type: optional(c.Type),
		OpenAccessUrl: link(c.OpenAccessURL),
		Snippet:       c.Snippet.Text, Highlights: make([]oas.Span, len(c.Snippet.Highlights)),
		Page:  positive(c.Snippet.Page),
		Score: c.Score, ByMeaning: c.ByMeaning, SourceId: c.SourceID, DocumentId: c.ID, ExternalId: c.ExternalID,
	}
	if c.CitationCount != nil {
		out.CitationCount = oas.NewOptInt(*c.CitationCount)
	}
	if s := c.Snippet; s.End > s.Start {
		out.Passage = oas.NewOptPassage(oas.Passage{Start: s.Start, End: s.End, Heading: optional(s.Heading)})
	}
	for i, s := range c.Snippet.Highlights {
		out.Highlights[i] = oas.Span{Start: s.Start, End: s.End}
	}
	return out
}
