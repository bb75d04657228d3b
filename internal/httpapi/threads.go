package httpapi

import (
	"context"

	"carrel/internal/httpapi/oas"
	"carrel/internal/thread"
)

// ListThreads answers GET …/threads.
func (h handlers) ListThreads(ctx context.Context, p oas.ListThreadsParams) (*oas.ThreadList, error) {
	f := thread.Filter{
		Query: p.Q.Value, Status: thread.Status(p.Status.Value), Order: thread.Order(p.Sort.Value),
		Archived: optBool(p.Archived), Tag: p.Tag.Value,
	}
	return threadList(h.Threads.List(ctx, actor(ctx), p.AgentId, f, page(p.Limit, p.Cursor)))
}

// ListAllThreads answers GET /api/threads.
func (h handlers) ListAllThreads(ctx context.Context, p oas.ListAllThreadsParams) (*oas.ThreadList, error) {
	f := thread.Filter{Query: p.Q.Value, Archived: optBool(p.Archived), Tag: p.Tag.Value}
	return threadList(h.Threads.ListAll(ctx, actor(ctx), f, page(p.Limit, p.Cursor)))
}

// ListThreadTags answers GET /api/threads/tags.
func (h handlers) ListThreadTags(ctx context.Context) (*oas.ThreadTagList, error) {
	tags, err := h.Threads.Tags(ctx, actor(ctx))
	if err != nil {
		return nil, err
	}
	out := &oas.ThreadTagList{Tags: make([]oas.ThreadTag, len(tags))}
	for i, t := range tags {
		out.Tags[i] = oas.ThreadTag{Tag: t.Name, Threads: int64(t.Count)}
	}
	return out, nil
}

func threadList(threads []thread.Thread, next string, err error) (*oas.ThreadList, error) {
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
	ctx context.Context, req *oas.ThreadChange, p oas.RenameThreadParams,
) (*oas.ThreadReply, error) {
	c := thread.Change{Title: pointer(req.Title), Pinned: optBool(req.Pinned), Archived: optBool(req.Archived)}
	if req.Tags != nil {
		c.Tags = &req.Tags
	}
	return threadReply(h.Threads.Change(ctx, actor(ctx), p.AgentId, p.ThreadId, c))
}

// DeleteThread answers DELETE …/threads/{threadId}.
func (h handlers) DeleteThread(ctx context.Context, p oas.DeleteThreadParams) (*oas.Deleted, error) {
	return deleted(h.Threads.Delete(ctx, actor(ctx), p.AgentId, p.ThreadId))
}

// DeleteThreads answers POST …/threads/delete.
func (h handlers) DeleteThreads(
	ctx context.Context, req *oas.ItemIds, p oas.DeleteThreadsParams,
) (*oas.DeletedItems, error) {
	return deletedItems(h.Threads.DeleteAll(ctx, actor(ctx), p.AgentId, req.Ids))
}

// GetMessage answers GET …/messages/{messageId}.
func (h handlers) GetMessage(ctx context.Context, p oas.GetMessageParams) (*oas.MessageReply, error) {
	m, err := h.Threads.Message(ctx, actor(ctx), p.AgentId, p.ThreadId, p.MessageId)
	if err != nil {
		return nil, err
	}
	return &oas.MessageReply{Message: messageOf(m)}, nil
}

// SelectMessage answers POST …/messages/{messageId}/select.
func (h handlers) SelectMessage(ctx context.Context, p oas.SelectMessageParams) (*oas.MessageReply, error) {
	m, err := h.Threads.SelectVersion(ctx, actor(ctx), p.AgentId, p.ThreadId, p.MessageId)
	if err != nil {
		return nil, err
	}
	return &oas.MessageReply{Message: messageOf(m)}, nil
}

// DeleteMessage answers DELETE …/messages/{messageId}.
func (h handlers) DeleteMessage(ctx context.Context, p oas.DeleteMessageParams) (*oas.Deleted, error) {
	return deleted(h.Threads.DeleteExchange(ctx, actor(ctx), p.AgentId, p.ThreadId, p.MessageId))
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
		out.Steps[i] = turnStepOf(s.N, s.Kind, s.Label, s.State, s.StartedAt, s.EndedAt)
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
		thread.NewMessage{
			Text: req.Text, Research: req.Research.Value, VersionOf: req.VersionOf.Value,
			Scope: thread.Scope{SourceIDs: req.SourceIds, DocumentIDs: req.DocumentIds},
		}, waiting)
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
		Pinned: t.Pinned, Archived: t.Archived, Tags: append([]string{}, t.Tags...),
		CreatedAt: timestamp(t.CreatedAt), UpdatedAt: timestamp(t.UpdatedAt), LastMessageAt: oas.NilString{Null: true},
	}
	if t.Match != nil {
		out.Match = oas.NewOptThreadMatch(oas.ThreadMatch{MessageId: t.Match.MessageID, Snippet: t.Match.Snippet})
	}
	if t.LastMessageAt != nil {
		out.LastMessageAt = oas.NewNilString(timestamp(*t.LastMessageAt))
	}
	return out
}
