package store

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"carrel/internal/bin"
	"carrel/internal/core"
)

// binnedMemory is the stored form of a memory in the bin.
type binnedMemory struct {
	Text      string `json:"text"`
	Status    string `json:"status"`
	Pinned    int    `json:"pinned"`
	Origin    string `json:"origin"`
	ThreadID  string `json:"threadId,omitempty"`
	MessageID string `json:"messageId,omitempty"`
	Hash      []byte `json:"hash"`
	CreatedAt int64  `json:"createdAt"`
	UpdatedAt int64  `json:"updatedAt"`
}

// binMemories puts the memories with these ids in the bin. The caller then deletes them.
func (db *DB) binMemories(ctx context.Context, tx querier, userID, agentID string, ids []string, now time.Time) error {
	var r memoryRow
	var hash []byte
	var list []binned
	err := tx.each(ctx, `
		SELECT `+memoryColumns+`, folded_hash FROM memory
		WHERE user_id = $1 AND agent_id = $2 AND status <> $3 AND id IN `+db.dialect.in("$4")+db.dialect.lock,
		args{userID, agentID, statusDismissed, encodeList(ids)}, append(r.dest(), &hash), func() error {
			m := r.memory
			content, err := json.Marshal(binnedMemory{
				Text: m.Text, Status: string(m.Status), Pinned: r.pinned, Origin: string(m.Origin), ThreadID: m.ThreadID,
				MessageID: m.MessageID, Hash: hash, CreatedAt: r.created, UpdatedAt: r.updated,
			})
			list = append(list, binned{userID, agentID, bin.KindMemory, m.ID, m.Text, string(content), now})
			return err
		})
	return putAllInBin(ctx, tx, list, err)
}

func putAllInBin(ctx context.Context, tx querier, list []binned, err error) error {
	for _, b := range list {
		if err != nil {
			break
		}
		err = putInBin(ctx, tx, b)
	}
	return err
}

// restoreMemory makes a deleted memory valid again. If another one has its text now, that one stays as it is.
func restoreMemory(
	ctx context.Context, tx querier, userID, agentID, id, content string, now time.Time,
) error {
	var m binnedMemory
	if err := json.Unmarshal([]byte(content), &m); err != nil {
		return err
	}
	if _, err := tx.exec(ctx, `
		DELETE FROM memory WHERE user_id = $1 AND agent_id = $2 AND folded_hash = $3 AND status = $4`,
		userID, agentID, m.Hash, statusDismissed); err != nil {
		return err
	}
	_, err := tx.exec(ctx, `
		INSERT INTO memory (user_id, agent_id, id, text, folded_hash, status, pinned, origin, thread_id, message_id,
			created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, (SELECT id FROM thread WHERE id = $9),
			(SELECT id FROM message WHERE id = $10), $11, $12)
		ON CONFLICT DO NOTHING`,
		userID, agentID, id, m.Text, m.Hash, m.Status, m.Pinned, m.Origin, m.ThreadID, m.MessageID, m.CreatedAt,
		millis(now))
	return err
}

// binnedFavourite is the stored form of a favourite in the bin.
type binnedFavourite struct {
	// Card is a string, because JSON encoding would change the bytes of an object, and imports compare them.
	Card        string   `json:"card"`
	ThreadID    string   `json:"threadId,omitempty"`
	Tags        []string `json:"tags"`
	Note        string   `json:"note"`
	Collections []string `json:"collections"`
	CreatedAt   int64    `json:"createdAt"`
	UpdatedAt   int64    `json:"updatedAt"`
}

// binFavourites puts the favourites of these cards in the bin. The caller then deletes them.
func (db *DB) binFavourites(
	ctx context.Context, tx querier, userID, agentID string, cardIDs []string, now time.Time,
) error {
	var r favouriteRow
	var list []binned
	err := tx.each(ctx, `
		SELECT `+favouriteColumns+` FROM favourite
		WHERE user_id = $1 AND agent_id = $2 AND card_id IN `+db.dialect.in("$3")+db.dialect.lock,
		args{userID, agentID, encodeList(cardIDs)}, r.dest(), func() error {
			f, err := r.value()
			if err != nil {
				return err
			}
			content, err := json.Marshal(binnedFavourite{
				Card: string(f.Card), ThreadID: f.ThreadID, Tags: f.Tags, Note: f.Note, Collections: f.Collections,
				CreatedAt: r.created, UpdatedAt: r.updated,
			})
			list = append(list, binned{
				userID, agentID, bin.KindFavourite, f.CardID, cardTitle(f.Card), string(content), now,
			})
			return err
		})
	return putAllInBin(ctx, tx, list, err)
}

// cardTitle returns the title of a card, or "" if it has none.
func cardTitle(card json.RawMessage) string {
	var titled struct {
		Title any `json:"title"`
	}
	_ = json.Unmarshal(card, &titled) // a card is any object
	title, _ := titled.Title.(string)
	return title
}

// restoreFavourite saves a deleted favourite again, unless the card was saved meanwhile.
func (db *DB) restoreFavourite(ctx context.Context, tx querier, userID, agentID, cardID, content string) error {
	var f binnedFavourite
	if err := json.Unmarshal([]byte(content), &f); err != nil {
		return err
	}
	n, err := tx.exec(ctx, `
		INSERT INTO favourite (user_id, agent_id, card_id, card, thread_id, tags, note, created_at, updated_at)
		VALUES ($1, $2, $3, $4, (SELECT id FROM thread WHERE id = $5), $6, $7, $8, $9) ON CONFLICT DO NOTHING`,
		userID, agentID, cardID, f.Card, f.ThreadID, encodeList(f.Tags), f.Note, f.CreatedAt, f.UpdatedAt)
	if err != nil || n == 0 || len(f.Collections) == 0 {
		return err
	}
	_, err = tx.exec(ctx, `
		INSERT INTO collection_favourite (user_id, agent_id, card_id, collection_id)
		SELECT $1, $2, $3, id FROM collection WHERE user_id = $1 AND id IN `+db.dialect.in("$4"),
		userID, agentID, cardID, encodeList(f.Collections))
	return err
}

