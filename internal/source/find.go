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

const defaultTurnResults = 20

// Find searches the sources of an agent for a turn: the sources in q.Sources, or all sources if q names none. It
// searches the index, once per language, while federated sources are queried.
//
// Find neither checks access nor counts as a search of the user, because the turn was authorized and is metered itself.
func (s *Service) Find(ctx context.Context, buyer Buyer, q search.Query) (Found, error) {
	all, err := s.store.Sources(ctx, buyer.UserID, buyer.AgentID)
	if err != nil {
		return Found{}, err
	}
	found := Found{Searched: all}
	if len(q.Sources) > 0 {
		if found.Searched, err = sourcesByID(all, q.Sources); err != nil {
			return Found{}, err
		}
	}
	if q.Limit <= 0 {
		q.Limit = defaultTurnResults
	}
	var stored, federated []Source
	for _, src := range found.Searched {
		if s.isFederated(src) {
			federated = append(federated, src)
		} else {
			stored = append(stored, src)
		}
	}
	if len(federated) == 0 {
		err = s.findStored(ctx, q, stored, &found)
	} else {
		err = s.findStoredAndFederated(ctx, buyer, q, stored, federated, &found)
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
		found.Warnings = append(found.Warnings, s.indexWarning(src)...)
	}
	groups := idsByLanguage(sources)
	for _, language := range slices.Sorted(maps.Keys(groups)) {
		q.Language, q.Sources = language, groups[language]
		if err := s.findInLanguage(ctx, q, found); err != nil {
			return err
		}
	}
	// Stable, so that equal scores stay in the order of languages and ranks.
	slices.SortStableFunc(found.Cards, func(a, b Card) int { return cmp.Compare(b.Score, a.Score) })
	return nil
}

// findStoredAndFederated queries federated sources while the index is searched, and merges the results. For a federated
// source that fails, the documents stored by earlier searches are searched instead.
func (s *Service) findStoredAndFederated(
	ctx context.Context, buyer Buyer, q search.Query, stored, federated []Source, found *Found,
) error {
	var results []federatedResult
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		results, err = s.queryFederated(groupCtx, buyer, federated, q)
		return err
	})
	group.Go(func() error { return s.findStored(groupCtx, q, stored, found) })
	if err := group.Wait(); err != nil {
		return err
	}
	var lists [][]Card
	var failed []Source
	for i, r := range results {
		if r.failure != nil {
			failed = append(failed, federated[i])
			found.Warnings = append(found.Warnings, r.warning(federated[i]))
			continue
		}
		lists = append(lists, r.cards)
	}
	if err := s.findStored(ctx, q, failed, found); err != nil {
		return err
	}
	if len(failed) == len(found.Searched) && len(found.Cards) == 0 {
		return results[0].failure.searchError()
	}
	if len(lists) > 0 {
		found.Cards = merge(append([][]Card{found.Cards}, lists...))
	}
	return nil
}

// sourcesByID returns the sources with these ids, without duplicates.
func sourcesByID(all []Source, ids []string) ([]Source, error) {
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

// idsByLanguage groups the ids of sources by language, because a query is parsed by the rules of one language.
func idsByLanguage(sources []Source) map[string][]string {
	out := map[string][]string{}
	for _, src := range sources {
		out[src.Language] = append(out[src.Language], src.ID)
	}
	return out
}

// findInLanguage adds the results from the sources in q.Sources, which share the language q.Language.
func (s *Service) findInLanguage(ctx context.Context, q search.Query, found *Found) error {
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

// Statistics returns the number of passages in the sources that contain each term. The terms are stemmed, as by package
// analysis.
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

// Heads returns up to n documents of the agent's sources, or of those with the given ids if there are any, with the
// beginnings of their texts, that were published in the years from and to, both included; 0 means no limit.
// Results of federated sources that expire are left out.
func (s *Service) Heads(
	ctx context.Context, userID, agentID string, sourceIDs []string, from, to, n int,
) ([]Document, error) {
	sources, err := s.store.Sources(ctx, userID, agentID)
	if err != nil {
		return nil, err
	}
	var out []Document
	for _, src := range sources {
		if len(sourceIDs) > 0 && !slices.Contains(sourceIDs, src.ID) {
			continue
		}
		heads, err := s.store.DocumentHeads(ctx, src.ID, from, to, n-len(out))
		if err != nil {
			return nil, err
		}
		if out = append(out, heads...); len(out) == n {
			break
		}
	}
	return out, nil
}

// DocumentOf returns a document without an access check, for a turn that was authorized. It does not change the expiry.
func (s *Service) DocumentOf(ctx context.Context, userID, agentID, documentID string) (Document, error) {
	if !core.IsID(core.PrefixDocument, documentID) {
		return Document{}, core.NotFound("document")
	}
	return s.store.Document(ctx, userID, agentID, documentID)
}
