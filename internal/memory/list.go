package memory

import (
	"context"
	"slices"
	"strconv"
	"time"

	"carrel/internal/core"
)

// Order is the order of a list of memories, newest first.
type Order string

// The orders: by creation, which is the default, and by the last change.
const (
	OrderCreated Order = "created"
	OrderUpdated Order = "updated"
)

// Filter selects memories and their order. Empty fields other than Status select all.
type Filter struct {
	Status Status
	// Query holds words that the text contains.
	Query string
	// Words are the words of Query. List sets them.
	Words  []string
	Pinned *bool
	Origin Origin
	Order  Order
}

// Key is the position after which a page of memories starts.
type Key struct {
	UpdatedAt time.Time
	ID        string
}

// check completes a filter and returns the name of its list, which is part of cursors.
func (f *Filter) check() (list string, err error) {
	list = "memories"
	switch f.Status {
	case StatusActive:
	case StatusProposed:
		list = "proposed memories"
	default:
		return "", core.InvalidField("status", "Must be active or proposed.")
	}
	if f.Origin != "" && !slices.Contains([]Origin{OriginUser, OriginAgent, OriginClient}, f.Origin) {
		return "", core.InvalidField("origin", "Must be user, agent or client.")
	}
	switch f.Order {
	case "", OrderCreated:
		f.Order = OrderCreated
	case OrderUpdated:
		list += " by change"
	default:
		return "", core.InvalidField("sort", "Must be created or updated.")
	}
	f.Words, err = core.QueryWords(f.Query)
	return list, err
}

// List returns a page of memories that a filter selects, in its order, and the cursor of the next page.
func (s *Service) List(
	ctx context.Context, actor core.Actor, agentID string, f Filter, page core.Page,
) ([]Memory, string, error) {
	if err := s.agents.Allow(ctx, actor, core.OpListMemories, agentID); err != nil {
		return nil, "", err
	}
	list, err := f.check()
	if err != nil {
		return nil, "", err
	}
	rows, err := page.Rows(core.DefaultLimit)
	if err != nil {
		return nil, "", err
	}
	after, err := decodeKey(list, f.Order, page.Cursor)
	if err != nil {
		return nil, "", err
	}
	memories, err := s.store.FindMemories(ctx, actor.UserID, agentID, f, after, rows+1)
	if err != nil || len(memories) <= rows {
		return memories, "", err
	}
	memories = memories[:rows]
	last := memories[rows-1]
	if f.Order == OrderUpdated {
		return memories, core.EncodeCursor(list, strconv.FormatInt(last.UpdatedAt.UnixMilli(), 10), last.ID), nil
	}
	return memories, core.EncodeCursor(list, last.ID), nil
}

// decodeKey returns the key in a cursor of a list, or nil for the first page.
func decodeKey(list string, o Order, cursor string) (*Key, error) {
	if o == OrderCreated {
		id, err := core.DecodeIDCursor(list, cursor)
		if id == "" || err != nil {
			return nil, err
		}
		return &Key{ID: id}, nil
	}
	key, err := core.DecodeCursor(list, cursor, 2)
	if key == nil || err != nil {
		return nil, err
	}
	at, err := core.CursorTime(key[0])
	return &Key{UpdatedAt: at, ID: key[1]}, err
}

// Get returns an active or proposed memory.
func (s *Service) Get(ctx context.Context, actor core.Actor, agentID, memoryID string) (Memory, error) {
	if err := s.agents.Allow(ctx, actor, core.OpGetMemory, agentID); err != nil {
		return Memory{}, err
	}
	if !core.IsID(core.PrefixMemory, memoryID) {
		return Memory{}, core.NotFound("memory")
	}
	return s.store.Memory(ctx, actor.UserID, agentID, memoryID)
}
