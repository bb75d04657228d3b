package search

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// checkStatistics compares the statistics of some sources with a count of the documents.
func checkStatistics(t *testing.T, ix *Index, w *world, sources ...string) {
	t.Helper()
	terms := []string{"w1", "w3", "w5", "none"}
	units, holders, err := ix.Statistics(t.Context(), sources, terms)
	if err != nil {
		t.Fatal(err)
	}
	counted := w.frequencies()
	wantUnits, want := 0, make([]int, len(terms))
	for _, source := range sources {
		wantUnits += counted[[2]string{source, ""}]
		for i, term := range terms {
			want[i] += counted[[2]string{source, term}]
		}
	}
	if units != wantUnits || !slices.Equal(holders, want) {
		t.Errorf("%v: %d units with %v, want %d with %v", sources, units, holders, wantUnits, want)
	}
}

func TestStatisticsAreThoseOfTheDocumentsThatAreLeft(t *testing.T) {
	t.Parallel()
	w := newWorld()
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
	units, holders, err := ix.Statistics(t.Context(), []string{"A", "A"}, nil)
	if once, _, _ := ix.Statistics(t.Context(), []string{"A"}, nil); err != nil || units != once || len(holders) != 0 {
		t.Errorf("a source named twice has %d units and %v, once %d (%v)", units, holders, once, err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ix.Statistics(t.Context(), everywhere, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("of a closed index: %v", err)
	}
}
