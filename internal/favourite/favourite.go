// Package favourite manages favourites: result cards that users save, search by words and export as bibliographies.
package favourite

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"carrel/internal/core"
	"carrel/internal/format/budget"
)

// Favourite is a saved card.
type Favourite struct {
	AgentID  string
	CardID   string
	Card     json.RawMessage
	ThreadID string
	// Tags are in alphabetical order.
	Tags []string
	Note string
	// Collections are the ids of the collections that contain the favourite.
	Collections []string
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Key is a position in a list of favourites, which is ordered by time, card and agent, all descending.
type Key struct {
	CreatedAt time.Time
	CardID    string
	AgentID   string
}

// Selection selects favourites of a user with agents that the user can access. Empty lists select all.
type Selection struct {
	UserID string
	Agents []string
	Cards  []string
	// Tags are spellings; a favourite needs one of them.
	Tags       []string
	Collection string
}

// Store persists favourites. Methods are scoped to a user; anything of others is not_found.
type Store interface {
	// SaveFavourite stores a card. A card with the same id is updated and keeps its creation time, tags, note and
	// collections.
	SaveFavourite(ctx context.Context, userID, agentID string, f Favourite) (Favourite, error)
	// Favourites returns up to n favourites, newest first, after a key unless it is nil.
	Favourites(ctx context.Context, s Selection, after *Key, n int) ([]Favourite, error)
	// EachFavourite calls yield for each favourite, newest first, until it returns an error.
	EachFavourite(ctx context.Context, s Selection, yield func(Favourite) error) error
	// SavedCards returns those of the card ids that are ids of favourites with an agent.
	SavedCards(ctx context.Context, userID, agentID string, cardIDs []string) ([]string, error)
	// FavouriteTags returns the spellings of tags, those of the newest favourites first.
	FavouriteTags(ctx context.Context, userID string, agents []string) ([]core.Tag, error)
	// ImportFavourites stores cards in one transaction and returns the outcome of each. Like SaveFavourite, it keeps the
	// creation time, tags, note and collections of a known card.
	ImportFavourites(ctx context.Context, userID, agentID string, list []Favourite) ([]Outcome, error)
	// ChangeFavourite sets the fields of a change that are not nil.
	ChangeFavourite(ctx context.Context, userID, agentID, cardID string, c Change, now time.Time) (Favourite, error)
	DeleteFavourite(ctx context.Context, userID, agentID, cardID string, at time.Time) error
	// DeleteFavourites deletes favourites with an agent and returns the ids of the cards that were favourites.
	DeleteFavourites(ctx context.Context, userID, agentID string, cardIDs []string, at time.Time) ([]string, error)
	CollectionStore
}

// Agents decides whether an actor may carry out an operation on an agent.
type Agents interface {
	Allow(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error
}

// Threads checks that a thread belongs to the actor and the agent.
type Threads interface {
	CheckThread(ctx context.Context, actor core.Actor, agentID, threadID string) error
}

// Documents keeps and reads the documents of saved cards.
type Documents interface {
	// KeepCard removes the expiry of a card's document, which a federated source found. It does nothing for other cards.
	KeepCard(ctx context.Context, userID, agentID, cardID string) error
	// Openings returns the beginnings of the texts of the documents of cards, by card id. Cards without a document, and
	// those whose document the user cannot access, are left out.
	Openings(ctx context.Context, userID, agentID string, cardIDs []string) (map[string]string, error)
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
	// imports is the memory that concurrent imports share.
	imports *budget.Pool
}

// NewService returns a Service. It panics when a dependency is missing.
func NewService(d Deps) *Service {
	core.RequireDeps(d)
	return &Service{
		store: d.Store, agents: d.Agents, threads: d.Threads, documents: d.Documents, clock: d.Clock,
		imports: budget.NewPool(importMemory),
	}
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

// maxLookup limits the cards of one lookup.
const maxLookup = 200

// Lookup returns those of the card ids that are ids of favourites with an agent.
func (s *Service) Lookup(ctx context.Context, actor core.Actor, agentID string, cardIDs []string) ([]string, error) {
	if err := s.allow(ctx, actor, core.OpLookupFavourites, agentID); err != nil {
		return nil, err
	}
	if len(cardIDs) == 0 || len(cardIDs) > maxLookup {
		return nil, core.InvalidField("/cardIds", "Must be 1 to 200 ids.")
	}
	known := slices.DeleteFunc(slices.Clone(cardIDs), func(id string) bool { return !ValidCardID(id) })
	return s.store.SavedCards(ctx, actor.UserID, agentID, known)
}

// Get returns one favourite.
func (s *Service) Get(ctx context.Context, actor core.Actor, agentID, cardID string) (Favourite, error) {
	if err := s.allow(ctx, actor, core.OpGetFavourite, agentID); err != nil {
		return Favourite{}, err
	}
	if !ValidCardID(cardID) {
		return Favourite{}, core.NotFound("favourite")
	}
	one := Selection{UserID: actor.UserID, Agents: []string{agentID}, Cards: []string{cardID}}
	found, err := s.store.Favourites(ctx, one, nil, 1)
	if err != nil {
		return Favourite{}, err
	}
	if len(found) == 0 {
		return Favourite{}, core.NotFound("favourite")
	}
	return safe(found)[0], nil
}

// DeleteAll deletes several favourites with an agent.
func (s *Service) DeleteAll(
	ctx context.Context, actor core.Actor, agentID string, cardIDs []string,
) (core.Deletion, error) {
	if err := s.allow(ctx, actor, core.OpDeleteFavourites, agentID); err != nil {
		return core.Deletion{}, err
	}
	if err := core.CheckBatch(cardIDs); err != nil {
		return core.Deletion{}, err
	}
	known := slices.DeleteFunc(slices.Clone(cardIDs), func(id string) bool { return !ValidCardID(id) })
	deleted, err := s.store.DeleteFavourites(ctx, actor.UserID, agentID, known, s.clock.Now())
	return core.NewDeletion(cardIDs, deleted), err
}

// Delete deletes a favourite.
func (s *Service) Delete(ctx context.Context, actor core.Actor, agentID, cardID string) error {
	if err := s.allow(ctx, actor, core.OpDeleteFavourite, agentID); err != nil {
		return err
	}
	if !ValidCardID(cardID) {
		return core.NotFound("favourite")
	}
	return s.store.DeleteFavourite(ctx, actor.UserID, agentID, cardID, s.clock.Now())
}
