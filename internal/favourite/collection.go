package favourite

import (
	"context"
	"time"

	"carrel/internal/core"
)

// maxCollections limits the collections of a user, which are listed without pages.
const maxCollections = 500

var collectionRule = core.TextRule{Min: 1, Max: 100}

// Collection is a named set of a user's favourites with any agents.
type Collection struct {
	ID         string
	Name       string
	Favourites int
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// CollectionStore persists collections of a user. folded is the name in the form in which names are compared.
type CollectionStore interface {
	// Collections returns all collections, ordered by folded name.
	Collections(ctx context.Context, userID string) ([]Collection, error)
	// InsertCollection stores a collection, or returns the stored one with the same id or folded name.
	InsertCollection(ctx context.Context, userID string, c Collection, folded string) (Collection, error)
	// RenameCollection sets a name. The folded name of another collection is a conflict.
	RenameCollection(ctx context.Context, userID, id, name, folded string, now time.Time) (Collection, error)
	DeleteCollection(ctx context.Context, userID, id string) error
}

// allowCollections refuses credentials that are limited to certain agents, because a collection may name the topics of
// other agents.
func allowCollections(actor core.Actor, op core.Operation) error {
	if err := actor.Allow(op); err != nil {
		return err
	}
	return actor.AllowWholeAccount()
}

// Collections returns all collections in alphabetical order.
func (s *Service) Collections(ctx context.Context, actor core.Actor) ([]Collection, error) {
	if err := allowCollections(actor, core.OpListCollections); err != nil {
		return nil, err
	}
	return s.store.Collections(ctx, actor.UserID)
}

// CreateCollection creates an empty collection, or returns the one that has the name already.
func (s *Service) CreateCollection(ctx context.Context, actor core.Actor, name string) (Collection, error) {
	if err := allowCollections(actor, core.OpCreateCollection); err != nil {
		return Collection{}, err
	}
	name, err := collectionName(name)
	if err != nil {
		return Collection{}, err
	}
	known, err := s.store.Collections(ctx, actor.UserID)
	if err != nil {
		return Collection{}, err
	}
	if len(known) >= maxCollections {
		return Collection{}, core.Conflict("conflict", "There are 500 collections already. Delete one first.")
	}
	now := s.clock.Now()
	c := Collection{ID: core.NewIDIn(ctx, core.PrefixCollection), Name: name, CreatedAt: now, UpdatedAt: now}
	return s.store.InsertCollection(ctx, actor.UserID, c, core.Fold(name))
}

// RenameCollection sets the name of a collection.
func (s *Service) RenameCollection(ctx context.Context, actor core.Actor, id, name string) (Collection, error) {
	if err := allowCollections(actor, core.OpChangeCollection); err != nil {
		return Collection{}, err
	}
	name, err := collectionName(name)
	if err != nil {
		return Collection{}, err
	}
	if !core.IsID(core.PrefixCollection, id) {
		return Collection{}, core.NotFound("collection")
	}
	return s.store.RenameCollection(ctx, actor.UserID, id, name, core.Fold(name), s.clock.Now())
}

// DeleteCollection deletes a collection. Its favourites stay.
func (s *Service) DeleteCollection(ctx context.Context, actor core.Actor, id string) error {
	if err := allowCollections(actor, core.OpDeleteCollection); err != nil {
		return err
	}
	if !core.IsID(core.PrefixCollection, id) {
		return core.NotFound("collection")
	}
	return s.store.DeleteCollection(ctx, actor.UserID, id)
}

func collectionName(name string) (string, error) {
	if detail := collectionRule.Check(name); detail != "" {
		return "", core.InvalidField("/name", detail)
	}
	return core.OneLine(name), nil
}
