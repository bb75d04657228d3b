package store

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"carrel/internal/source"
)

// FederatedReply returns the cached reply of a federated source unless it has expired.
func (db *DB) FederatedReply(ctx context.Context, key []byte, now time.Time) (reply []byte, err error) {
	err = get(ctx, db.read, `SELECT answer FROM live_answer WHERE key = $1 AND expires_at > $2`,
		args{key, millis(now)}, &reply)
	return reply, fail("read a cached reply", "reply", err)
}

// PutFederatedReply caches the reply of a federated source.
func (db *DB) PutFederatedReply(ctx context.Context, key, reply []byte, expires time.Time) error {
	_, err := db.exec(ctx, `
		INSERT INTO live_answer (key, answer, expires_at) VALUES ($1, $2, $3)
		ON CONFLICT (key) DO UPDATE SET answer = excluded.answer, expires_at = excluded.expires_at`,
		key, reply, millis(expires))
	return fail("cache a reply", "reply", err)
}

// PutFederatedDocuments stores expiring documents and returns the stored versions in the same order. Kept documents
// are not changed, because citations must stay valid. Nothing is written if all are stored unchanged and do not expire
// soon.
func (db *DB) PutFederatedDocuments(
	ctx context.Context, sourceID string, docs []source.Document,
) ([]source.Document, error) {
	if len(docs) == 0 {
		return nil, nil
	}
	stored, err := db.documentsByExternalID(ctx, sourceID, docs)
	if err != nil {
		return nil, err
	}
	changed := slices.DeleteFunc(slices.Clone(docs), func(d source.Document) bool {
		was, known := stored[d.ExternalID]
		return known && (was.ExpiresAt == nil || bytes.Equal(was.Hash, d.Hash) && expiresLateEnough(*was.ExpiresAt, d))
	})
	if len(changed) > 0 {
		if err := db.writeFederatedDocuments(ctx, sourceID, changed); err != nil {
			return nil, err
		}
		if stored, err = db.documentsByExternalID(ctx, sourceID, docs); err != nil {
			return nil, err
		}
	}
	out := make([]source.Document, 0, len(docs))
	for _, d := range docs {
		if d, ok := stored[d.ExternalID]; ok {
			out = append(out, d)
		}
	}
	return out, nil
}

// expiresLateEnough reports whether at least half of the document's new lifetime would remain without an update.
func expiresLateEnough(expires time.Time, d source.Document) bool {
	return expires.After(d.UpdatedAt.Add(d.ExpiresAt.Sub(d.UpdatedAt) / 2))
}

// documentsByExternalID returns the stored documents of a source by external id.
func (db *DB) documentsByExternalID(
	ctx context.Context, sourceID string, docs []source.Document,
) (map[string]source.Document, error) {
	names := make([]string, len(docs))
	for i, d := range docs {
		names[i] = d.ExternalID
	}
	rows := make([]source.Document, 0, len(docs))
	err := db.documents(ctx, &rows, `
		SELECT `+documentColumns+` FROM document
		WHERE source_id = $1 AND external_id IN `+db.dialect.in("$2"), args{sourceID, encodeList(names)})
	if err != nil {
		return nil, fail("read documents", "source", err)
	}
	out := make(map[string]source.Document, len(rows))
	for _, d := range rows {
		out[d.ExternalID] = d
	}
	return out, nil
}

func (db *DB) writeFederatedDocuments(ctx context.Context, sourceID string, docs []source.Document) error {
	err := db.inTx(ctx, func(ctx context.Context, tx querier) error {
		if err := db.lockSource(ctx, tx, sourceID); err != nil {
			return err
		}
		for _, d := range docs {
			_, err := tx.exec(ctx, `
				INSERT INTO document (id, source_id, external_id, title, authors, text, year, url, doi, venue, type,
					published_at, citation_count, open_access_url, hash, created_at, updated_at, expires_at, language)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
				ON CONFLICT (source_id, external_id) DO UPDATE SET title = excluded.title, authors = excluded.authors,
					text = excluded.text, year = excluded.year, url = excluded.url, doi = excluded.doi, venue = excluded.venue,
					type = excluded.type, published_at = excluded.published_at, citation_count = excluded.citation_count,
					open_access_url = excluded.open_access_url, hash = excluded.hash, updated_at = excluded.updated_at,
					expires_at = excluded.expires_at, language = excluded.language
				WHERE document.expires_at IS NOT NULL`,
				d.ID, sourceID, d.ExternalID, d.Title, encodeList(d.Authors), d.Text, optNumber(d.Year), d.URL, d.DOI,
				d.Venue, d.Type, d.PublishedAt, optInt(d.CitationCount), d.OpenAccessURL, d.Hash,
				millis(d.CreatedAt), millis(d.UpdatedAt), optMillis(d.ExpiresAt), d.Language)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return fail("store results", "source", err)
}

// KeepDocuments makes expiring documents of an agent permanent. From then on they are counted and indexed.
func (db *DB) KeepDocuments(ctx context.Context, userID, agentID string, ids []string, now time.Time) error {
	bySource := map[string][]string{}
	var id, sourceID string
	err := db.read.each(ctx, `
		SELECT d.id, d.source_id FROM document d JOIN source s ON s.id = d.source_id
		WHERE d.id IN `+db.dialect.in("$1")+` AND d.expires_at IS NOT NULL AND s.agent_id = $2
			AND `+agentAccessible("$2", "$3"),
		args{encodeList(ids), agentID, userID}, []any{&id, &sourceID}, func() error {
			bySource[sourceID] = append(bySource[sourceID], id)
			return nil
		})
	if err != nil || len(bySource) == 0 {
		return fail("find results to keep", "document", err)
	}
	err = db.inTx(ctx, func(ctx context.Context, tx querier) error {
		kept := map[string][]string{}
		for _, sourceID := range slices.Sorted(maps.Keys(bySource)) { // sorted to avoid deadlocks
			if err := db.lockSource(ctx, tx, sourceID); err != nil {
				return err
			}
			err := tx.each(ctx, `
				UPDATE document SET expires_at = NULL
				WHERE id IN `+db.dialect.in("$1")+` AND expires_at IS NOT NULL RETURNING id`,
				args{encodeList(bySource[sourceID])}, []any{&id}, func() error {
					kept[sourceID] = append(kept[sourceID], id)
					return nil
				})
			if err != nil {
				return err
			}
			if err := countDocuments(ctx, tx, sourceID, len(kept[sourceID]), now); err != nil {
				return err
			}
		}
		for _, sourceID := range slices.Sorted(maps.Keys(kept)) {
			if err := db.logChanges(ctx, tx, sourceID, opPut, kept[sourceID]); err != nil {
				return err
			}
		}
		return nil
	})
	return fail("keep results", "document", err)
}

// PruneFederated deletes expired replies and documents.
func (db *DB) PruneFederated(ctx context.Context, now time.Time) error {
	for _, p := range []prunable{{"live_answer", "key", `expires_at <= $1`}, {"document", "id", `expires_at <= $1`}} {
		if err := db.prune(ctx, p, now, pruneBatch); err != nil {
			return fail("prune results", "document", err)
		}
	}
	return nil
}
