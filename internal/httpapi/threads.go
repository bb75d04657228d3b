package httpapi

import (
	"context"

	"carrel/internal/httpapi/oas"
	"carrel/internal/thread"
)

// ListThreads answers GET …/threads.
func (h handlers) ListThreads(ctx context.Context, p oas.ListThreadsParams) (*oas.ThreadList, error) {
	threads, next, err := h.Threads.List(ctx, actor(ctx), p.AgentId, page(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	out := &oas.ThreadList{Threads: make([]oas.Thread, len(threads)), NextCursor: optional(next)}
	for i, t := range threads {
		out.Threads[i] = threadOf(t)
	}
	return out, nil
}

// CreateThread answers POST …/threads.
func (h handlers) CreateThread(
	ctx context.Context, req oas.OptThreadCreate, p oas.CreateThreadParams,
) (*oas.ThreadReply, error) {
	return threadReply(h.Threads.Create(ctx, actor(ctx), p.AgentId, req.Value.Title.Value))
}

// GetThread answers GET …/threads/{threadId}.
func (h handlers) GetThread(ctx context.Context, p oas.GetThreadParams) (*oas.ThreadReply, error) {
	return threadReply(h.Threads.Get(ctx, actor(ctx), p.AgentId, p.ThreadId))
}

// RenameThread answers PATCH …/threads/{threadId}.
func (h handlers) RenameThread(
	ctx context.Context, req *oas.ThreadRename, p oas.RenameThreadParams,
) (*oas.ThreadReply, error) {
	return threadReply(h.Threads.Rename(ctx, actor(ctx), p.AgentId, p.ThreadId, req.Title))
}

// DeleteThread answers DELETE …/threads/{threadId}.
func (h handlers) DeleteThread(ctx context.Context, p oas.DeleteThreadParams) (*oas.Deleted, error) {
	return deleted(h.Threads.Delete(ctx, actor(ctx), p.AgentId, p.ThreadId))
}

// ListMessages answers GET …/messages.
func (h handlers) ListMessages(ctx context.Context, p oas.ListMessagesParams) (*oas.MessageList, error) {
	conversation, err := h.Threads.Messages(ctx, actor(ctx), p.AgentId, p.ThreadId, page(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	out := &oas.MessageList{
		Messages: make([]oas.Message, len(conversation.Messages)), Status: oas.MessageListStatusComplete,
		NextCursor: optional(conversation.Next),
	}
	if conversation.Turn != nil {
		out.Status = oas.MessageListStatusWorking
		out.Turn = oas.NewOptTurnProgress(progressOf(*conversation.Turn))
	}
	for i, m := range conversation.Messages {
		out.Messages[i] = messageOf(m)
	}
	return out, nil
}

func progressOf(p thread.Progress) oas.TurnProgress {
	out := oas.TurnProgress{
		ID: p.TurnID, StartedAt: timestamp(p.StartedAt), Steps: make([]oas.TurnStep, len(p.Steps)),
		PartialText: optional(p.Text), QueuePosition: oas.OptInt{Value: p.Ahead, Set: p.Queued},
	}
	for i, s := range p.Steps {
		out.Steps[i] = oas.TurnStep{
			N: s.N, Kind: s.Kind, Label: s.Label, State: oas.TurnStepState(s.State), StartedAt: timestamp(s.StartedAt),
		}
		if s.EndedAt != nil {
			out.Steps[i].EndedAt = oas.NewOptString(timestamp(*s.EndedAt))
		}
	}
	return out
}

// retryAfter is the Retry-After of a 202, in seconds.
const retryAfter = 2

// SendMessage answers POST …/messages.
func (h handlers) SendMessage(
	ctx context.Context, req *oas.MessageSend, p oas.SendMessageParams,
) (oas.SendMessageRes, error) {
	waiting, cancel := h.waitContext(ctx, min(preferenceOf(ctx).wait, h.turnWait))
	defer cancel()
	turn, err := h.Threads.Send(ctx, actor(ctx), p.AgentId, p.ThreadId,
		thread.NewMessage{Text: req.Text, Research: req.Research.Value}, waiting)
	outcomeOf(ctx).turn = turn.ID
	if err != nil {
		return nil, err
	}
	if turn.Working {
		return &oas.TurnWorkingHeaders{
			Location:   "/api/agents/" + p.AgentId + "/threads/" + p.ThreadId + "/messages",
			RetryAfter: retryAfter,
			Response:   oas.TurnWorking{Status: "working", TurnId: turn.ID},
		}, nil
	}
	return completeOf(turn), nil
}

// CancelTurn answers POST …/cancel.
func (h handlers) CancelTurn(ctx context.Context, p oas.CancelTurnParams) (*oas.CancelReply, error) {
	cancelled, err := h.Threads.Cancel(ctx, actor(ctx), p.AgentId, p.ThreadId)
	if err != nil {
		return nil, err
	}
	return &oas.CancelReply{Cancelled: cancelled}, nil
}

func threadReply(t thread.Thread, err error) (*oas.ThreadReply, error) {
	if err != nil {
		return nil, err
	}
	return &oas.ThreadReply{Thread: threadOf(t)}, nil
}

func threadOf(t thread.Thread) oas.Thread {
	out := oas.Thread{
		ID: t.ID, AgentId: t.AgentID, Title: t.Title, Status: oas.ThreadStatus(t.Status),
		CreatedAt: timestamp(t.CreatedAt), UpdatedAt: timestamp(t.UpdatedAt), LastMessageAt: oas.NilString{Null: true},
	}
	if t.LastMessageAt != nil {
		out.LastMessageAt = oas.NewNilString(timestamp(*t.LastMessageAt))
	}
	return out
}
