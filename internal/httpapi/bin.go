package httpapi

import (
	"context"

	"carrel/internal/bin"
	"carrel/internal/httpapi/oas"
)

// ListBin answers GET …/bin.
func (h handlers) ListBin(ctx context.Context, p oas.ListBinParams) (*oas.BinItemList, error) {
	items, next, err := h.Bin.List(ctx, actor(ctx), p.AgentId, bin.Kind(p.Kind.Value), page(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	out := &oas.BinItemList{Items: make([]oas.BinItem, len(items)), NextCursor: optional(next)}
	for i, item := range items {
		out.Items[i] = binItemOf(item)
	}
	return out, nil
}

// EmptyBin answers DELETE …/bin.
func (h handlers) EmptyBin(ctx context.Context, p oas.EmptyBinParams) (*oas.Deleted, error) {
	return deleted(h.Bin.Empty(ctx, actor(ctx), p.AgentId))
}

// DeleteBinItem answers DELETE …/bin/{binItemId}.
func (h handlers) DeleteBinItem(ctx context.Context, p oas.DeleteBinItemParams) (*oas.Deleted, error) {
	return deleted(h.Bin.Delete(ctx, actor(ctx), p.AgentId, p.BinItemId))
}

// RestoreBinItem answers POST …/bin/{binItemId}/restore.
func (h handlers) RestoreBinItem(ctx context.Context, p oas.RestoreBinItemParams) (*oas.BinItem, error) {
	item, err := h.Bin.Restore(ctx, actor(ctx), p.AgentId, p.BinItemId)
	if err != nil {
		return nil, err
	}
	out := binItemOf(item)
	return &out, nil
}

func binItemOf(i bin.Item) oas.BinItem {
	return oas.BinItem{
		ID: i.ID, Kind: oas.BinKind(i.Kind), ItemId: i.ItemID, Title: i.Title,
		DeletedAt: timestamp(i.DeletedAt), ExpiresAt: timestamp(i.ExpiresAt),
	}
}
