package source

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"carrel/internal/core"
	"carrel/internal/search"
)

// Warning is a reason why a reply may be incomplete or poorer than usual.
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
	WarnWordsOnly             = "words_only"
	WarnWindowLimited         = "window_limited"
	// Failures of federated sources.
	WarnSourceRateLimited = "source_rate_limited"
	WarnSourceTimeout     = "source_timeout"
	WarnSourceRefused     = "source_refused"
	WarnSourceUnavailable = "source_unavailable"
	WarnSourceUnexpected  = "source_unexpected"
	// WarnSecretRemoved means that the secret was removed because the new settings have another secret scope.
	WarnSecretRemoved = "secret_removed"
)

// Card is one search result.
type Card struct {
	Document
	Snippet search.Snippet
	Score   float64
	// ByMeaning is set if the document holds no word of the query and was found by its embedding alone.
	ByMeaning bool
}

// Found is the result of a search in sources, with the documents of its hits.
type Found struct {
	search.Result
	// Cards are the documents of the hits, best first.
	Cards []Card
	// Searched are the sources that were searched.
	Searched []Source
	Warnings []Warning
}

const (
	defaultResults = 10
	maxResults     = 100
	maxYear        = 9999
)

var queryRule = core.TextRule{Min: 1, Max: 2000}

// checkQuery fills in defaults and validates a search request of the API.
func checkQuery(q *search.Query) error {
	var bad []core.FieldError
	add := func(pointer, detail string) {
		bad = append(bad, core.FieldError{Pointer: pointer, Detail: detail})
	}
	q.Text = strings.TrimSpace(q.Text)
	if detail := queryRule.Check(q.Text); detail != "" {
		add("/query", detail)
	}
	q.Limit = cmp.Or(q.Limit, defaultResults)
	if q.Limit < 1 || q.Limit > maxResults {
		add("/numResults", "Must be a whole number from 1 to 100.")
	}
	for _, y := range []struct {
		pointer string
		year    int
	}{{"/fromYear", q.FromYear}, {"/toYear", q.ToYear}} {
		if y.year < 0 || y.year > maxYear {
			add(y.pointer, "Must be a year from 1 to 9999.")
		}
	}
	if q.FromYear != 0 && q.ToYear != 0 && q.FromYear > q.ToYear {
		add("/fromYear", "Must not be later than toYear.")
	}
	if bad != nil {
		return core.Invalid(bad...)
	}
	return nil
}

// Search searches one source of an agent: the first of q.Sources, or the agent's default source if q names none. The
// query is parsed in the language of the source.
func (s *Service) Search(ctx context.Context, actor core.Actor, agentID string, q search.Query) (Found, error) {
	if err := s.agents.Allow(ctx, actor, core.OpSearch, agentID); err != nil {
		return Found{}, err
	}
	if err := checkQuery(&q); err != nil {
		return Found{}, err
	}
	var sourceID string
	if len(q.Sources) > 0 {
		sourceID = q.Sources[0]
	}
	src, err := s.pick(ctx, actor, agentID, sourceID)
	if err != nil {
		return Found{}, err
	}
	s.count(actor.UserID, s.clock.Now())
	q.Language, q.Sources = src.Language, []string{src.ID}
	if s.isFederated(src) {
		buyer := Buyer{UserID: actor.UserID, CredentialID: actor.CredentialID, AgentID: agentID}
		return s.searchFederated(ctx, buyer, src, q)
	}
	return s.searchStored(ctx, src, q)
}

// searchStored searches the documents of a source in the index.
func (s *Service) searchStored(ctx context.Context, src Source, q search.Query) (Found, error) {
	// The warning is computed before the search, so it never claims more documents than the search covered.
	warnings := s.indexWarning(src)
	found, err := s.searchIndex(ctx, q)
	if err != nil {
		return Found{}, err
	}
	if len(warnings) == 0 {
		warnings = s.indexWarning(src) // the search may have dropped a damaged segment
	}
	found.Searched, found.Warnings = []Source{src}, append(warnings, found.Warnings...)
	return found, nil
}

