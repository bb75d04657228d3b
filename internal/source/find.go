package source

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"carrel/internal/core"
)

// FindRequest is a search on behalf of a turn: the user asked the agent, and the agent asks its sources. A zero field
// is one that was not given.
type FindRequest struct {
	UserID  string
	AgentID string
	Text    string
	// Sources are those of the agent to search; none means all.
	Sources          []string
	FromYear, ToYear int
	Limit            int
	// Terms are words in the form that the index has them in, to be counted in Found.Statistics.
	Terms []string
}

// Found is what sources say to a text.
type Found struct {
	// Hits are the documents that match, best first, each with its best passage (Snippet's Start, End, Page, Heading).
	Hits []Card
	// Searched are the sources that were asked, each with its language.
	Searched []Source
	// Corrected is the text that was searched for instead in the sources of some language, or empty.
	Corrected string
	Warnings  []Warning
	// Statistics are of all sources that were searched.
	Statistics Statistics
}

// Statistics tells how rare words are among what is searched.
type Statistics struct {
	// Units is how many passages words are counted in.
	Units int
	// Holders is how many of them hold a term.
	Holders map[string]int
}

const defaultFound = 20

// Find searches sources of an agent, all of them unless some are named, each in its own language. It asks nobody's
// leave and is counted for nobody: the turn that it is for was allowed, and is what is paid for.
func (s *Service) Find(ctx context.Context, r FindRequest) (Found, error) {
	all, err := s.store.Sources(ctx, r.UserID, r.AgentID)
	if err != nil {
		return Found{}, err
	}
	found := Found{Searched: all}
	if len(r.Sources) > 0 {
		if found.Searched, err = named(all, r.Sources); err != nil {
			return Found{}, err
		}
	}
	if r.Limit <= 0 {
		r.Limit = defaultFound
	}
	for _, src := range found.Searched {
		found.Warnings = append(found.Warnings, s.partial(src)...)
	}
	groups := byLanguage(found.Searched)
	for _, language := range slices.Sorted(maps.Keys(groups)) {
		if err := s.findIn(ctx, r, language, groups[language], &found); err != nil {
			return Found{}, err
		}
	}
	// Stable, so that equal ones stay in the order of their languages and ranks.
	slices.SortStableFunc(found.Hits, func(a, b Card) int { return cmp.Compare(b.Score, a.Score) })
	found.Hits = found.Hits[:min(len(found.Hits), r.Limit)]
	if len(r.Terms) > 0 {
		found.Statistics, err = s.Statistics(ctx, idsOf(found.Searched), r.Terms)
	}
	return found, err
}

// named picks sources by their ids.
func named(all []Source, ids []string) ([]Source, error) {
	out := make([]Source, 0, len(ids))
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		i := slices.IndexFunc(all, func(src Source) bool { return src.ID == id })
		if i < 0 {
			return nil, core.InvalidField("/sources", "This agent has no such source.")
		}
		out = append(out, all[i])
	}
	return out, nil
}

// byLanguage groups the ids of sources that can be searched together: a query is read by one language's rules.
func byLanguage(sources []Source) map[string][]string {
	out := map[string][]string{}
	for _, src := range sources {
		out[src.Language] = append(out[src.Language], src.ID)
	}
	return out
}

func idsOf(sources []Source) []string {
	ids := make([]string, len(sources))
	for i, src := range sources {
		ids[i] = src.ID
	}
	return ids
}

// findIn adds what the sources of one language say.
func (s *Service) findIn(ctx context.Context, r FindRequest, language string, sources []string, found *Found) error {
	q := Query{
		Text: r.Text, Language: language, Sources: sources, Limit: r.Limit, FromYear: r.FromYear, ToYear: r.ToYear,
	}
	ranking, err := s.ranker.Rank(ctx, q)
	if err != nil {
		return err
	}
	if ranking.Corrected != "" {
		q.Text = ranking.Corrected
		found.Corrected = cmp.Or(found.Corrected, ranking.Corrected)
	}
	cards, err := s.cards(ctx, q, ranking.Hits)
	if err != nil {
		return err
	}
	found.Hits = append(found.Hits, cards...)
	for _, w := range ranking.Warnings { // one for each language would say the same again
		if !slices.Contains(found.Warnings, w) {
			found.Warnings = append(found.Warnings, w)
		}
	}
	return nil
}

// Statistics counts in how many passages of the sources words stand, which are in the form that the index has them in.
func (s *Service) Statistics(ctx context.Context, sources, terms []string) (Statistics, error) {
	units, holders, err := s.ranker.Statistics(ctx, sources, terms)
	if err != nil {
		return Statistics{}, err
	}
	out := Statistics{Units: units, Holders: make(map[string]int, len(terms))}
	for i, term := range terms {
		out.Holders[term] = holders[i]
	}
	return out, nil
}

// Document returns a document of one of the agent's sources, with its text.
func (s *Service) Document(ctx context.Context, actor core.Actor, agentID, documentID string) (Document, error) {
	if err := actor.AllowOn(core.OpReadDocuments, agentID); err != nil {
		return Document{}, err
	}
	return s.DocumentOf(ctx, actor.UserID, agentID, documentID)
}

// DocumentOf is Document for a turn, which its user was allowed.
func (s *Service) DocumentOf(ctx context.Context, userID, agentID, documentID string) (Document, error) {
	if !core.IsID(core.PrefixDocument, documentID) {
		return Document{}, core.NotFound("document")
	}
	return s.store.Document(ctx, userID, agentID, documentID)
}
