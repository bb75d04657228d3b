package store

import (
	"context"
	"database/sql"

	"carrel/internal/core"
)

// storageLimit is how many bytes of documents a user's plan has room for, or NULL. Whoever has no plan has no room; a
// subscription that is over keeps the room of its plan, so that what is there stays within it.
const storageLimit = `
	CASE WHEN EXISTS (SELECT 1 FROM plan WHERE plan.name = ` + userPlan + `)
		THEN (SELECT plan.storage_limit FROM plan WHERE plan.name = ` + userPlan + `) ELSE 0 END`

// documentBytes is how much the documents of a user's agents take.
const documentBytes = `
	(SELECT CAST(coalesce(sum(s.bytes), 0) AS BIGINT) FROM source s JOIN agent a ON a.id = s.agent_id WHERE a.user_id = app_user.id)`

// uploadBytes is how much their files take that are on their way in: all of it, where the size is known.
const uploadBytes = `
	(SELECT CAST(coalesce(sum(CASE WHEN u.size >= 0 THEN u.size ELSE u.received END), 0) AS BIGINT)
	FROM upload u JOIN source s ON s.id = u.source_id JOIN agent a ON a.id = s.agent_id WHERE a.user_id = app_user.id)`

// ownerOf is the user whose agent has the source of an id.
const ownerOf = `(SELECT a.user_id FROM source s JOIN agent a ON a.id = s.agent_id WHERE s.id = $1)`

// StorageOf returns what a user keeps, files on their way in included.
func (db *DB) StorageOf(ctx context.Context, userID string) (core.Storage, error) {
	return storage(ctx, db.read, documentBytes+` + `+uploadBytes, `$1`, userID)
}

// StorageOfSource is StorageOf for whoever owns a source.
func (db *DB) StorageOfSource(ctx context.Context, sourceID string) (core.Storage, error) {
	return storage(ctx, db.read, documentBytes+` + `+uploadBytes, ownerOf, sourceID)
}

func storage(ctx context.Context, q querier, used, user, id string) (s core.Storage, err error) {
	var limit sql.NullInt64
	err = get(ctx, q, `SELECT `+used+`, `+storageLimit+` FROM app_user WHERE id = `+user, args{id}, &s.Used, &limit)
	s.Limited, s.Limit = limit.Valid, limit.Int64
	return s, fail("read what is stored", "user", err)
}

// grow adds to how much the documents of a source take, and refuses more where there is no room for it. It is asked
// after the documents were put there, because only then is it known what of them is new. Files on their way in do not
// count here: the documents may be those of one. Imports of one account that run at once on PostgreSQL do not see each
// other, and may together go beyond the limit by a batch each.
func (db *DB) grow(ctx context.Context, tx querier, sourceID string, more int64) error {
	if more == 0 {
		return nil
	}
	if _, err := tx.exec(ctx, `UPDATE source SET bytes = bytes + $1 WHERE id = $2`, more, sourceID); err != nil || more < 0 {
		return err
	}
	s, err := storage(ctx, tx, documentBytes, ownerOf, sourceID)
	if err != nil || s.Holds(0) {
		return err
	}
	s.Used -= more
	return s.Exceeded()
}
