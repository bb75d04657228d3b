package thread

import (
	"context"
	"strings"
	"time"

	"carrel/internal/core"
)

// Thumb is whether a reply was of use.
type Thumb string

// The thumbs.
const (
	ThumbUp   Thumb = "up"
	ThumbDown Thumb = "down"
)

// Feedback is what a reader thinks of a reply.
type Feedback struct {
	Thumb Thumb
	// Note says more, in the reader's words, or is empty.
	Note      string
	UpdatedAt time.Time
}

var noteRule = core.TextRule{Max: 2000}

// GiveFeedback keeps what the reader thinks of a reply, in place of what was said before.
func (s *Service) GiveFeedback(ctx context.Context, actor core.Actor, agentID, threadID, messageID string, thumb Thumb, note string) (Feedback, error) {
	if err := s.reachReply(ctx, actor, core.OpGiveFeedback, agentID, threadID, messageID); err != nil {
		return Feedback{}, err
	}
	note = strings.TrimSpace(note)
	var bad []core.FieldError
	if thumb != ThumbUp && thumb != ThumbDown {
		bad = append(bad, core.FieldError{Pointer: "/thumb", Detail: "Must be up or down."})
	}
	if detail := noteRule.Check(note); detail != "" {
		bad = append(bad, core.FieldError{Pointer: "/note", Detail: detail})
	}
	if bad != nil {
		return Feedback{}, core.Invalid(bad...)
	}
	f := Feedback{Thumb: thumb, Note: note, UpdatedAt: s.clock.Now()}
	return f, s.store.SetFeedback(ctx, threadID, messageID, &f)
}

// RemoveFeedback forgets what the reader thought of a reply.
func (s *Service) RemoveFeedback(ctx context.Context, actor core.Actor, agentID, threadID, messageID string) error {
	if err := s.reachReply(ctx, actor, core.OpRemoveFeedback, agentID, threadID, messageID); err != nil {
		return err
	}
	return s.store.SetFeedback(ctx, threadID, messageID, nil)
}

// reachReply returns nil when the actor may say something of what may be a reply in a thread of theirs.
func (s *Service) reachReply(ctx context.Context, actor core.Actor, op core.Operation, agentID, threadID, messageID string) error {
	if err := s.allow(ctx, actor, op, agentID); err != nil {
		return err
	}
	if err := s.Reach(ctx, actor, agentID, threadID); err != nil {
		return err
	}
	if !core.IsID(core.PrefixMessage, messageID) {
		return core.NotFound("reply")
	}
	return nil
}
