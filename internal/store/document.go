package store

import (
	"context"
	"iter"

	"carrel/internal/source"
)

const documentColumns = `id, source_id, external_id, title, authors, text, coalesce(year, 0), url, doi, venue, type, hash, created_at, updated_at`

// scanPage is how many documents ScanDocuments reads at a time.
const scanPage = 64

// documentRow is a document as it is read.
type documentRow struct {
	document         source.Document
	authors          string
	created, updated int64
}

func (r *documentRow) dest() []any {
	d := &r.document
	return []any{
		&d.ID, &d.SourceID, &d.ExternalID, &d.Title, &r.authors, &d.Text, &d.Year, &d.URL, &d.DOI, &d.Venue, &d.Type,
		&d.Hash, &r.created, &r.updated,
	}
}

func (r *documentRow) value() (d source.Document, err error) {
	d = r.document
	d.Authors, err = wordsOf[string](r.authors)
	d.CreatedAt, d.UpdatedAt = at(r.created), at(r.updated)
	return d, err
}

// PutDocuments stores a batch in one transaction and keeps the source's count of documents right.
func (db *DB) PutDocuments(ctx context.Context, sourceID string, docs []source.Document) (added, updated int, err error) {
	err = db.write.all(ctx, true, func(ctx context.Context, tx querier) error {
		added, updated = 0, 0
		// The lock lets two imports into one source happen after each other.
		var one int
		if err := get(ctx, tx, `SELECT 1 FROM source WHERE id = $1`+db.dialect.lock, args{sourceID}, &one); err != nil {
			return err
		}
		for _, d := range docs {
			a, u, err := putDocument(ctx, tx, sourceID, d)
			if err != nil {
				return err
			}
			added += int(a)
			updated += int(u)
		}
		if added+updated == 0 {
			return nil
		}
		_, err := tx.exec(ctx, `UPDATE source SET documents = documents + $1, updated_at = $2 WHERE id = $3`,
			added, millis(docs[len(docs)-1].UpdatedAt), sourceID)
		return err
	})
	if err != nil {
		return 0, 0, fail("put documents", "source", err)
	}
	return added, updated, nil
}

// putDocument returns the number of documents added and updated: one or none.
func putDocument(ctx context.Context, tx querier, sourceID string, d source.Document) (added, updated int64, err error) {
	authors, year := listOf(d.Authors), optNumber(d.Year)
	added, err = tx.exec(ctx, `
		INSERT INTO document (id, source_id, external_id, title, authors, text, year, url, doi, venue, type, hash, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
		ON CONFLICT (source_id, external_id) DO NOTHING`,
		d.ID, sourceID, d.ExternalID, d.Title, authors, d.Text, year, d.URL, d.DOI, d.Venue, d.Type, d.Hash,
		millis(d.CreatedAt), millis(d.UpdatedAt))
	if err != nil || added == 1 {
		return added, 0, err
	}
	updated, err = tx.exec(ctx, `
		UPDATE document SET title = $1, authors = $2, text = $3, year = $4, url = $5, doi = $6, venue = $7, type = $8,
			hash = $9, updated_at = $10
		WHERE source_id = $11 AND external_id = $12 AND hash <> $13`,
		d.Title, authors, d.Text, year, d.URL, d.DOI, d.Venue, d.Type, d.Hash, millis(d.UpdatedAt),
		sourceID, d.ExternalID, d.Hash)
	return 0, updated, err
}

// ScanDocuments walks over all documents of a source, in the order of their ids. It reads some at a time and holds no
// connection while its caller works on them, so that slow callers take nothing from others and may ask the store for
// more inside the loop.
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

// DocumentsByID returns those of the documents that the source has.
func (db *DB) DocumentsByID(ctx context.Context, sourceID string, ids []string) ([]source.Document, error) {
	docs := make([]source.Document, 0, len(ids))
	if len(ids) == 0 {
		return docs, nil
	}
	err := db.documents(ctx, &docs, `
		SELECT `+documentColumns+` FROM document WHERE source_id = $1 AND id IN `+db.dialect.in("$2"), args{sourceID, listOf(ids)})
	if err != nil {
		return nil, fail("read documents", "source", err)
	}
	return docs, nil
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
