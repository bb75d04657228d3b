package store

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"carrel/internal/embedding"
)

var _ embedding.Store = (*DB)(nil)

// EmbeddingDims returns the dimension of the model's stored vectors, or 0 if there are none.
func (db *DB) EmbeddingDims(ctx context.Context, model string) (dims int, err error) {
	err = get(ctx, db.read, `SELECT dims FROM embedding_progress WHERE model = $1`, args{model}, &dims)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return dims, fail("read the vector dimension", "embedding", err)
}

// EmbeddedThrough returns the position in the change log up to which all documents have vectors.
func (db *DB) EmbeddedThrough(ctx context.Context, s embedding.Space) (uint64, error) {
	var seq int64
	err := get(ctx, db.read, `SELECT seq FROM embedding_progress WHERE model = $1 AND dims = $2`,
		args{s.Model, s.Dims}, &seq)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return uint64(seq), fail("read the progress of embeddings", "embedding", err)
}

// errEnough stops the iteration over rows.
var errEnough = errors.New("enough rows")

// UnembeddedDocuments returns documents without current vectors, in change log order. It stops after about the given
// number of bytes of text, so that long documents do not fill the memory.
func (db *DB) UnembeddedDocuments(
	ctx context.Context, s embedding.Space, after, through uint64, n, bytes int, without ...string,
) ([]embedding.Document, error) {
	docs := make([]embedding.Document, 0, capacityFor(n))
	var d embedding.Document
	var seq int64
	owners, params := "", args{s.Model, s.Dims, int64(after), int64(through), n}
	if len(without) > 0 {
		owners, params = ` AND a.user_id NOT IN `+db.dialect.in("$6"), append(params, encodeList(without))
	}
	err := db.read.each(ctx, `
		SELECT c.seq, d.id, d.source_id, d.title, d.text, a.user_id, a.id
		FROM document_change c
		JOIN document d ON d.id = c.document_id
		JOIN source s ON s.id = d.source_id
		JOIN agent a ON a.id = s.agent_id
		LEFT JOIN embedding_document e ON e.document_id = c.document_id AND e.model = $1 AND e.dims = $2
		WHERE c.seq > $3 AND c.seq <= $4 AND c.op = '`+opPut+`' AND (e.seq IS NULL OR e.seq <> c.seq)`+owners+`
		ORDER BY c.seq LIMIT $5 + 0`,
		params, []any{&seq, &d.ID, &d.SourceID, &d.Title, &d.Text, &d.Owner.UserID, &d.Owner.AgentID}, func() error {
			d.Seq = uint64(seq)
			docs = append(docs, d)
			if bytes -= len(d.Text); bytes < 0 {
				return errEnough
			}
			return nil
		})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fail("list documents without vectors", "embedding", err)
	}
	return docs, nil
}

// KnownEmbeddings returns stored vectors by text hash, from any document.
func (db *DB) KnownEmbeddings(ctx context.Context, s embedding.Space, hashes []string) (map[string][]byte, error) {
	known := make(map[string][]byte, len(hashes))
	var hash string
	var vector []byte
	err := db.read.each(ctx, `
		SELECT text_hash, vector FROM embedding WHERE text_hash IN `+db.dialect.in("$1")+` AND model = $2 AND dims = $3`,
		args{encodeList(hashes), s.Model, s.Dims}, []any{&hash, &vector}, func() error {
			known[hash] = vector
			return nil
		})
	if err != nil {
		return nil, fail("find vectors", "embedding", err)
	}
	return known, nil
}

