package thread

import (
	"context"
	"strings"
	"time"

	"carrel/internal/core"
)

// Thumb rates a reply.
type Thumb string

// The thumbs.
const (
	ThumbUp   Thumb = "up"
	ThumbDown Thumb = "down"
)

// Feedback is a user's feedback on a reply.
type Feedback struct {
	Thumb Thumb
	// Note is an optional comment.
	Note      string
	UpdatedAt time.Time
}

var noteRule = core.TextRule{Max: 2000}

// GiveFeedback stores feedback on a reply, replacing earlier feedback.
func (s *Service) GiveFeedback(
	ctx context.Context, actor core.Actor, agentID, threadID, messageID string, thumb Thumb, note string,
) (Feedback, error) {
	if err := s.checkReply(ctx, actor, core.OpGiveFeedback, agentID, threadID, messageID); err != nil {
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

// RemoveFeedback deletes the feedback on a reply.
func (s *Service) RemoveFeedback(ctx context.Context, actor core.Actor, agentID, threadID, messageID string) error {
	if err := s.checkReply(ctx, actor, core.OpRemoveFeedback, agentID, threadID, messageID); err != nil {
		return err
	}
	return s.store.SetFeedback(ctx, threadID, messageID, nil)
}

// checkReply checks access to the operation and the thread, and the form of the message id.
func (s *Service) checkReply(
	ctx context.Context, actor core.Actor, op core.Operation, agentID, threadID, messageID string,
) error {
	if err := s.allow(ctx, actor, op, agentID); err != nil {
		return err
	}
	if err := s.CheckThread(ctx, actor, agentID, threadID); err != nil {
		return err
	}
	if !core.IsID(core.PrefixMessage, messageID) {
		return core.NotFound("reply")
	}
	return nil
}
