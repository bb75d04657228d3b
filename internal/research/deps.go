package research

import (
	"context"
	"encoding/json"

	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/memory"
	"carrel/internal/search"
	"carrel/internal/source"
	"carrel/internal/thread"
)

// Search searches the sources of an agent. It does not count as a search of the user.
type Search interface {
	Find(ctx context.Context, buyer source.Buyer, q search.Query) (source.Found, error)
	// Statistics counts the passages of the sources that hold each term, in the form of package analysis.
	Statistics(ctx context.Context, sources, terms []string) (search.Statistics, error)
}

// Documents returns a document with its text. A document outside of the agent's sources is not_found.
type Documents interface {
	DocumentOf(ctx context.Context, userID, agentID, documentID string) (source.Document, error)
	// Heads returns up to n documents of the agent's sources, or of those with the given ids if there are any, with the
	// beginnings of their texts, that were published in the years from and to, both included; 0 means no limit. Results
	// of live sources are not among them.
	Heads(ctx context.Context, userID, agentID string, sourceIDs []string, from, to, n int) ([]source.Document, error)
	// Keep makes documents of live sources permanent, so that citations of them can be checked.
	Keep(ctx context.Context, userID, agentID string, ids []string) error
}

// Conversation returns the last n messages of a thread, newest first: those before the sequence number, unless it is 0.
type Conversation interface {
	Messages(ctx context.Context, threadID string, before, n int) ([]thread.Message, error)
}

// Memories are the memories of an agent about its user.
type Memories interface {
	// Recall returns the few memories that are relevant to a text.
	Recall(ctx context.Context, userID, agentID, text string) ([]memory.Memory, error)
	// Known returns all active memories, newest first.
	Known(ctx context.Context, userID, agentID string) ([]memory.Memory, error)
	// Propose stores a memory for the user to confirm. It is idempotent.
	Propose(ctx context.Context, userID, agentID, threadID, messageID, text string) error
	// Add stores a memory. Adding the same text again returns the existing memory.
	Add(ctx context.Context, actor core.Actor, agentID, text string) (memory.Memory, error)
	Delete(ctx context.Context, actor core.Actor, agentID, memoryID string) error
}

// Favourites are the documents that the user has saved.
type Favourites interface {
	List(ctx context.Context, actor core.Actor, agentID, q string, page core.Page) ([]favourite.Favourite, string, error)
	// Save saves a card. Saving it again updates it.
	Save(
		ctx context.Context, actor core.Actor, agentID string, card json.RawMessage, threadID string,
	) (favourite.Favourite, error)
	Delete(ctx context.Context, actor core.Actor, agentID, cardID string) error
}

// Agents returns an agent with its sources.
type Agents interface {
	Agent(ctx context.Context, userID, agentID string) (agent.Agent, error)
}

// Spend enforces the spending cap of the user. A turn has one model call at a time.
type Spend interface {
	// Reserve reserves the maximum cost of a call; beyond the cap it returns spend_cap_reached. An earlier reservation
	// that was not settled belongs to a call interrupted by a crash, and counts as spent.
	Reserve(ctx context.Context, userID, turnID, model string, micros int64) error
	// Settle replaces the reservation by the actual cost.
	Settle(ctx context.Context, userID, turnID string, micros int64, estimated bool) error
}
