package store

import (
	"context"
	"encoding/json"
	"time"

	"carrel/internal/importer"
	"carrel/internal/source"
	"carrel/internal/task"
)

var _ importer.Store = (*DB)(nil)

const fileColumns = `id, source_id, name, size, version, hash, documents, skipped, error, outcome, parts,
	created_at, updated_at`

type fileRow struct {
	file             importer.File
	created, updated int64
}

func (r *fileRow) dest() []any {
	f := &r.file
	return []any{
		&f.ID, &f.SourceID, &f.Name, &f.Size, &f.Version, &f.Hash, &f.Documents, &f.Skipped, &f.Error, &f.Outcome,
		&f.Parts, &r.created, &r.updated,
	}
}

func (r *fileRow) value() importer.File {
	f := r.file
	f.CreatedAt, f.UpdatedAt = at(r.created), at(r.updated)
	return f
}

// PutFile stores a file under its name and returns its id. An existing file keeps its id.
func (db *DB) PutFile(ctx context.Context, f importer.File) (id string, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		return get(ctx, tx, `
			INSERT INTO source_file (`+fileColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
			ON CONFLICT (source_id, name) DO UPDATE SET size = excluded.size, version = excluded.version, hash = excluded.hash,
				documents = excluded.documents, skipped = excluded.skipped, error = excluded.error, outcome = excluded.outcome,
				parts = excluded.parts, updated_at = excluded.updated_at
			RETURNING id`,
			args{
				f.ID, f.SourceID, f.Name, f.Size, f.Version, f.Hash, f.Documents, f.Skipped, f.Error, f.Outcome,
				f.Parts, millis(f.CreatedAt), millis(f.UpdatedAt),
			}, &id)
	})
	return id, fail("store file", "source", err)
}

// FileByName returns the file of a source with this name.
func (db *DB) FileByName(ctx context.Context, sourceID, name string) (importer.File, error) {
	var r fileRow
	err := get(ctx, db.read, `SELECT `+fileColumns+` FROM source_file WHERE source_id = $1 AND name = $2`,
		args{sourceID, name}, r.dest()...)
	if err != nil {
		return importer.File{}, fail("read file", "file", err)
	}
	return r.value(), nil
}

// SourceFiles returns up to n files of a source with the titles of single documents, newest first.
func (db *DB) SourceFiles(ctx context.Context, sourceID, before string, n int) ([]importer.File, error) {
	var r fileRow
	out := make([]importer.File, 0, capacityFor(n))
	err := db.read.each(ctx, `
		SELECT `+fileColumns+`, CASE WHEN documents = 1 THEN coalesce((
			SELECT title FROM document
			WHERE document.source_id = source_file.source_id AND file = source_file.id AND file <> '' LIMIT 1), '') ELSE '' END
		FROM source_file WHERE source_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3 + 0`,
		args{sourceID, beforeOrLast(before), n}, append(r.dest(), &r.file.Title), func() error {
			out = append(out, r.value())
			return nil
		})
	if err != nil {
		return nil, fail("list files", "source", err)
	}
	return out, nil
}

// FileText returns the text of the first document of a file.
func (db *DB) FileText(ctx context.Context, sourceID, fileID string) (text string, err error) {
	err = get(ctx, db.read, `
		SELECT text FROM document WHERE source_id = $1 AND file = $2 AND file <> '' ORDER BY external_id LIMIT 1`,
		args{sourceID, fileID}, &text)
	return text, fail("read the text of a file", "file", err)
}

// DeleteFile deletes a file with its documents and returns their number.
func (db *DB) DeleteFile(ctx context.Context, sourceID, id string, now time.Time) (documents int, err error) {
	err = db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		if err := db.lockSource(ctx, tx, sourceID); err != nil {
			return err
		}
		var one int
		if err := get(ctx, tx, `DELETE FROM source_file WHERE source_id = $1 AND id = $2 RETURNING 1`,
			args{sourceID, id}, &one); err != nil {
			return err
		}
		var err error
		documents, err = db.deleteDocuments(ctx, tx, sourceID, now, `file = $2 AND file <> ''`, id)
		return err
	})
	return documents, fail("delete file", "file", err)
}

// FileDocuments returns up to n external ids of a file's documents above after, sorted.
func (db *DB) FileDocuments(ctx context.Context, sourceID, fileID, after string, n int) ([]string, error) {
	var id string
	out := make([]string, 0, capacityFor(n))
	err := db.read.each(ctx, `
		SELECT external_id FROM document WHERE source_id = $1 AND file = $2 AND file <> '' AND external_id > $3
		ORDER BY external_id LIMIT $4 + 0`,
		args{sourceID, fileID, after, n}, []any{&id}, func() error {
			out = append(out, id)
			return nil
		})
	return out, fail("list the documents of a file", "source", err)
}

// PutImport stores the progress of an import.
func (db *DB) PutImport(ctx context.Context, i importer.Import) error {
	report, err := json.Marshal(i.Report)
	if err != nil {
		return err
	}
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		_, err := tx.exec(ctx, `
			INSERT INTO source_import (id, source_id, state, report, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (id) DO UPDATE SET state = excluded.state, report = excluded.report, updated_at = excluded.updated_at`,
			i.ID, i.SourceID, string(i.State), string(report), millis(i.CreatedAt), millis(i.UpdatedAt))
		return err
	})
	return fail("store an import", "source", err)
}

// Imports returns the imports of a source, newest first.
func (db *DB) Imports(ctx context.Context, sourceID string, n int) ([]importer.Import, error) {
	var i importer.Import
	var state, report string
	var created, updated int64
	out := make([]importer.Import, 0, capacityFor(n))
	err := db.read.each(ctx, `
		SELECT id, source_id, state, report, created_at, updated_at FROM source_import WHERE source_id = $1
		ORDER BY id DESC LIMIT $2 + 0`,
		args{sourceID, n}, []any{&i.ID, &i.SourceID, &state, &report, &created, &updated}, func() error {
			one := i
			one.State, one.CreatedAt, one.UpdatedAt = task.State(state), at(created), at(updated)
			err := json.Unmarshal([]byte(report), &one.Report)
			out = append(out, one)
			return err
		})
	if err != nil {
		return nil, fail("list imports", "source", err)
	}
	return out, nil
}

// SourceByID returns a source and the id of its agent's owner.
func (db *DB) SourceByID(ctx context.Context, sourceID string) (s source.Source, userID string, err error) {
	var r sourceRow
	err = get(ctx, db.read,
		`SELECT `+sourceColumns+`, a.user_id FROM source s JOIN agent a ON a.id = s.agent_id WHERE s.id = $1`,
		args{sourceID}, append(r.dest(), &userID)...)
	if err != nil {
		return source.Source{}, "", fail("read source", "source", err)
	}
	return r.value(), userID, nil
}

// DueSources returns up to n sources whose next sync is due.
func (db *DB) DueSources(ctx context.Context, now time.Time, n int) ([]source.Source, error) {
	var r sourceRow
	var out []source.Source
	err := db.read.each(ctx, `
		SELECT `+sourceColumns+` FROM source s
		WHERE s.next_sync_at IS NOT NULL AND s.next_sync_at <= $1 ORDER BY s.next_sync_at LIMIT $2 + 0`,
		args{millis(now), n}, r.dest(), func() error {
			out = append(out, r.value())
			return nil
		})
	return out, fail("list due sources", "source", err)
}

// SetSynced records the time of a sync and of the next one.
func (db *DB) SetSynced(ctx context.Context, sourceID string, synced time.Time, next *time.Time) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		_, err := tx.exec(ctx, `UPDATE source SET synced_at = $1, next_sync_at = $2 WHERE id = $3`,
			millis(synced), optMillis(next), sourceID)
		return err
	})
	return fail("record a sync", "source", err)
}
