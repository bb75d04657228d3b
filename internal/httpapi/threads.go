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
func (h handlers) CreateThread(ctx context.Context, req oas.OptThreadCreate, p oas.CreateThreadParams) (*oas.ThreadReply, error) {
	return threadReply(h.Threads.Create(ctx, actor(ctx), p.AgentId, req.Value.Title.Value))
}

// GetThread answers GET …/threads/{threadId}.
func (h handlers) GetThread(ctx context.Context, p oas.GetThreadParams) (*oas.ThreadReply, error) {
	return threadReply(h.Threads.Get(ctx, actor(ctx), p.AgentId, p.ThreadId))
}

// RenameThread answers PATCH …/threads/{threadId}.
func (h handlers) RenameThread(ctx context.Context, req *oas.ThreadRename, p oas.RenameThreadParams) (*oas.ThreadReply, error) {
	return threadReply(h.Threads.Rename(ctx, actor(ctx), p.AgentId, p.ThreadId, req.Title))
}

// DeleteThread answers DELETE …/threads/{threadId}.
func (h handlers) DeleteThread(ctx context.Context, p oas.DeleteThreadParams) (*oas.Deleted, error) {
	return deleted(h.Threads.Delete(ctx, actor(ctx), p.AgentId, p.ThreadId))
}

// ListMessages answers GET …/messages.
func (h handlers) ListMessages(ctx context.Context, p oas.ListMessagesParams) (*oas.MessageList, error) {
	messages, status, next, err := h.Threads.Messages(ctx, actor(ctx), p.AgentId, p.ThreadId, page(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	out := &oas.MessageList{
		Messages: make([]oas.Message, len(messages)), Status: oas.MessageListStatusComplete, NextCursor: optional(next),
	}
	if status == thread.StatusWorking {
		out.Status = oas.MessageListStatusWorking
	}
	for i, m := range messages {
		out.Messages[i] = oas.Message{
			ID: m.ID, Role: oas.MessageRole(m.Role), Text: m.Text, Status: oas.MessageStatus(m.Status),
			TurnId: m.TurnID, CreatedAt: timestamp(m.CreatedAt),
		}
	}
	return out, nil
}

// SendMessage answers POST …/messages.
func (h handlers) SendMessage(ctx context.Context, req *oas.MessageSend, p oas.SendMessageParams) (*oas.TurnComplete, error) {
	turn, err := h.Threads.Send(ctx, actor(ctx), p.AgentId, p.ThreadId, req.Text)
	if err != nil {
		return nil, err
	}
	return &oas.TurnComplete{Status: "complete", Text: turn.Reply.Text, TurnId: turn.ID, MessageId: turn.Reply.ID}, nil
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
