package source

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"carrel/internal/core"
	"carrel/internal/search"
)

// searchWindow is the number of best matches that filters, orders, counts and pages cover. Engines hold only the words
// and the years of documents; the rest is read from the database for the matches of the window.
const searchWindow = 1000

// SearchPage is one page of a search.
type SearchPage struct {
	Found
	Counts []Counts
	// Next is the cursor of the next page, empty on the last one.
	Next string
}

// SearchPage searches sources of an agent and returns a page of the matches that the filter selects.
func (s *Service) SearchPage(
	ctx context.Context, actor core.Actor, agentID string, r SearchRequest,
) (SearchPage, error) {
	if err := s.agents.Allow(ctx, actor, core.OpSearch, agentID); err != nil {
		return SearchPage{}, err
	}
	if err := r.Check(); err != nil {
		return SearchPage{}, err
	}
	offset, err := r.offset()
	if err != nil {
		return SearchPage{}, err
	}
	sources, err := s.chosen(ctx, actor, agentID, r)
	if err != nil {
		return SearchPage{}, err
	}
	s.count(actor.UserID, s.clock.Now())
	w := window{service: s, hits: map[string]windowHit{}}
	w.Searched = sources
	buyer := Buyer{UserID: actor.UserID, CredentialID: actor.CredentialID, AgentID: agentID}
	if err := w.fill(ctx, buyer, r.Query); err != nil {
		return SearchPage{}, err
	}
	return w.page(ctx, r, offset)
}

// chosen returns the sources of a request.
func (s *Service) chosen(ctx context.Context, actor core.Actor, agentID string, r SearchRequest) ([]Source, error) {
	if !r.AllSources && len(r.Sources) == 0 {
		src, err := s.pick(ctx, actor, agentID, "")
		return []Source{src}, err
	}
	all, err := s.store.Sources(ctx, actor.UserID, agentID)
	if err != nil || r.AllSources {
		return all, err
	}
	out, err := sourcesByID(all, r.Sources)
	if core.IsKind(err, core.KindInvalid) {
		err = core.InvalidField("/sourceIds", "This agent has no such source.")
	}
	return out, err
}

// window holds the best matches of a search, without their texts.
type window struct {
	Found
	service *Service
	// hits are the matches in the index, by document. Results of live sources are complete already.
	hits map[string]windowHit
	// counted is set if Total and Years count all matches, and not those of the window.
	counted bool
	// full is set if the window may not contain all matches.
	full bool
}

// windowHit is a match in the index with what its snippet is cut by.
type windowHit struct {
	query  search.Query
	result search.Result
	hit    search.Hit
}

// fill searches the sources. For a live source that fails, its stored documents are searched instead.
func (w *window) fill(ctx context.Context, buyer Buyer, q search.Query) error {
	var stored, federated []Source
	for _, src := range w.Searched {
		if w.service.isFederated(src) {
			federated = append(federated, src)
		} else {
			stored = append(stored, src)
		}
	}
	var lists [][]Card
	if len(federated) > 0 {
		limited := q
		limited.Limit = maxResults
		results, err := w.service.queryFederated(ctx, buyer, federated, limited)
		if err != nil {
			return err
		}
		for i, r := range results {
			if r.failure != nil {
				w.Warnings = append(w.Warnings, r.warning(federated[i]))
				stored = append(stored, federated[i])
				continue
			}
			w.UndatedExcluded += r.undatedExcluded
			lists = append(lists, r.cards)
		}
	}
	q.Limit = searchWindow
	if err := w.fillStored(ctx, q, stored); err != nil {
		return err
	}
	w.counted = q.Facets && len(lists) == 0
	if len(lists) > 0 {
		w.Cards = merge(append([][]Card{w.Cards}, lists...))
	}
	return nil
}

// fillStored adds the matches in the index, best first.
func (w *window) fillStored(ctx context.Context, q search.Query, sources []Source) error {
	for _, src := range sources {
		w.Warnings = append(w.Warnings, w.service.indexWarning(src)...)
	}
	groups := idsByLanguage(sources)
	years := map[int]int{}
	for _, language := range slices.Sorted(maps.Keys(groups)) {
		q.Language, q.Sources = language, groups[language]
		result, err := w.service.engine.Search(ctx, q)
		if err != nil {
			return err
		}
		if err := w.add(ctx, q, result); err != nil {
			return err
		}
		for _, y := range result.Years {
			years[y.Year] += y.Count
		}
	}
	for _, year := range slices.Sorted(maps.Keys(years)) {
		w.Years = append(w.Years, search.YearCount{Year: year, Count: years[year]})
	}
	// Stable, so that equal scores stay in the order of languages and ranks.
	slices.SortStableFunc(w.Cards, func(a, b Card) int { return cmp.Compare(b.Score, a.Score) })
	w.Cards = w.Cards[:min(len(w.Cards), searchWindow)]
	return nil
}

