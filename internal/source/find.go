package source

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"carrel/internal/core"
)

// FindRequest is a search on behalf of a turn: the user asked the agent, and the agent asks its sources. A zero field
// is one that was not given.
type FindRequest struct {
	UserID  string
	AgentID string
	// TurnID is the turn that it is done for, which pays for what costs.
	TurnID string
	Text   string
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

// Find searches sources of an agent, all of them unless some are named: stored ones each in its own language, and live ones
// meanwhile. It asks nobody's leave and is counted for nobody: the turn that it is for was allowed, and is what is paid
// for.
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
	var stored, live []Source
	for _, src := range found.Searched {
		if s.isLive(src) {
			live = append(live, src)
		} else {
			stored = append(stored, src)
		}
	}
	if len(live) == 0 {
		err = s.findStored(ctx, r, stored, &found)
	} else {
		err = s.findBoth(ctx, r, stored, live, &found)
	}
	if err != nil {
		return Found{}, err
	}
	found.Hits = found.Hits[:min(len(found.Hits), r.Limit)]
	if len(r.Terms) > 0 {
		found.Statistics, err = s.Statistics(ctx, idsOf(found.Searched), r.Terms)
	}
	return found, err
}

// findStored adds what the index has of the sources, best first.
func (s *Service) findStored(ctx context.Context, r FindRequest, sources []Source, found *Found) error {
	for _, src := range sources {
		found.Warnings = append(found.Warnings, s.partial(src)...)
	}
	groups := byLanguage(sources)
	for _, language := range slices.Sorted(maps.Keys(groups)) {
		if err := s.findIn(ctx, r, language, groups[language], found); err != nil {
			return err
		}
	}
	// Stable, so that equal ones stay in the order of their languages and ranks.
	slices.SortStableFunc(found.Hits, func(a, b Card) int { return cmp.Compare(b.Score, a.Score) })
	return nil
}

// findBoth asks live sources while the index is searched, and puts the answers together. Of a live source that fails,
// the documents that were kept are searched instead.
func (s *Service) findBoth(ctx context.Context, r FindRequest, stored, live []Source, found *Found) error {
	var answers []heard
	group, within := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		q := Query{Text: r.Text, Limit: r.Limit, FromYear: r.FromYear, ToYear: r.ToYear}
		answers, err = s.askAll(within, Buyer{UserID: r.UserID, TurnID: r.TurnID, AgentID: r.AgentID}, live, q)
		return err
	})
	group.Go(func() error { return s.findStored(within, r, stored, found) })
	if err := group.Wait(); err != nil {
		return err
	}
	var lists [][]Card
	var failed []Source
	for i, a := range answers {
		if a.failure != nil {
			failed = append(failed, live[i])
			found.Warnings = append(found.Warnings, a.warning(live[i]))
			continue
		}
		lists = append(lists, a.cards)
	}
	if err := s.findStored(ctx, r, failed, found); err != nil {
		return err
	}
	if len(failed) == len(found.Searched) && len(found.Hits) == 0 {
		return answers[0].failure.failed()
	}
	if len(lists) > 0 {
		found.Hits = merge(append([][]Card{found.Hits}, lists...))
	}
	return nil
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

// Document returns a document of the agent's sources with its text. Opening a result of a federated source removes its
// expiry.
func (s *Service) Document(ctx context.Context, actor core.Actor, agentID, documentID string) (Document, error) {
	if err := s.agents.Allow(ctx, actor, core.OpGetDocument, agentID); err != nil {
		return Document{}, err
	}
	d, err := s.DocumentOf(ctx, actor.UserID, agentID, documentID)
	if err != nil || d.ExpiresAt == nil {
		return d, err
	}
	d.ExpiresAt = nil
	return d, s.Keep(ctx, actor.UserID, agentID, []string{d.ID})
}

// DocumentOf is Document for a turn, which was authorized. It does not change the expiry.
func (s *Service) DocumentOf(ctx context.Context, userID, agentID, documentID string) (Document, error) {
	if !core.IsID(core.PrefixDocument, documentID) {
		return Document{}, core.NotFound("document")
	}
	return s.store.Document(ctx, userID, agentID, documentID)
}
