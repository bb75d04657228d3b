package favourite

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"

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
	if detail := (core.TextRule{Max: core.MaxTag}).Check(f.Tag); detail != "" {
		return core.InvalidField("tag", detail)
	}
	if core.HasNUL(f.Collection) {
		return core.InvalidField("collection", "Must not contain a NUL character.")
	}
	return nil
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
	return s.find(ctx, "favourites", actor.UserID, []string{agentID}, f, page)
}

// FindAll is Find over all agents that the actor may read.
func (s *Service) FindAll(
	ctx context.Context, actor core.Actor, f Filter, page core.Page,
) ([]Favourite, string, error) {
	if err := actor.Allow(core.OpListAllFavourites); err != nil {
		return nil, "", err
	}
	return s.find(ctx, "favourites.all", actor.UserID, actor.Agents, f, page)
}

// find returns a page of the list, whose name is part of its cursors.
func (s *Service) find(
	ctx context.Context, list, userID string, agents []string, f Filter, page core.Page,
) ([]Favourite, string, error) {
	rows, err := page.Rows(core.DefaultLimit)
	if err != nil {
		return nil, "", err
	}
	if err := f.check(); err != nil {
		return nil, "", err
	}
	if m := NewMatcher(f.Query); !m.Empty() {
		return s.search(ctx, list+".q", userID, agents, f, page.Cursor, rows)
	}
	after, err := decodeKey(list, page.Cursor)
	if err != nil {
		return nil, "", err
	}
	selection, err := s.selection(ctx, userID, agents, f)
	if err != nil {
		return nil, "", err
	}
	found, err := s.store.Favourites(ctx, selection, after, rows+1)
	if err != nil || len(found) <= rows {
		return safe(found), "", err
	}
	return safe(found[:rows]), core.EncodeCursor(list, keyOf(found[rows-1])...), nil
}

// selection returns the part of a filter that the database applies. Tags are compared without regard to case, so a tag
// is replaced by its spellings.
func (s *Service) selection(ctx context.Context, userID string, agents []string, f Filter) (Selection, error) {
	out := Selection{UserID: userID, Agents: agents, Collection: f.Collection}
	if core.Fold(f.Tag) == "" {
		return out, nil
	}
	tags, err := s.store.FavouriteTags(ctx, userID, agents)
	out.Tags = core.TagSpellings(f.Tag, tags)
	return out, err
}

