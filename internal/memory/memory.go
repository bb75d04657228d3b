// Package memory implements the facts that an agent remembers about a user.
package memory

import (
	"context"
	"strings"
	"time"

	"carrel/internal/core"
)

// Memory is one remembered fact of a user for one agent.
type Memory struct {
	ID      string
	AgentID string
	Text    string
	Status  Status
	// Pinned memories are ranked higher.
	Pinned    bool
	Origin    Origin
	ThreadID  string
	MessageID string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Origin is the creator of a memory.
type Origin string

// The origins: the user, the agent in a conversation, or a program that acts for the user.
const (
	OriginUser   Origin = "user"
	OriginAgent  Origin = "agent"
	OriginClient Origin = "client"
)

// Status is the state of a memory.
type Status string

// The states. A proposed memory waits for the user's confirmation. Of a dismissed or deleted memory only a hash of its
// text is kept, so that it is not proposed again.
const (
	StatusActive   Status = "active"
	StatusProposed Status = "proposed"
)

// Store persists memories, scoped to a user and an agent; anything else is not_found.
type Store interface {
	// InsertMemory stores an active memory, or returns the active one with the same folded text. A proposed or
	// dismissed memory with the same text becomes active.
	InsertMemory(ctx context.Context, userID string, m Memory, folded string) (Memory, error)
	// ProposeMemory stores a proposed memory unless the same folded text is active, proposed, dismissed or deleted.
	ProposeMemory(ctx context.Context, userID string, m Memory, folded string) error
	// Memories returns up to n memories of a status, newest first, older than the id in before unless it is empty.
	Memories(ctx context.Context, userID, agentID string, status Status, before string, n int) ([]Memory, error)
	// FindMemories returns up to n memories that a filter selects, in its order, after the key unless it is nil.
	FindMemories(ctx context.Context, userID, agentID string, f Filter, after *Key, n int) ([]Memory, error)
	// Memory returns an active or proposed memory.
	Memory(ctx context.Context, userID, agentID, memoryID string) (Memory, error)
	// ChangeMemory sets the given fields. A text of another active memory is a conflict.
	ChangeMemory(ctx context.Context, userID, agentID, memoryID string, c Change, at time.Time) (Memory, error)
	// ConfirmMemory makes a proposed memory active. An active one is returned unchanged.
	ConfirmMemory(ctx context.Context, userID, agentID, memoryID string, at time.Time) (Memory, error)
	// DismissMemory deletes a proposed memory except for the hash of its folded text.
	DismissMemory(ctx context.Context, userID, agentID, memoryID string, at time.Time) error
	// DeleteMemory deletes a memory except for the hash of its folded text.
	DeleteMemory(ctx context.Context, userID, agentID, memoryID string, at time.Time) error
	// DeleteMemories is DeleteMemory for several memories. It returns the ids of those that existed.
	DeleteMemories(ctx context.Context, userID, agentID string, ids []string, at time.Time) ([]string, error)
}

// Change is a change of a memory; nil fields are not changed.
type Change struct {
	Text *string
	// Folded is the normalized form of Text used for comparison.
	Folded string
	Pinned *bool
}

// Agents checks access to agents.
type Agents interface {
	Allow(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error
}

// Service implements the operations on memories.
type Service struct {
	store  Store
	agents Agents
	clock  core.Clock
	terms  func(text string) []string
}

// Deps are the dependencies of a Service. All but Terms are required.
type Deps struct {
	Store  Store
	Agents Agents
	Clock  core.Clock
	// Terms splits a text into the terms by which memories are recalled, such as stems. The default are folded words.
	Terms func(text string) []string `dep:"optional"`
}

// NewService returns a service. It panics if a required dependency is missing.
func NewService(d Deps) *Service {
	core.RequireDeps(d)
	if d.Terms == nil {
		d.Terms = words
	}
	return &Service{store: d.Store, agents: d.Agents, clock: d.Clock, terms: d.Terms}
}

var textRule = core.TextRule{Min: 1, Max: 4000}

// Add stores a memory. Adding the same text again returns the existing memory.
func (s *Service) Add(ctx context.Context, actor core.Actor, agentID, text string) (Memory, error) {
	if err := s.agents.Allow(ctx, actor, core.OpAddMemory, agentID); err != nil {
		return Memory{}, err
	}
	text = strings.TrimSpace(text)
	if detail := textRule.Check(text); detail != "" {
		return Memory{}, core.InvalidField("/text", detail)
	}
	now := s.clock.Now()
	m := Memory{
		ID: core.NewIDIn(ctx, core.PrefixMemory), AgentID: agentID, Text: text, Status: StatusActive,
		Origin:    origin(actor),
		CreatedAt: now, UpdatedAt: now,
	}
	return s.store.InsertMemory(ctx, actor.UserID, m, core.Fold(text))
}

// origin distinguishes users, in a browser or at the command line, from programs. An API key counts as a program.
func origin(actor core.Actor) Origin {
	switch actor.Credential {
	case core.CredentialSession, core.CredentialOperator:
		return OriginUser
	default:
		return OriginClient
	}
}

// Change sets the text of a memory or whether it is pinned.
func (s *Service) Change(ctx context.Context, actor core.Actor, agentID, memoryID string, c Change) (Memory, error) {
	if err := s.agents.Allow(ctx, actor, core.OpChangeMemory, agentID); err != nil {
		return Memory{}, err
	}
	if c.Text != nil {
		text := strings.TrimSpace(*c.Text)
		if detail := textRule.Check(text); detail != "" {
			return Memory{}, core.InvalidField("/text", detail)
		}
		c.Text, c.Folded = &text, core.Fold(text)
	}
	if !core.IsID(core.PrefixMemory, memoryID) {
		return Memory{}, core.NotFound("memory")
	}
	return s.store.ChangeMemory(ctx, actor.UserID, agentID, memoryID, c, s.clock.Now())
}

// Delete deletes a memory. The agent does not propose it again.
func (s *Service) Delete(ctx context.Context, actor core.Actor, agentID, memoryID string) error {
	if err := s.agents.Allow(ctx, actor, core.OpDeleteMemory, agentID); err != nil {
		return err
	}
	if !core.IsID(core.PrefixMemory, memoryID) {
		return core.NotFound("memory")
	}
	return s.store.DeleteMemory(ctx, actor.UserID, agentID, memoryID, s.clock.Now())
}

// DeleteAll deletes several memories. The agent does not propose them again.
func (s *Service) DeleteAll(
	ctx context.Context, actor core.Actor, agentID string, ids []string,
) (core.Deletion, error) {
	if err := s.agents.Allow(ctx, actor, core.OpDeleteMemories, agentID); err != nil {
		return core.Deletion{}, err
	}
	if err := core.CheckBatch(ids); err != nil {
		return core.Deletion{}, err
	}
	deleted, err := s.store.DeleteMemories(ctx, actor.UserID, agentID, ids, s.clock.Now())
	return core.NewDeletion(ids, deleted), err
}
