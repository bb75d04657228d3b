package store_test

import (
	"fmt"
	"maps"
	"slices"

	"carrel/internal/core"
	"carrel/internal/embedding"
	"carrel/internal/source"
	"carrel/internal/testkit"
)

var (
	small = embedding.Space{Model: "small", Dims: 3}
	large = embedding.Space{Model: "large", Dims: 5}
)

// document stores a document in the person's source and returns it as read from the log.
func (w *fixture) document(p person, name, text string) embedding.Document {
	w.t.Helper()
	d := source.Document{
		ID: core.NewID(core.PrefixDocument), SourceID: p.source, ExternalID: name, Title: name, Text: text,
		Hash: []byte(name + text), CreatedAt: w.now, UpdatedAt: w.now,
	}
	_, _, err := w.db.PutDocuments(w.ctx, p.source, []source.Document{d})
	w.must(err)
	head, err := w.db.Head(w.ctx)
	w.must(err)
	docs, err := w.db.UnembeddedDocuments(w.ctx, embedding.Space{Model: "none", Dims: 1}, head-1, head, 1, 1<<20)
	w.must(err)
	if len(docs) != 1 || docs[0].Title != name || docs[0].Seq != head {
		w.t.Fatalf("the log ends with %+v, want %s at %d", docs, name, head)
	}
	return docs[0]
}

// lacking returns the titles of documents without current vectors after a position in the log.
func (w *fixture) lacking(s embedding.Space, after uint64) []string {
	w.t.Helper()
	head, err := w.db.Head(w.ctx)
	w.must(err)
	docs, err := w.db.UnembeddedDocuments(w.ctx, s, after, head, 1000, 1<<20)
	w.must(err)
	titles := make([]string, len(docs))
	for i, d := range docs {
		titles[i] = d.Title
	}
	return titles
}

// embedded returns a document with vectors for these hashes. Hashes with a plus are new.
func embedded(d embedding.Document, complete bool, hashes ...string) embedding.Embedded {
	e := embedding.Embedded{ID: d.ID, SourceID: d.SourceID, Seq: d.Seq, Complete: complete, New: map[string][]byte{}}
	for _, h := range hashes {
		if h[0] == '+' {
			h = h[1:]
			e.New[h] = []byte("vector of " + h)
		}
		e.Hashes = append(e.Hashes, h)
	}
	return e
}

// vectors returns the hashes for which a document has vectors.
func (w *fixture) vectors(s embedding.Space, d embedding.Document) []string {
	w.t.Helper()
	found, err := w.db.Embeddings(w.ctx, s, []string{d.ID, "doc_none"})
	w.must(err)
	return slices.Sorted(maps.Keys(found[d.ID]))
}

// readable converts vectors to strings, because the engines differ in returning empty vectors as nil.
func readable(vectors map[string][]byte) map[string]string {
	out := map[string]string{}
	for hash, v := range vectors {
		out[hash] = string(v)
	}
	return out
}