// searchIndex searches the index and loads the documents of the hits.
func (s *Service) searchIndex(ctx context.Context, q search.Query) (Found, error) {
	result, err := s.engine.Search(ctx, q)
	if err != nil {
		return Found{}, err
	}
	found := Found{Result: result, Warnings: resultWarnings(result)}
	found.Cards, err = s.cards(ctx, q, result)
	return found, err
}

// resultWarnings returns the warnings about the result of an engine.
func resultWarnings(result search.Result) (warnings []Warning) {
	if result.EmbeddingFailed {
		warnings = []Warning{{
			Code:   WarnEmbeddingsUnavailable,
			Detail: "The embeddings endpoint did not answer; results are ranked by words alone.",
		}}
	}
	if result.WordsOnly {
		warnings = append(warnings, Warning{
			Code: WarnWordsOnly,
			Detail: "The search engine finds documents by their words. Documents that say it in other words may be missing; " +
				"try synonyms.",
		})
	}
	return warnings
}

// searchFederated searches a federated source. If it fails, the documents stored by earlier searches are searched
// instead.
func (s *Service) searchFederated(ctx context.Context, buyer Buyer, src Source, q search.Query) (Found, error) {
	results, err := s.queryFederated(ctx, buyer, []Source{src}, q)
	if err != nil {
		return Found{}, err
	}
	result := results[0]
	if result.failure == nil {
		return Found{
			Result: search.Result{Facets: search.Facets{
				Total: len(result.cards), Years: yearsOf(result.cards), UndatedExcluded: result.undatedExcluded,
			}},
			Cards: result.cards, Searched: []Source{src},
		}, nil
	}
	found, err := s.searchStored(ctx, src, q)
	if err != nil {
		return Found{}, err
	}
	if len(found.Cards) == 0 {
		return Found{}, result.failure.searchError()
	}
	found.Warnings = append([]Warning{result.warning(src)}, found.Warnings...)
	return found, nil
}

// yearsOf counts the cards of each year, oldest year first.
func yearsOf(cards []Card) []search.YearCount {
	counts := map[int]int{}
	for _, c := range cards {
		if c.Year != 0 {
			counts[c.Year]++
		}
	}
	out := make([]search.YearCount, 0, len(counts))
	for _, year := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, search.YearCount{Year: year, Count: counts[year]})
	}
	return out
}

// pick returns a source of the agent, or its default source if the id is empty.
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

// cards loads the documents of the hits, in their order, and cuts their snippets. It skips documents that were deleted
// since the search.
func (s *Service) cards(ctx context.Context, q search.Query, result search.Result) ([]Card, error) {
	ids := make([]string, len(result.Hits))
	for i, h := range result.Hits {
		ids[i] = h.ID
	}
	docs, err := s.store.DocumentsByID(ctx, q.Sources, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*Document, len(docs))
	for i := range docs {
		byID[docs[i].ID] = &docs[i]
	}
	highlighter := search.NewHighlighter(q.Language, result.Parsed)
	cards := make([]Card, 0, len(result.Hits))
	for _, h := range result.Hits {
		if d, ok := byID[h.ID]; ok {
			snippet := snippetOf(highlighter, q, result, h, *d)
			cards = append(cards, Card{Document: *d, Snippet: snippet, Score: h.Score, ByMeaning: h.ByMeaning})
		}
	}
	return cards, nil
}

// snippetOf cuts the snippet of a hit. A hit without a word of the query shows the sentence that is nearest in meaning.
func snippetOf(
	highlighter search.Highlighter, q search.Query, result search.Result, h search.Hit, d Document,
) search.Snippet {
	if !h.ByMeaning {
		return highlighter.Snippet(d.Title, d.Text, h.Passage)
	}
	var encoder *search.Encoder
	if search.BuiltInEncoder.Covers(q.Language) {
		encoder = search.BuiltInEncoder
	}
	return highlighter.SnippetByMeaning(encoder, cmp.Or(result.Corrected, q.Text), d.Title, d.Text, h.Passage)
}
