package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"carrel/internal/core"
	"carrel/internal/importer"
)

const uploadColumns = `id, source_id, name, size, received, ready, created_at, updated_at`

// uploadRow is an upload as it is read.
type uploadRow struct {
	upload           importer.Upload
	ready            int
	created, updated int64
}

func (r *uploadRow) dest() []any {
	u := &r.upload
	return []any{&u.ID, &u.SourceID, &u.Name, &u.Size, &u.Received, &r.ready, &r.created, &r.updated}
}

func (r *uploadRow) value() importer.Upload {
	u := r.upload
	u.Ready, u.CreatedAt, u.UpdatedAt = r.ready == 1, at(r.created), at(r.updated)
	return u
}

// InsertUpload stores a file that is about to come.
func (db *DB) InsertUpload(ctx context.Context, u importer.Upload) error {
	err := db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
		_, err := tx.exec(ctx, `
			INSERT INTO upload (`+uploadColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			u.ID, u.SourceID, u.Name, u.Size, u.Received, flag(u.Ready), millis(u.CreatedAt), millis(u.UpdatedAt))
		return err
	})
	return fail("insert upload", "source", err)
}

// Upload returns an upload of a source.
func (db *DB) Upload(ctx context.Context, sourceID, id string) (importer.Upload, error) {
	var r uploadRow
	err := get(ctx, db.read, `SELECT `+uploadColumns+` FROM upload WHERE source_id = $1 AND id = $2`, args{sourceID, id}, r.dest()...)
	if err != nil {
		return importer.Upload{}, fail("read upload", "upload", err)
	}
	return r.value(), nil
}

// AppendUpload adds bytes to an upload that is at this offset. Of two that come at once, one is a conflict.
func (db *DB) AppendUpload(ctx context.Context, id string, offset int64, data []byte, now time.Time) error {
	err := db.write.all(ctx, true, func(ctx context.Context, tx querier) error {
		var one int
		err := get(ctx, tx, `
			UPDATE upload SET received = received + $1, updated_at = $2 WHERE id = $3 AND received = $4 AND ready = 0 RETURNING 1`,
			args{int64(len(data)), millis(now), id, offset}, &one)
		if errors.Is(err, sql.ErrNoRows) {
			return core.Conflict("conflict", "The upload is not at this offset. Ask with HEAD where it is and go on from there.")
		}
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, `INSERT INTO upload_chunk (upload_id, start, data) VALUES ($1, $2, $3)`, id, offset, data)
		return err
	})
	return fail("append to upload", "upload", err)
}

// FinishUpload says that all of an upload is here.
func (db *DB) FinishUpload(ctx context.Context, id string, now time.Time) error {
	err := db.write.all(ctx, false, func(ctx context.Context, tx querier) error {
		var one int
		return get(ctx, tx, `UPDATE upload SET ready = 1, size = received, updated_at = $1 WHERE id = $2 RETURNING 1`, args{millis(now), id}, &one)
	})
	return fail("finish upload", "upload", err)
}

// DeleteUpload removes an upload with its bytes.
func (db *DB) DeleteUpload(ctx context.Context, sourceID, id string) error {
	err := db.write.all(ctx, true, func(ctx context.Context, tx querier) error {
		var one int
		return get(ctx, tx, `DELETE FROM upload WHERE source_id = $1 AND id = $2 RETURNING 1`, args{sourceID, id}, &one)
	})
	return fail("delete upload", "upload", err)
}

// ReadyUploads returns the uploads of a source that wait to be read, oldest first.
func (db *DB) ReadyUploads(ctx context.Context, sourceID string, n int) ([]importer.Upload, error) {
	var r uploadRow
	var out []importer.Upload
	err := db.read.each(ctx, `
		SELECT `+uploadColumns+` FROM upload WHERE source_id = $1 AND ready = 1 ORDER BY id LIMIT $2 + 0`,
		args{sourceID, n}, r.dest(), func() error {
			out = append(out, r.value())
			return nil
		})
	return out, fail("list uploads", "source", err)
}

// WaitingUploads returns how many uploads of a source wait to be read, and how many bytes they have.
func (db *DB) WaitingUploads(ctx context.Context, sourceID string) (files int, bytes int64, err error) {
	err = get(ctx, db.read, `SELECT count(*), CAST(coalesce(sum(size), 0) AS BIGINT) FROM upload WHERE source_id = $1 AND ready = 1`,
		args{sourceID}, &files, &bytes)
	return files, bytes, fail("count uploads", "source", err)
}

// UploadChunk returns the piece of an upload that begins at an offset.
func (db *DB) UploadChunk(ctx context.Context, id string, offset int64) ([]byte, error) {
	var data []byte
	err := get(ctx, db.read, `SELECT data FROM upload_chunk WHERE upload_id = $1 AND start = $2`, args{id, offset}, &data)
	return data, fail("read upload", "upload", err)
}

// PruneUploads removes uploads that nobody went on with.
func (db *DB) PruneUploads(ctx context.Context, before time.Time) error {
	err := db.write.all(ctx, true, func(ctx context.Context, tx querier) error {
		_, err := tx.exec(ctx, `DELETE FROM upload WHERE updated_at < $1 AND ready = 0`, millis(before))
		return err
	})
	return fail("prune uploads", "upload", err)
}