var embeddingTests = []test{
	{"VectorsAreFoundByDocumentAndByText", func(w *fixture) {
		a, b := w.document(w.ada, "a", "x"), w.document(w.bert, "b", "x")
		one, two := embedded(a, true, "+h1", "+h2"), embedded(b, true, "+h2", "+h3")
		one.New["h1"] = nil // a text that the model rejects
		w.must(w.db.PutEmbeddings(w.ctx, small, []embedding.Embedded{one, two}, b.Seq, w.now))
		got, err := w.db.Embeddings(w.ctx, small, []string{a.ID, b.ID, "doc_none"})
		w.must(err)
		w.same("documents", len(got), 2)
		w.same("of the first", readable(got[a.ID]), readable(one.New))
		w.same("of the second", readable(got[b.ID]), readable(two.New))
		known, err := w.db.KnownEmbeddings(w.ctx, small, []string{"h1", "h3", "h4"})
		w.must(err)
		w.same("by text", readable(known), map[string]string{"h1": "", "h3": "vector of h3"})
		known, err = w.db.KnownEmbeddings(w.ctx, large, []string{"h1", "h3"})
		w.must(err)
		w.same("of another model", known, map[string][]byte{})
		known, err = w.db.KnownEmbeddings(w.ctx, embedding.Space{Model: "small", Dims: 4}, []string{"h1"})
		w.must(err)
		w.same("of another length", known, map[string][]byte{})
		known, err = w.db.KnownEmbeddings(w.ctx, small, nil)
		w.must(err)
		w.same("of nothing", known, map[string][]byte{})
	}},
	{"DocumentsAreListedUntilTheyAreComplete", func(w *fixture) {
		before := w.head()
		a, b, c := w.document(w.ada, "a", "x"), w.document(w.ada, "b", "y"), w.document(w.bert, "c", "z")
		w.same("at first", w.lacking(small, before), []string{"a", "b", "c"})
		w.must(w.db.PutEmbeddings(w.ctx, small,
			[]embedding.Embedded{embedded(a, true, "+h1"), embedded(b, false, "+h2", "h3")}, a.Seq, w.now))
		w.same("one is left in part", w.lacking(small, before), []string{"b", "c"})
		w.same("another model", w.lacking(large, 0)[len(w.lacking(large, 0))-3:], []string{"b", "c", "a"}) // a has a later position now
		docs, err := w.db.UnembeddedDocuments(w.ctx, small, before, w.head(), 1, 1<<20)
		w.must(err)
		w.same("as many as asked for", docs, []embedding.Document{b})
		docs, err = w.db.UnembeddedDocuments(w.ctx, small, before, w.head(), 10, 0)
		w.must(err)
		w.same("at least one however long", docs, []embedding.Document{b})
		docs, err = w.db.UnembeddedDocuments(w.ctx, small, before, b.Seq, 10, 1<<20)
		w.must(err)
		w.same("up to a place", docs, []embedding.Document{b})
		w.must(w.db.PutEmbeddings(w.ctx, small,
			[]embedding.Embedded{embedded(b, true, "h2", "+h3"), embedded(c, true, "+h4")}, c.Seq, w.now))
		w.same("none", w.lacking(small, before), []string{})
		w.same("vectors", w.vectors(small, b), []string{"h2", "h3"})
	}},
	{"NewVectorsLogTheDocumentAgain", func(w *fixture) {
		a, b := w.document(w.ada, "a", "x"), w.document(w.bert, "b", "y")
		head := w.head()
		w.must(w.db.PutEmbeddings(w.ctx, small, []embedding.Embedded{embedded(a, false, "+h1", "h2")}, 0, w.now))
		w.same("not before it is complete", w.head(), head)
		w.must(w.db.PutEmbeddings(w.ctx, small,
			[]embedding.Embedded{embedded(a, true, "h1", "+h2"), embedded(b, true, "+h3")}, 0, w.now))
		w.same("both", w.head(), head+2)
		changes, err := w.db.Changes(w.ctx, head, head+2, 10)
		w.must(err)
		ids := []string{changes[0].ID, changes[1].ID}
		slices.Sort(ids)
		want := []string{a.ID, b.ID}
		slices.Sort(want)
		w.same("moved", ids, want)
		// A change that does not affect the texts needs no new position.
		again := w.document(w.ada, "a", "x, with another year")
		head = w.head()
		w.must(w.db.PutEmbeddings(w.ctx, small, []embedding.Embedded{embedded(again, true, "h1", "h2")}, 0, w.now))
		w.same("nothing new", w.head(), head)
		w.same("and yet done", w.lacking(small, again.Seq-1), []string{})
	}},
	{"UnloggedVectorsAreLoggedInTheEnd", func(w *fixture) {
		a := w.document(w.ada, "a", "x")
		w.must(w.db.PutEmbeddings(w.ctx, small, []embedding.Embedded{embedded(a, true, "+h1")}, 0, w.now))
		b := w.document(w.ada, "a", "y")
		c := w.document(w.ada, "a", "y, and more") // changed while the vectors of the previous version were computed
		head := w.head()
		w.must(w.db.PutEmbeddings(w.ctx, small, []embedding.Embedded{embedded(b, true, "+h2")}, b.Seq, w.now))
		w.same("not complete", w.lacking(small, b.Seq), []string{"a"})
		w.same("kept, because it was paid for", w.vectors(small, a), []string{"h1", "h2"})
		w.same("not logged", w.head(), head)
		w.must(w.db.PutEmbeddings(w.ctx, small, []embedding.Embedded{embedded(c, true, "h2")}, c.Seq, w.now))
		w.same("logged", w.head(), head+1)
		w.same("of the new text alone", w.vectors(small, a), []string{"h2"})
	}},
	{"VectorsOfRemovedTextsAreDeleted", func(w *fixture) {
		a := w.document(w.ada, "a", "x")
		w.must(w.db.PutEmbeddings(w.ctx, large, []embedding.Embedded{embedded(a, true, "+h1", "+h2")}, 0, w.now))
		a.Seq = w.head()
		w.must(w.db.PutEmbeddings(w.ctx, small, []embedding.Embedded{embedded(a, true, "+h1", "+h2")}, 0, w.now))
		b := w.document(w.ada, "a", "y")
		w.must(w.db.PutEmbeddings(w.ctx, small, []embedding.Embedded{embedded(b, false, "+h3", "h4", "h2")}, 0, w.now))
		w.same("not before all are there", w.vectors(small, a), []string{"h1", "h2", "h3"})
		w.must(w.db.PutEmbeddings(w.ctx, small, []embedding.Embedded{embedded(b, true, "h3", "+h4", "h2")}, 0, w.now))
		w.same("of this model", w.vectors(small, a), []string{"h2", "h3", "h4"})
		w.same("of another", w.vectors(large, a), []string{"h2"})
	}},
	{"VectorsAreDeletedWithTheirDocument", func(w *fixture) {
		a, b := w.document(w.ada, "a", "x"), w.document(w.ada, "b", "y")
		w.must(w.db.PutEmbeddings(w.ctx, small,
			[]embedding.Embedded{embedded(a, true, "+g1"), embedded(b, true, "+g2")}, 0, w.now))
		_, err := w.db.DeleteDocuments(w.ctx, w.ada.source, []string{"a"}, w.now)
		w.must(err)
		w.same("deleted", w.vectors(small, a), []string(nil))
		w.same("the other", w.vectors(small, b), []string{"g2"})
		head := w.head()
		// Vectors computed meanwhile are dropped and delete nothing.
		w.must(w.db.PutEmbeddings(w.ctx, small,
			[]embedding.Embedded{embedded(a, true, "+g3"), embedded(b, true, "g2", "+g4")}, 0, w.now))
		w.same("too late", w.vectors(small, a), []string(nil))
		w.same("the log", w.head(), head)
		w.same("of the changed one", w.vectors(small, b), []string{"g2", "g4"})
		w.must(w.db.DeleteAgent(w.ctx, w.ada.id, w.ada.agent))
		w.same("of the agent", w.vectors(small, b), []string(nil))
		w.must(w.db.PutEmbeddings(w.ctx, small, []embedding.Embedded{embedded(b, true, "+g5")}, 0, w.now))
		known, err := w.db.KnownEmbeddings(w.ctx, small, []string{"g1", "g2", "g3", "g4", "g5"})
		w.must(err)
		w.same("of all", known, map[string][]byte{})
	}},
	{"ProgressNeverDecreases", func(w *fixture) {
		s := embedding.Space{Model: "progress", Dims: 3}
		through := func(s embedding.Space, want uint64) {
			w.t.Helper()
			got, err := w.db.EmbeddedThrough(w.ctx, s)
			w.must(err)
			w.same(fmt.Sprintf("through of %v", s), got, want)
		}
		dims := func(model string, want int) {
			w.t.Helper()
			got, err := w.db.EmbeddingDims(w.ctx, model)
			w.must(err)
			w.same("length of "+model, got, want)
		}
		through(s, 0)
		dims(s.Model, 0)
		w.must(w.db.PutEmbeddings(w.ctx, s, nil, 7, w.now))
		w.must(w.db.PutEmbeddings(w.ctx, s, nil, 5, w.now))
		through(s, 7)
		dims(s.Model, 3)
		// Vectors of another dimension start over and replace the old ones for good.
		longer := embedding.Space{Model: s.Model, Dims: 4}
		through(longer, 0)
		w.must(w.db.PutEmbeddings(w.ctx, longer, nil, 2, w.now))
		through(longer, 2)
		through(s, 0)
		dims(s.Model, 4)
		through(embedding.Space{Model: "other", Dims: 3}, 0)
	}},
	{"ConcurrentImportsAndEmbeddingsAreConsistent", func(w *fixture) {
		docs := make([]embedding.Document, 12)
		for i := range docs {
			p := w.ada
			if i%2 == 1 {
				p = w.bert
			}
			docs[i] = w.document(p, fmt.Sprintf("d%d", i), "x")
		}
		testkit.Concurrently(8, func(i int) {
			if i%2 == 0 {
				for n := range 6 {
					p := []person{w.ada, w.bert}[n%2]
					name := fmt.Sprintf("d%d", 2*((n+i)%6)+n%2)
					if _, _, err := w.db.PutDocuments(w.ctx, p.source, []source.Document{{
						ID: core.NewID(core.PrefixDocument), SourceID: p.source, ExternalID: name, Title: name,
						Text: "y",
						Hash: fmt.Append(nil, i, n), CreatedAt: w.now, UpdatedAt: w.now,
					}}); err != nil {
						w.t.Error(err)
					}
				}
				return
			}
			batch := make([]embedding.Embedded, len(docs))
			for n := range docs {
				batch[n] = embedded(docs[(n*(i+2)+i)%len(docs)], true, "+h")
			}
			if err := w.db.PutEmbeddings(w.ctx, small, batch, 0, w.now); err != nil {
				w.t.Error(err)
			}
		})
		for _, d := range docs {
			w.same("vectors", w.vectors(small, d), []string{"h"})
		}
	}},
}
