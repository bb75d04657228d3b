package store

import (
	"testing"
	"time"

	"carrel/internal/embedding"
)

// callEmbeddings calls every vector method once on the document of callEverything.
func callEmbeddings(t *testing.T, db *DB) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	must := failOn(t)
	s := embedding.Space{Model: "m", Dims: 1}
	head, err := db.Head(ctx)
	must(err)
	docs, err := db.UnembeddedDocuments(ctx, s, 0, head, 10, 1000)
	must(err)
	for _, d := range docs {
		e := embedding.Embedded{
			ID: d.ID, SourceID: d.SourceID, Seq: d.Seq, Hashes: []string{"h"}, New: map[string][]byte{"h": []byte("v")},
			Complete: true,
		}
		must(db.PutEmbeddings(ctx, s, []embedding.Embedded{e}, d.Seq, now))
		e.New = nil
		must(db.PutEmbeddings(ctx, s, []embedding.Embedded{e}, d.Seq, now))
		_, err = db.Embeddings(ctx, s, []string{d.ID})
		must(err)
	}
	_, err = db.KnownEmbeddings(ctx, s, []string{"h"})
	must(err)
	_, err = db.EmbeddingDims(ctx, "m")
	must(err)
	_, err = db.EmbeddedThrough(ctx, s)
	must(err)
	must(db.PruneEmbeddingTasks(ctx, now))
}
