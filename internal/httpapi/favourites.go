package httpapi

import (
	"context"
	"encoding/json"

	"carrel/internal/favourite"
	"carrel/internal/httpapi/oas"
)

// ListFavourites answers GET …/favourites.
func (h handlers) ListFavourites(ctx context.Context, p oas.ListFavouritesParams) (*oas.FavouriteList, error) {
	favourites, next, err := h.Favourites.List(ctx, actor(ctx), p.AgentId, p.Q.Value, page(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	out := &oas.FavouriteList{Favourites: make([]oas.Favourite, len(favourites)), NextCursor: optional(next)}
	for i, f := range favourites {
		out.Favourites[i] = favouriteOf(f)
	}
	return out, nil
}

// SaveFavourite answers POST …/favourites.
func (h handlers) SaveFavourite(
	ctx context.Context, req *oas.FavouriteSave, p oas.SaveFavouriteParams,
) (*oas.FavouriteReply, error) {
	f, err := h.Favourites.Save(ctx, actor(ctx), p.AgentId, json.RawMessage(req.Card), req.ThreadId.Value)
	if err != nil {
		return nil, err
	}
	return &oas.FavouriteReply{Favourite: favouriteOf(f)}, nil
}

// DeleteFavourite answers DELETE …/favourites/{cardId}.
func (h handlers) DeleteFavourite(ctx context.Context, p oas.DeleteFavouriteParams) (*oas.Deleted, error) {
	return deleted(h.Favourites.Delete(ctx, actor(ctx), p.AgentId, p.CardId))
}

func favouriteOf(f favourite.Favourite) oas.Favourite {
	return oas.Favourite{
		CardId: f.CardID, Card: oas.AnyCard(f.Card), ThreadId: optional(f.ThreadID),
		CreatedAt: timestamp(f.CreatedAt), UpdatedAt: timestamp(f.UpdatedAt),
	}
}
