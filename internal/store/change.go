package store

import (
	"context"
	"database/sql"
	"slices"

	"carrel/internal/search"
)

// The operations stored in the change log.
const (
	opPut    = "put"
	opDelete = "delete"
	opDrop   = "drop"
)

// logChanges appends documents to the change log under the next sequence numbers. It must come last in a transaction,
// after the locks of its rows are taken, so that changes of a document are numbered in the order of their commits.
func (db *DB) logChanges(ctx context.Context, tx querier, sourceID, op string, ids []string) error {
	slices.Sort(ids) // a document that occurs twice is one change
	ids = slices.Compact(ids)
	if db.onPostgres() {
		return db.logChangesPostgres(ctx, tx, sourceID, op, ids)
	}
	var last int64
	err := get(ctx, tx, `UPDATE document_change_head SET last = last + $1 WHERE id = 1 RETURNING last`,
		args{len(ids)}, &last)
	if err != nil {
		return err
	}
	_, err = tx.exec(ctx, `
		INSERT INTO document_change (document_id, seq, source_id, op)
		SELECT listed.value, $1 + listed.n, $2, $3 FROM `+db.dialect.rows("$4")+` listed WHERE true
		ON CONFLICT (document_id) DO UPDATE SET seq = excluded.seq, op = excluded.op`,
		last-int64(len(ids))+1, sourceID, op, encodeList(ids))
	return err
}

// logSourceDrops replaces the log entries of deleted sources by one drop entry each. Sources without entries are
// skipped.
func (db *DB) logSourceDrops(ctx context.Context, tx querier, sourceIDs []string) error {
	var known []string
	for _, id := range sourceIDs {
		n, err := tx.exec(ctx, `DELETE FROM document_change WHERE source_id = $1`, id)
		if err != nil {
			return err
		}
		if n > 0 {
			known = append(known, id)
		}
	}
	for _, id := range known {
		if err := db.logChanges(ctx, tx, id, opDrop, []string{id}); err != nil {
			return err
		}
	}
	return nil
}

// relogPage is the number of documents per statement in relogSource.
const relogPage = 5000

// relogSource appends all documents of a source to the log again, except expiring ones, which are not logged. Followers
// wait for it meanwhile, which is acceptable for a rare operation.
func (db *DB) relogSource(ctx context.Context, tx querier, sourceID string) error {
	ids := make([]string, 0, relogPage)
	for last := ""; ; last = ids[len(ids)-1] {
		ids = ids[:0]
		var id string
		err := tx.each(ctx,
			`SELECT id FROM document WHERE source_id = $1 AND id > $2 AND expires_at IS NULL ORDER BY id LIMIT $3 + 0`,
			args{sourceID, last, relogPage}, []any{&id}, func() error {
				ids = append(ids, id)
				return nil
			})
		if err != nil || len(ids) == 0 {
			return err
		}
		if err := db.logChanges(ctx, tx, sourceID, opPut, ids); err != nil {
			return err
		}
	}
}

// Head returns the newest number up to which all changes are committed.
func (db *DB) Head(ctx context.Context) (uint64, error) {
	if db.onPostgres() {
		head, err := db.headPostgres(ctx)
		return uint64(head), fail("read the head of the change log", "change log", err)
	}
	var last int64
	err := get(ctx, db.read, `SELECT last FROM document_change_head WHERE id = 1`, nil, &last)
	return uint64(last), fail("read the head of the change log", "change log", err)
}

// changeRow is a scanned change. The document's columns are NULL if it was deleted.
type changeRow struct {
	seq                       int64
	op, id, sourceID          string
	title, authors, text, doi sql.NullString
	language                  sql.NullString
	year                      sql.NullInt64
}

func (r *changeRow) dest() []any {
	return []any{&r.seq, &r.op, &r.id, &r.sourceID, &r.title, &r.authors, &r.text, &r.doi, &r.year, &r.language}
}

func (r *changeRow) value() (c search.Change, err error) {
	c.Seq, c.ID = uint64(r.seq), r.id
	switch {
	case r.op == opDrop:
		c.Op = search.Drop
	case r.op == opDelete, !r.title.Valid: // the document no longer exists
		c.Op = search.Delete
	default:
		c.Op = search.Put
		c.Document = search.Document{
			ID: r.id, SourceID: r.sourceID, Title: r.title.String, Text: r.text.String, DOI: r.doi.String,
			Language: r.language.String, Year: int(r.year.Int64),
		}
		c.Document.Authors, err = decodeList[string](r.authors.String)
	}
	return c, err
}

// Changes returns up to limit changes with after < seq ≤ through, in order, with the current documents read in the same
// snapshot.
func (db *DB) Changes(ctx context.Context, after, through uint64, limit int) ([]search.Change, error) {
	changes := make([]search.Change, 0, capacityFor(limit))
	var r changeRow
	err := db.read.each(ctx, `
		SELECT c.seq, c.op, c.document_id, c.source_id, d.title, d.authors, d.text, d.doi, d.year, s.language
		FROM document_change c
		LEFT JOIN document d ON d.id = c.document_id
		LEFT JOIN source s ON s.id = c.source_id
		WHERE c.seq > $1 AND c.seq <= $2 ORDER BY c.seq LIMIT $3 + 0`,
		args{int64(after), int64(through), limit}, r.dest(), func() error {
			c, err := r.value()
			changes = append(changes, c)
			return err
		})
	if err != nil {
		return nil, fail("read the change log", "change log", err)
	}
	return changes, nil
}
