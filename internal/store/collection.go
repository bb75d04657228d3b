package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"carrel/internal/core"
	"carrel/internal/favourite"
)

// collectionColumns counts only favourites with agents that the user can still access, as lists of favourites do.
var collectionColumns = `id, name, (SELECT count(*) FROM collection_favourite c
	WHERE c.collection_id = collection.id AND ` + agentAccessible("c.agent_id", "collection.user_id") + `),
	created_at, updated_at`

type collectionRow struct {
	collection       favourite.Collection
	created, updated int64
}

func (r *collectionRow) dest() []any {
	c := &r.collection
	return []any{&c.ID, &c.Name, &c.Favourites, &r.created, &r.updated}
}

func (r *collectionRow) value() favourite.Collection {
	c := r.collection
	c.CreatedAt, c.UpdatedAt = at(r.created), at(r.updated)
	return c
}

// Collections returns all collections of a user, ordered by folded name.
func (db *DB) Collections(ctx context.Context, userID string) ([]favourite.Collection, error) {
	var r collectionRow
	list := []favourite.Collection{}
	err := db.read.each(ctx, `SELECT `+collectionColumns+` FROM collection WHERE user_id = $1 ORDER BY folded`,
		args{userID}, r.dest(), func() error {
			list = append(list, r.value())
			return nil
		})
	if err != nil {
		return nil, fail("list collections", "user", err)
	}
	return list, nil
}

// InsertCollection stores a collection, or returns the stored one with the same id or folded name.
func (db *DB) InsertCollection(
	ctx context.Context, userID string, c favourite.Collection, folded string,
) (favourite.Collection, error) {
	var r collectionRow
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if _, err := tx.exec(ctx, `
			INSERT INTO collection (id, user_id, name, folded, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT DO NOTHING`,
			c.ID, userID, c.Name, folded, millis(c.CreatedAt), millis(c.UpdatedAt)); err != nil {
			return err
		}
		return get(ctx, tx, `SELECT `+collectionColumns+` FROM collection WHERE user_id = $1 AND folded = $2`,
			args{userID, folded}, r.dest()...)
	})
	if errors.Is(err, sql.ErrNoRows) {
		// The collection with this id was renamed after the first attempt of the request.
		err = get(ctx, db.read, `SELECT `+collectionColumns+` FROM collection WHERE user_id = $1 AND id = $2`,
			args{userID, c.ID}, r.dest()...)
	}
	return collectionOr(r.value(), "create collection", err)
}

// RenameCollection sets the name of a collection.
func (db *DB) RenameCollection(
	ctx context.Context, userID, id, name, folded string, now time.Time,
) (favourite.Collection, error) {
	var r collectionRow
	err := db.execReturning(ctx, `
		UPDATE collection SET name = $1, folded = $2, updated_at = $3 WHERE user_id = $4 AND id = $5
		RETURNING `+collectionColumns,
		args{name, folded, millis(now), userID, id}, r.dest())
	return collectionOr(r.value(), "rename collection", err)
}

func collectionOr(c favourite.Collection, operation string, err error) (favourite.Collection, error) {
	switch {
	case err == nil:
		return c, nil
	case classify(err) == classUnique:
		return favourite.Collection{}, core.Conflict("conflict", "Another collection has this name. Choose another name.")
	}
	return favourite.Collection{}, fail(operation, "collection", err)
}

// DeleteCollection removes a collection. Its favourites stay.
func (db *DB) DeleteCollection(ctx context.Context, userID, id string) error {
	n, err := db.exec(ctx, `DELETE FROM collection WHERE user_id = $1 AND id = $2`, userID, id)
	return requireRow("delete collection", "collection", n, err)
}
