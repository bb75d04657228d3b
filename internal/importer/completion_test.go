package importer_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"carrel/internal/importer"
	"carrel/internal/outbound"
	"carrel/internal/source"
)

// yearCompleter sets the year 1970 and notes the ids of the documents.
type yearCompleter struct {
	mu   sync.Mutex
	seen []string
}

// Complete implements importer.Completer.
func (c *yearCompleter) Complete(_ context.Context, d *source.Document, guessed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if guessed {
		c.seen = append(c.seen, "guessed")
	}
	c.seen = append(c.seen, d.ExternalID)
	d.Year, d.Completed = 1970, source.Completion{From: "crossref", Fields: []string{"year"}}
}

func TestImportedFilesAreCompletedAndEditsWin(t *testing.T) {
	t.Parallel()
	c := &yearCompleter{}
	w := newFixtureWith(t, outbound.NewClient(outbound.Options{Private: true}), func(o *importer.Options) {
		o.Completer = c
	})
	w.put("a.md", "# A\n\none")
	w.put("list.jsonl", `{"id": "1", "text": "x"}`)
	w.put("all.zip", archiveOf(t, "in/c.txt", "see", "d.jsonl", `{"id": "1", "text": "y"}`))
	if want := []string{"a.md", "in/c.txt"}; !slices.Equal(c.seen, want) {
		t.Errorf("completed %q, want %q", c.seen, want)
	}
	find := func() (d source.Document) {
		t.Helper()
		for d, err := range w.db.ScanDocuments(t.Context(), w.upload.ID) {
			w.must(err)
			if d.ExternalID == "a.md" {
				return d
			}
		}
		t.Fatal("the document is missing")
		return d
	}
	d := find()
	if d.Year != 1970 || d.Completed.From != "crossref" || !slices.Equal(d.Completed.Fields, []string{"year"}) {
		t.Errorf("stored %d, %+v", d.Year, d.Completed)
	}
	year := 1999
	_, err := w.sources.ChangeDocument(t.Context(), w.actor, w.agent, d.ID, source.Edits{Year: &year})
	w.must(err)
	w.put("a.md", "# A\n\ntwo")
	if d := find(); d.Year != 1999 || d.Text == "" {
		t.Errorf("after another import the year is %d", d.Year)
	}
}
