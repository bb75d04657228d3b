package favourite

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"
	"time"

	"carrel/internal/core"
)

// Filter selects favourites. Empty fields select all.
type Filter struct {
	// Query holds words that the card, the tags and the note contain.
	Query string
	// Tag is compared without regard to case.
	Tag string
	// Collection is the id of a collection.
	Collection string
}

func (f Filter) check() error {
	if detail := (core.TextRule{Max: 500}).Check(f.Query); detail != "" {
		return core.InvalidField("q", detail)
	}
	if detail := (core.TextRule{Max: maxTag}).Check(f.Tag); detail != "" {
		return core.InvalidField("tag", detail)
	}
	if core.HasNUL(f.Collection) {
		return core.InvalidField("collection", "Must not contain a NUL character.")
	}
	return nil
}

// selects reports whether a favourite has the tag and is in the collection of the filter. folded is the folded tag.
func (f Filter) selects(x Favourite, folded string) bool {
	return (folded == "" || slices.ContainsFunc(x.Tags, func(t string) bool { return core.Fold(t) == folded })) &&
		(f.Collection == "" || slices.Contains(x.Collections, f.Collection))
}

// List returns a page of favourites and the cursor of the next page: newest first, or with words in q the cards that
// contain all of them, best first.
func (s *Service) List(
	ctx context.Context, actor core.Actor, agentID, q string, page core.Page,
) ([]Favourite, string, error) {
	return s.Find(ctx, actor, agentID, Filter{Query: q}, page)
}

// Find is List with a filter.
func (s *Service) Find(
	ctx context.Context, actor core.Actor, agentID string, f Filter, page core.Page,
) ([]Favourite, string, error) {
	if err := s.allow(ctx, actor, core.OpListFavourites, agentID); err != nil {
		return nil, "", err
	}
	rows, err := page.Rows(core.DefaultLimit)
	if err != nil {
		return nil, "", err
	}
	if err := f.check(); err != nil {
		return nil, "", err
	}
	if m := NewMatcher(f.Query); !m.Empty() || f.Tag != "" || f.Collection != "" {
		read := func() ([]Favourite, error) { return s.store.Favourites(ctx, actor.UserID, agentID, nil, -1) }
		return search{"favourites.q", m, f}.page(read, page.Cursor, rows)
	}
	after, err := decodeKey(page.Cursor)
	if err != nil {
		return nil, "", err
	}
	found, err := s.store.Favourites(ctx, actor.UserID, agentID, after, rows+1)
	if err != nil || len(found) <= rows {
		return safe(found), "", err
	}
	last := found[rows-1]
	return safe(found[:rows]), core.EncodeCursor("favourites", millis(last.CreatedAt), last.CardID), nil
}

// FindAll is Find over all agents that the actor may read.
func (s *Service) FindAll(
	ctx context.Context, actor core.Actor, f Filter, page core.Page,
) ([]Favourite, string, error) {
	if err := actor.Allow(core.OpListAllFavourites); err != nil {
		return nil, "", err
	}
	rows, err := page.Rows(core.DefaultLimit)
	if err != nil {
		return nil, "", err
	}
	if err := f.check(); err != nil {
		return nil, "", err
	}
	read := func() ([]Favourite, error) { return s.store.AllFavourites(ctx, actor.UserID, actor.Agents) }
	return search{listAll, NewMatcher(f.Query), f}.page(read, page.Cursor, rows)
}

// Tag is a tag with the number of favourites that have it.
type Tag struct {
	Name  string
	Count int
}

// Tags returns the tags of the favourites with all agents that the actor may read, in alphabetical order. The spelling
// of a tag is that of the latest favourite.
func (s *Service) Tags(ctx context.Context, actor core.Actor) ([]Tag, error) {
	if err := actor.Allow(core.OpListFavouriteTags); err != nil {
		return nil, err
	}
	all, err := s.store.AllFavourites(ctx, actor.UserID, actor.Agents)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b Favourite) int { return match{a, 0}.compare(match{b, 0}) })
	byFold := map[string]*Tag{}
	for _, f := range all {
		for _, name := range f.Tags {
			folded := core.Fold(name)
			if byFold[folded] == nil {
				byFold[folded] = &Tag{Name: name}
			}
			byFold[folded].Count++
		}
	}
	out := make([]Tag, 0, len(byFold))
	for _, t := range byFold {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b Tag) int { return compareFolded(a.Name, b.Name) })
	return out, nil
}

func compareFolded(a, b string) int {
	return cmp.Or(cmp.Compare(core.Fold(a), core.Fold(b)), cmp.Compare(a, b))
}

// listAll names the list of all agents in cursors, whose keys include the agent.
const listAll = "favourites.all"

type match struct {
	Favourite
	score int
}

// compare orders matches by score, then newest first, then by id.
func (m match) compare(o match) int {
	return cmp.Or(cmp.Compare(o.score, m.score), o.CreatedAt.Compare(m.CreatedAt), cmp.Compare(m.CardID, o.CardID),
		cmp.Compare(m.AgentID, o.AgentID))
}

