package source_test

import (
	"context"
	"strconv"
	"testing"

	"carrel/internal/search"
	"carrel/internal/source"
	"carrel/internal/testkit"
)

// Stored and federated documents both pass dropUnsafeLinks, so a parser or catalogue that does not check links stores
// nothing harmful.
func TestUnsafeLinksAreDroppedFromDocuments(t *testing.T) {
	t.Parallel()
	w := newFederatedFixture(t, func(d *source.Deps) { d.Federated = uncheckedSource{} })
	library, federated := w.library(t), w.add(t, source.New{Kind: "openalex"})
	if _, err := w.Import(t.Context(), w.ada, library, func(yield func(source.Document, error) bool) {
		for _, d := range documentsWithUnsafeLinks() {
			if !yield(d, nil) {
				return
			}
		}
	}, nil); err != nil {
		t.Fatal(err)
	}
	reply := w.search(t, search.Query{Sources: []string{federated.ID}, Limit: 100, Facets: true})
	if len(reply.Cards) != len(testkit.UnsafeLinks()) {
		t.Errorf("found %d", len(reply.Cards))
	}
	for _, c := range reply.Cards {
		if c.URL != "" || c.OpenAccessURL != "" {
			t.Errorf("a federated result has %q and %q", c.URL, c.OpenAccessURL)
		}
	}
	stored := 0
	for d, err := range w.db.ScanDocuments(t.Context(), library.ID) {
		if err != nil {
			t.Fatal(err)
		}
		if stored++; d.URL != "" || d.OpenAccessURL != "" {
			t.Errorf("a document has %q and %q", d.URL, d.OpenAccessURL)
		}
	}
	if stored != len(testkit.UnsafeLinks()) {
		t.Errorf("%d documents are stored", stored)
	}
}

func documentsWithUnsafeLinks() []source.Document {
	var docs []source.Document
	for i, s := range testkit.UnsafeLinks() {
		docs = append(docs, source.Document{
			ExternalID: strconv.Itoa(i), Title: "Relational " + strconv.Itoa(i), Text: "relational", URL: s, OpenAccessURL: s,
		})
	}
	return docs
}

// uncheckedSource is a federated source that does not check its links.
type uncheckedSource struct{}

func (uncheckedSource) Search(context.Context, source.FederatedRequest) (source.FederatedReply, error) {
	return source.FederatedReply{Documents: documentsWithUnsafeLinks()}, nil
}