// Embeddings returns the vectors of documents, by document id and text hash.
func (db *DB) Embeddings(ctx context.Context, s embedding.Space, ids []string) (map[string]map[string][]byte, error) {
	found := make(map[string]map[string][]byte, len(ids))
	var id, hash string
	var vector []byte
	err := db.read.each(ctx, `
		SELECT document_id, text_hash, vector FROM embedding WHERE document_id IN `+db.dialect.in("$1")+
		` AND model = $2 AND dims = $3`,
		args{encodeList(ids), s.Model, s.Dims}, []any{&id, &hash, &vector}, func() error {
			if found[id] == nil {
				found[id] = map[string][]byte{}
			}
			found[id][hash] = vector
			return nil
		})
	if err != nil {
		return nil, fail("read vectors", "embedding", err)
	}
	return found, nil
}

// PutEmbeddings stores vectors, logs the documents completed by them as changed, and records the progress. Like every
// change to documents, it locks their sources in id order first.
func (db *DB) PutEmbeddings(
	ctx context.Context, s embedding.Space, docs []embedding.Embedded, through uint64, now time.Time,
) error {
	err := db.inBulkTx(ctx, func(ctx context.Context, tx querier) error {
		if len(docs) > 0 {
			if err := db.putEmbeddings(ctx, tx, s, docs, now); err != nil {
				return err
			}
		}
		// A slower run may report older progress; the later position stays valid. Vectors of another dimension
		// start to replace the previous ones, so their progress starts over.
		_, err := tx.exec(ctx, `
			INSERT INTO embedding_progress (model, dims, seq) VALUES ($1, $2, $3)
			ON CONFLICT (model) DO UPDATE SET dims = excluded.dims, seq = CASE
				WHEN embedding_progress.dims = excluded.dims AND embedding_progress.seq > excluded.seq THEN embedding_progress.seq
				ELSE excluded.seq END`,
			s.Model, s.Dims, int64(through))
		return err
	})
	return fail("store vectors", "document", err)
}

// putEmbeddings uses few statements apart from the inserts, because other writers wait for the locked sources.
func (db *DB) putEmbeddings(
	ctx context.Context, tx querier, s embedding.Space, docs []embedding.Embedded, now time.Time,
) error {
	places, err := db.lockDocuments(ctx, tx, docs)
	if err != nil {
		return err
	}
	docs = slices.DeleteFunc(slices.Clone(docs),
		func(d embedding.Embedded) bool { _, exists := places[d.ID]; return !exists })
	var changed, complete []string
	for i, d := range docs {
		if len(d.New) > 0 {
			changed = append(changed, d.ID)
		}
		if docs[i].Complete = d.Complete && places[d.ID] == d.Seq; docs[i].Complete {
			complete = append(complete, d.ID)
		}
	}
	if err := insertVectors(ctx, tx, s, docs, now); err != nil {
		return err
	}
	if err := db.deleteStaleVectors(ctx, tx, docs, complete); err != nil {
		return err
	}
	// A document has no row in embedding_document until its change is logged with all vectors.
	if _, err := tx.exec(ctx,
		`DELETE FROM embedding_document WHERE document_id IN `+db.dialect.in("$1")+` AND model = $2`,
		encodeList(changed), s.Model); err != nil {
		return err
	}
	return db.completeDocuments(ctx, tx, s, docs, complete)
}

