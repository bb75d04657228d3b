package httpapi

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"carrel/internal/favourite"
	"carrel/internal/httpapi/oas"
	"carrel/internal/zoteroexport"
)

// ListFavourites answers GET …/favourites.
func (h handlers) ListFavourites(ctx context.Context, p oas.ListFavouritesParams) (*oas.FavouriteList, error) {
	filter := favourite.Filter{Query: p.Q.Value, Tag: p.Tag.Value, Collection: p.Collection.Value}
	return favouriteList(h.Favourites.Find(ctx, actor(ctx), p.AgentId, filter, page(p.Limit, p.Cursor)))
}

// ListAllFavourites answers GET /api/favourites.
func (h handlers) ListAllFavourites(ctx context.Context, p oas.ListAllFavouritesParams) (*oas.FavouriteList, error) {
	filter := favourite.Filter{Query: p.Q.Value, Tag: p.Tag.Value, Collection: p.Collection.Value}
	return favouriteList(h.Favourites.FindAll(ctx, actor(ctx), filter, page(p.Limit, p.Cursor)))
}

func favouriteList(favourites []favourite.Favourite, next string, err error) (*oas.FavouriteList, error) {
	if err != nil {
		return nil, err
	}
	out := &oas.FavouriteList{Favourites: make([]oas.Favourite, len(favourites)), NextCursor: optional(next)}
	for i, f := range favourites {
		out.Favourites[i] = favouriteOf(f)
	}
	return out, nil
}

