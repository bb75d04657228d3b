package main

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver
)

// Statements of FTS5. Its table is contentless like the other indexes; ids and years are in a separate table. The
// title has weight 2.
const (
	ftsSchema = `
		CREATE TABLE document (number INTEGER PRIMARY KEY, id TEXT NOT NULL, year INTEGER NOT NULL);
		CREATE VIRTUAL TABLE word USING fts5(title, authors, text, content='',
			tokenize='porter unicode61 remove_diacritics 2');`
	ftsBest = `SELECT d.id FROM (
			SELECT rowid AS number, rank AS score FROM word
			WHERE word MATCH ? AND rank MATCH 'bm25(2.0, 1.0, 1.0)' ORDER BY rank LIMIT ?
		) best JOIN document d ON d.number = best.number ORDER BY best.score`
	ftsBestOfYears = `SELECT d.id FROM word JOIN document d ON d.number = word.rowid
		WHERE word MATCH ? AND rank MATCH 'bm25(2.0, 1.0, 1.0)' AND d.year BETWEEN ? AND ? ORDER BY rank LIMIT ?`
	ftsCounts = `SELECT d.year, count(*) FROM word JOIN document d ON d.number = word.rowid
		WHERE word MATCH ? GROUP BY d.year`
	// Writes do not wait for the disk, and the cache has half a gigabyte; both are in its favour.
	ftsSettings = "?_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=cache_size(-512000)" +
		"&_pragma=mmap_size(8000000000)"
)

// ftsEngine is SQLite's FTS5 in one file, with one connection.
type ftsEngine struct {
	db                   *sql.DB
	best, years, counted *sql.Stmt

	// All documents are added in one transaction.
	tx              *sql.Tx
	document, words *sql.Stmt
	number          int
}

func makeFTS5(dir string) (engine, error) {
	db, err := connectFTS5(dir)
	if err != nil {
		return nil, err
	}
	if _, err := db.Exec(ftsSchema); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return prepareFTS5(db)
}

func openFTS5(dir string) (engine, error) {
	db, err := connectFTS5(dir)
	if err != nil {
		return nil, err
	}
	return prepareFTS5(db)
}

func connectFTS5(dir string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "index.db")+ftsSettings)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

func prepareFTS5(db *sql.DB) (engine, error) {
	e := &ftsEngine{db: db}
	for statement, text := range map[**sql.Stmt]string{&e.best: ftsBest, &e.years: ftsBestOfYears, &e.counted: ftsCounts} {
		prepared, err := db.Prepare(text)
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		*statement = prepared
	}
	return e, nil
}

func (e *ftsEngine) add(ctx context.Context, papers []paper) error {
	if e.tx == nil {
		if err := e.begin(ctx); err != nil {
			return err
		}
	}
	for _, p := range papers {
		e.number++
		if _, err := e.document.ExecContext(ctx, e.number, p.ID, p.Year); err != nil {
			return err
		}
		if _, err := e.words.ExecContext(ctx, e.number, p.Title, strings.Join(p.Authors, "; "), p.Text); err != nil {
			return err
		}
	}
	return nil
}

func (e *ftsEngine) begin(ctx context.Context) (err error) {
	if e.tx, err = e.db.BeginTx(ctx, nil); err != nil {
		return err
	}
	if e.document, err = e.tx.PrepareContext(ctx, "INSERT INTO document (number, id, year) VALUES (?, ?, ?)"); err != nil {
		return err
	}
	e.words, err = e.tx.PrepareContext(ctx, "INSERT INTO word (rowid, title, authors, text) VALUES (?, ?, ?, ?)")
	return err
}

// finish merges the index into one segment, which makes searches faster.
func (e *ftsEngine) finish(ctx context.Context) error {
	if e.tx == nil {
		return nil
	}
	if err := e.tx.Commit(); err != nil {
		return err
	}
	e.tx = nil
	for _, statement := range []string{"INSERT INTO word (word) VALUES ('optimize')", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if _, err := e.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (e *ftsEngine) search(ctx context.Context, r request) ([]string, error) {
	words := contentWords(r.text, true)
	if len(words) == 0 {
		return nil, nil
	}
	match := `"` + strings.Join(words, `" OR "`) + `"`
	if r.counts {
		if err := e.count(ctx, match); err != nil {
			return nil, err
		}
	}
	if r.from > 0 {
		return ftsIDs(e.years.QueryContext(ctx, match, r.from, r.to, r.limit))
	}
	return ftsIDs(e.best.QueryContext(ctx, match, r.limit))
}

// count reads the counts of a reply.
func (e *ftsEngine) count(ctx context.Context, match string) error {
	rows, err := e.counted.QueryContext(ctx, match)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var year, documents int
		if err := rows.Scan(&year, &documents); err != nil {
			return err
		}
	}
	return rows.Err()
}

func ftsIDs(rows *sql.Rows, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

func (e *ftsEngine) close() error {
	var undone error
	if e.tx != nil {
		undone = e.tx.Rollback()
	}
	return errors.Join(undone, e.db.Close())
}
