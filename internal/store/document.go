package store

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"strconv"
	"strings"
	"time"

	"carrel/internal/source"
)

const documentColumns = `id, source_id, external_id, title, authors, text, coalesce(year, 0), url, doi, venue, type,
	published_at, citation_count, open_access_url, file, coalesce(original, ''), original_name, original_size, tags,
	edits, completed, coalesce(language, ''), hash, expires_at, created_at, updated_at`

// scanPage is the number of documents ScanDocuments reads at once.
const scanPage = 64

type documentRow struct {
	document         source.Document
	authors          string
	tags, edits      string
	completed        string
	citations        sql.NullInt64
	expires          sql.NullInt64
	created, updated int64
}

func (r *documentRow) dest() []any {
	d := &r.document
	return []any{
		&d.ID, &d.SourceID, &d.ExternalID, &d.Title, &r.authors, &d.Text, &d.Year, &d.URL, &d.DOI, &d.Venue, &d.Type,
		&d.PublishedAt, &r.citations, &d.OpenAccessURL, &d.File, &d.Original.Hash, &d.Original.Name, &d.Original.Size,
		&r.tags, &r.edits, &r.completed, &d.Language, &d.Hash, &r.expires, &r.created, &r.updated,
	}
}

func (r *documentRow) value() (d source.Document, err error) {
	d = r.document
	d.Authors, err = decodeList[string](r.authors)
	if r.citations.Valid {
		n := int(r.citations.Int64)
		d.CitationCount = &n
	}
	d.ExpiresAt, d.CreatedAt, d.UpdatedAt = optAt(r.expires), at(r.created), at(r.updated)
	if err != nil {
		return d, err
	}
	if d.Edits, err = decodeEdits(r.edits); err != nil {
		return d, err
	}
	if d.Completed, err = decodeCompletion(r.completed); err != nil {
		return d, err
	}
	if r.tags != noTags {
		d.Tags, err = decodeList[string](r.tags)
	}
	return d, err
}

// PutDocuments stores a batch of documents in one transaction, updates the source's counters and logs the changes. If
// the batch exceeds the storage limit of the owner's plan, nothing is stored.
func (db *DB) PutDocuments(
	ctx context.Context, sourceID string, docs []source.Document,
) (added, updated int, err error) {
	return db.putDocuments(ctx, sourceID, docs, func(int, putResult) {})
}

// putDocuments stores a batch and calls done with the index and the result of each document. After a retry of the
// transaction, done is called again.
func (db *DB) putDocuments(
	ctx context.Context, sourceID string, docs []source.Document, done func(int, putResult),
) (added, updated int, err error) {
	err = db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		added, updated = 0, 0
		if err := db.lockSource(ctx, tx, sourceID); err != nil {
			return err
		}
		if err := db.referBlobs(ctx, tx, docs); err != nil {
			return err
		}
		ids, bytes := make([]string, 0, len(docs)), int64(0)
		for i, d := range docs {
			put, err := putDocument(ctx, tx, sourceID, d)
			if err != nil {
				return err
			}
			done(i, put)
			switch {
			case put.id == "": // unchanged
				continue
			case put.isNew:
				added++
			default:
				updated++
			}
			ids, bytes = append(ids, put.id), bytes+put.bytes
		}
		if len(ids) == 0 {
			return nil
		}
		if err := db.addBytes(ctx, tx, sourceID, bytes); err != nil {
			return err
		}
		if err := countDocuments(ctx, tx, sourceID, added, docs[len(docs)-1].UpdatedAt); err != nil {
			return err
		}
		return db.logChanges(ctx, tx, sourceID, opPut, ids)
	})
	if err != nil {
		return 0, 0, fail("put documents", "source", err)
	}
	return added, updated, nil
}

// DeleteDocuments deletes the given documents of a source in one transaction and returns how many existed.
func (db *DB) DeleteDocuments(
	ctx context.Context, sourceID string, externalIDs []string, now time.Time,
) (deleted int, err error) {
	err = db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		if err := db.lockSource(ctx, tx, sourceID); err != nil {
			return err
		}
		deleted, err = db.deleteDocuments(ctx, tx, sourceID, now, `external_id IN `+db.dialect.in("$2"),
			encodeList(externalIDs))
		return err
	})
	if err != nil {
		return 0, fail("delete documents", "source", err)
	}
	return deleted, nil
}

