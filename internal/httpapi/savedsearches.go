package httpapi

import (
	"context"
	"encoding/json"
	"fmt"

	"carrel/internal/httpapi/oas"
	"carrel/internal/savedsearch"
)

// ListSavedSearches answers GET …/saved-searches.
func (h handlers) ListSavedSearches(
	ctx context.Context, p oas.ListSavedSearchesParams,
) (*oas.SavedSearchList, error) {
	list, err := h.Saved.List(ctx, actor(ctx), p.AgentId)
	if err != nil {
		return nil, err
	}
	out := &oas.SavedSearchList{SavedSearches: make([]oas.SavedSearch, len(list))}
	for i, s := range list {
		if out.SavedSearches[i], err = savedSearchOf(s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// SaveSearch answers POST …/saved-searches.
func (h handlers) SaveSearch(
	ctx context.Context, req *oas.SavedSearchCreate, p oas.SaveSearchParams,
) (*oas.SavedSearchReply, error) {
	search, err := storedSearch(req.Search)
	if err != nil {
		return nil, err
	}
	return savedSearchReply(h.Saved.Save(ctx, actor(ctx), p.AgentId, req.Name, search))
}

// ChangeSavedSearch answers PATCH …/saved-searches/{savedSearchId}.
func (h handlers) ChangeSavedSearch(
	ctx context.Context, req *oas.SavedSearchChange, p oas.ChangeSavedSearchParams,
) (*oas.SavedSearchReply, error) {
	c := savedsearch.Change{Name: pointer(req.Name)}
	if req.Search.Set {
		var err error
		if c.Search, err = storedSearch(req.Search.Value); err != nil {
			return nil, err
		}
	}
	return savedSearchReply(h.Saved.Change(ctx, actor(ctx), p.AgentId, p.SavedSearchId, c))
}

// DeleteSavedSearch answers DELETE …/saved-searches/{savedSearchId}.
func (h handlers) DeleteSavedSearch(ctx context.Context, p oas.DeleteSavedSearchParams) (*oas.Deleted, error) {
	return deleted(h.Saved.Delete(ctx, actor(ctx), p.AgentId, p.SavedSearchId))
}

// storedSearch checks a search like one that is carried out, and returns the JSON to store. A cursor expires, so it is
// not stored.
func storedSearch(req oas.SearchRequest) (json.RawMessage, error) {
	req.Cursor.Reset()
	r, err := searchRequest(searchQuery(&req), &req)
	if err == nil {
		err = r.Check()
	}
	if err != nil {
		return nil, below("/search", err)
	}
	return req.MarshalJSON()
}

func savedSearchReply(s savedsearch.SavedSearch, err error) (*oas.SavedSearchReply, error) {
	if err != nil {
		return nil, err
	}
	out, err := savedSearchOf(s)
	return &oas.SavedSearchReply{SavedSearch: out}, err
}

func savedSearchOf(s savedsearch.SavedSearch) (oas.SavedSearch, error) {
	out := oas.SavedSearch{
		ID: s.ID, AgentId: s.AgentID, Name: s.Name, CreatedAt: timestamp(s.CreatedAt), UpdatedAt: timestamp(s.UpdatedAt),
	}
	if err := out.Search.UnmarshalJSON(s.Search); err != nil {
		return out, fmt.Errorf("decode the saved search %s: %w", s.ID, err)
	}
	return out, nil
}
