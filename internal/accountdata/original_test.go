package accountdata_test

import (
	"bytes"
	"context"
	"io"
	"strings"

	"carrel/internal/source"
)

var originalHash = strings.Repeat("a", 64)

// fakeOriginals opens files whose content is their key.
type fakeOriginals struct{}

func (fakeOriginals) Open(_ context.Context, key string, _ int64) (io.ReadSeekCloser, error) {
	return struct {
		io.ReadSeeker
		io.Closer
	}{bytes.NewReader([]byte("The file " + key)), io.NopCloser(nil)}, nil
}

// keepOriginal gives a document an original file.
func (w *installation) keepOriginal(sourceID string, d source.Document) {
	w.t.Helper()
	_, err := w.db.UseBlob(w.t.Context(), originalHash, 9, w.clock.Now())
	w.must(err)
	d.Original, d.Hash = source.Original{Hash: originalHash, Name: "a.pdf", Size: 9}, []byte("changed")
	_, updated, err := w.db.PutDocuments(w.t.Context(), sourceID, []source.Document{d})
	w.must(err)
	if updated != 1 {
		w.t.Errorf("%d documents were updated", updated)
	}
}
