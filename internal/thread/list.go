package thread

import (
	"context"
	"strconv"
	"time"

	"carrel/internal/core"
)

// Order is the order of a list of threads.
type Order string

// The orders: by the last message, which is the default, or by creation, newest first, by title, or pinned threads
// first and then by the last message.
const (
	OrderActivity Order = "activity"
	OrderPinned   Order = "pinned"
	OrderCreated  Order = "created"
	OrderTitle    Order = "title"
)

// Filter selects threads and their order. Empty fields select all.
type Filter struct {
	// Query holds words that the title and the messages contain.
	Query string
	// Words are the words of Query. List sets them.
	Words  []string
	Status Status
	// Archived selects the archived threads or the others.
	Archived *bool
	// Tag is compared without regard to case. Tags are its spellings, which List sets.
	Tag   string
	Tags  []string
	Order Order
}

// Key is the position after which a page of threads starts. Its fields other than ID belong to one order each.
type Key struct {
	Pinned   bool
	Activity time.Time
	Title    string
	ID       string
}

// check completes a filter and returns the name of its list, which is part of cursors.
func (f *Filter) check() (list string, err error) {
	if f.Status != "" && f.Status != StatusIdle && f.Status != StatusWorking {
		return "", core.InvalidField("status", "Must be idle or working.")
	}
	if detail := (core.TextRule{Max: core.MaxTag}).Check(f.Tag); detail != "" {
		return "", core.InvalidField("tag", detail)
	}
	list = "threads"
	switch f.Order {
	case "", OrderActivity:
		f.Order = OrderActivity
	case OrderCreated, OrderTitle, OrderPinned:
		list += " by " + string(f.Order)
	default:
		return "", core.InvalidField("sort", "Must be activity, created, title or pinned.")
	}
	f.Words, err = core.QueryWords(f.Query)
	return list, err
}

// List returns a page of threads that a filter selects, in its order, and the cursor of the next page.
func (s *Service) List(
	ctx context.Context, actor core.Actor, agentID string, f Filter, page core.Page,
) ([]Thread, string, error) {
	if err := s.allow(ctx, actor, core.OpListThreads, agentID); err != nil {
		return nil, "", err
	}
	return s.list(ctx, actor.UserID, []string{agentID}, f, page,
		func(f Filter, after *Key, n int) ([]Thread, error) {
			return s.store.Threads(ctx, actor.UserID, agentID, f, after, n)
		})
}

// ListAll is List over all agents that the actor may read.
func (s *Service) ListAll(
	ctx context.Context, actor core.Actor, f Filter, page core.Page,
) ([]Thread, string, error) {
	if err := actor.Allow(core.OpListAllThreads); err != nil {
		return nil, "", err
	}
	return s.list(ctx, actor.UserID, actor.Agents, f, page,
		func(f Filter, after *Key, n int) ([]Thread, error) {
			return s.store.AllThreads(ctx, actor.UserID, actor.Agents, f, after, n)
		})
}

// list returns a page of the threads that read selects, and the cursor of the next page.
func (s *Service) list(
	ctx context.Context, userID string, agents []string, f Filter, page core.Page,
	read func(f Filter, after *Key, n int) ([]Thread, error),
) ([]Thread, string, error) {
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
	if core.Fold(f.Tag) != "" {
		known, err := s.store.ThreadTags(ctx, userID, agents)
		if err != nil {
			return nil, "", err
		}
		f.Tags = core.TagSpellings(f.Tag, known)
	}
	threads, err := read(f, after, rows+1)
	if err != nil {
		return nil, "", err
	}
	next := ""
	if len(threads) > rows {
		threads = threads[:rows]
		next = encodeKey(list, f.Order, threads[rows-1])
	}
	return threads, next, s.addMatches(ctx, threads, f.Words)
}

// Tags returns the tags of the threads with all agents that the actor may read, in alphabetical order. The spelling of
// a tag is that of the latest thread.
func (s *Service) Tags(ctx context.Context, actor core.Actor) ([]core.Tag, error) {
	if err := actor.Allow(core.OpListThreadTags); err != nil {
		return nil, err
	}
	spellings, err := s.store.ThreadTags(ctx, actor.UserID, actor.Agents)
	return core.MergeTags(spellings), err
}

func encodeKey(list string, o Order, last Thread) string {
	switch o {
	case OrderTitle:
		return core.EncodeCursor(list, last.Title, last.ID)
	case OrderCreated:
		return core.EncodeCursor(list, last.ID)
	case OrderPinned:
		return core.EncodeCursor(list, strconv.FormatBool(last.Pinned),
			strconv.FormatInt(last.activity().UnixMilli(), 10), last.ID)
	default:
		return core.EncodeCursor(list, strconv.FormatInt(last.activity().UnixMilli(), 10), last.ID)
	}
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
	parts := 2
	if o == OrderPinned {
		parts = 3
	}
	key, err := core.DecodeCursor(list, cursor, parts)
	if key == nil || err != nil {
		return nil, err
	}
	if o == OrderTitle {
		return &Key{Title: key[0], ID: key[1]}, nil
	}
	at, err := core.CursorTime(key[parts-2])
	if err != nil {
		return nil, err
	}
	return &Key{Pinned: key[0] == "true", Activity: at, ID: key[parts-1]}, nil
}

// Message returns a message of a thread.
func (s *Service) Message(
	ctx context.Context, actor core.Actor, agentID, threadID, messageID string,
) (Message, error) {
	if err := s.checkMessage(ctx, actor, core.OpGetMessage, agentID, threadID, messageID); err != nil {
		return Message{}, err
	}
	return s.store.Message(ctx, threadID, messageID)
}
