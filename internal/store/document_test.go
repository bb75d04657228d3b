package store_test

import (
	"slices"
	"strconv"
	"strings"

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
	{"OpeningsOfDocumentsAreOfAccessibleAgents", func(w *fixture) {
		_, _, err := w.db.PutDocuments(w.ctx, w.ada.source, []source.Document{
			{ID: "doc_1", ExternalID: "1", Title: "One", Text: "éabc", Hash: []byte("1")},
		})
		w.must(err)
		ids := []string{"doc_1", "doc_none"}
		got, err := w.db.DocumentOpenings(w.ctx, w.ada.id, w.ada.agent, ids, 2)
		w.must(err)
		w.same("openings", got, map[string]string{"doc_1": "éa"})
		for _, who := range [][2]string{{w.bert.id, w.ada.agent}, {w.ada.id, w.ada.second}} {
			got, err := w.db.DocumentOpenings(w.ctx, who[0], who[1], ids, 2)
			w.must(err)
			w.same("of others", got, map[string]string{})
		}
	}},
	{"EditsAreKeptByImports", func(w *fixture) {
		d := w.doc("edited", "text")
		d.Year, d.Venue = 1936, "J"
		w.put(w.ada.source, 1, 0, d)
		title, year, tags := "My title", 0, []string{"a", "b"}
		got, err := w.db.EditDocument(w.ctx, w.ada.source, d.ID, source.Edits{Title: &title, Year: &year}, w.now)
		w.must(err)
		w.same("changed", []any{got.Title, got.Year, got.Venue, got.Text}, []any{"My title", 0, "J", "text"})
		_, err = w.db.EditDocument(w.ctx, w.ada.source, d.ID, source.Edits{Tags: &tags}, w.now)
		w.must(err)
		again := w.doc("edited", "another text")
		again.Year, again.Venue = 1937, "K"
		again.Completed = source.Completion{From: "crossref", Fields: []string{"venue"}}
		w.put(w.ada.source, 0, 1, again)
		got, err = w.db.Document(w.ctx, w.ada.id, w.ada.agent, d.ID)
		w.must(err)
		w.same("completed", got.Completed, again.Completed)
		w.same("imported again", []any{got.Title, got.Year, got.Venue, got.Text, got.Tags, got.Edits.Names()},
			[]any{"My title", 0, "K", "another text", tags, []string{"title", "year", "tags"}})
		_, err = w.db.EditDocument(w.ctx, w.ada.source, core.NewID(core.PrefixDocument), source.Edits{Title: &title}, w.now)
		w.wantMissing(err, "document")
		used, err := w.db.StorageOf(w.ctx, w.ada.id)
		w.must(err)
		_, err = w.db.DeleteDocuments(w.ctx, w.ada.source, []string{"edited"}, w.now)
		w.must(err)
		rest, err := w.db.StorageOf(w.ctx, w.ada.id)
		w.must(err)
		w.same("freed", used.Used-rest.Used, int64(len("My title")+len("another text")))
	}},
	{"DocumentsAreListedWithFilters", func(w *fixture) {
		one, two, three := w.doc("1-list", "text"), w.doc("2-list", ""), w.doc("3-list", "text")
		one.Year, one.Type, one.Authors, one.Title = 1970, "article", []string{"E. F. Codd"}, "100% Relational"
		two.Title, three.Title, three.File, three.Language = "Nothing", "Über alles", "fil_1", "de"
		w.put(w.ada.source, 3, 0, one, two, three)
		title := "Edited"
		_, err := w.db.EditDocument(w.ctx, w.ada.source, two.ID, source.Edits{Title: &title}, w.now)
		w.must(err)
		list := func(f source.DocumentFilter, before string, n int) string {
			docs, err := w.db.ListDocuments(w.ctx, w.ada.source, f, before, n)
			w.must(err)
			var ids []string
			for _, d := range docs {
				if strings.HasSuffix(d.ExternalID, "-list") {
					ids = append(ids, d.ExternalID[:1])
				}
			}
			return strings.Join(ids, "")
		}
		ids := []string{one.ID, two.ID, three.ID} // ids of the same millisecond are in any order
		slices.Sort(ids)
		w.same("all", len(list(source.DocumentFilter{Query: "-list"}, "", 10)), 3)
		w.same("after the first page", len(list(source.DocumentFilter{Query: "-list"}, ids[2], 10)), 2)
		w.same("one row", len(list(source.DocumentFilter{Query: "-list"}, "", 1)), 1)
		for want, f := range map[string]source.DocumentFilter{
			"1": {Query: "RELATIONAL", Year: 1970, Type: "article"}, "3": {FileID: "fil_1"},
			"2": {Status: source.StatusEdited},
		} {
			w.same(want, list(f, "", 10), want)
		}
		w.same("a language", list(source.DocumentFilter{Language: "de"}, "", 10), "3")
		w.same("another language", list(source.DocumentFilter{Language: "en"}, "", 10), "")
		w.same("an author", list(source.DocumentFilter{Query: "codd"}, "", 10), "1")
		w.same("a wildcard", list(source.DocumentFilter{Query: "0%_R"}, "", 10), "")
		w.same("a percent sign", list(source.DocumentFilter{Query: "100% r"}, "", 10), "1")
		w.same("beyond ASCII", list(source.DocumentFilter{Query: "Über"}, "", 10), "3")
		w.same("no text", list(source.DocumentFilter{Status: source.StatusNoText, Query: "-list"}, "", 10), "2")
		w.same("no year", len(list(source.DocumentFilter{Status: source.StatusNoYear, Query: "-list"}, "", 10)), 2)
		deleted, err := w.db.DeleteDocumentsByID(w.ctx, w.ada.id, w.ada.source, append([]string{"doc_none"}, ids...), w.now)
		w.must(err)
		slices.Sort(deleted)
		slices.Sort(ids)
		w.same("deleted", deleted, ids)
	}},
	{"LanguagesOfOlderDocumentsAreDetectedOnce", func(w *fixture) {
		old, set := w.doc("old-l", strings.Repeat("ü", source.HeadLength+1)), w.doc("set-l", "text")
		known := w.doc("known-l", "")
		known.Language = "en"
		w.put(w.ada.source, 3, 0, old, set, known)
		w.must(w.db.ForgetLanguages(w.ctx, old.ID, set.ID))
		docs, err := w.db.UndetectedDocuments(w.ctx, 10)
		w.must(err)
		w.same("undetected", len(docs), 2)
		first, err := w.db.UndetectedDocuments(w.ctx, 1)
		w.must(err)
		w.same("limited", len(first), 1)
		language := "fr"
		_, err = w.db.EditDocument(w.ctx, w.ada.source, set.ID, source.Edits{Language: &language}, w.now)
		w.must(err)
		for i := range docs {
			if docs[i].ID == old.ID {
				w.same("text", docs[i].Text, strings.Repeat("ü", source.HeadLength))
			}
			docs[i].Language = "de"
		}
		w.must(w.db.SetDetectedLanguages(w.ctx, docs))
		got := map[string]string{}
		for _, d := range []source.Document{old, set, known} {
			d, err := w.db.Document(w.ctx, w.ada.id, w.ada.agent, d.ID)
			w.must(err)
			got[d.ExternalID] = d.Language
		}
		w.same("languages", got, map[string]string{"old-l": "de", "set-l": "fr", "known-l": "en"})
		docs, err = w.db.UndetectedDocuments(w.ctx, 10)
		w.must(err)
		w.same("left", len(docs), 0)
		_, err = w.db.DeleteDocumentsByID(w.ctx, w.ada.id, w.ada.source, []string{old.ID, set.ID, known.ID}, w.now)
		w.must(err)
	}},
	{"UndatedDocumentsAreCountedAndListedWithTheStartOfTheirText", func(w *fixture) {
		before, err := w.db.CountUndated(w.ctx, w.ada.source)
		w.must(err)
		dated, undated := w.doc("dated-u", "text"), w.doc("undated-u", strings.Repeat("ü", source.GuessedText+1))
		dated.Year = 1970
		w.put(w.ada.source, 2, 0, dated, undated)
		n, err := w.db.CountUndated(w.ctx, w.ada.source)
		w.must(err)
		w.same("undated", n-before, 1)
		docs, err := w.db.ListDocuments(w.ctx, w.ada.source, source.DocumentFilter{Query: "dated-u"}, "", 10)
		w.must(err)
		texts := map[string]string{}
		for _, d := range docs {
			texts[d.ExternalID] = d.Text
		}
		w.same("texts", texts, map[string]string{"dated-u": "", "undated-u": strings.Repeat("ü", source.GuessedText)})
		_, err = w.db.DeleteDocumentsByID(w.ctx, w.ada.id, w.ada.source, []string{dated.ID, undated.ID}, w.now)
		w.must(err)
	}},
	{"StoringDocumentsReturnsTheOutcomeOfEach", func(w *fixture) {
		a, b := w.doc("a-stored", "text"), w.doc("b-stored", "text")
		w.put(w.ada.source, 2, 0, a, b)
		changed, added := w.doc("b-stored", "another"), w.doc("c-stored", "text")
		got, err := w.db.StoreDocuments(w.ctx, w.ada.source, []source.Document{w.doc("a-stored", "text"), changed, added})
		w.must(err)
		w.same("stored", got, []source.Stored{
			{ID: a.ID, ExternalID: "a-stored", Outcome: source.OutcomeUnchanged},
			{ID: b.ID, ExternalID: "b-stored", Outcome: source.OutcomeUpdated},
			{ID: added.ID, ExternalID: "c-stored", Outcome: source.OutcomeAdded},
		})
		_, err = w.db.DeleteDocumentsByID(w.ctx, w.ada.id, w.ada.source, []string{a.ID, b.ID, added.ID}, w.now)
		w.must(err)
	}},
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
	{"HeadsAreTheFirstDocumentsOfTheYears", func(w *fixture) {
		var docs []source.Document
		for _, year := range []int{1936, 0, 1945, 1970} {
			d := w.doc(strconv.Itoa(year), strings.Repeat("é", source.HeadLength)+"the rest")
			d.Year = year
			docs = append(docs, d)
		}
		w.put(w.ada.source, len(docs), 0, docs...)
		for _, c := range []struct {
			from, to, n int
			want        []int
		}{
			{0, 0, 9, []int{1936, 0, 1945, 1970}},
			{0, 0, 2, []int{1936, 0}},
			{1940, 0, 9, []int{1945, 1970}},
			{0, 1945, 9, []int{1936, 1945}},
			{1945, 1945, 9, []int{1945}},
			{1971, 1980, 9, nil},
		} {
			heads, err := w.db.DocumentHeads(w.ctx, w.ada.source, c.from, c.to, c.n)
			var years []int
			for _, d := range heads {
				years = append(years, d.Year)
				w.same("text", d.Text, strings.Repeat("é", source.HeadLength))
			}
			if err != nil || !slices.Equal(years, c.want) {
				w.t.Errorf("%+v: %v, %v", c, years, err)
			}
		}
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