func insertVectors(ctx context.Context, tx querier, s embedding.Space, docs []embedding.Embedded, now time.Time) error {
	for _, d := range docs {
		for _, hash := range slices.Sorted(maps.Keys(d.New)) {
			_, err := tx.exec(ctx, `
				INSERT INTO embedding (document_id, model, text_hash, dims, vector, created_at) VALUES ($1, $2, $3, $4, $5, $6)
				ON CONFLICT (document_id, model, text_hash) DO UPDATE
				SET dims = excluded.dims, vector = excluded.vector, created_at = excluded.created_at`,
				d.ID, s.Model, hash, s.Dims, append([]byte{}, d.New[hash]...), millis(now)) // never NULL, even if empty
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteStaleVectors deletes the vectors, of all models, of texts that completed documents no longer contain.
func (db *DB) deleteStaleVectors(ctx context.Context, tx querier, docs []embedding.Embedded, complete []string) error {
	wanted := make(map[string]map[string]bool, len(docs)) // hashes by document
	for _, d := range docs {
		wanted[d.ID] = make(map[string]bool, len(d.Hashes))
		for _, hash := range d.Hashes {
			wanted[d.ID][hash] = true
		}
	}
	stale := map[string][]string{}
	var id, hash string
	err := tx.each(ctx, `SELECT document_id, text_hash FROM embedding WHERE document_id IN `+db.dialect.in("$1"),
		args{encodeList(complete)}, []any{&id, &hash}, func() error {
			if !wanted[id][hash] {
				stale[id] = append(stale[id], hash)
			}
			return nil
		})
	if err != nil {
		return err
	}
	for id, hashes := range stale {
		_, err := tx.exec(ctx, `DELETE FROM embedding WHERE document_id = $1 AND text_hash IN `+db.dialect.in("$2"), id,
			encodeList(hashes))
		if err != nil {
			return err
		}
	}
	return nil
}

// completeDocuments records documents as complete. Documents that were not complete before are logged as changed, so
// that indexes read their vectors.
func (db *DB) completeDocuments(
	ctx context.Context, tx querier, s embedding.Space, docs []embedding.Embedded, complete []string,
) error {
	if len(complete) == 0 {
		return nil
	}
	told := map[string]bool{}
	var id string
	err := tx.each(ctx, `
		SELECT document_id FROM embedding_document WHERE document_id IN `+db.dialect.in("$1")+` AND model = $2 AND dims = $3`,
		args{encodeList(complete), s.Model, s.Dims}, []any{&id}, func() error {
			told[id] = true
			return nil
		})
	if err != nil {
		return err
	}
	moved := map[string][]string{} // by source
	for _, d := range docs {
		if d.Complete && !told[d.ID] {
			moved[d.SourceID] = append(moved[d.SourceID], d.ID)
		}
	}
	for _, source := range slices.Sorted(maps.Keys(moved)) {
		if err := db.logChanges(ctx, tx, source, opPut, moved[source]); err != nil {
			return err
		}
	}
	_, err = tx.exec(ctx, `
		INSERT INTO embedding_document (document_id, model, dims, seq)
		SELECT document_id, $1, $2, seq FROM document_change WHERE document_id IN `+db.dialect.in("$3")+`
		ON CONFLICT (document_id, model) DO UPDATE SET dims = excluded.dims, seq = excluded.seq`,
		s.Model, s.Dims, encodeList(complete))
	return err
}

// lockDocuments locks the sources of the documents and returns the change log positions of the documents that exist.
func (db *DB) lockDocuments(ctx context.Context, tx querier, docs []embedding.Embedded) (map[string]uint64, error) {
	sources, ids := make([]string, 0, len(docs)), make([]string, 0, len(docs))
	for _, d := range docs {
		sources, ids = append(sources, d.SourceID), append(ids, d.ID)
	}
	var id string
	err := tx.each(ctx, `SELECT id FROM source WHERE id IN `+db.dialect.in("$1")+` ORDER BY id`+db.dialect.lock,
		args{encodeList(sources)}, []any{&id}, func() error { return nil })
	if err != nil {
		return nil, err
	}
	places := make(map[string]uint64, len(ids))
	var seq int64
	err = tx.each(ctx, `
		SELECT d.id, c.seq FROM document d JOIN document_change c ON c.document_id = d.id WHERE d.id IN `+db.dialect.in("$1"),
		args{encodeList(ids)}, []any{&id, &seq}, func() error {
			places[id] = uint64(seq)
			return nil
		})
	return places, err
}

// PruneEmbeddingTasks deletes embedding tasks that ended before this time.
func (db *DB) PruneEmbeddingTasks(ctx context.Context, before time.Time) error {
	err := db.pruneTasks(ctx, `kind = 'embed'`, before)
	return fail("prune embedding tasks", "task", err)
}
