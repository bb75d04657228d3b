package thread

import (
	"context"
	"slices"
	"strconv"

	"carrel/internal/core"
	"carrel/internal/source"
)

// Scope limits the sources and documents that a turn searches. The zero value means all of the agent.
type Scope struct {
	// SourceIDs and DocumentIDs are empty for no limit. With both, documents of other sources are left out.
	SourceIDs   []string `json:"sourceIds,omitempty"`
	DocumentIDs []string `json:"documentIds,omitempty"`
}

// Empty reports whether there is no limit.
func (s Scope) Empty() bool { return len(s.SourceIDs) == 0 && len(s.DocumentIDs) == 0 }

// The most ids in a scope.
const (
	maxScopeSources   = 100
	maxScopeDocuments = 50
)

// Library finds the sources and documents of a scope.
type Library interface {
	// Sources returns the sources of an agent that the user may use.
	Sources(ctx context.Context, userID, agentID string) ([]source.Source, error)
	// DocumentSummaries returns those of the documents that are in the sources, without their texts.
	DocumentSummaries(ctx context.Context, sourceIDs, ids []string) ([]source.Document, error)
}

// checkScope returns the scope without repeated ids. A source or a document that the agent does not have is invalid,
// whether it exists or not.
func (s *Service) checkScope(ctx context.Context, actor core.Actor, agentID string, scope Scope) (Scope, error) {
	if scope.Empty() {
		return Scope{}, nil
	}
	unique := func(ids []string) []string { return slices.Compact(slices.Sorted(slices.Values(ids))) }
	scope = Scope{SourceIDs: unique(scope.SourceIDs), DocumentIDs: unique(scope.DocumentIDs)}
	if n := len(scope.SourceIDs); n > maxScopeSources {
		return Scope{}, core.InvalidField("/sourceIds", "Name at most "+strconv.Itoa(maxScopeSources)+" sources.")
	}
	if n := len(scope.DocumentIDs); n > maxScopeDocuments {
		return Scope{}, core.InvalidField("/documentIds", "Name at most "+strconv.Itoa(maxScopeDocuments)+" documents.")
	}
	sources, err := s.store.Sources(ctx, actor.UserID, agentID)
	if err != nil {
		return Scope{}, err
	}
	own := make([]string, len(sources))
	for i, src := range sources {
		own[i] = src.ID
	}
	for _, id := range scope.SourceIDs {
		if !slices.Contains(own, id) {
			return Scope{}, core.InvalidField("/sourceIds", "This agent has no such source.")
		}
	}
	if len(scope.DocumentIDs) == 0 {
		return scope, nil
	}
	documents, err := s.store.DocumentSummaries(ctx, own, scope.DocumentIDs)
	if err != nil {
		return Scope{}, err
	}
	if len(documents) < len(scope.DocumentIDs) {
		return Scope{}, core.InvalidField("/documentIds", "This agent has no such document.")
	}
	return scope, nil
}
