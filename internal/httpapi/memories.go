package httpapi

import (
	"context"

	"carrel/internal/httpapi/oas"
	"carrel/internal/memory"
)

// ListMemories answers GET …/memories.
func (h handlers) ListMemories(ctx context.Context, p oas.ListMemoriesParams) (*oas.MemoryList, error) {
	f := memory.Filter{
		Status: memory.Status(p.Status.Or(oas.MemoryStatusActive)), Query: p.Q.Value,
		Origin: memory.Origin(p.Origin.Value), Order: memory.Order(p.Sort.Value),
	}
	f.Pinned = optBool(p.Pinned)
	memories, next, err := h.Memories.List(ctx, actor(ctx), p.AgentId, f, page(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	out := &oas.MemoryList{Memories: make([]oas.Memory, len(memories)), NextCursor: optional(next)}
	for i, m := range memories {
		out.Memories[i] = memoryOf(m)
	}
	return out, nil
}

// GetMemory answers GET …/memories/{memoryId}.
func (h handlers) GetMemory(ctx context.Context, p oas.GetMemoryParams) (*oas.MemoryReply, error) {
	return memoryReply(h.Memories.Get(ctx, actor(ctx), p.AgentId, p.MemoryId))
}

// AddMemory answers POST …/memories.
func (h handlers) AddMemory(ctx context.Context, req *oas.MemoryText, p oas.AddMemoryParams) (*oas.MemoryReply, error) {
	return memoryReply(h.Memories.Add(ctx, actor(ctx), p.AgentId, req.Text))
}

// ChangeMemory answers PATCH …/memories/{memoryId}.
func (h handlers) ChangeMemory(
	ctx context.Context, req *oas.MemoryChange, p oas.ChangeMemoryParams,
) (*oas.MemoryReply, error) {
	c := memory.Change{Text: pointer(req.Text)}
	c.Pinned = optBool(req.Pinned)
	return memoryReply(h.Memories.Change(ctx, actor(ctx), p.AgentId, p.MemoryId, c))
}

// ConfirmMemory answers POST …/memories/{memoryId}/confirm.
func (h handlers) ConfirmMemory(ctx context.Context, p oas.ConfirmMemoryParams) (*oas.MemoryReply, error) {
	return memoryReply(h.Memories.Confirm(ctx, actor(ctx), p.AgentId, p.MemoryId))
}

// DismissMemory answers POST …/memories/{memoryId}/dismiss.
func (h handlers) DismissMemory(ctx context.Context, p oas.DismissMemoryParams) (*oas.MemoryDismissed, error) {
	if err := h.Memories.Dismiss(ctx, actor(ctx), p.AgentId, p.MemoryId); err != nil {
		return nil, err
	}
	return &oas.MemoryDismissed{Dismissed: true}, nil
}

// DeleteMemory answers DELETE …/memories/{memoryId}.
func (h handlers) DeleteMemory(ctx context.Context, p oas.DeleteMemoryParams) (*oas.Deleted, error) {
	return deleted(h.Memories.Delete(ctx, actor(ctx), p.AgentId, p.MemoryId))
}

// DeleteMemories answers POST …/memories/delete.
func (h handlers) DeleteMemories(
	ctx context.Context, req *oas.ItemIds, p oas.DeleteMemoriesParams,
) (*oas.DeletedItems, error) {
	return deletedItems(h.Memories.DeleteAll(ctx, actor(ctx), p.AgentId, req.Ids))
}

func memoryReply(m memory.Memory, err error) (*oas.MemoryReply, error) {
	if err != nil {
		return nil, err
	}
	return &oas.MemoryReply{Memory: memoryOf(m)}, nil
}

func memoryOf(m memory.Memory) oas.Memory {
	return oas.Memory{
		ID: m.ID, Text: m.Text, Status: oas.MemoryStatus(m.Status), Pinned: m.Pinned, Origin: oas.MemoryOrigin(m.Origin),
		ThreadId: optional(m.ThreadID), MessageId: optional(m.MessageID),
		CreatedAt: timestamp(m.CreatedAt), UpdatedAt: timestamp(m.UpdatedAt),
	}
}
