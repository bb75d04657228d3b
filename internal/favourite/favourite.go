// Package favourite manages favourites: result cards that users save, search by words and export as bibliographies.
package favourite

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"time"

	"carrel/internal/core"
)

// Favourite is a saved card.
type Favourite struct {
	CardID    string
	Card      json.RawMessage
	ThreadID  string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Key is the position of a page of favourites.
type Key struct {
	CreatedAt time.Time
	CardID    string
}

// Store persists favourites. All methods are scoped to a user and an agent; anything else is not_found.
type Store interface {
	// SaveFavourite stores a card. A card with the same id is updated and keeps its creation time.
	SaveFavourite(ctx context.Context, userID, agentID string, f Favourite) (Favourite, error)
	// Favourites returns up to n favourites (all if n < 0), newest first, after a key unless it is nil.
	Favourites(ctx context.Context, userID, agentID string, after *Key, n int) ([]Favourite, error)
	DeleteFavourite(ctx context.Context, userID, agentID, cardID string) error
}

// Agents decides whether an actor may carry out an operation on an agent.
type Agents interface {
	Allow(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error
}

// Threads checks that a thread belongs to the actor and the agent.
type Threads interface {
	CheckThread(ctx context.Context, actor core.Actor, agentID, threadID string) error
}

// Documents keeps the documents of saved cards.
type Documents interface {
	// KeepCard removes the expiry of a card's document, which a federated source found. It does nothing for other cards.
	KeepCard(ctx context.Context, userID, agentID, cardID string) error
}

// Deps are the dependencies of a Service. All are required.
type Deps struct {
	Store     Store
	Agents    Agents
	Threads   Threads
	Documents Documents
	Clock     core.Clock
}

// Service saves, lists and exports favourites.
type Service struct {
	store     Store
	agents    Agents
	threads   Threads
	documents Documents
	clock     core.Clock
}

// NewService returns a Service. It panics when a dependency is missing.
func NewService(d Deps) *Service {
	core.RequireDeps(d)
	return &Service{store: d.Store, agents: d.Agents, threads: d.Threads, documents: d.Documents, clock: d.Clock}
}

func (s *Service) allow(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error {
	return s.agents.Allow(ctx, actor, op, agentID)
}

// Save saves a card, with its thread if one is given.
func (s *Service) Save(
	ctx context.Context, actor core.Actor, agentID string, card json.RawMessage, threadID string,
) (Favourite, error) {
	if err := s.allow(ctx, actor, core.OpSaveFavourite, agentID); err != nil {
		return Favourite{}, err
	}
	cardID, err := CardID(card)
	if err == nil {
		err = checkLinks(card)
	}
	if err != nil {
		return Favourite{}, err
	}
	if threadID != "" {
		err := s.threads.CheckThread(ctx, actor, agentID, threadID)
		if core.IsKind(err, core.KindNotFound) {
			return Favourite{}, core.InvalidField("/threadId", "There is no such thread of this agent.")
		}
		if err != nil {
			return Favourite{}, err
		}
	}
	// Before the card is saved, so that a failure leaves no favourite whose document expires.
	if err := s.documents.KeepCard(ctx, actor.UserID, agentID, cardID); err != nil {
		return Favourite{}, err
	}
	now := s.clock.Now()
	return s.store.SaveFavourite(ctx, actor.UserID, agentID, Favourite{
		CardID: cardID, Card: card, ThreadID: threadID, CreatedAt: now, UpdatedAt: now,
	})
}

// List returns a page of favourites and the cursor of the next page: newest first, or with words in q the cards that
// contain all of them, best first.
func (s *Service) List(
	ctx context.Context, actor core.Actor, agentID, q string, page core.Page,
) ([]Favourite, string, error) {
	if err := s.allow(ctx, actor, core.OpListFavourites, agentID); err != nil {
		return nil, "", err
	}
	rows, err := page.Rows(core.DefaultLimit)
	if err != nil {
		return nil, "", err
	}
	if detail := (core.TextRule{Max: 500}).Check(q); detail != "" {
		return nil, "", core.InvalidField("q", detail)
	}
	if m := NewMatcher(q); !m.Empty() {
		return s.find(ctx, actor, agentID, m, page.Cursor, rows)
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

type match struct {
	Favourite
	score int
}

// compare orders matches by score, then newest first, then by id.
func (m match) compare(o match) int {
	return cmp.Or(cmp.Compare(o.score, m.score), o.CreatedAt.Compare(m.CreatedAt), cmp.Compare(m.CardID, o.CardID))
}

// find scores all favourites of the agent. A user has hundreds at most, so a scan is faster than maintaining an
// index.
func (s *Service) find(
	ctx context.Context, actor core.Actor, agentID string, m Matcher, cursor string, rows int,
) ([]Favourite, string, error) {
	key, err := core.DecodeCursor("favourites.q", cursor, 3)
	if err != nil {
		return nil, "", err
	}
	all, err := s.store.Favourites(ctx, actor.UserID, agentID, nil, -1)
	if err != nil {
		return nil, "", err
	}
	var matches []match
	for _, f := range all {
		if score, ok := m.Score(f.Card); ok {
			matches = append(matches, match{f, score})
		}
	}
	slices.SortFunc(matches, match.compare)
	if key != nil {
		last, err := decodeMatch(key)
		if err != nil {
			return nil, "", err
		}
		matches = slices.DeleteFunc(matches, func(x match) bool { return x.compare(last) <= 0 })
	}
	next := ""
	if len(matches) > rows {
		matches = matches[:rows]
		last := matches[rows-1]
		next = core.EncodeCursor("favourites.q", strconv.Itoa(last.score), millis(last.CreatedAt), last.CardID)
	}
	found := make([]Favourite, len(matches))
	for i, x := range matches {
		found[i] = x.Favourite
	}
	return safe(found), next, nil
}

// Export writes all favourites of an agent as a bibliography.
func (s *Service) Export(ctx context.Context, actor core.Actor, agentID string, format Format, w io.Writer) error {
	if err := s.allow(ctx, actor, core.OpExportFavourites, agentID); err != nil {
		return err
	}
	all, err := s.store.Favourites(ctx, actor.UserID, agentID, nil, -1)
	if err != nil {
		return err
	}
	cards := make([]Card, len(all))
	for i, f := range all {
		cards[i] = Card{ID: f.CardID, JSON: f.Card}
	}
	return Export(w, format, cards)
}

// Delete deletes a favourite.
func (s *Service) Delete(ctx context.Context, actor core.Actor, agentID, cardID string) error {
	if err := s.allow(ctx, actor, core.OpDeleteFavourite, agentID); err != nil {
		return err
	}
	if !ValidCardID(cardID) {
		return core.NotFound("favourite")
	}
	return s.store.DeleteFavourite(ctx, actor.UserID, agentID, cardID)
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
	return match{Favourite{CardID: key[2], CreatedAt: at}, score}, nil
}