// LookupFavourites answers POST …/favourite-lookups.
func (h handlers) LookupFavourites(
	ctx context.Context, req *oas.FavouriteLookup, p oas.LookupFavouritesParams,
) (*oas.FavouriteLookupReply, error) {
	saved, err := h.Favourites.Lookup(ctx, actor(ctx), p.AgentId, req.CardIds)
	if err != nil {
		return nil, err
	}
	return &oas.FavouriteLookupReply{CardIds: saved}, nil
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

// ChangeFavourite answers PATCH …/favourites/{cardId}.
func (h handlers) ChangeFavourite(
	ctx context.Context, req *oas.FavouriteChange, p oas.ChangeFavouriteParams,
) (*oas.FavouriteReply, error) {
	c := favourite.Change{Note: pointer(req.Note)}
	if req.Tags != nil {
		c.Tags = &req.Tags
	}
	if req.Collections != nil {
		c.Collections = &req.Collections
	}
	f, err := h.Favourites.Change(ctx, actor(ctx), p.AgentId, p.CardId, c)
	if err != nil {
		return nil, err
	}
	return &oas.FavouriteReply{Favourite: favouriteOf(f)}, nil
}

// GetFavourite answers GET …/favourites/{cardId}.
func (h handlers) GetFavourite(ctx context.Context, p oas.GetFavouriteParams) (*oas.FavouriteReply, error) {
	f, err := h.Favourites.Get(ctx, actor(ctx), p.AgentId, p.CardId)
	if err != nil {
		return nil, err
	}
	return &oas.FavouriteReply{Favourite: favouriteOf(f)}, nil
}

// DeleteFavourites answers POST …/favourites/delete.
func (h handlers) DeleteFavourites(
	ctx context.Context, req *oas.ItemIds, p oas.DeleteFavouritesParams,
) (*oas.DeletedItems, error) {
	return deletedItems(h.Favourites.DeleteAll(ctx, actor(ctx), p.AgentId, req.Ids))
}

// DeleteFavourite answers DELETE …/favourites/{cardId}.
func (h handlers) DeleteFavourite(ctx context.Context, p oas.DeleteFavouriteParams) (*oas.Deleted, error) {
	return deleted(h.Favourites.Delete(ctx, actor(ctx), p.AgentId, p.CardId))
}

func favouriteOf(f favourite.Favourite) oas.Favourite {
	return oas.Favourite{
		AgentId: f.AgentID, CardId: f.CardID, Card: oas.AnyCard(f.Card), ThreadId: optional(f.ThreadID),
		Tags: emptyNotNull(f.Tags), Note: optional(f.Note), Collections: emptyNotNull(f.Collections),
		CreatedAt: timestamp(f.CreatedAt), UpdatedAt: timestamp(f.UpdatedAt),
	}
}

// ImportFavourites answers POST …/favourite-imports.
func (h handlers) ImportFavourites(
	ctx context.Context, req *oas.FavouriteImport, p oas.ImportFavouritesParams,
) (*oas.FavouriteImportReply, error) {
	return favouriteImportReply(h.Favourites.Import(
		ctx, actor(ctx), p.AgentId, favourite.Format(req.Format), strings.NewReader(req.Content), int64(len(req.Content)),
	))
}

func favouriteImportReply(entries []favourite.Imported, err error) (*oas.FavouriteImportReply, error) {
	if err != nil {
		return nil, err
	}
	out := &oas.FavouriteImportReply{Entries: make([]oas.ImportedFavourite, len(entries))}
	for i, e := range entries {
		out.Entries[i] = oas.ImportedFavourite{
			Line: e.Line, Key: optional(e.Key), Title: optional(e.Title), CardId: optional(e.CardID),
			Outcome: oas.ImportedFavouriteOutcome(e.Outcome), Detail: optional(e.Detail),
		}
	}
	return out, nil
}

// ExportSelectedFavourites answers POST /api/favourites/export.
func (h handlers) ExportSelectedFavourites(
	ctx context.Context, req *oas.FavouriteSelection,
) (*oas.FavouriteFile, error) {
	refs := make([]favourite.Ref, len(req.Favourites))
	for i, f := range req.Favourites {
		refs[i] = favourite.Ref{AgentID: f.AgentId, CardID: f.CardId}
	}
	file, err := favouritesFile(oas.NewOptString(string(req.Format)), func(format favourite.Format, w io.Writer) error {
		return h.Favourites.ExportSelected(ctx, actor(ctx), refs, format, w)
	})
	if err != nil {
		return nil, err
	}
	return &oas.FavouriteFile{Filename: file.Name, ContentType: file.ContentType, Content: string(file.Content)}, nil
}

// WriteFavouritesToZotero answers POST …/sources/{sourceId}/favourites.
func (h handlers) WriteFavouritesToZotero(
	ctx context.Context, req *oas.FavouriteWrite, p oas.WriteFavouritesToZoteroParams,
) (*oas.FavouriteWriteReply, error) {
	reply, err := h.Zotero.Write(ctx, actor(ctx), p.AgentId, p.SourceId, zoteroexport.Request{
		Collection: req.Collection.Value,
		Selection: favourite.ZoteroSelection{
			Filter: favourite.Filter{
				Query: req.Q.Value, Tag: req.Tag.Value, Collection: req.CollectionId.Value,
			},
			AgentID: req.FromAgentId.Value, Cards: req.CardIds,
		},
	})
	if err != nil {
		return nil, err
	}
	out := &oas.FavouriteWriteReply{
		Library: reply.Library,
		Collection: oas.ZoteroCollection{
			Key: reply.CollectionKey, Name: reply.Collection, Created: reply.Created,
		},
		Favourites: make([]oas.WrittenFavourite, len(reply.Favourites)),
	}
	for i, f := range reply.Favourites {
		out.Favourites[i] = oas.WrittenFavourite{
			AgentId: optional(f.AgentID), CardId: f.CardID, ItemKey: optional(f.ItemKey),
			Outcome: oas.WrittenFavouriteOutcome(f.Outcome), Detail: optional(f.Detail),
		}
	}
	return out, nil
}

// ListFavouriteTags answers GET /api/favourites/tags.
func (h handlers) ListFavouriteTags(ctx context.Context) (*oas.FavouriteTagList, error) {
	tags, err := h.Favourites.Tags(ctx, actor(ctx))
	if err != nil {
		return nil, err
	}
	out := &oas.FavouriteTagList{Tags: make([]oas.FavouriteTag, len(tags))}
	for i, t := range tags {
		out.Tags[i] = oas.FavouriteTag{Tag: t.Name, Favourites: int64(t.Count)}
	}
	return out, nil
}

// ListCollections answers GET /api/collections.
func (h handlers) ListCollections(ctx context.Context) (*oas.CollectionList, error) {
	collections, err := h.Favourites.Collections(ctx, actor(ctx))
	if err != nil {
		return nil, err
	}
	out := &oas.CollectionList{Collections: make([]oas.Collection, len(collections))}
	for i, c := range collections {
		out.Collections[i] = collectionOf(c)
	}
	return out, nil
}

// CreateCollection answers POST /api/collections.
func (h handlers) CreateCollection(ctx context.Context, req *oas.CollectionName) (*oas.CollectionReply, error) {
	return collectionReply(h.Favourites.CreateCollection(ctx, actor(ctx), req.Name))
}

// ChangeCollection answers PATCH /api/collections/{collectionId}.
func (h handlers) ChangeCollection(
	ctx context.Context, req *oas.CollectionName, p oas.ChangeCollectionParams,
) (*oas.CollectionReply, error) {
	return collectionReply(h.Favourites.RenameCollection(ctx, actor(ctx), p.CollectionId, req.Name))
}

// DeleteCollection answers DELETE /api/collections/{collectionId}.
func (h handlers) DeleteCollection(ctx context.Context, p oas.DeleteCollectionParams) (*oas.Deleted, error) {
	return deleted(h.Favourites.DeleteCollection(ctx, actor(ctx), p.CollectionId))
}

func collectionReply(c favourite.Collection, err error) (*oas.CollectionReply, error) {
	if err != nil {
		return nil, err
	}
	return &oas.CollectionReply{Collection: collectionOf(c)}, nil
}

func collectionOf(c favourite.Collection) oas.Collection {
	return oas.Collection{
		ID: c.ID, Name: c.Name, Favourites: int64(c.Favourites), CreatedAt: timestamp(c.CreatedAt),
		UpdatedAt: timestamp(c.UpdatedAt),
	}
}
