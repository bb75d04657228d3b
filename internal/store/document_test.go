package store_test

import (
	"slices"
	"strconv"

	"carrel/internal/core"
	"carrel/internal/source"
	"carrel/internal/testkit"
)

// doc returns a document as an import creates it.
func (w *fixture) doc(externalID, text string) source.Document {
	return source.Document{
		ID: core.NewID(core.PrefixDocument), ExternalID: externalID, Title: "On " + externalID, Text: text,
		Hash:      []byte(text),
		CreatedAt: w.now, UpdatedAt: w.now,
	}
}

func (w *fixture) put(sourceID string, added, updated int, docs ...source.Document) {
	w.t.Helper()
	a, u, err := w.db.PutDocuments(w.ctx, sourceID, docs)
	w.must(err)
	w.same("added and updated", [2]int{a, u}, [2]int{added, updated})
}

func (w *fixture) scan(sourceID string) []source.Document {
	w.t.Helper()
	docs := []source.Document{}
	for d, err := range w.db.ScanDocuments(w.ctx, sourceID) {
		w.must(err)
		docs = append(docs, d)
	}
	return docs
}

// documents returns the document counter of the person's source.
func (w *fixture) documents(p person) int {
	w.t.Helper()
	sources, err := w.db.Sources(w.ctx, p.id, p.agent)
	w.must(err)
	return sources[0].Documents
}

var documentTests = []test{
	{"DocumentRoundTrips", func(w *fixture) {
		full := w.doc("full", "text")
		full.Authors, full.Year, full.URL, full.DOI, full.Venue, full.Type = []string{
			"Ada",
			"Grace \"H\"",
		}, 1936, "https://a", "10.1/a", "J", "article"
		full.PublishedAt, full.CitationCount, full.OpenAccessURL = "1936-05-28", new(int), "https://a/free"
		bare := w.doc("bare", "")
		bare.Hash = []byte{0, 1}
		w.put(w.ada.source, 2, 0, full, bare)
		full.SourceID, bare.SourceID = w.ada.source, w.ada.source
		w.same("scanned", w.scan(w.ada.source), []source.Document{full, bare})
		got, err := w.db.DocumentsByID(w.ctx, []string{w.ada.source}, []string{full.ID})
		w.must(err)
		w.same("by id", got, []source.Document{full})
	}},
	{"AChangedDocumentKeepsItsId", func(w *fixture) {
		first := w.doc("x", "one")
		w.put(w.ada.source, 1, 0, first)
		again := w.doc("x", "one")
		again.Title = "not looked at: the hash is the same"
		w.put(w.ada.source, 0, 0, again)
		w.same("count", w.documents(w.ada), 1)
		second := w.doc("x", "two")
		cited := 3
		second.Year, second.UpdatedAt = 1999, w.after(7)
		second.PublishedAt, second.CitationCount, second.OpenAccessURL = "1999-12-31", &cited, "https://b/free"
		w.put(w.ada.source, 1, 1, second, w.doc("y", "one"))
		w.same("count", w.documents(w.ada), 2)
		got := w.scan(w.ada.source)[0]
		second.ID, second.SourceID, second.CreatedAt = first.ID, w.ada.source, first.CreatedAt
		w.same("updated", got, second)
	}},
	{"TheSameDocumentTwiceInABatchIsOne", func(w *fixture) {
		w.put(w.ada.source, 1, 1, w.doc("x", "one"), w.doc("x", "two"))
		w.same("count", w.documents(w.ada), 1)
		w.same("text", w.scan(w.ada.source)[0].Text, "two")
	}},
	{"ABatchIsStoredWholeOrNotAtAll", func(w *fixture) {
		bad := w.doc("bad", "x")
		bad.ID = "doc_taken"
		w.put(w.bert.source, 1, 0, bad)
		_, _, err := w.db.PutDocuments(w.ctx, w.ada.source, []source.Document{w.doc("good", "x"), bad})
		w.wantKind(err, core.KindConflict, "")
		w.same("stored", w.scan(w.ada.source), []source.Document{})
		w.same("count", w.documents(w.ada), 0)
	}},
	{"AMissingSourceIsNotFound", func(w *fixture) {
		_, _, err := w.db.PutDocuments(w.ctx, "src_none", []source.Document{w.doc("x", "x")})
		w.wantMissing(err, "source")
		w.same("scanned", w.scan("src_none"), []source.Document{})
	}},
	{"DocumentsBelongToTheirSource", func(w *fixture) {
		mine, theirs := w.doc("x", "mine"), w.doc("x", "theirs")
		w.put(w.ada.source, 1, 0, mine)
		w.put(w.bert.source, 1, 0, theirs)
		got, err := w.db.DocumentsByID(w.ctx, []string{w.ada.source}, []string{mine.ID, theirs.ID, "doc_none"})
		w.must(err)
		w.same("number", len(got), 1)
		w.same("id", got[0].ID, mine.ID)
		got, err = w.db.DocumentsByID(w.ctx, []string{w.ada.source}, nil)
		w.must(err)
		w.same("none asked for", got, []source.Document{})
	}},
	{"ScanIsOrderedAndCanBeStopped", func(w *fixture) {
		const n = 150 // more than two pages
		docs := make([]source.Document, n)
		for i := range docs {
			docs[i] = w.doc(strconv.Itoa(i), "text")
		}
		w.put(w.ada.source, n, 0, docs...)
		w.same("count", w.documents(w.ada), n)
		var ids []string
		for _, d := range w.scan(w.ada.source) {
			ids = append(ids, d.ID)
		}
		if len(ids) != n || !slices.IsSorted(ids) {
			w.t.Errorf("%d ids, sorted %v", len(ids), slices.IsSorted(ids))
		}
		// Many concurrent scans that stop early, with reads and a write inside the loop: none may block the others.
		testkit.Concurrently(12, func(int) {
			seen := 0
			for d, err := range w.db.ScanDocuments(w.ctx, w.ada.source) {
				if err != nil {
					w.t.Error(err)
				}
				if _, err := w.db.DocumentsByID(w.ctx, []string{w.ada.source}, []string{d.ID}); err != nil {
					w.t.Error(err)
				}
				if seen++; seen == 70 {
					break
				}
			}
			if _, _, err := w.db.PutDocuments(w.ctx, w.ada.source, docs[:1]); err != nil {
				w.t.Error(err)
			}
		})
	}},
	{"ParallelImportsCountRight", func(w *fixture) {
		const n = 20
		testkit.Concurrently(4, func(i int) {
			docs := make([]source.Document, n)
			for k := range docs {
				docs[k] = w.doc(strconv.Itoa((k+i*n/2)%(2*n)), "text") // overlapping halves in different order
			}
			if _, _, err := w.db.PutDocuments(w.ctx, w.ada.source, docs); err != nil {
				w.t.Error(err)
			}
		})
		w.same("count", w.documents(w.ada), 2*n)
		w.same("rows", len(w.scan(w.ada.source)), 2*n)
	}},
}