// deleteDocuments deletes the documents of a source that match a condition on $2.
func (db *DB) deleteDocuments(
	ctx context.Context, tx querier, sourceID string, now time.Time, condition string, value any,
) (deleted int, err error) {
	var ids []string
	var id string
	var size, bytes int64
	err = tx.each(ctx, `DELETE FROM document WHERE source_id = $1 AND `+condition+` RETURNING id, `+documentSize,
		args{sourceID, value}, []any{&id, &size}, func() error {
			ids, bytes = append(ids, id), bytes+size
			return nil
		})
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	if err := countDocuments(ctx, tx, sourceID, -len(ids), now); err != nil {
		return 0, err
	}
	if err := db.addBytes(ctx, tx, sourceID, -bytes); err != nil {
		return 0, err
	}
	return len(ids), db.logChanges(ctx, tx, sourceID, opDelete, ids)
}

// lockSource serializes changes to the documents of a source.
func (db *DB) lockSource(ctx context.Context, tx querier, sourceID string) error {
	var one int
	return get(ctx, tx, `SELECT 1 FROM source WHERE id = $1`+db.dialect.lock, args{sourceID}, &one)
}

// countDocuments adds to the document counter of a source.
func countDocuments(ctx context.Context, tx querier, sourceID string, more int, now time.Time) error {
	_, err := tx.exec(ctx, `UPDATE source SET documents = documents + $1, updated_at = $2 WHERE id = $3`,
		more, millis(now), sourceID)
	return err
}

// documentSize is the SQL expression of a document's size in bytes, including its original file. sizeOf is the same for
// a document not stored yet.
const documentSize = `octet_length(title) + octet_length(text) + original_size`

func sizeOf(d source.Document) int64 { return int64(len(d.Title)+len(d.Text)) + d.Original.Size }

// putResult is the result of storing a document: its id, whether it is new, and the change in bytes. The id is empty if
// the document is unchanged.
type putResult struct {
	id    string
	isNew bool
	bytes int64
}

// putDocument inserts or updates a document. The caller has locked the source.
func putDocument(ctx context.Context, tx querier, sourceID string, d source.Document) (p putResult, err error) {
	authors, year := encodeList(d.Authors), optNumber(d.Year)
	completed, err := encodeCompletion(d.Completed)
	if err != nil {
		return putResult{}, err
	}
	added, err := tx.exec(ctx, `
		INSERT INTO document (id, source_id, external_id, title, authors, text, year, url, doi, venue, type,
			published_at, citation_count, open_access_url, hash, created_at, updated_at, file,
			original, original_name, original_size, tags, completed, language)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
			$23, $24)
		ON CONFLICT (source_id, external_id) DO NOTHING`,
		d.ID, sourceID, d.ExternalID, d.Title, authors, d.Text, year, d.URL, d.DOI, d.Venue, d.Type,
		d.PublishedAt, optInt(d.CitationCount), d.OpenAccessURL, d.Hash, millis(d.CreatedAt), millis(d.UpdatedAt),
		d.File, optText(d.Original.Hash), d.Original.Name, d.Original.Size, encodeList(d.Tags),
		completed, d.Language)
	if err != nil || added == 1 {
		return putResult{id: d.ID, isNew: true, bytes: sizeOf(d)}, err
	}
	var before int64
	var edits string
	err = get(ctx, tx, `SELECT id, edits, `+
		documentSize+` FROM document WHERE source_id = $1 AND external_id = $2 AND hash <> $3`,
		args{sourceID, d.ExternalID, d.Hash}, &p.id, &edits, &before)
	if errors.Is(err, sql.ErrNoRows) {
		return putResult{}, nil
	}
	if err != nil {
		return putResult{}, err
	}
	if d.Edits, err = decodeEdits(edits); err != nil {
		return putResult{}, err
	}
	d.Edits.Apply(&d)
	authors, year = encodeList(d.Authors), optNumber(d.Year)
	_, err = tx.exec(ctx, `
		UPDATE document SET title = $1, authors = $2, text = $3, year = $4, url = $5, doi = $6, venue = $7, type = $8,
			published_at = $9, citation_count = $10, open_access_url = $11, hash = $12, updated_at = $13, file = $14,
			original = $15, original_name = $16, original_size = $17,
			tags = $18, completed = $19, language = $20
		WHERE id = $21`,
		d.Title, authors, d.Text, year, d.URL, d.DOI, d.Venue, d.Type, d.PublishedAt, optInt(d.CitationCount),
		d.OpenAccessURL, d.Hash, millis(d.UpdatedAt), d.File, optText(d.Original.Hash), d.Original.Name, d.Original.Size,
		encodeList(d.Tags), completed, d.Language, p.id)
	p.bytes = sizeOf(d) - before
	return p, err
}