// search scores all favourites. A user has thousands at most, so a scan is faster than maintaining an index.
type search struct {
	list    string
	matcher Matcher
	filter  Filter
}

func (s search) page(read func() ([]Favourite, error), cursor string, rows int) ([]Favourite, string, error) {
	parts := 3
	if s.list == listAll {
		parts = 4
	}
	key, err := core.DecodeCursor(s.list, cursor, parts)
	if err != nil {
		return nil, "", err
	}
	all, err := read()
	if err != nil {
		return nil, "", err
	}
	matches := s.matches(all)
	if key != nil {
		last, err := decodeMatch(key)
		if err != nil {
			return nil, "", err
		}
		matches = slices.DeleteFunc(matches, func(x match) bool {
			if s.list != listAll {
				x.AgentID = "" // not part of the key
			}
			return x.compare(last) <= 0
		})
	}
	next := ""
	if len(matches) > rows {
		matches = matches[:rows]
		last := matches[rows-1]
		key := []string{strconv.Itoa(last.score), millis(last.CreatedAt), last.CardID, last.AgentID}
		next = core.EncodeCursor(s.list, key[:parts]...)
	}
	found := make([]Favourite, len(matches))
	for i, x := range matches {
		found[i] = x.Favourite
	}
	return safe(found), next, nil
}

func (s search) matches(all []Favourite) []match {
	var matches []match
	folded := core.Fold(s.filter.Tag)
	for _, f := range all {
		if !s.filter.selects(f, folded) {
			continue
		}
		if score, ok := s.matcher.Score(f.Card, append(f.Tags[:len(f.Tags):len(f.Tags)], f.Note)...); ok {
			matches = append(matches, match{f, score})
		}
	}
	slices.SortFunc(matches, match.compare)
	return matches
}

// Export writes favourites of an agent as a bibliography.
func (s *Service) Export(
	ctx context.Context, actor core.Actor, agentID string, f Filter, format Format, w io.Writer,
) error {
	if err := s.allow(ctx, actor, core.OpExportFavourites, agentID); err != nil {
		return err
	}
	all, err := s.store.Favourites(ctx, actor.UserID, agentID, nil, -1)
	if err != nil {
		return err
	}
	return s.export(ctx, actor, f, format, all, w)
}

// ExportAll is Export over all agents that the actor may read.
func (s *Service) ExportAll(ctx context.Context, actor core.Actor, f Filter, format Format, w io.Writer) error {
	if err := actor.Allow(core.OpExportAllFavourites); err != nil {
		return err
	}
	all, err := s.store.AllFavourites(ctx, actor.UserID, actor.Agents)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b Favourite) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.CardID, a.CardID), cmp.Compare(b.AgentID, a.AgentID))
	})
	return s.export(ctx, actor, f, format, all, w)
}

func (s *Service) export(
	ctx context.Context, actor core.Actor, f Filter, format Format, all []Favourite, w io.Writer,
) error {
	if err := f.check(); err != nil {
		return err
	}
	folded := core.Fold(f.Tag)
	all = slices.DeleteFunc(all, func(x Favourite) bool { return !f.selects(x, folded) })
	cards, err := s.Cards(ctx, actor, all)
	if err != nil {
		return err
	}
	return Export(w, format, cards)
}

// Cards returns the cards of an actor's favourites for an export, with the abstracts of their documents.
func (s *Service) Cards(ctx context.Context, actor core.Actor, list []Favourite) ([]Card, error) {
	byAgent := map[string][]string{}
	for _, f := range list {
		byAgent[f.AgentID] = append(byAgent[f.AgentID], f.CardID)
	}
	texts := map[string]map[string]string{}
	for agentID, cardIDs := range byAgent {
		openings, err := s.documents.Openings(ctx, actor.UserID, agentID, cardIDs)
		if err != nil {
			return nil, err
		}
		texts[agentID] = openings
	}
	cards := make([]Card, len(list))
	for i, f := range list {
		cards[i] = Card{
			ID: f.CardID, JSON: f.Card, Tags: f.Tags, Note: f.Note, Abstract: abstractOf(texts[f.AgentID][f.CardID]),
		}
	}
	return cards, nil
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

func decodeKey(cursor string) (*Key, error) {
	key, err := core.DecodeCursor("favourites", cursor, 2)
	if key == nil || err != nil {
		return nil, err
	}
	at, err := core.CursorTime(key[0])
	if err != nil {
		return nil, err
	}
	return &Key{CreatedAt: at, CardID: key[1]}, nil
}

func decodeMatch(key []string) (match, error) {
	score, err := strconv.Atoi(key[0])
	if err != nil {
		return match{}, core.BadCursor()
	}
	at, err := core.CursorTime(key[1])
	if err != nil {
		return match{}, err
	}
	last := match{Favourite{CardID: key[2], CreatedAt: at}, score}
	if len(key) > 3 {
		last.AgentID = key[3]
	}
	return last, nil
}