// add adds the matches in sources of one language.
func (w *window) add(ctx context.Context, q search.Query, result search.Result) error {
	w.Corrected = cmp.Or(w.Corrected, result.Corrected)
	w.Total += result.Total
	w.UndatedExcluded += result.UndatedExcluded
	w.full = w.full || len(result.Hits) >= searchWindow
	for _, warning := range resultWarnings(result) { // each language would repeat the same warning
		if !slices.Contains(w.Warnings, warning) {
			w.Warnings = append(w.Warnings, warning)
		}
	}
	ids := make([]string, len(result.Hits))
	for i, h := range result.Hits {
		ids[i] = h.ID
	}
	docs, err := w.service.store.DocumentSummaries(ctx, q.Sources, ids)
	if err != nil {
		return err
	}
	byID := make(map[string]Document, len(docs))
	for _, d := range docs {
		byID[d.ID] = d
	}
	for _, h := range result.Hits {
		if d, ok := byID[h.ID]; ok {
			w.Cards = append(w.Cards, Card{Document: d, Score: h.Score, ByMeaning: h.ByMeaning})
			w.hits[h.ID] = windowHit{q, result, h}
		}
	}
	return nil
}

// page filters, sorts and counts the matches and returns those after the offset.
func (w *window) page(ctx context.Context, r SearchRequest, offset int) (SearchPage, error) {
	if r.Filter.active() {
		w.Cards = slices.DeleteFunc(w.Cards, func(c Card) bool { return !r.Filter.matches(c.Document) })
		w.counted = false
	}
	if !w.counted {
		w.Total, w.Years = len(w.Cards), yearsOf(w.Cards)
	}
	if w.full {
		w.Warnings = append(w.Warnings, Warning{
			Code: WarnWindowLimited,
			Detail: "The filter, the order, the counts and the pages cover the 1,000 best matches. Narrow the query for the " +
				"rest.",
		})
	}
	out := SearchPage{Found: w.Found}
	for _, field := range r.CountBy {
		out.Counts = append(out.Counts, countCards(w.Cards, field))
	}
	sortCards(w.Cards, r.Order)
	end := min(offset+r.Limit, len(w.Cards))
	if end < len(w.Cards) {
		out.Next = core.EncodeCursor(cursorList, r.key(), strconv.Itoa(end))
	}
	var err error
	out.Cards, err = w.complete(ctx, w.Cards[min(offset, end):end])
	return out, err
}

// complete reads the texts of matches in the index and cuts their snippets. Documents that were deleted since the
// search are left out.
func (w *window) complete(ctx context.Context, cards []Card) ([]Card, error) {
	var ids, sources []string
	for _, c := range cards {
		if _, indexed := w.hits[c.ID]; indexed {
			ids = append(ids, c.ID)
		}
	}
	for _, src := range w.Searched {
		sources = append(sources, src.ID)
	}
	docs, err := w.service.store.DocumentsByID(ctx, sources, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]Document, len(docs))
	for _, d := range docs {
		byID[d.ID] = d
	}
	out := make([]Card, 0, len(cards))
	for _, c := range cards {
		if found, indexed := w.hits[c.ID]; indexed {
			d, exists := byID[c.ID]
			if !exists {
				continue
			}
			c.Document = d
			highlighter := search.NewHighlighter(found.query.Language, found.result.Parsed)
			c.Snippet = snippetOf(highlighter, found.query, found.result, found.hit, d)
		}
		out = append(out, c)
	}
	return out, nil
}

// similarText is the number of characters of a document's text by which similar ones are searched.
const similarText = 300

// Similar returns stored documents of the agent's sources that resemble a document, at most limit, best first.
func (s *Service) Similar(
	ctx context.Context, actor core.Actor, agentID, documentID string, limit int,
) (Found, error) {
	if err := s.agents.Allow(ctx, actor, core.OpListSimilarDocuments, agentID); err != nil {
		return Found{}, err
	}
	limit = cmp.Or(limit, defaultResults)
	if limit < 1 || limit > maxResults {
		return Found{}, core.InvalidField("limit", "Must be a whole number from 1 to 100.")
	}
	d, err := s.DocumentOf(ctx, actor.UserID, agentID, documentID)
	if err != nil {
		return Found{}, err
	}
	all, err := s.store.Sources(ctx, actor.UserID, agentID)
	if err != nil {
		return Found{}, err
	}
	found := Found{Searched: slices.DeleteFunc(all, s.isFederated)}
	s.count(actor.UserID, s.clock.Now())
	q := search.Query{Text: plainWords(d), Limit: limit + 1}
	if q.Text == "" {
		return found, nil
	}
	if err := s.findStored(ctx, q, found.Searched, &found); err != nil {
		return Found{}, err
	}
	found.Cards = slices.DeleteFunc(found.Cards, func(c Card) bool { return c.ID == d.ID })
	found.Cards = found.Cards[:min(len(found.Cards), limit)]
	return found, nil
}

// plainWords returns the title and the beginning of the text of a document without characters that have a meaning in
// queries.
func plainWords(d Document) string {
	text := []rune(d.Text)
	all := d.Title + " " + string(text[:min(len(text), similarText)])
	return strings.Join(strings.FieldsFunc(all, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}), " ")
}
