// Package bin implements the bin of a user with an agent: deleted threads, memories, favourites and documents, which
// can be restored until they expire.
package bin

import (
	"context"
	"encoding/json"
	"time"

	"carrel/internal/core"
)

// Kind is the kind of a deleted item.
type Kind string

// The kinds.
const (
	KindThread    Kind = "thread"
	KindMemory    Kind = "memory"
	KindFavourite Kind = "favourite"
	KindDocument  Kind = "document"
)

// TitleLength is the maximum length of a title in code points.
const TitleLength = 200

// deletions are the operations that delete an item of each kind. Restoring an item and deleting it for good need the
// same access.
var deletions = map[Kind]core.Operation{
	KindThread:    core.OpDeleteThread,
	KindMemory:    core.OpDeleteMemory,
	KindFavourite: core.OpDeleteFavourite,
	KindDocument:  core.OpDeleteDocument,
}

// Item is a deleted item.
type Item struct {
	ID   string
	Kind Kind
	// ItemID is the id of the thread, memory or document, or the card id of the favourite.
	ItemID string
	// Title is the title of the thread, card or document, or the start of the memory.
	Title     string
	DeletedAt time.Time
	// ExpiresAt is when the item is deleted for good.
	ExpiresAt time.Time
}

// Store persists deleted items, scoped to a user and an agent; anything else is not_found. It does not set ExpiresAt.
type Store interface {
	// BinItems returns up to n items of a kind, or of all kinds if it is empty, latest first, starting after the item
	// with the id before unless it is empty.
	BinItems(ctx context.Context, userID, agentID string, kind Kind, before string, n int) ([]Item, error)
	BinItem(ctx context.Context, userID, agentID, id string) (Item, error)
	// BinContent returns a deleted item as JSON, for exports.
	BinContent(ctx context.Context, userID, agentID, id string) (json.RawMessage, error)
	// RestoreBinItem puts an item back and takes it out of the bin. A document is a conflict if its source has another
	// one with the same external id.
	RestoreBinItem(ctx context.Context, userID, agentID, id string, at time.Time) error
	DeleteBinItem(ctx context.Context, userID, agentID, id string) error
	// EmptyBin deletes the items of these kinds.
	EmptyBin(ctx context.Context, userID, agentID string, kinds []Kind) error
	// PruneBin deletes the items of all users that were deleted at the time or before.
	PruneBin(ctx context.Context, until time.Time) error
}

// Agents checks access to agents.
type Agents interface {
	Allow(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error
}

// Deps are the dependencies of a Service. Store, Agents and Clock are required.
type Deps struct {
	Store  Store
	Agents Agents
	Clock  core.Clock
	// Days is how long items are kept; 0 means that items are deleted at once.
	Days int `dep:"optional"`
}

// Service implements the operations on the bin.
type Service struct{ Deps }

// NewService returns a service. It panics if a dependency is missing.
func NewService(d Deps) *Service {
	core.RequireDeps(d)
	return &Service{Deps: d}
}

// List returns a page of the items with an agent, latest first, and the cursor of the next page.
func (s *Service) List(
	ctx context.Context, actor core.Actor, agentID string, kind Kind, p core.Page,
) (items []Item, next string, err error) {
	if err := s.Agents.Allow(ctx, actor, core.OpListBin, agentID); err != nil {
		return nil, "", err
	}
	n, err := p.Rows(core.DefaultLimit)
	if err != nil {
		return nil, "", err
	}
	list := "bin " + string(kind)
	before, err := core.DecodeIDCursor(list, p.Cursor)
	if err != nil {
		return nil, "", err
	}
	items, err = s.Store.BinItems(ctx, actor.UserID, agentID, kind, before, n+1)
	if err != nil {
		return nil, "", err
	}
	if len(items) > n {
		items = items[:n]
		next = core.EncodeCursor(list, items[n-1].ID)
	}
	for i := range items {
		s.expire(&items[i])
	}
	return items, next, nil
}

// Content returns an item as JSON, for the export of an account.
func (s *Service) Content(ctx context.Context, actor core.Actor, agentID, id string) (json.RawMessage, error) {
	if err := s.Agents.Allow(ctx, actor, core.OpListBin, agentID); err != nil {
		return nil, err
	}
	return s.Store.BinContent(ctx, actor.UserID, agentID, id)
}

// Restore puts an item back and returns it.
func (s *Service) Restore(ctx context.Context, actor core.Actor, agentID, id string) (Item, error) {
	item, err := s.find(ctx, actor, core.OpRestoreBinItem, agentID, id)
	if err != nil {
		return Item{}, err
	}
	return item, s.Store.RestoreBinItem(ctx, actor.UserID, agentID, id, s.Clock.Now())
}

// Delete deletes an item for good.
func (s *Service) Delete(ctx context.Context, actor core.Actor, agentID, id string) error {
	if _, err := s.find(ctx, actor, core.OpDeleteBinItem, agentID, id); err != nil {
		return err
	}
	return s.Store.DeleteBinItem(ctx, actor.UserID, agentID, id)
}

// Empty deletes the items for good that the actor may delete.
func (s *Service) Empty(ctx context.Context, actor core.Actor, agentID string) error {
	if err := s.Agents.Allow(ctx, actor, core.OpEmptyBin, agentID); err != nil {
		return err
	}
	var kinds []Kind
	for _, kind := range []Kind{KindThread, KindMemory, KindFavourite, KindDocument} {
		err := s.Agents.Allow(ctx, actor, deletions[kind], agentID)
		switch {
		case err == nil:
			kinds = append(kinds, kind)
		case !core.IsKind(err, core.KindForbidden):
			return err
		}
	}
	return s.Store.EmptyBin(ctx, actor.UserID, agentID, kinds)
}

// Prune deletes expired items.
func (s *Service) Prune(ctx context.Context) error {
	return s.Store.PruneBin(ctx, s.Clock.Now().AddDate(0, 0, -s.Days))
}

// find returns an item on which the actor may carry out an operation.
func (s *Service) find(
	ctx context.Context, actor core.Actor, op core.Operation, agentID, id string,
) (Item, error) {
	if err := s.Agents.Allow(ctx, actor, op, agentID); err != nil {
		return Item{}, err
	}
	if !core.IsID(core.PrefixBin, id) {
		return Item{}, core.NotFound("item in the bin")
	}
	item, err := s.Store.BinItem(ctx, actor.UserID, agentID, id)
	if err != nil {
		return Item{}, err
	}
	s.expire(&item)
	return item, s.Agents.Allow(ctx, actor, deletions[item.Kind], agentID)
}

func (s *Service) expire(item *Item) { item.ExpiresAt = item.DeletedAt.AddDate(0, 0, s.Days) }
