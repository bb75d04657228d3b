package httpapi

import (
	"context"
	"slices"
	"strconv"
	"time"

	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
	"carrel/internal/search"
	"carrel/internal/source"
)

// Search answers POST …/search.
func (h handlers) Search(ctx context.Context, req *oas.SearchRequest, p oas.SearchParams) (*oas.SearchReply, error) {
	return h.search(ctx, p.AgentId, req)
}

// SearchBatch answers POST …/searches.
func (h handlers) SearchBatch(
	ctx context.Context, req *oas.SearchBatch, p oas.SearchBatchParams,
) (*oas.SearchBatchReply, error) {
	out := &oas.SearchBatchReply{Replies: make([]oas.SearchReply, len(req.Queries))}
	for i := range req.Queries {
		reply, err := h.search(ctx, p.AgentId, &req.Queries[i])
		if err != nil {
			return nil, below("/queries/"+strconv.Itoa(i), err)
		}
		out.Replies[i] = *reply
	}
	return out, nil
}

// below returns an error of one entry of a request with pointers into the whole request.
func below(at string, err error) error {
	e := core.AsError(err)
	if len(e.Fields) == 0 {
		return err
	}
	moved := *e
	moved.Fields = slices.Clone(e.Fields)
	for i := range moved.Fields {
		moved.Fields[i].Pointer = at + moved.Fields[i].Pointer
	}
	return &moved
}

// search carries out a search. Requests without the fields of a page take the shorter path of Sources.Search.
func (h handlers) search(ctx context.Context, agentID string, req *oas.SearchRequest) (*oas.SearchReply, error) {
	start := time.Now()
	q := searchQuery(req)
	if req.SourceIds != nil || req.Filter.Set || req.Sort.Set || req.CountBy != nil || req.Cursor.Set {
		return h.searchPage(ctx, agentID, q, req, start)
	}
	found, err := h.Sources.Search(ctx, actor(ctx), agentID, q)
	if err != nil {
		return nil, err
	}
	return searchReply(found, q.Facets, start), nil
}

// allSources stands for all sources of an agent in a list of ids.
const allSources = "*"

func (h handlers) searchPage(
	ctx context.Context, agentID string, q search.Query, req *oas.SearchRequest, start time.Time,
) (*oas.SearchReply, error) {
	r, err := searchRequest(q, req)
	if err != nil {
		return nil, err
	}
	found, err := h.Sources.SearchPage(ctx, actor(ctx), agentID, r)
	if err != nil {
		return nil, err
	}
	out := searchReply(found.Found, q.Facets, start)
	out.NextCursor = optional(found.Next)
	for _, src := range found.Searched {
		out.SourceIds = append(out.SourceIds, src.ID)
	}
	for _, c := range found.Counts {
		counts := oas.SearchCounts{Field: oas.SearchField(c.Field), Values: make([]oas.SearchCount, len(c.Values))}
		for i, v := range c.Values {
			counts.Values[i] = oas.SearchCount{Value: v.Value, Count: int64(v.Count)}
		}
		out.Counts = append(out.Counts, counts)
	}
	return out, nil
}

// searchQuery returns the query of a request, without the fields of a page.
func searchQuery(req *oas.SearchRequest) search.Query {
	q := search.Query{
		Text: req.Query, Limit: req.NumResults.Value, FromYear: req.FromYear.Value, ToYear: req.ToYear.Value,
		Facets: req.Facets.Or(true),
	}
	if id := req.SourceId.Value; id != "" {
		q.Sources = []string{id}
	}
	return q
}

// searchRequest adds the fields of a page to a query.
func searchRequest(q search.Query, req *oas.SearchRequest) (source.SearchRequest, error) {
	r := source.SearchRequest{
		Query: q, Order: source.SearchOrder(req.Sort.Value), Cursor: req.Cursor.Value,
		Filter: searchFilter(req.Filter.Value),
	}
	for _, field := range req.CountBy {
		r.CountBy = append(r.CountBy, source.CountField(field))
	}
	if len(req.SourceIds) > 0 {
		if req.SourceId.Set {
			return r, core.InvalidField("/sourceIds", "Use either sourceId or sourceIds.")
		}
		r.AllSources = slices.Contains(req.SourceIds, allSources)
		r.Sources = req.SourceIds
	}
	return r, nil
}

func searchReply(found source.Found, facets bool, start time.Time) *oas.SearchReply {
	out := &oas.SearchReply{
		Results: make([]oas.Card, len(found.Cards)), SourceId: found.Searched[0].ID,
		TookMs:          float64(time.Since(start).Microseconds()) / 1000,
		UndatedExcluded: int64(found.UndatedExcluded), Query: oas.QueryInfo{Corrected: optional(found.Corrected)},
		Warnings: warningsOf(found.Warnings),
	}
	if facets {
		out.Total = oas.NewOptInt64(int64(found.Total))
		out.Years = make([]oas.YearCount, len(found.Years))
		for i, y := range found.Years {
			out.Years[i] = oas.YearCount{Year: y.Year, Count: int64(y.Count)}
		}
	}
	for i, c := range found.Cards {
		out.Results[i] = cardOf(c)
	}
	return out
}

// ListSimilarDocuments answers GET …/documents/{documentId}/similar.
func (h handlers) ListSimilarDocuments(
	ctx context.Context, p oas.ListSimilarDocumentsParams,
) (*oas.SimilarDocuments, error) {
	found, err := h.Sources.Similar(ctx, actor(ctx), p.AgentId, p.DocumentId, p.Limit.Value)
	if err != nil {
		return nil, err
	}
	out := &oas.SimilarDocuments{Results: make([]oas.Card, len(found.Cards)), Warnings: warningsOf(found.Warnings)}
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
