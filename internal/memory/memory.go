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
	ID      string
	AgentID string
	Text    string
	Status  Status
	// Pinned is one that the user wants to be thought of first.
	Pinned    bool
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

// Status says whether a memory may be used.
type Status string

// The states. A proposed memory waits for the user's yes. What was dismissed or deleted is no memory any more: all that
// is left of it is a hash of its words, so that nobody proposes them again.
const (
	StatusActive   Status = "active"
	StatusProposed Status = "proposed"
)

// Store keeps memories. Everything is scoped to a user and an agent; what lies outside is not_found.
type Store interface {
	// InsertMemory stores an active memory unless one with the same folded text is there, and returns the one that is.
	// One that was proposed or dismissed becomes active.
	InsertMemory(ctx context.Context, userID string, m Memory, folded string) (Memory, error)
	// ProposeMemory stores a proposed memory unless the same folded text is remembered, proposed, dismissed or deleted.
	ProposeMemory(ctx context.Context, userID string, m Memory, folded string) error
	// Memories returns up to n memories of a status, newest first: those older than the id in before, unless it is empty.
	Memories(ctx context.Context, userID, agentID string, status Status, before string, n int) ([]Memory, error)
	// ChangeMemory sets what is given; a text that another active memory has is a conflict.
	ChangeMemory(ctx context.Context, userID, agentID, memoryID string, c Change, at time.Time) (Memory, error)
	// ConfirmMemory makes a memory active, and leaves one as it is that is active already.
	ConfirmMemory(ctx context.Context, userID, agentID, memoryID string, at time.Time) (Memory, error)
	// DismissMemory forgets a proposed memory but for the hash of its folded text.
	DismissMemory(ctx context.Context, userID, agentID, memoryID string, at time.Time) error
	// DeleteMemory forgets a memory but for the hash of its folded text.
	DeleteMemory(ctx context.Context, userID, agentID, memoryID string, at time.Time) error
}

// Change is what to set of a memory; what is nil stays.
type Change struct {
	Text *string
	// Folded is the text as it is compared; it goes with Text.
	Folded string
	Pinned *bool
}

// Agents decides whether an actor may do something with an agent.
type Agents interface {
	Allow(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error
}

// Service is the door to memories.
type Service struct {
	store  Store
	agents Agents
	clock  core.Clock
	terms  func(text string) []string
}

// NewService returns a service on this store. Terms takes a text apart into what memories are recalled by, such as the
// stems of its words; nil compares the words themselves.
func NewService(store Store, agents Agents, clock core.Clock, terms func(text string) []string) *Service {
	if terms == nil {
		terms = words
	}
	return &Service{store: store, agents: agents, clock: clock, terms: terms}
}

var textRule = core.TextRule{Min: 1, Max: 4000}

// Add remembers a text. Adding the same words again returns the memory that is there.
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
		ID: core.NewIDIn(ctx, core.PrefixMemory), AgentID: agentID, Text: text, Status: StatusActive, Origin: origin(actor),
		CreatedAt: now, UpdatedAt: now,
	}
	return s.store.InsertMemory(ctx, actor.UserID, m, core.Fold(text))
}

// origin tells a program from a person, who sits at a browser or at the machine: a key is a program's, even when a person
// types.
func origin(actor core.Actor) Origin {
	switch actor.Credential {
	case core.CredentialSession, core.CredentialOperator:
		return OriginUser
	default:
		return OriginClient
	}
}

// List returns a page of the memories of a status, newest first, and the cursor of the next page.
func (s *Service) List(ctx context.Context, actor core.Actor, agentID string, status Status, page core.Page) ([]Memory, string, error) {
	if err := s.agents.Allow(ctx, actor, core.OpListMemories, agentID); err != nil {
		return nil, "", err
	}
	list := "memories"
	switch status {
	case StatusActive:
	case StatusProposed:
		list = "proposed memories"
	default:
		return nil, "", core.InvalidField("status", "Must be active or proposed.")
	}
	rows, err := page.Rows(core.DefaultLimit)
	if err != nil {
		return nil, "", err
	}
	before, err := core.DecodeIDCursor(list, page.Cursor)
	if err != nil {
		return nil, "", err
	}
	memories, err := s.store.Memories(ctx, actor.UserID, agentID, status, before, rows+1)
	if err != nil || len(memories) <= rows {
		return memories, "", err
	}
	memories = memories[:rows]
	return memories, core.EncodeCursor(list, memories[rows-1].ID), nil
}

// Change sets a memory's text, or whether it is pinned.
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

// Delete forgets a memory. Its agent does not propose it again.
func (s *Service) Delete(ctx context.Context, actor core.Actor, agentID, memoryID string) error {
	if err := s.agents.Allow(ctx, actor, core.OpDeleteMemory, agentID); err != nil {
		return err
	}
	if !core.IsID(core.PrefixMemory, memoryID) {
		return core.NotFound("memory")
	}
	return s.store.DeleteMemory(ctx, actor.UserID, agentID, memoryID, s.clock.Now())
}
