package httpapi

import (
	"context"
	"slices"
	"time"

	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
	"carrel/internal/search"
	"carrel/internal/source"
)

// SearchAgents answers POST /api/search.
func (h handlers) SearchAgents(ctx context.Context, req *oas.AgentsSearchRequest) (*oas.AgentsSearchReply, error) {
	start := time.Now()
	ids := slices.Compact(slices.Sorted(slices.Values(req.AgentIds)))
	var limited []oas.SearchWarning
	if len(ids) == 0 {
		agents, next, err := h.Agents.List(ctx, actor(ctx), core.Page{Limit: core.MaxLimit})
		if err != nil {
			return nil, err
		}
		for _, a := range agents {
			ids = append(ids, a.ID)
		}
		if next != "" {
			limited = append(limited, oas.SearchWarning{
				Code: "agents_limited", Detail: "The first 200 agents were searched. Name others in agentIds.",
			})
		}
	}
	r := source.SearchRequest{Cursor: req.Cursor.Value, Filter: searchFilter(req.Filter.Value), Query: search.Query{
		Text: req.Query, Limit: req.NumResults.Value, FromYear: req.FromYear.Value, ToYear: req.ToYear.Value, Facets: true,
	}}
	found, err := h.Sources.SearchAgents(ctx, actor(ctx), ids, r)
	if err != nil {
		return nil, err
	}
	out := &oas.AgentsSearchReply{
		Results: make([]oas.AgentHit, len(found.Hits)), Total: int64(found.Total), NextCursor: optional(found.Next),
		TookMs:          float64(time.Since(start).Microseconds()) / 1000,
		UndatedExcluded: int64(found.UndatedExcluded), Query: oas.QueryInfo{Corrected: optional(found.Corrected)},
		Warnings: append(warningsOf(found.Warnings), limited...),
	}
	for i, hit := range found.Hits {
		out.Results[i] = agentHit(hit, req.Fields)
	}
	return out, nil
}

// searchFilter converts the filter of a search.
func searchFilter(f oas.SearchFilter) source.SearchFilter {
	out := source.SearchFilter{
		Types: f.Types, Authors: f.Authors, Venues: f.Venues, Languages: f.Languages, Tags: f.Tags,
	}
	if f.HasYear.Set {
		out.HasYear = &f.HasYear.Value
	}
	return out
}

// agentHit returns a hit with its ids and the wanted fields; nil means all.
func agentHit(hit source.AgentHit, fields []oas.AgentHitField) oas.AgentHit {
	c := cardOf(hit.Card)
	out := oas.AgentHit{AgentId: hit.AgentID, CardId: c.CardId, SourceId: c.SourceId, DocumentId: c.DocumentId}
	for field, set := range map[oas.AgentHitField]func(){
		oas.AgentHitFieldTitle:         func() { out.Title = oas.NewOptString(c.Title) },
		oas.AgentHitFieldURL:           func() { out.URL = c.URL },
		oas.AgentHitFieldDoi:           func() { out.Doi = c.Doi },
		oas.AgentHitFieldAuthors:       func() { out.Authors = c.Authors },
		oas.AgentHitFieldYear:          func() { out.Year = c.Year },
		oas.AgentHitFieldPublishedAt:   func() { out.PublishedAt = c.PublishedAt },
		oas.AgentHitFieldVenue:         func() { out.Venue = c.Venue },
		oas.AgentHitFieldType:          func() { out.Type = c.Type },
		oas.AgentHitFieldCitationCount: func() { out.CitationCount = c.CitationCount },
		oas.AgentHitFieldOpenAccessUrl: func() { out.OpenAccessUrl = c.OpenAccessUrl },
		oas.AgentHitFieldSnippet:       func() { out.Snippet = oas.NewOptString(c.Snippet) },
		oas.AgentHitFieldHighlights:    func() { out.Highlights = c.Highlights },
		oas.AgentHitFieldPage:          func() { out.Page = c.Page },
		oas.AgentHitFieldPassage:       func() { out.Passage = c.Passage },
		oas.AgentHitFieldScore:         func() { out.Score = oas.NewOptFloat64(c.Score) },
		oas.AgentHitFieldByMeaning:     func() { out.ByMeaning = oas.NewOptBool(c.ByMeaning) },
		oas.AgentHitFieldExternalId:    func() { out.ExternalId = oas.NewOptString(c.ExternalId) },
	} {
		if fields == nil || slices.Contains(fields, field) {
			set()
		}
	}
	return out
}
