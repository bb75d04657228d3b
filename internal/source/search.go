package source

import (
	"context"
	"strings"
	"time"

	"carrel/internal/core"
)

// SearchRequest is a direct search. A zero field is one that was not given.
type SearchRequest struct {
	Query      string
	NumResults int
	SourceID   string
	FromYear   int
	ToYear     int
	// SkipCounts leaves out the total and the counts by year, which cost a second look at the matches.
	SkipCounts bool
}

// Query is what a Ranker is asked.
type Query struct {
	Text             string
	Limit            int
	FromYear, ToYear int
	Counts           bool
}

// Ranking is what a Ranker answers.
type Ranking struct {
	Hits            []Hit
	Total           int
	Years           []YearCount
	UndatedExcluded int
}

// Hit is a document that matches, with its score.
type Hit struct {
	DocumentID string
	Score      float64
}

// Span is a part of a text, in code points.
type Span struct {
	Start, End int
}

// YearCount is how many hits a year has.
type YearCount struct {
	Year, Count int
}

// Card is one search result.
type Card struct {
	Document
	Snippet    string
	Highlights []Span
	Score      float64
}

// SearchReply is the outcome of a search.
type SearchReply struct {
	Results         []Card
	SourceID        string
	Total           int
	Years           []YearCount
	UndatedExcluded int
	Counted         bool
	Took            time.Duration
}

const (
	defaultResults = 10
	maxResults     = 100
	maxYear        = 9999
)

var queryRule = core.TextRule{Min: 1, Max: 2000}

// check fills in defaults and returns what is wrong with a request.
func (r *SearchRequest) check() error {
	var bad []core.FieldError
	add := func(pointer, detail string) {
		bad = append(bad, core.FieldError{Pointer: pointer, Detail: detail})
	}
	r.Query = strings.TrimSpace(r.Query)
	if detail := queryRule.Check(r.Query); detail != "" {
		add("/query", detail)
	}
	if r.NumResults == 0 {
		r.NumResults = defaultResults
	}
	if r.NumResults < 1 || r.NumResults > maxResults {
		add("/numResults", "Must be a whole number from 1 to 100.")
	}
	for _, y := range []struct {
		pointer string
		year    int
	}{{"/fromYear", r.FromYear}, {"/toYear", r.ToYear}} {
		if y.year < 0 || y.year > maxYear {
			add(y.pointer, "Must be a year from 1 to 9999.")
		}
	}
	if r.FromYear != 0 && r.ToYear != 0 && r.FromYear > r.ToYear {
		add("/fromYear", "Must not be later than toYear.")
	}
	if bad != nil {
		return core.Invalid(bad...)
	}
	return nil
}

// Search finds documents in one source of an agent: the one that is named, or the agent's default.
func (s *Service) Search(ctx context.Context, actor core.Actor, agentID string, r SearchRequest) (SearchReply, error) {
	start := time.Now()
	if err := actor.Allow(core.OpSearch); err != nil {
		return SearchReply{}, err
	}
	if err := s.agents.Reach(ctx, actor, agentID); err != nil {
		return SearchReply{}, err
	}
	if err := r.check(); err != nil {
		return SearchReply{}, err
	}
	src, err := s.pick(ctx, actor, agentID, r.SourceID)
	if err != nil {
		return SearchReply{}, err
	}
	ranking, err := s.ranker.Rank(ctx, s.store.ScanDocuments(ctx, src.ID), Query{
		Text: r.Query, Limit: r.NumResults, FromYear: r.FromYear, ToYear: r.ToYear, Counts: !r.SkipCounts,
	})
	if err != nil {
		return SearchReply{}, err
	}
	cards, err := s.cards(ctx, src.ID, r.Query, ranking.Hits)
	if err != nil {
		return SearchReply{}, err
	}
	return SearchReply{
		Results: cards, SourceID: src.ID, Counted: !r.SkipCounts, Total: ranking.Total, Years: ranking.Years,
		UndatedExcluded: ranking.UndatedExcluded, Took: time.Since(start),
	}, nil
}

func (s *Service) pick(ctx context.Context, actor core.Actor, agentID, sourceID string) (Source, error) {
	sources, err := s.store.Sources(ctx, actor.UserID, agentID)
	if err != nil {
		return Source{}, err
	}
	for _, src := range sources {
		if src.ID == sourceID || sourceID == "" && src.Default {
			return src, nil
		}
	}
	return Source{}, core.InvalidField("/sourceId", "This agent has no such source.")
}

// cards loads the documents of the hits and puts them in the hits' order. A document that went away meanwhile is
// left out.
func (s *Service) cards(ctx context.Context, sourceID, query string, hits []Hit) ([]Card, error) {
	ids := make([]string, len(hits))
	for i, h := range hits {
		ids[i] = h.DocumentID
	}
	docs, err := s.store.DocumentsByID(ctx, sourceID, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]Document, len(docs))
	for _, d := range docs {
		byID[d.ID] = d
	}
	snippet := s.ranker.Snippets(query)
	cards := make([]Card, 0, len(hits))
	for _, h := range hits {
		d, ok := byID[h.DocumentID]
		if !ok {
			continue
		}
		text, spans := snippet(d)
		cards = append(cards, Card{Document: d, Snippet: text, Highlights: spans, Score: h.Score})
	}
	return cards, nil
}
