package importer_test

import (
	"os"
	"testing"

	"carrel/internal/core"
	"carrel/internal/source"
)

// documentsByID returns the documents of the upload source by external id.
func (w *fixture) documentsByID() map[string]source.Document {
	w.t.Helper()
	out := map[string]source.Document{}
	for d, err := range w.db.ScanDocuments(w.t.Context(), w.upload.ID) {
		w.must(err)
		out[d.ExternalID] = d
	}
	return out
}

func TestRereadRestoresTheTextAndKeepsEdits(t *testing.T) {
	t.Parallel()
	w, kept, _ := newOriginalsFixture(t, true)
	w.put("a.md", "# A title\n\nThe text of the file.")
	w.put("all.zip", archiveOf(t, "in/c.txt", "see", "in/d.txt", "other"))
	w.put("list.jsonl", `{"id": "1", "text": "x"}`)
	before := w.documentsByID()
	title, tags := "My title", []string{"mine"}
	for _, name := range []string{"a.md", "all.zip/in/c.txt"} {
		// A document as an older version of the reader would have stored it.
		old := before[name]
		old.Text, old.Title, old.Hash = "old", "old", []byte("old")
		_, _, err := w.db.PutDocuments(t.Context(), w.upload.ID, []source.Document{old})
		w.must(err)
	}
	_, err := w.db.EditDocument(
		t.Context(), w.upload.ID, before["a.md"].ID, source.Edits{Title: &title, Tags: &tags}, w.clock.Now(),
	)
	w.must(err)
	ids := []string{before["a.md"].ID, before["all.zip/in/c.txt"].ID, before["1"].ID}
	_, err = w.importer.Reread(t.Context(), w.actor, w.agent, w.upload.ID, ids)
	w.must(err)
	done := w.imported(w.upload.ID)
	w.same("updated", done.Documents.Updated, 2)
	after := w.documentsByID()
	w.same("documents", len(after), len(before))
	w.same("text", after["a.md"].Text, before["a.md"].Text)
	w.same("title", after["a.md"].Title, title)
	w.same("tags", len(after["a.md"].Tags), 1)
	w.same("id", after["a.md"].ID, before["a.md"].ID)
	w.same("file", after["a.md"].File, before["a.md"].File)
	w.same("entry", after["all.zip/in/c.txt"].Text, "see")
	w.same("originals", len(w.originals(kept, w.upload.ID)), 4)
	w.same("original", after["a.md"].Original, before["a.md"].Original)

	_, err = w.importer.Reread(t.Context(), w.actor, w.agent, w.upload.ID, ids[:1])
	w.must(err)
	w.same("unchanged", w.imported(w.upload.ID).Documents.Unchanged, 1)
}

func TestRereadReportsAMissingOriginal(t *testing.T) {
	t.Parallel()
	w, _, dir := newOriginalsFixture(t, true)
	w.put("a.md", "# A\n\ntext")
	w.must(os.RemoveAll(dir))
	d := w.documentsByID()["a.md"]
	_, err := w.importer.Reread(t.Context(), w.actor, w.agent, w.upload.ID, []string{d.ID})
	w.must(err)
	done := w.imported(w.upload.ID)
	w.same("failed", done.Files.Failed, 1)
	w.same("reason", done.Errors[0].Reason, "The original file is missing. Upload it again.")
	w.same("text", w.documentsByID()["a.md"].Text, d.Text)
}

func TestRereadNeedsAnOriginal(t *testing.T) {
	t.Parallel()
	w, _, _ := newOriginalsFixture(t, true)
	w.put("list.jsonl", `{"id": "1", "text": "x"}`)
	for _, ids := range [][]string{nil, make([]string, 501), {w.documentsByID()["1"].ID}, {"unknown"}} {
		if _, err := w.importer.Reread(t.Context(), w.actor, w.agent, w.upload.ID, ids); err == nil {
			t.Errorf("%d ids were accepted", len(ids))
		} else if len(ids) == 1 && !core.IsKind(err, core.KindConflict) {
			t.Errorf("%v: %v", ids, err)
		}
	}
}
