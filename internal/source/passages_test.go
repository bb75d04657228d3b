package source_test

import (
	"slices"
	"testing"

	"carrel/internal/source"
	"carrel/internal/testkit/federatedfake"
)

// A check of a text has hundreds of sentences, so that live sources are not asked. Their documents are found once they
// are kept.
func TestFindPassagesAsksNoFederatedSource(t *testing.T) {
	t.Parallel()
	w, ctx := newFederatedFixture(t), t.Context()
	w.openalex.Find(codd, federatedfake.Work{ID: "W2", Title: "Another", Text: "Relational too."})
	w.add(t, source.New{Kind: "openalex"})
	cards := w.find(t).Cards
	asked := len(w.openalex.Asked())
	sources, err := w.SourcesOf(ctx, w.ada.UserID, w.agent)
	if err != nil {
		t.Fatal(err)
	}
	found := func() (ids []string) {
		hits, err := w.FindPassages(ctx, sources, "relational model users", 5)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hits {
			ids = append(ids, h.ID)
		}
		return ids
	}
	if got := found(); len(got) != 0 {
		t.Errorf("found %v, which nobody kept", got)
	}
	if err := w.Keep(ctx, w.ada.UserID, w.agent, []string{cards[0].ID}); err != nil {
		t.Fatal(err)
	}
	if got := found(); !slices.Equal(got, []string{cards[0].ID}) {
		t.Errorf("found %v, want the kept document", got)
	}
	if n := len(w.openalex.Asked()); n != asked {
		t.Errorf("the source was asked %d times", n-asked)
	}
	docs, err := w.DocumentsIn(ctx, sources[:1], []string{cards[0].ID})
	if err != nil || len(docs) != 0 && sources[0].ID != cards[0].SourceID {
		t.Errorf("read %v from another source, %v", docs, err)
	}
	if !w.engine.query.Plain {
		t.Errorf("searched for %+v", w.engine.query)
	}
}
