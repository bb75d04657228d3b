package source

import (
	"context"
	"maps"
	"slices"
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
	Text string
	// Language is that of the sources, empty when it is not known.
	Language         string
	Sources          []string
	Limit            int
	FromYear, ToYear int
	// Counts asks for the total and the counts by year and by source.
	Counts bool
}

// Ranking is what a Ranker answers.
type Ranking struct {
	Hits            []Hit
	Total           int
	Years           []YearCount
	Sources         []SourceCount
	UndatedExcluded int
	// Corrected is the text that was searched for instead of the query's, empty when that is the query's own.
	Corrected string
	Warnings  []Warning
}

// Hit is a document that matches, with the number of its passage that matches best, and its score.
type Hit struct {
	DocumentID string
	Passage    int
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

// SourceCount is how many hits a source has.
type SourceCount struct { //nolint:revive // beside YearCount, Count would say less
	SourceID string
	Count    int
}

// Warning is what keeps a reply from being all that it could be.
type Warning struct {
	// SourceID is empty if the warning does not concern a single source.
	SourceID string
	Code     string
	Detail   string
}

// The codes of warnings.
const (
	WarnIndexIncomplete       = "index_incomplete"
	WarnEmbeddingsUnavailable = "embeddings_unavailable"
	// Failures of federated sources.
	WarnSourceRateLimited = "source_rate_limited"
	WarnSourceTimeout     = "source_timeout"
	WarnSourceRefused     = "source_refused"
	WarnSourceUnavailable = "source_unavailable"
	WarnSourceUnexpected  = "source_unexpected"
	// WarnSecretRemoved means that the secret was removed because the new settings have another secret scope.
	WarnSecretRemoved = "secret_removed"
)

// Snippet is the part of a document that shows best why it matches.
type Snippet struct {
	Text string
	// Highlights are the matched words in Text.
	Highlights []Span
	// Page is that of the passage, from 1; 0 where the document has no pages.
	Page int
	// Start and End are where the passage lies in the document's text, in code points.
	Start, End int
	// Heading is the one that the passage stands under, if any.
	Heading string
}

// Card is one search result.
type Card struct {
	Document
	Snippet Snippet
	Score   float64
}

// SearchReply is the outcome of a search.
type SearchReply struct {
	Results         []Card
	SourceID        string
	Total           int
	Years           []YearCount
	UndatedExcluded int
	Counted         bool
	Corrected       string
	Warnings        []Warning
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
	if err := s.agents.Allow(ctx, actor, core.OpSearch, agentID); err != nil {
		return SearchReply{}, err
	}
	if err := r.check(); err != nil {
		return SearchReply{}, err
	}
	src, err := s.pick(ctx, actor, agentID, r.SourceID)
	if err != nil {
		return SearchReply{}, err
	}
	s.count(actor.UserID, s.clock.Now())
	q := Query{
		Text: r.Query, Language: src.Language, Sources: []string{src.ID}, Limit: r.NumResults,
		FromYear: r.FromYear, ToYear: r.ToYear, Counts: !r.SkipCounts,
	}
	var reply SearchReply
	if s.isLive(src) {
		reply, err = s.searchLive(ctx, Buyer{UserID: actor.UserID, CredentialID: actor.CredentialID, AgentID: agentID}, src, q)
	} else {
		reply, err = s.searchStored(ctx, src, q)
	}
	if err != nil {
		return SearchReply{}, err
	}
	reply.SourceID, reply.Counted, reply.Took = src.ID, q.Counts, time.Since(start)
	return reply, nil
}

// searchStored finds documents of a source in the index.
func (s *Service) searchStored(ctx context.Context, src Source, q Query) (SearchReply, error) {
	partial := s.partial(src) // before the search, which then finds at least as much as this says
	ranking, err := s.ranker.Rank(ctx, q)
	if err != nil {
		return SearchReply{}, err
	}
	if len(partial) == 0 {
		partial = s.partial(src) // a search that comes upon damage goes on without what is damaged
	}
	if ranking.Corrected != "" {
		q.Text = ranking.Corrected
	}
	cards, err := s.cards(ctx, q, ranking.Hits)
	if err != nil {
		return SearchReply{}, err
	}
	return SearchReply{
		Results: cards, Total: ranking.Total, Years: ranking.Years, UndatedExcluded: ranking.UndatedExcluded,
		Corrected: ranking.Corrected, Warnings: append(partial, ranking.Warnings...),
	}, nil
}

// searchLive asks a live source. Where it fails, the documents that were kept of it are searched instead.
func (s *Service) searchLive(ctx context.Context, buyer Buyer, src Source, q Query) (SearchReply, error) {
	all, err := s.askAll(ctx, buyer, []Source{src}, q)
	if err != nil {
		return SearchReply{}, err
	}
	answer := all[0]
	if answer.failure == nil {
		return SearchReply{
			Results: answer.cards, Total: len(answer.cards), Years: yearsOf(answer.cards), UndatedExcluded: answer.undatedExcluded,
		}, nil
	}
	reply, err := s.searchStored(ctx, src, q)
	if err != nil {
		return SearchReply{}, err
	}
	if len(reply.Results) == 0 {
		return SearchReply{}, answer.failure.failed()
	}
	reply.Warnings = append([]Warning{answer.warning(src)}, reply.Warnings...)
	return reply, nil
}

// yearsOf counts cards by their years, in order of years.
func yearsOf(cards []Card) []YearCount {
	counts := map[int]int{}
	for _, c := range cards {
		if c.Year != 0 {
			counts[c.Year]++
		}
	}
	out := make([]YearCount, 0, len(counts))
	for _, year := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, YearCount{Year: year, Count: counts[year]})
	}
	return out
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
func (s *Service) cards(ctx context.Context, q Query, hits []Hit) ([]Card, error) {
	ids := make([]string, len(hits))
	for i, h := range hits {
		ids[i] = h.DocumentID
	}
	docs, err := s.store.DocumentsByID(ctx, q.Sources, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]Document, len(docs))
	for _, d := range docs {
		byID[d.ID] = d
	}
	snippet := s.ranker.Snippets(q)
	cards := make([]Card, 0, len(hits))
	for _, h := range hits {
		d, ok := byID[h.DocumentID]
		if !ok {
			continue
		}
		cards = append(cards, Card{Document: d, Snippet: snippet(d, h.Passage), Score: h.Score})
	}
	return cards, nil
}
