package store

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"carrel/internal/source"
)

// noTags is the stored form of an empty list.
const noTags = "[]"

func decodeEdits(s string) (e source.Edits, err error) {
	if s == "" {
		return e, nil
	}
	return e, json.Unmarshal([]byte(s), &e)
}

// encodeCompletion returns the stored form of a completion, "" for none.
func encodeCompletion(c source.Completion) (string, error) {
	if c.From == "" {
		return "", nil
	}
	data, err := json.Marshal(c)
	return string(data), err
}

func decodeCompletion(s string) (c source.Completion, err error) {
	if s == "" {
		return c, nil
	}
	return c, json.Unmarshal([]byte(s), &c)
}

// StoreDocuments stores a batch of documents and returns the result of each.
func (db *DB) StoreDocuments(
	ctx context.Context, sourceID string, docs []source.Document,
) ([]source.Stored, error) {
	out := make([]source.Stored, len(docs))
	_, _, err := db.putDocuments(ctx, sourceID, docs, func(i int, p putResult) {
		out[i] = source.Stored{ID: p.id, ExternalID: docs[i].ExternalID, Outcome: source.OutcomeUpdated}
		switch {
		case p.id == "":
			out[i].Outcome = source.OutcomeUnchanged
		case p.isNew:
			out[i].Outcome = source.OutcomeAdded
		}
	})
	if err != nil {
		return nil, err
	}
	known, err := db.idsByExternalID(ctx, sourceID, docs)
	for i := range out {
		out[i].ID = known[out[i].ExternalID]
	}
	return out, err
}

// idsByExternalID returns the ids of stored documents.
func (db *DB) idsByExternalID(
	ctx context.Context, sourceID string, docs []source.Document,
) (map[string]string, error) {
	names := make([]string, len(docs))
	for i, d := range docs {
		names[i] = d.ExternalID
	}
	out := make(map[string]string, len(docs))
	var id, externalID string
	err := db.read.each(ctx, `
		SELECT id, external_id FROM document WHERE source_id = $1 AND external_id IN `+db.dialect.in("$2"),
		args{sourceID, encodeList(names)}, []any{&id, &externalID}, func() error {
			out[externalID] = id
			return nil
		})
	return out, fail("read documents", "source", err)
}

// searchedFields are the columns that the words of a filter are looked for in.
const searchedFields = `title || ' ' || authors || ' ' || doi || ' ' || external_id`

// documentFilter returns the conditions of a filter, with parameters from $4 on.
func documentFilter(f source.DocumentFilter) (conditions string, a args) {
	var b strings.Builder
	add := func(condition string, value any) {
		a = append(a, value)
		b.WriteString(" AND " + strings.ReplaceAll(condition, "$N", "$"+strconv.Itoa(3+len(a))))
	}
	if f.Query != "" {
		// Letters beyond ASCII are compared exactly, because lower depends on the collation of its argument.
		add(`(lower(`+searchedFields+`) LIKE lower($N) ESCAPE '\' OR `+searchedFields+` LIKE $N ESCAPE '\')`,
			"%"+likeEscape.Replace(f.Query)+"%")
	}
	if f.Year != 0 {
		add(`year = $N + 0`, f.Year)
	}
	if f.Type != "" {
		add(`type = $N`, f.Type)
	}
	if f.Language != "" {
		add(`language = $N`, f.Language)
	}
	if f.FileID != "" {
		add(`file = $N AND file <> ''`, f.FileID)
	}
	switch f.Status {
	case source.StatusEdited:
		b.WriteString(` AND edits <> ''`)
	case source.StatusNoYear:
		b.WriteString(` AND year IS NULL`)
	case source.StatusNoText:
		b.WriteString(` AND text = ''`)
	}
	return b.String(), a
}

// undatedText is the start of the text of documents without a year, from which the year is guessed.
var undatedText = " CASE WHEN year IS NULL THEN substr(text, 1, " + strconv.Itoa(source.GuessedText) + ") ELSE '' END,"

// ListDocuments returns up to n documents of a source, newest first.
func (db *DB) ListDocuments(
	ctx context.Context, sourceID string, f source.DocumentFilter, before string, n int,
) ([]source.Document, error) {
	docs := make([]source.Document, 0, capacityFor(n))
	conditions, a := documentFilter(f)
	columns := strings.Replace(documentColumns, " text,", undatedText, 1)
	err := db.documents(ctx, &docs, `
		SELECT `+columns+` FROM document
		WHERE source_id = $1 AND id < $2 AND expires_at IS NULL`+conditions+`
		ORDER BY id DESC LIMIT $3 + 0`,
		append(args{sourceID, beforeOrLast(before), n}, a...))
	if err != nil {
		return nil, fail("list documents", "source", err)
	}
	return docs, nil
}

// DocumentsWithOriginal returns the documents of a source with these ids that have an original file, without their
// texts.
func (db *DB) DocumentsWithOriginal(
	ctx context.Context, sourceID string, ids []string,
) ([]source.Document, error) {
	docs := make([]source.Document, 0, len(ids))
	err := db.documents(ctx, &docs, `
		SELECT `+strings.Replace(documentColumns, " text,", " '',", 1)+` FROM document
		WHERE source_id = $1 AND original IS NOT NULL AND id IN `+db.dialect.in("$2")+` ORDER BY id`,
		args{sourceID, encodeList(ids)})
	if err != nil {
		return nil, fail("read documents", "source", err)
	}
	return docs, nil
}

