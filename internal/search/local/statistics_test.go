package local

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"carrel/internal/search"
)

// checkStatistics compares the statistics of some sources with a count of the documents.
func checkStatistics(t *testing.T, ix *Index, w *memoryLog, sources ...string) {
	t.Helper()
	terms := []string{"w1", "w3", "w5", "none"}
	got, err := ix.Statistics(t.Context(), sources, terms)
	if err != nil {
		t.Fatal(err)
	}
	counted := w.frequencies()
	want := search.Statistics{Holders: make(map[string]int)}
	for _, source := range sources {
		want.Passages += counted[[2]string{source, ""}]
	}
	for _, term := range terms {
		want.Holders[term] = 0
		for _, source := range sources {
			want.Holders[term] += counted[[2]string{source, term}]
		}
	}
	if got.Passages != want.Passages || !maps.Equal(got.Holders, want.Holders) {
		t.Errorf("%v: %v, want %v", sources, got, want)
	}
}

func TestStatisticsIgnoreDeletedDocuments(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	ix := open(t, t.TempDir(), Options{FS: quick()})
	checkStatistics(t, ix, w, everywhere...)
	for i := range 30 {
		id := "d" + string(rune('A'+i))
		w.put(note(id, everywhere[i%3], "w1", "w2", strings.Repeat("w3 ", i%5), strings.Repeat("w4 w5 ", i%7)))
		if i%10 == 9 {
			catchUp(t, ix, w)
		}
	}
	for _, id := range []string{"dA", "dF", "dQ"} {
		w.delete(id)
	}
	w.put(note("dB", "C", "w3"))
	catchUp(t, ix, w)
	for _, sources := range [][]string{everywhere, {"A"}, {"C", "B"}, {"none"}, {}} {
		checkStatistics(t, ix, w, sources...)
	}
	w.drop("B")
	catchUp(t, ix, w)
	checkStatistics(t, ix, w, everywhere...)
	twice, err := ix.Statistics(t.Context(), []string{"A", "A"}, nil)
	if once, _ := ix.Statistics(t.Context(), []string{"A"}, nil); err != nil || twice.Passages != once.Passages ||
		len(twice.Holders) != 0 {
		t.Errorf("a source named twice has %v, once %v (%v)", twice, once, err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ix.Statistics(t.Context(), everywhere, nil); !errors.Is(err, search.ErrClosed) {
		t.Errorf("a closed index returned %v", err)
	}
}