// search returns a page of the favourites that contain the words of a filter, best first. It reads all favourites of
// the selection and holds two pages of them.
func (s *Service) search(
	ctx context.Context, list, userID string, agents []string, f Filter, cursor string, rows int,
) ([]Favourite, string, error) {
	after, err := decodeMatch(list, cursor)
	if err != nil {
		return nil, "", err
	}
	selection, err := s.selection(ctx, userID, agents, f)
	if err != nil {
		return nil, "", err
	}
	var best []match
	keep := func() {
		slices.SortFunc(best, match.compare)
		best = best[:min(len(best), rows+1)]
	}
	matcher := NewMatcher(f.Query)
	err = s.store.EachFavourite(ctx, selection, func(x Favourite) error {
		score, ok := matcher.scoreOf(x)
		if m := (match{x, score}); ok && (after == nil || m.compare(*after) > 0) {
			best = append(best, m)
		}
		if len(best) > 2*rows {
			keep()
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, "", err
	}
	keep()
	next := ""
	if len(best) > rows {
		best = best[:rows]
		last := best[rows-1]
		next = core.EncodeCursor(list, append([]string{strconv.Itoa(last.score)}, keyOf(last.Favourite)...)...)
	}
	found := make([]Favourite, len(best))
	for i, m := range best {
		found[i] = m.Favourite
	}
	return safe(found), next, nil
}

// scoreOf returns the score of a favourite by its card, its tags and its note.
func (m Matcher) scoreOf(f Favourite) (score int, ok bool) {
	return m.Score(f.Card, append(f.Tags[:len(f.Tags):len(f.Tags)], f.Note)...)
}

// Tags returns the tags of the favourites with all agents that the actor may read, in alphabetical order. The spelling
// of a tag is that of the latest favourite.
func (s *Service) Tags(ctx context.Context, actor core.Actor) ([]core.Tag, error) {
	if err := actor.Allow(core.OpListFavouriteTags); err != nil {
		return nil, err
	}
	spellings, err := s.store.FavouriteTags(ctx, actor.UserID, actor.Agents)
	if err != nil {
		return nil, err
	}
	return core.MergeTags(spellings), nil
}

type match struct {
	Favourite
	score int
}

// compare orders matches by score, then like lists without words.
func (m match) compare(o match) int {
	return cmp.Or(cmp.Compare(o.score, m.score), o.CreatedAt.Compare(m.CreatedAt), cmp.Compare(o.CardID, m.CardID),
		cmp.Compare(o.AgentID, m.AgentID))
}

// Export writes favourites of an agent as a bibliography.
func (s *Service) Export(
	ctx context.Context, actor core.Actor, agentID string, f Filter, format Format, w io.Writer,
) error {
	if err := s.allow(ctx, actor, core.OpExportFavourites, agentID); err != nil {
		return err
	}
	return s.exportFiltered(ctx, actor, []string{agentID}, f, format, w)
}

// ExportAll is Export over all agents that the actor may read.
func (s *Service) ExportAll(ctx context.Context, actor core.Actor, f Filter, format Format, w io.Writer) error {
	if err := actor.Allow(core.OpExportAllFavourites); err != nil {
		return err
	}
	return s.exportFiltered(ctx, actor, actor.Agents, f, format, w)
}

func (s *Service) exportFiltered(
	ctx context.Context, actor core.Actor, agents []string, f Filter, format Format, w io.Writer,
) error {
	if err := f.check(); err != nil {
		return err
	}
	selection, err := s.selection(ctx, actor.UserID, agents, f)
	if err != nil {
		return err
	}
	matcher := NewMatcher(f.Query)
	return s.export(ctx, actor, selection, format, w, func(x Favourite) bool {
		_, ok := matcher.scoreOf(x)
		return ok
	})
}

// maxSelected limits the favourites of one export by id.
const maxSelected = 1000

// Ref identifies a favourite of a user.
type Ref struct{ AgentID, CardID string }

// ExportSelected writes the given favourites as a bibliography. Those that the actor may not read are left out.
func (s *Service) ExportSelected(
	ctx context.Context, actor core.Actor, refs []Ref, format Format, w io.Writer,
) error {
	if err := actor.Allow(core.OpExportSelectedFavourites); err != nil {
		return err
	}
	if len(refs) == 0 || len(refs) > maxSelected {
		return core.InvalidField("/favourites", "Must be 1 to 1000 favourites.")
	}
	selected := make(map[Ref]bool, len(refs))
	selection := Selection{UserID: actor.UserID, Agents: actor.Agents}
	for i, r := range refs {
		if core.HasNUL(r.AgentID) || core.HasNUL(r.CardID) {
			return core.InvalidField("/favourites/"+strconv.Itoa(i), "Must not contain a NUL character.")
		}
		selected[r] = true
		selection.Cards = append(selection.Cards, r.CardID)
	}
	return s.export(ctx, actor, selection, format, w, func(x Favourite) bool { return selected[Ref{x.AgentID, x.CardID}] })
}

// export writes the favourites of a selection that keep accepts.
func (s *Service) export(
	ctx context.Context, actor core.Actor, selection Selection, format Format, w io.Writer, keep func(Favourite) bool,
) error {
	list, err := s.read(ctx, selection, keep)
	if err != nil {
		return err
	}
	cards, err := s.Cards(ctx, actor, list)
	if err != nil {
		return err
	}
	return Export(w, format, cards)
}

// read returns the favourites of a selection that keep accepts, newest first.
func (s *Service) read(ctx context.Context, selection Selection, keep func(Favourite) bool) ([]Favourite, error) {
	var list []Favourite
	err := s.store.EachFavourite(ctx, selection, func(x Favourite) error {
		if keep(x) {
			list = append(list, x)
		}
		return ctx.Err()
	})
	return list, err
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

// keyOf returns the parts of a cursor after a favourite.
func keyOf(f Favourite) []string {
	return []string{strconv.FormatInt(f.CreatedAt.UnixMilli(), 10), f.CardID, f.AgentID}
}

// decodeKey returns the key in a cursor of a list, or nil for the first page.
func decodeKey(list, cursor string) (*Key, error) {
	key, err := core.DecodeCursor(list, cursor, 3)
	if key == nil || err != nil {
		return nil, err
	}
	at, err := core.CursorTime(key[0])
	if err != nil {
		return nil, err
	}
	return &Key{CreatedAt: at, CardID: key[1], AgentID: key[2]}, nil
}

// decodeMatch returns the last match in a cursor of a search, or nil for the first page.
func decodeMatch(list, cursor string) (*match, error) {
	key, err := core.DecodeCursor(list, cursor, 4)
	if key == nil || err != nil {
		return nil, err
	}
	score, err := strconv.Atoi(key[0])
	if err != nil {
		return nil, core.BadCursor()
	}
	at, err := core.CursorTime(key[1])
	if err != nil {
		return nil, err
	}
	return &match{Favourite{CreatedAt: at, CardID: key[2], AgentID: key[3]}, score}, nil
}
