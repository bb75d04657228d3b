package store

import (
	"context"
	"database/sql"

	"carrel/internal/core"
)

// storageLimit is the storage limit of a user's plan in bytes, or NULL for no limit. Without a plan it is 0. An ended
// subscription keeps the limit of its plan, so that existing documents stay within it.
const storageLimit = `
	CASE WHEN EXISTS (SELECT 1 FROM plan WHERE plan.name = ` + userPlan + `)
		THEN (SELECT plan.storage_limit FROM plan WHERE plan.name = ` + userPlan + `) ELSE 0 END`

// documentBytes is the size of all documents of a user's agents, including those in the bin.
const documentBytes = `
	(SELECT CAST(coalesce(sum(s.bytes), 0) AS BIGINT) FROM source s JOIN agent a ON a.id = s.agent_id
		WHERE a.user_id = app_user.id)
	+ (SELECT CAST(coalesce(sum(b.bytes), 0) AS BIGINT) FROM bin_item b JOIN agent a ON a.id = b.agent_id
		WHERE a.user_id = app_user.id)`

// uploadBytes is the size of a user's uploads that are not imported: the announced size, or else the bytes received.
const uploadBytes = `
	(SELECT CAST(coalesce(sum(CASE WHEN u.size >= 0 THEN u.size ELSE u.received END), 0) AS BIGINT)
	FROM upload u JOIN source s ON s.id = u.source_id JOIN agent a ON a.id = s.agent_id
	WHERE a.user_id = app_user.id AND u.outcome = '')`

// ownerOf is the owner of the agent of source $1.
const ownerOf = `(SELECT a.user_id FROM source s JOIN agent a ON a.id = s.agent_id WHERE s.id = $1)`

// StorageOf returns a user's storage limit and usage, including unfinished uploads.
func (db *DB) StorageOf(ctx context.Context, userID string) (core.Storage, error) {
	return storage(ctx, db.read, documentBytes+` + `+uploadBytes, `$1`, userID)
}

// StorageOfSource is StorageOf for the owner of a source.
func (db *DB) StorageOfSource(ctx context.Context, sourceID string) (core.Storage, error) {
	return storage(ctx, db.read, documentBytes+` + `+uploadBytes, ownerOf, sourceID)
}

func storage(ctx context.Context, q querier, used, user, id string) (s core.Storage, err error) {
	var limit sql.NullInt64
	err = get(ctx, q, `SELECT `+used+`, `+storageLimit+` FROM app_user WHERE id = `+user, args{id}, &s.Used, &limit)
	s.Limited, s.Limit = limit.Valid, limit.Int64
	return s, fail("read storage usage", "user", err)
}

// addBytes adds to the size of a source and returns an error if the owner's storage limit is exceeded. It runs after
// the documents were stored, because only then is the growth known. Uploads do not count here, since the documents may
// come from one. Concurrent imports of one account on PostgreSQL do not see each other and may each exceed the limit by
// one batch.
func (db *DB) addBytes(ctx context.Context, tx querier, sourceID string, more int64) error {
	if more == 0 {
		return nil
	}
	_, err := tx.exec(ctx, `UPDATE source SET bytes = bytes + $1 WHERE id = $2`, more, sourceID)
	if err != nil || more < 0 {
		return err
	}
	s, err := storage(ctx, tx, documentBytes, ownerOf, sourceID)
	if err != nil || s.Holds(0) {
		return err
	}
	s.Used -= more
	return s.Exceeded()
}
