package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver that PocketBase uses as well
)

// FTS5 stores the documents in a table with an external-content index, as its documentation recommends, with the same
// durability as Carrel.
const (
	ftsIngestSettings = "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	ftsIngestSchema   = `
		CREATE TABLE document (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT, authors TEXT, text TEXT,
			year INTEGER, url TEXT, doi TEXT, venue TEXT);
		CREATE VIRTUAL TABLE word USING fts5(title, authors, text, content='document', content_rowid='number',
			tokenize='porter unicode61 remove_diacritics 2');`
	ftsIngestDocument = `INSERT INTO document (number, id, title, authors, text, year, url, doi, venue)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	ftsIngestWord = `INSERT INTO word (rowid, title, authors, text) VALUES (?, ?, ?, ?)`
	// ftsIngestBatch is the number of documents per transaction, as in Carrel.
	ftsIngestBatch = 500
)

// indexWithFTS5 parses a file of records and indexes them with SQLite in this process.
func indexWithFTS5(ctx context.Context, lines, path string) (f filling, err error) {
	in, err := os.Open(lines)
	if err != nil {
		return f, err
	}
	defer in.Close()
	db, err := sql.Open("sqlite", "file:"+path+ftsIngestSettings)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, ftsIngestSchema); err != nil {
		return f, err
	}
	before, err := cpuTimeOf(os.Getpid())
	if err != nil {
		return f, err
	}
	began := time.Now()
	records := json.NewDecoder(bufio.NewReaderSize(in, 1<<20))
	for more := true; more; {
		n, err := ftsBatch(ctx, db, records, f.documents)
		if more = err == nil; !more && !errors.Is(err, io.EOF) {
			return f, fmt.Errorf("FTS5: %w", err)
		}
		f.documents += n
	}
	f.wall = time.Since(began)
	after, err := cpuTimeOf(os.Getpid())
	f.cpu = after - before
	return f, err
}

// ftsBatch stores the next documents in a transaction. It returns io.EOF with the last ones.
func ftsBatch(ctx context.Context, db *sql.DB, records *json.Decoder, number int) (n int, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // no-op after Commit
	document, err1 := tx.PrepareContext(ctx, ftsIngestDocument)
	word, err2 := tx.PrepareContext(ctx, ftsIngestWord)
	if err := errors.Join(err1, err2); err != nil {
		return 0, err
	}
	var ended error
	for ; n < ftsIngestBatch; n++ {
		var r record
		if ended = records.Decode(&r); ended != nil {
			break
		}
		at, authors := number+n+1, strings.Join(r.Authors, "; ")
		_, err1 := document.ExecContext(ctx, at, r.ID, r.Title, authors, r.Text, r.Year, r.URL, r.DOI, r.Venue)
		_, err2 := word.ExecContext(ctx, at, r.Title, authors, r.Text)
		if err := errors.Join(err1, err2); err != nil {
			return n, err
		}
	}
	return n, errors.Join(tx.Commit(), ended)
}
