package memory

import (
	"context"
	"strings"

	"carrel/internal/core"
)

// MaxProposed is the maximum number of open proposals per agent. A newer one replaces the oldest, so that users are not
// asked about conversations long past.
const MaxProposed = 50

// Propose stores a memory that an agent suggests after a conversation, until the user confirms it. Texts that are
// active, proposed, dismissed or deleted are not proposed again. It checks no access, because the turn that calls it
// was allowed.
func (s *Service) Propose(ctx context.Context, userID, agentID, threadID, messageID, text string) error {
	text = strings.TrimSpace(text)
	if detail := textRule.Check(text); detail != "" {
		return core.InvalidField("/text", detail)
	}
	now := s.clock.Now()
	m := Memory{
		ID: core.NewID(core.PrefixMemory), AgentID: agentID, Text: text, Status: StatusProposed, Origin: OriginAgent,
		ThreadID: threadID, MessageID: messageID, CreatedAt: now, UpdatedAt: now,
	}
	return s.store.ProposeMemory(ctx, userID, m, core.Fold(text))
}

// Confirm makes a proposed memory active. It is idempotent.
func (s *Service) Confirm(ctx context.Context, actor core.Actor, agentID, memoryID string) (Memory, error) {
	if err := s.agents.Allow(ctx, actor, core.OpConfirmMemory, agentID); err != nil {
		return Memory{}, err
	}
	if !core.IsID(core.PrefixMemory, memoryID) {
		return Memory{}, core.NotFound("memory")
	}
	return s.store.ConfirmMemory(ctx, actor.UserID, agentID, memoryID, s.clock.Now())
}

// Dismiss rejects a proposed memory, which is not proposed again.
func (s *Service) Dismiss(ctx context.Context, actor core.Actor, agentID, memoryID string) error {
	if err := s.agents.Allow(ctx, actor, core.OpDismissMemory, agentID); err != nil {
		return err
	}
	if !core.IsID(core.PrefixMemory, memoryID) {
		return core.NotFound("proposed memory")
	}
	return s.store.DismissMemory(ctx, actor.UserID, agentID, memoryID, s.clock.Now())
}
