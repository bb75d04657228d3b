package source

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"carrel/internal/core"
	"carrel/internal/search"
)

const defaultFound = 20

// Find searches the sources of an agent for a turn: those in q.Sources, or all if there are none. Stored sources are
// searched in their own language while live sources are queried. It checks no permission and does not count as a search
// of the user, because the turn was allowed and is what the user pays for.
func (s *Service) Find(ctx context.Context, buyer Buyer, q search.Query) (Found, error) {
	all, err := s.store.Sources(ctx, buyer.UserID, buyer.AgentID)
	if err != nil {
		return Found{}, err
	}
	found := Found{Searched: all}
	if len(q.Sources) > 0 {
		if found.Searched, err = named(all, q.Sources); err != nil {
			return Found{}, err
		}
	}
	if q.Limit <= 0 {
		q.Limit = defaultFound
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
		err = s.findStored(ctx, q, stored, &found)
	} else {
		err = s.findBoth(ctx, buyer, q, stored, live, &found)
	}
	if err != nil {
		return Found{}, err
	}
	found.Cards = found.Cards[:min(len(found.Cards), q.Limit)]
	return found, nil
}

// findStored adds the results of the index, best first.
func (s *Service) findStored(ctx context.Context, q search.Query, sources []Source, found *Found) error {
	for _, src := range sources {
		found.Warnings = append(found.Warnings, s.partial(src)...)
	}
	groups := byLanguage(sources)
	for _, language := range slices.Sorted(maps.Keys(groups)) {
		q.Language, q.Sources = language, groups[language]
		if err := s.findIn(ctx, q, found); err != nil {
			return err
		}
	}
	// Stable, so that equal scores stay in the order of languages and ranks.
	slices.SortStableFunc(found.Cards, func(a, b Card) int { return cmp.Compare(b.Score, a.Score) })
	return nil
}

// findBoth queries live sources while the index is searched, and merges the results. For a live source that fails, the
// documents kept from earlier searches are searched instead.
func (s *Service) findBoth(ctx context.Context, buyer Buyer, q search.Query, stored, live []Source, found *Found) error {
	var answers []heard
	group, within := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		answers, err = s.askAll(within, buyer, live, q)
		return err
	})
	group.Go(func() error { return s.findStored(within, q, stored, found) })
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
	if err := s.findStored(ctx, q, failed, found); err != nil {
		return err
	}
	if len(failed) == len(found.Searched) && len(found.Cards) == 0 {
		return answers[0].failure.failed()
	}
	if len(lists) > 0 {
		found.Cards = merge(append([][]Card{found.Cards}, lists...))
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

// findIn adds the results of the sources of one language.
func (s *Service) findIn(ctx context.Context, q search.Query, found *Found) error {
	part, err := s.searchIndex(ctx, q)
	if err != nil {
		return err
	}
	found.Corrected = cmp.Or(found.Corrected, part.Corrected)
	found.Cards = append(found.Cards, part.Cards...)
	for _, w := range part.Warnings { // each language would repeat the same warning
		if !slices.Contains(found.Warnings, w) {
			found.Warnings = append(found.Warnings, w)
		}
	}
	return nil
}

// Statistics counts the passages of the sources that hold each term, in the form that package analysis returns.
func (s *Service) Statistics(ctx context.Context, sources, terms []string) (search.Statistics, error) {
	return s.engine.Statistics(ctx, sources, terms)
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
