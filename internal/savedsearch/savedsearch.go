// Package savedsearch implements the searches that users save with an agent, to open them again.
package savedsearch

import (
	"context"
	"encoding/json"
	"time"

	"carrel/internal/core"
)

// maxSaved limits the saved searches of a user with one agent, which are listed without pages.
const maxSaved = 100

var nameRule = core.TextRule{Min: 1, Max: 100}

// SavedSearch is a search of a user with one agent under a name.
type SavedSearch struct {
	ID      string
	AgentID string
	Name    string
	// Search is the request in the form of the API.
	Search    json.RawMessage
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Change is a change of a saved search; nil fields are not changed.
type Change struct {
	Name   *string
	Search json.RawMessage
}

// Store persists saved searches, scoped to a user and an agent; anything else is not_found.
type Store interface {
	// SavedSearches returns all saved searches of a user with an agent, oldest first.
	SavedSearches(ctx context.Context, userID, agentID string) ([]SavedSearch, error)
	// InsertSavedSearch stores a saved search, or returns the stored one with the same id. It is a conflict if the user
	// has limit others with the agent.
	InsertSavedSearch(ctx context.Context, userID string, s SavedSearch, limit int) (SavedSearch, error)
	ChangeSavedSearch(ctx context.Context, userID, agentID, id string, c Change, at time.Time) (SavedSearch, error)
	DeleteSavedSearch(ctx context.Context, userID, agentID, id string) error
}

// Agents checks access to agents.
type Agents interface {
	Allow(ctx context.Context, actor core.Actor, op core.Operation, agentID string) error
}

// Deps are the dependencies of a Service. All are required.
type Deps struct {
	Store  Store
	Agents Agents
	Clock  core.Clock
}

// Service implements the operations on saved searches.
type Service struct{ Deps }

// NewService returns a service. It panics if a dependency is missing.
func NewService(d Deps) *Service {
	core.RequireDeps(d)
	return &Service{Deps: d}
}

// List returns all saved searches with an agent, oldest first.
func (s *Service) List(ctx context.Context, actor core.Actor, agentID string) ([]SavedSearch, error) {
	if err := s.Agents.Allow(ctx, actor, core.OpListSavedSearches, agentID); err != nil {
		return nil, err
	}
	return s.Store.SavedSearches(ctx, actor.UserID, agentID)
}

// Save stores a search under a name.
func (s *Service) Save(
	ctx context.Context, actor core.Actor, agentID, name string, search json.RawMessage,
) (SavedSearch, error) {
	if err := s.Agents.Allow(ctx, actor, core.OpSaveSearch, agentID); err != nil {
		return SavedSearch{}, err
	}
	name, err := checkName(name)
	if err != nil {
		return SavedSearch{}, err
	}
	now := s.Clock.Now()
	return s.Store.InsertSavedSearch(ctx, actor.UserID, SavedSearch{
		ID: core.NewIDIn(ctx, core.PrefixSaved), AgentID: agentID, Name: name, Search: search,
		CreatedAt: now, UpdatedAt: now,
	}, maxSaved)
}

// Change renames a saved search or replaces its request.
func (s *Service) Change(
	ctx context.Context, actor core.Actor, agentID, id string, c Change,
) (SavedSearch, error) {
	if err := s.Agents.Allow(ctx, actor, core.OpChangeSavedSearch, agentID); err != nil {
		return SavedSearch{}, err
	}
	if c.Name != nil {
		name, err := checkName(*c.Name)
		if err != nil {
			return SavedSearch{}, err
		}
		c.Name = &name
	}
	if !core.IsID(core.PrefixSaved, id) {
		return SavedSearch{}, core.NotFound("saved search")
	}
	return s.Store.ChangeSavedSearch(ctx, actor.UserID, agentID, id, c, s.Clock.Now())
}

// Delete deletes a saved search.
func (s *Service) Delete(ctx context.Context, actor core.Actor, agentID, id string) error {
	if err := s.Agents.Allow(ctx, actor, core.OpDeleteSavedSearch, agentID); err != nil {
		return err
	}
	if !core.IsID(core.PrefixSaved, id) {
		return core.NotFound("saved search")
	}
	return s.Store.DeleteSavedSearch(ctx, actor.UserID, agentID, id)
}

func checkName(name string) (string, error) {
	if detail := nameRule.Check(name); detail != "" {
		return "", core.InvalidField("/name", detail)
	}
	return core.OneLine(name), nil
}
