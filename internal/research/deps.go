package research

import (
	"context"

	"carrel/internal/agent"
	"carrel/internal/memory"
	"carrel/internal/search"
	"carrel/internal/source"
	"carrel/internal/thread"
)

// Search finds what the sources of an agent say to a text. It neither counts nor bills as a search of the user's.
type Search interface {
	Find(ctx context.Context, buyer source.Buyer, q search.Query) (source.Found, error)
	// Statistics counts in how many passages of the sources words stand, in the form that the index has them in.
	Statistics(ctx context.Context, sources, terms []string) (search.Statistics, error)
}

// Documents returns a document with its text. One that is not in the agent's sources is not_found.
type Documents interface {
	DocumentOf(ctx context.Context, userID, agentID, documentID string) (source.Document, error)
	// Keep lets documents stay that would be thrown away after a while, so that what cites them can be checked.
	Keep(ctx context.Context, userID, agentID string, ids []string) error
}

// Conversation returns the last messages of a thread, newest first: those before the sequence number, unless it is 0.
type Conversation interface {
	Messages(ctx context.Context, threadID string, before, n int) ([]thread.Message, error)
}

// Memories are what the user lets the agent remember.
type Memories interface {
	// Recall returns the few memories that matter for a text.
	Recall(ctx context.Context, userID, agentID, text string) ([]memory.Memory, error)
	// Propose stores a memory that waits for the user's yes. The same again changes nothing.
	Propose(ctx context.Context, userID, agentID, threadID, messageID, text string) error
}

// Agents returns the agent that is asked, with its sources.
type Agents interface {
	Agent(ctx context.Context, userID, agentID string) (agent.Agent, error)
}

// Spend holds a turn to the cap of its user. A turn has one call of a model at a time.
type Spend interface {
	// Reserve puts aside what a call may cost, before it is made; beyond the cap it is spend_cap_reached. What was put
	// aside before and not settled is of a call that a crash cut off, and counts as spent.
	Reserve(ctx context.Context, userID, turnID, model string, micros int64) error
	// Settle puts what the call has cost in place of what was reserved for it.
	Settle(ctx context.Context, userID, turnID string, micros int64, estimated bool) error
}