// CountUndated returns the number of documents of a source without a year.
func (db *DB) CountUndated(ctx context.Context, sourceID string) (n int, err error) {
	err = get(ctx, db.read, `
		SELECT count(*) FROM document WHERE source_id = $1 AND year IS NULL AND expires_at IS NULL`, args{sourceID}, &n)
	return n, fail("count documents without a year", "source", err)
}

// UndetectedDocuments returns up to n documents whose language has not been detected yet, with the beginnings of their
// texts. Results that expire are left out.
func (db *DB) UndetectedDocuments(ctx context.Context, n int) ([]source.Document, error) {
	docs := make([]source.Document, 0, capacityFor(n))
	var d source.Document
	err := db.read.each(ctx, `
		SELECT id, title, substr(text, 1, $1 + 0) FROM document
		WHERE language IS NULL AND expires_at IS NULL LIMIT $2 + 0`,
		args{source.HeadLength, n}, []any{&d.ID, &d.Title, &d.Text}, func() error {
			docs = append(docs, d)
			return nil
		})
	return docs, fail("read documents", "document", err)
}

// SetDetectedLanguages stores the languages of documents whose language has not been detected yet.
func (db *DB) SetDetectedLanguages(ctx context.Context, docs []source.Document) error {
	err := db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		for _, d := range docs {
			if _, err := tx.exec(ctx, `UPDATE document SET language = $1 WHERE id = $2 AND language IS NULL`,
				d.Language, d.ID); err != nil {
				return err
			}
		}
		return nil
	})
	return fail("store the languages of documents", "document", err)
}

// EditDocument merges fields that a person has set into those set before, and returns the document.
func (db *DB) EditDocument(
	ctx context.Context, sourceID, id string, e source.Edits, now time.Time,
) (d source.Document, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if err := db.lockSource(ctx, tx, sourceID); err != nil {
			return err
		}
		var r documentRow
		err := get(ctx, tx, `SELECT `+documentColumns+` FROM document WHERE source_id = $1 AND id = $2`,
			args{sourceID, id}, r.dest()...)
		if err != nil {
			return err
		}
		if d, err = r.value(); err != nil {
			return err
		}
		size := sizeOf(d)
		d.Edits.Merge(e).Apply(&d)
		d.UpdatedAt = now.Truncate(time.Millisecond)
		edits, err := json.Marshal(d.Edits)
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, `
			UPDATE document SET title = $1, authors = $2, year = $3, venue = $4, doi = $5, url = $6, tags = $7, edits = $8,
				updated_at = $9, language = $10
			WHERE id = $11`,
			d.Title, encodeList(d.Authors), optNumber(d.Year), d.Venue, d.DOI, d.URL, encodeList(d.Tags), string(edits),
			millis(now), d.Language, id)
		if err != nil {
			return err
		}
		if err := db.addBytes(ctx, tx, sourceID, sizeOf(d)-size); err != nil {
			return err
		}
		return db.logChanges(ctx, tx, sourceID, opPut, []string{id})
	})
	return d, fail("change document", "document", err)
}

// DeleteDocumentsByID deletes documents of a source and returns the ids of those that existed. The files they were read
// from count fewer documents. An upload is imported again when it is uploaded again, even with the same content. The
// bin of the user keeps the documents if there is one.
func (db *DB) DeleteDocumentsByID(
	ctx context.Context, userID, sourceID string, ids []string, now time.Time,
) (deleted []string, err error) {
	err = db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		if err := db.lockSource(ctx, tx, sourceID); err != nil {
			return err
		}
		list := encodeList(ids)
		deleted, err = listed(ctx, tx, `SELECT id FROM document WHERE source_id = $1 AND id IN `+db.dialect.in("$2"),
			args{sourceID, list})
		if err != nil {
			return err
		}
		if db.bin {
			if err := db.binDocuments(ctx, tx, userID, sourceID, deleted, now); err != nil {
				return err
			}
		}
		_, err := tx.exec(ctx, `
			UPDATE source_file SET documents = documents - (
				SELECT count(*) FROM document d
				WHERE d.source_id = $1 AND d.file = source_file.id AND d.file <> '' AND d.id IN `+db.dialect.in("$2")+`),
				hash = CASE WHEN EXISTS (SELECT 1 FROM source s WHERE s.id = $1 AND s.kind = 'upload')
					THEN $3 ELSE hash END
			WHERE source_id = $1 AND id IN (
				SELECT d.file FROM document d WHERE d.source_id = $1 AND d.id IN `+db.dialect.in("$2")+`)`,
			sourceID, list, []byte{})
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, `
			DELETE FROM source_file WHERE source_id = $1 AND documents <= 0 AND error = '' AND id IN (
				SELECT d.file FROM document d WHERE d.source_id = $1 AND d.id IN `+db.dialect.in("$2")+`)
				AND EXISTS (SELECT 1 FROM source s WHERE s.id = $1 AND s.kind = 'upload')`, sourceID, list)
		if err != nil {
			return err
		}
		_, err = db.deleteDocuments(ctx, tx, sourceID, now, `id IN `+db.dialect.in("$2"), list)
		return err
	})
	return deleted, fail("delete documents", "source", err)
}