// storedColumns are all columns of document, which bin_document has too.
const storedColumns = "id, source_id, external_id, title, authors, text, year, url, doi, venue, type, hash, " +
	"created_at, updated_at, published_at, citation_count, open_access_url, file, expires_at, original, original_name, " +
	"original_size, edits, tags, completed, language"

// binDocuments puts documents of a source in the bin. The caller has locked the source, and then deletes them.
func (db *DB) binDocuments(
	ctx context.Context, tx querier, userID, sourceID string, ids []string, now time.Time,
) error {
	if len(ids) == 0 {
		return nil
	}
	binIDs := make([]string, len(ids))
	for i := range ids {
		binIDs[i] = core.NewID(core.PrefixBin)
	}
	pairs := db.dialect.rows("$1") + ` listed JOIN ` + db.dialect.rows("$2") + ` binned ON binned.n = listed.n
		JOIN document d ON d.id = listed.value`
	if _, err := tx.exec(ctx, `
		INSERT INTO bin_item (id, user_id, agent_id, kind, item_id, title, bytes, deleted_at, source_id, content)
		SELECT binned.value, $3, s.agent_id, 'document', d.id, substr(d.title, 1, $4), `+documentSize+`, $5, d.source_id, ''
		FROM `+pairs+` JOIN source s ON s.id = d.source_id WHERE d.source_id = $6`,
		encodeList(ids), encodeList(binIDs), userID, bin.TitleLength, millis(now), sourceID); err != nil {
		return err
	}
	_, err := tx.exec(ctx, `
		INSERT INTO bin_document (bin_id, file_name, file_size, `+storedColumns+`)
		SELECT binned.value, coalesce(f.name, ''), coalesce(f.size, 0), d.`+strings.ReplaceAll(storedColumns, ", ", ", d.")+`
		FROM `+pairs+` LEFT JOIN source_file f ON f.id = d.file WHERE d.source_id = $3`,
		encodeList(ids), encodeList(binIDs), sourceID)
	return err
}

// restoreDocument stores a deleted document again, with its id, and removes it from the bin. The caller has locked its
// source. The sum of the bytes of the source and the bin stays the same, so that the storage limit holds.
func (db *DB) restoreDocument(
	ctx context.Context, tx querier, binID, sourceID, documentID string, now time.Time,
) error {
	n, err := tx.exec(ctx, `
		INSERT INTO document (`+storedColumns+`) SELECT `+storedColumns+` FROM bin_document WHERE bin_id = $1
		ON CONFLICT DO NOTHING`, binID)
	if err != nil {
		return err
	}
	if n == 0 {
		return core.Conflict("conflict",
			"The source has another document with the same external id. Delete that one first.")
	}
	if _, err := tx.exec(ctx, `
		UPDATE source SET documents = documents + 1, updated_at = $1,
			bytes = bytes + (SELECT b.bytes FROM bin_item b WHERE b.id = $2)
		WHERE id = $3`, millis(now), binID, sourceID); err != nil {
		return err
	}
	if err := restoreFile(ctx, tx, binID, now); err != nil {
		return err
	}
	if _, err := tx.exec(ctx, `DELETE FROM bin_item WHERE id = $1`, binID); err != nil {
		return err
	}
	return db.logChanges(ctx, tx, sourceID, opPut, []string{documentID})
}

// restoreFile counts a restored document in the file that it was read from. The row of an upload was deleted with its
// last document and is stored again, without the hash, so that the same content is imported again. If another file has
// its name now, the row stays deleted.
func restoreFile(ctx context.Context, tx querier, binID string, now time.Time) error {
	n, err := tx.exec(ctx, `
		UPDATE source_file SET documents = documents + 1
		WHERE id = (SELECT d.file FROM bin_document d WHERE d.bin_id = $1)`, binID)
	if err != nil || n > 0 {
		return err
	}
	_, err = tx.exec(ctx, `
		INSERT INTO source_file (id, source_id, name, size, version, hash, documents, skipped, error, created_at, updated_at)
		SELECT d.file, d.source_id, d.file_name, d.file_size, '', $1, 1, 0, '', d.created_at, $2 FROM bin_document d
		WHERE d.bin_id = $3 AND d.file_name <> '' ON CONFLICT DO NOTHING`, []byte{}, millis(now), binID)
	return err
}

// binnedText returns a document in the bin as JSON, for exports.
func (db *DB) binnedText(ctx context.Context, binID string) (json.RawMessage, error) {
	var d struct {
		ExternalID string          `json:"id"`
		SourceID   string          `json:"sourceId"`
		Authors    json.RawMessage `json:"authors"`
		Text       string          `json:"text"`
		URL        string          `json:"url,omitempty"`
		DOI        string          `json:"doi,omitempty"`
		Venue      string          `json:"venue,omitempty"`
		Year       int             `json:"year,omitempty"`
	}
	err := get(ctx, db.read, `
		SELECT external_id, source_id, authors, text, url, doi, venue, coalesce(year, 0) FROM bin_document WHERE bin_id = $1`,
		args{binID}, &d.ExternalID, &d.SourceID, (*[]byte)(&d.Authors), &d.Text, &d.URL, &d.DOI, &d.Venue, &d.Year)
	if err != nil {
		return nil, fail("read a document in the bin", "item in the bin", err)
	}
	return json.Marshal(d)
}