// ScanDocuments iterates over all documents of a source in the order of their ids. It reads them in pages and holds no
// connection in between, so the caller may be slow and may use the store inside the loop.
func (db *DB) ScanDocuments(ctx context.Context, sourceID string) iter.Seq2[source.Document, error] {
	return func(yield func(source.Document, error) bool) {
		page := make([]source.Document, 0, scanPage)
		for last := ""; ; last = page[scanPage-1].ID {
			page = page[:0]
			err := db.documents(ctx, &page, `
				SELECT `+documentColumns+` FROM document WHERE source_id = $1 AND id > $2 ORDER BY id LIMIT $3 + 0`,
				args{sourceID, last, scanPage})
			if err != nil {
				yield(source.Document{}, fail("scan documents", "source", err))
				return
			}
			for _, d := range page {
				if !yield(d, nil) {
					return
				}
			}
			if len(page) < scanPage {
				return
			}
		}
	}
}

// DocumentsByID returns the documents with these ids that belong to one of the sources.
func (db *DB) DocumentsByID(ctx context.Context, sources, ids []string) ([]source.Document, error) {
	return db.documentsByID(ctx, documentColumns, sources, ids)
}

// DocumentSummaries is DocumentsByID without the texts.
func (db *DB) DocumentSummaries(ctx context.Context, sources, ids []string) ([]source.Document, error) {
	return db.documentsByID(ctx, strings.Replace(documentColumns, " text,", " '',", 1), sources, ids)
}

func (db *DB) documentsByID(ctx context.Context, columns string, sources, ids []string) ([]source.Document, error) {
	docs := make([]source.Document, 0, len(ids))
	if len(ids) == 0 {
		return docs, nil
	}
	err := db.documents(ctx, &docs, `
		SELECT `+columns+` FROM document WHERE id IN `+db.dialect.in("$1")+` AND source_id IN `+db.dialect.in("$2"),
		args{encodeList(ids), encodeList(sources)})
	if err != nil {
		return nil, fail("read documents", "source", err)
	}
	return docs, nil
}

// DocumentHeads returns the first n documents of a source that do not expire, with the beginnings of their texts. A
// document without a year is left out if the years are limited.
func (db *DB) DocumentHeads(ctx context.Context, sourceID string, from, to, n int) ([]source.Document, error) {
	docs := make([]source.Document, 0, n)
	columns := strings.Replace(documentColumns, " text,", " substr(text, 1, "+strconv.Itoa(source.HeadLength)+"),", 1)
	err := db.documents(ctx, &docs, `
		SELECT `+columns+` FROM document
		WHERE source_id = $1 AND expires_at IS NULL
			AND ($2 + 0 = 0 OR year >= $2 + 0) AND ($3 + 0 = 0 OR year <= $3 + 0)
		ORDER BY id LIMIT $4 + 0`,
		args{sourceID, from, to, n})
	if err != nil {
		return nil, fail("read documents", "source", err)
	}
	return docs, nil
}

// Document returns a document of an agent that the user can access.
func (db *DB) Document(ctx context.Context, userID, agentID, documentID string) (source.Document, error) {
	var r documentRow
	err := get(ctx, db.read, `
		SELECT `+documentColumns+` FROM document
		WHERE id = $1 AND source_id IN (
			SELECT s.id FROM source s WHERE s.agent_id = $3 AND `+agentAccessible("$3", "$2")+`)`,
		args{documentID, userID, agentID}, r.dest()...)
	if err != nil {
		return source.Document{}, fail("read document", "document", err)
	}
	return r.value()
}

// DocumentOpenings returns the first n characters of the texts of documents, by id.
func (db *DB) DocumentOpenings(
	ctx context.Context, userID, agentID string, ids []string, n int,
) (map[string]string, error) {
	out := make(map[string]string, len(ids))
	var id, text string
	err := db.read.each(ctx, `
		SELECT id, substr(text, 1, $4) FROM document
		WHERE id IN `+db.dialect.in("$1")+` AND source_id IN (
			SELECT s.id FROM source s WHERE s.agent_id = $3 AND `+agentAccessible("$3", "$2")+`)`,
		args{encodeList(ids), userID, agentID, n}, []any{&id, &text}, func() error {
			out[id] = text
			return nil
		})
	return out, fail("read documents", "agent", err)
}

// documents appends the rows of a query to a list.
func (db *DB) documents(ctx context.Context, to *[]source.Document, query string, a args) error {
	var r documentRow
	return db.read.each(ctx, query, a, r.dest(), func() error {
		d, err := r.value()
		*to = append(*to, d)
		return err
	})
}
