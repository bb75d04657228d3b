package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"carrel/internal/core"
	"carrel/internal/importer"
)

const uploadColumns = `id, source_id, name, size, received, ready, outcome, reason, documents, skipped, created_at,
	updated_at`

type uploadRow struct {
	upload           importer.Upload
	ready            int
	created, updated int64
}

func (r *uploadRow) dest() []any {
	u := &r.upload
	return []any{
		&u.ID, &u.SourceID, &u.Name, &u.Size, &u.Received, &r.ready, &u.Outcome, &u.Reason, &u.Documents, &u.Skipped,
		&r.created, &r.updated,
	}
}

func (r *uploadRow) value() importer.Upload {
	u := r.upload
	u.Ready, u.CreatedAt, u.UpdatedAt = r.ready == 1, at(r.created), at(r.updated)
	return u
}

// InsertUpload stores a new upload. An upload with the same id stays unchanged.
func (db *DB) InsertUpload(ctx context.Context, u importer.Upload) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		_, err := tx.exec(ctx, `
			INSERT INTO upload (`+uploadColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
			ON CONFLICT (id) DO NOTHING`,
			u.ID, u.SourceID, u.Name, u.Size, u.Received, flag(u.Ready), u.Outcome, u.Reason, u.Documents, u.Skipped,
			millis(u.CreatedAt), millis(u.UpdatedAt))
		return err
	})
	return fail("insert upload", "source", err)
}

// Upload returns an upload of a source.
func (db *DB) Upload(ctx context.Context, sourceID, id string) (importer.Upload, error) {
	var r uploadRow
	err := get(ctx, db.read, `SELECT `+uploadColumns+` FROM upload WHERE source_id = $1 AND id = $2`,
		args{sourceID, id}, r.dest()...)
	if err != nil {
		return importer.Upload{}, fail("read upload", "upload", err)
	}
	return r.value(), nil
}

// UploadsByID returns the uploads of a source with these ids, oldest first.
func (db *DB) UploadsByID(ctx context.Context, sourceID string, ids []string) ([]importer.Upload, error) {
	return db.uploads(ctx, `WHERE source_id = $1 AND id IN `+db.dialect.in("$2")+` ORDER BY id`,
		args{sourceID, encodeList(ids)})
}

// uploads returns the uploads of a source that a clause selects.
func (db *DB) uploads(ctx context.Context, clause string, a args) ([]importer.Upload, error) {
	var r uploadRow
	var out []importer.Upload
	err := db.read.each(ctx, `SELECT `+uploadColumns+` FROM upload `+clause, a, r.dest(), func() error {
		out = append(out, r.value())
		return nil
	})
	return out, fail("list uploads", "source", err)
}

// AppendUpload appends bytes to an upload at this offset. Of two concurrent calls one gets a conflict.
func (db *DB) AppendUpload(ctx context.Context, id string, offset int64, data []byte, now time.Time) error {
	err := db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		var one int
		err := get(ctx, tx, `
			UPDATE upload SET received = received + $1, updated_at = $2 WHERE id = $3 AND received = $4 AND ready = 0
			RETURNING 1`,
			args{int64(len(data)), millis(now), id, offset}, &one)
		if errors.Is(err, sql.ErrNoRows) {
			return core.Conflict("conflict",
				"The upload is at another offset. Send a HEAD request and continue at the offset it returns.")
		}
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, `INSERT INTO upload_chunk (upload_id, start, data) VALUES ($1, $2, $3)`, id, offset, data)
		return err
	})
	return fail("append to upload", "upload", err)
}

// FinishUpload marks an upload as complete.
func (db *DB) FinishUpload(ctx context.Context, id string, now time.Time) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		var one int
		return get(ctx, tx, `UPDATE upload SET ready = 1, size = received, updated_at = $1 WHERE id = $2 RETURNING 1`,
			args{millis(now), id}, &one)
	})
	return fail("finish upload", "upload", err)
}

// RecordUpload stores the result of an upload and deletes its bytes. A cancelled upload is ignored.
func (db *DB) RecordUpload(ctx context.Context, id string, r importer.UploadResult, now time.Time) error {
	err := db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		_, err := tx.exec(ctx, `
			UPDATE upload SET outcome = $1, reason = $2, documents = $3, skipped = $4, updated_at = $5 WHERE id = $6`,
			r.Outcome, r.Reason, r.Documents, r.Skipped, millis(now), id)
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, `DELETE FROM upload_chunk WHERE upload_id = $1`, id)
		return err
	})
	return fail("record the result of an upload", "upload", err)
}

// DeleteUpload deletes an upload with its bytes.
func (db *DB) DeleteUpload(ctx context.Context, sourceID, id string) error {
	err := db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		var one int
		return get(ctx, tx, `DELETE FROM upload WHERE source_id = $1 AND id = $2 RETURNING 1`, args{sourceID, id}, &one)
	})
	return fail("delete upload", "upload", err)
}

// ReadyUploads returns the completed uploads of a source that are not imported yet, oldest first.
func (db *DB) ReadyUploads(ctx context.Context, sourceID string, n int) ([]importer.Upload, error) {
	return db.uploads(ctx, `WHERE source_id = $1 AND ready = 1 AND outcome = '' ORDER BY id LIMIT $2 + 0`,
		args{sourceID, n})
}

// WaitingUploads returns the number and total size of a source's completed uploads that are not imported yet.
func (db *DB) WaitingUploads(ctx context.Context, sourceID string) (files int, bytes int64, err error) {
	err = get(ctx, db.read, `
		SELECT count(*), CAST(coalesce(sum(size), 0) AS BIGINT) FROM upload
		WHERE source_id = $1 AND ready = 1 AND outcome = ''`,
		args{sourceID}, &files, &bytes)
	return files, bytes, fail("count uploads", "source", err)
}

// UploadChunk returns the chunk of an upload that starts at an offset.
func (db *DB) UploadChunk(ctx context.Context, id string, offset int64) ([]byte, error) {
	var data []byte
	err := get(ctx, db.read, `SELECT data FROM upload_chunk WHERE upload_id = $1 AND start = $2`,
		args{id, offset}, &data)
	return data, fail("read upload", "upload", err)
}

// PruneUploads deletes incomplete and imported uploads without activity since this time.
func (db *DB) PruneUploads(ctx context.Context, before time.Time) error {
	err := db.prune(ctx, prunable{"upload", "id", `updated_at < $1 AND (ready = 0 OR outcome <> '')`}, before,
		pruneUploadBatch)
	return fail("prune uploads", "upload", err)
}
