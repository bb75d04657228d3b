package memory

import (
	"context"
	"strings"

	"carrel/internal/core"
)

// MaxProposed is how many proposals of an agent wait at most; a newer one takes the place of the oldest. Whoever never
// looks at them is not asked about a conversation of last year.
const MaxProposed = 50

// Propose keeps what an agent would like to remember of a conversation until the user says yes. What is remembered
// already, waits already, or was dismissed or deleted before is not proposed again. It asks nobody's leave: the turn
// that it is for was allowed.
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

// Confirm is the user's yes to a proposed memory. To say it twice is to say it once.
func (s *Service) Confirm(ctx context.Context, actor core.Actor, agentID, memoryID string) (Memory, error) {
	if err := s.agents.Allow(ctx, actor, core.OpConfirmMemory, agentID); err != nil {
		return Memory{}, err
	}
	if !core.IsID(core.PrefixMemory, memoryID) {
		return Memory{}, core.NotFound("memory")
	}
	return s.store.ConfirmMemory(ctx, actor.UserID, agentID, memoryID, s.clock.Now())
}

// Dismiss is the user's no to a proposed memory, which is not proposed again.
func (s *Service) Dismiss(ctx context.Context, actor core.Actor, agentID, memoryID string) error {
	if err := s.agents.Allow(ctx, actor, core.OpDismissMemory, agentID); err != nil {
		return err
	}
	if !core.IsID(core.PrefixMemory, memoryID) {
		return core.NotFound("proposed memory")
	}
	return s.store.DismissMemory(ctx, actor.UserID, agentID, memoryID, s.clock.Now())
}
