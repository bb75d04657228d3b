// Package memory holds the facts that a user lets an agent remember.
package memory

import (
	"context"
	"strings"
	"time"

	"carrel/internal/core"
)

// Memory is one remembered fact of a user, for one agent.
type Memory struct {
	ID        string
	AgentID   string
	Text      string
	Origin    Origin
	ThreadID  string
	MessageID string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Origin is who a memory comes from.
type Origin string

// The origins: the user in person, the agent from a conversation, or a program that acts for the user.
const (
	OriginUser   Origin = "user"
	OriginAgent  Origin = "agent"
	OriginClient Origin = "client"
)

// Store keeps memories. Everything is scoped to a user and an agent; what lies outside is not_found.
type Store interface {
	// InsertMemory stores a memory unless one with the same folded text is there, and returns the one that is.
	InsertMemory(ctx context.Context, userID string, m Memory, folded string) (Memory, error)
	// Memories returns up to n memories, newest first: those older than the id in before, unless it is empty.
	Memories(ctx context.Context, userID, agentID, before string, n int) ([]Memory, error)
	// ChangeMemory sets a memory's text; a text that another memory has is a conflict.
	ChangeMemory(ctx context.Context, userID, agentID, memoryID, text, folded string, at time.Time) (Memory, error)
	DeleteMemory(ctx context.Context, userID, agentID, memoryID string) error
}

// Agents says whether an actor reaches an agent.
type Agents interface {
	Reach(ctx context.Context, actor core.Actor, agentID string) error
}

// Service is the door to memories.
type Service struct {
	store  Store
	agents Agents
	clock  core.Clock
}

// NewService returns a service on this store.
func NewService(store Store, agents Agents, clock core.Clock) *Service {
	return &Service{store: store, agents: agents, clock: clock}
}

var textRule = core.TextRule{Min: 1, Max: 4000}

func (s *Service) allow(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error {
	if err := actor.Allow(op); err != nil {
		return err
	}
	return s.agents.Reach(ctx, actor, agentID)
}

// Add remembers a text. Adding the same words again returns the memory that is there.
func (s *Service) Add(ctx context.Context, actor core.Actor, agentID, text string) (Memory, error) {
	if err := s.allow(ctx, actor, core.OpWriteMemories, agentID); err != nil {
		return Memory{}, err
	}
	text = strings.TrimSpace(text)
	if detail := textRule.Check(text); detail != "" {
		return Memory{}, core.InvalidField("/text", detail)
	}
	now := s.clock.Now()
	m := Memory{
		ID: core.NewIDIn(ctx, core.PrefixMemory), AgentID: agentID, Text: text, Origin: origin(actor),
		CreatedAt: now, UpdatedAt: now,
	}
	return s.store.InsertMemory(ctx, actor.UserID, m, core.Fold(text))
}

// origin tells a program from a person: a key is a program's, even when a person types.
func origin(actor core.Actor) Origin {
	if actor.Credential == core.CredentialOperator {
		return OriginUser
	}
	return OriginClient
}

// List returns a page of memories, newest first, and the cursor of the next page.
func (s *Service) List(ctx context.Context, actor core.Actor, agentID string, page core.Page) ([]Memory, string, error) {
	if err := actor.AllowOn(core.OpReadMemories, agentID); err != nil {
		return nil, "", err
	}
	rows, err := page.Rows(core.DefaultLimit)
	if err != nil {
		return nil, "", err
	}
	before, err := core.DecodeIDCursor("memories", page.Cursor)
	if err != nil {
		return nil, "", err
	}
	memories, err := s.store.Memories(ctx, actor.UserID, agentID, before, rows+1)
	if err == nil && len(memories) == 0 {
		err = s.agents.Reach(ctx, actor, agentID) // an agent with memories is there; one without must be looked for
	}
	if err != nil || len(memories) <= rows {
		return memories, "", err
	}
	memories = memories[:rows]
	return memories, core.EncodeCursor("memories", memories[rows-1].ID), nil
}

// Change sets a memory's text.
func (s *Service) Change(ctx context.Context, actor core.Actor, agentID, memoryID, text string) (Memory, error) {
	if err := s.allow(ctx, actor, core.OpWriteMemories, agentID); err != nil {
		return Memory{}, err
	}
	text = strings.TrimSpace(text)
	if detail := textRule.Check(text); detail != "" {
		return Memory{}, core.InvalidField("/text", detail)
	}
	if !core.IsID(core.PrefixMemory, memoryID) {
		return Memory{}, core.NotFound("memory")
	}
	return s.store.ChangeMemory(ctx, actor.UserID, agentID, memoryID, text, core.Fold(text), s.clock.Now())
}

// Delete forgets a memory.
func (s *Service) Delete(ctx context.Context, actor core.Actor, agentID, memoryID string) error {
	if err := s.allow(ctx, actor, core.OpWriteMemories, agentID); err != nil {
		return err
	}
	if !core.IsID(core.PrefixMemory, memoryID) {
		return core.NotFound("memory")
	}
	return s.store.DeleteMemory(ctx, actor.UserID, agentID, memoryID)
}
