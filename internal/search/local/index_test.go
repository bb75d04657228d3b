package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/search"
	"carrel/internal/search/local/disk"
)

var everywhere = []string{"A", "B", "C"}

// found returns the ids of the hits, best first.
func found(t testing.TB, ix *Index, text string) []string {
	t.Helper()
	r, err := ix.Search(context.Background(), search.Query{Text: text, Sources: everywhere, Limit: 100, Facets: true})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, h := range r.Hits {
		ids = append(ids, h.ID)
	}
	return ids
}

// quick is a disk that does not sync.
func quick() disk.FS { return &hookFS{FS: disk.OS} }

func TestSearchFindsWhatWasFilledInAndNothingDeleted(t *testing.T) {
	t.Parallel()
	w, dir := newMemoryLog(), t.TempDir()
	ix := open(t, dir, Options{FS: quick()})
	for i, id := range []string{"d1", "d2", "d3", "d4"} {
		w.put(note(id, everywhere[i%2], "Owls", "fly", "by", "night", strings.Repeat("and night ", i)))
	}
	catchUp(t, ix, w)
	if got := found(t, ix, "night owls"); len(got) != 4 {
		t.Fatalf("found %v, want all four", got)
	}
	w.delete("d2")
	w.put(note("d3", "A", "Bats", "fly", "too"))
	catchUp(t, ix, w)
	got := found(t, ix, "owls")
	slices.Sort(got)
	if !slices.Equal(got, []string{"d1", "d4"}) {
		t.Errorf("found %v, want d1 and d4", got)
	}
	hit, err := ix.Search(context.Background(), search.Query{Text: "bats", Sources: []string{"A"}, Limit: 5})
	if err != nil || len(hit.Hits) != 1 || hit.Hits[0].ID != "d3" || hit.Hits[0].SourceID != "A" {
		t.Errorf("found %+v (%v), want d3 of A", hit, err)
	}
}

// Deletions are subtracted from the statistics incrementally; each search must see the statistics of the remaining
// documents.
func TestScoresIgnoreDeletedDocuments(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	ix := open(t, t.TempDir(), Options{FS: quick()})
	for i := range 40 {
		id := "d" + string(rune('A'+i))
		w.put(note(id, everywhere[i%3], "w1", "w2", strings.Repeat("w3 ", i%5), strings.Repeat("w4 w5 ", i%7)))
	}
	catchUp(t, ix, w)
	for i := range 20 {
		w.delete("d" + string(rune('A'+2*i)))
		catchUp(t, ix, w)
		checkSearch(t, ix, w, t.TempDir())
	}
}

func TestPassagesOfALongTextAreUnits(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	ix := open(t, t.TempDir(), Options{FS: quick()})
	long := note("long", "A", "w1", strings.Repeat("Mäuse jagen. ", 4000), "needle", strings.Repeat(" 猫が好き。", 1000))
	w.put(long)
	w.put(note("short", "A", "w1", "w2"))
	catchUp(t, ix, w)
	checkComplete(t, ix, w)
}

func TestAPhraseDoesNotGoFromOneAuthorIntoTheNext(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	ix := open(t, t.TempDir(), Options{FS: quick()})
	w.put(
		search.Document{
			ID: "d1", SourceID: "A", Title: "The Who", Text: "Engines", Authors: []string{"Ada Byron", "Charles Babbage"},
		},
	)
	catchUp(t, ix, w)
	for text, want := range map[string]int{
		`author:"ada byron"`: 1, `author:"byron charles"`: 0, "the who": 1, "who": 1, "engine": 1,
	} {
		if got := found(t, ix, text); len(got) != want {
			t.Errorf("%s finds %v, want %d", text, got, want)
		}
	}
}

func TestVectorsOfOtherModelsThanTheLatestAreLeftOut(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	ix := open(t, t.TempDir(), Options{FS: quick()})
	vectors := func(model string, values ...float32) *search.Vectors {
		return &search.Vectors{Model: model, Dims: 2, Passages: [][]float32{values}}
	}
	w.put(search.Document{ID: "d1", SourceID: "A", Title: "w1", Vectors: vectors("old", 1, 0)})
	w.put(search.Document{ID: "d2", SourceID: "A", Title: "w1", Vectors: vectors("new", 1, 0)})
	// not of its own dimensions
	w.put(search.Document{ID: "d3", SourceID: "A", Title: "w1", Vectors: vectors("new", 1, 0, 0)})
	w.put(search.Document{ID: "d4", SourceID: "A", Title: "w1"})
	catchUp(t, ix, w)
	f := ix.current.files()[0].file
	if model, dims := f.Model(); model != "new" || dims != 2 {
		t.Errorf("vectors are of %s with %d values", model, dims)
	}
	v, err := f.Vectors()
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Scales; len(got) != 4 || got[0] != 0 || got[1] == 0 || got[2] != 0 || got[3] != 0 {
		t.Errorf("scales are %v, want that of the second document alone", got)
	}
}

func TestApplyingStaleDocumentsLeavesNoFile(t *testing.T) {
	t.Parallel()
	w, dir := newMemoryLog(), t.TempDir()
	ix := open(t, dir, Options{FS: quick()})
	w.put(note("d1", "A", "w1"))
	stale := w.read(span(0, 1))
	w.delete("d1")
	fill(t, ix, w, span(1, 2))
	if err := ix.Apply(context.Background(), span(0, 1), stale); err != nil {
		t.Fatal(err)
	}
	if names := append(glob(t, dir, segmentSuffix), glob(t, dir, tombstoneSuffix)...); len(names) != 0 {
		t.Errorf("folder holds %v", names)
	}
	checkComplete(t, ix, w)
}

func TestApplyRefusesCoveredSpansAndForeignChanges(t *testing.T) {
	t.Parallel()
	w, dir := newMemoryLog(), t.TempDir()
	ix := open(t, dir, Options{FS: quick()})
	for range 4 {
		w.put(note("d1", "A", "w1"))
	}
	w.put(note("d2", "A", "w1"))
	fill(t, ix, w, span(2, 5))
	for _, s := range []search.Span{span(2, 5), span(0, 3), span(4, 9), span(3, 4)} {
		if err := ix.Apply(context.Background(), s, nil); !errors.Is(err, search.ErrCovered) {
			t.Errorf("fill %v: %v, want ErrCovered", s, err)
		}
	}
	if err := ix.Apply(context.Background(), span(0, 2), w.read(span(0, 5))); err == nil {
		t.Error("changes of another span were taken in")
	}
	if err := ix.Apply(context.Background(), span(2, 2), nil); err == nil {
		t.Error("an empty span was taken in")
	}
	if s, missing := ix.Missing(9); !missing || s != span(0, 2) {
		t.Errorf("missing is %v, want (0, 2]", s)
	}
}

func TestDeletionsAloneMakeNoSegments(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	ix := open(t, t.TempDir(), Options{FS: quick()})
	for i := range 30 {
		w.put(note("d"+string(rune('A'+i)), "A", "w1"))
	}
	catchUp(t, ix, w)
	for i := range 29 {
		w.delete("d" + string(rune('A'+i)))
		catchUp(t, ix, w)
	}
	if got := ix.Status(); got.Segments != 1 || got.Deleted != 29 || len(ix.current.parts) != 1 {
		t.Errorf("stats are %+v", got)
	}
	w.drop("A")
	catchUp(t, ix, w)
	if got := ix.Status(); got.Segments != 0 || got.Documents != 0 || got.Bytes != 0 {
		t.Errorf("stats of an empty index are %+v", got)
	}
	checkComplete(t, ix, w)
}

func TestReadersKeepTheirSnapshot(t *testing.T) {
	t.Parallel()
	w, dir := newMemoryLog(), t.TempDir()
	ix := open(t, dir, Options{FS: quick()})
	for i := range 3 {
		w.put(note("d"+string(rune('A'+i)), "A", "w1"))
		catchUp(t, ix, w)
	}
	reader, err := ix.acquire()
	if err != nil {
		t.Fatal(err)
	}
	if err := ix.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	if segments := glob(t, dir, segmentSuffix); len(segments) != 4 {
		t.Errorf("folder holds %v while a reader has three segments and the index one", segments)
	}
	if got, err := reader.held(t); err != nil || len(got) != 3 {
		t.Errorf("reader sees %v (%v), want three documents", got, err)
	}
	reader.release()
	if segments := glob(t, dir, segmentSuffix); len(segments) != 1 {
		t.Errorf("folder holds %v, want the merged segment alone", segments)
	}
	if _, err := ix.Search(context.Background(), search.Query{}); !errors.Is(err, search.ErrClosed) {
		t.Errorf("search after close: %v, want ErrClosed", err)
	}
	if err := ix.Apply(context.Background(), span(3, 4), nil); !errors.Is(err, search.ErrClosed) {
		t.Errorf("fill after close: %v, want ErrClosed", err)
	}
}

func TestFailedApplyLeavesNoFile(t *testing.T) {
	t.Parallel()
	for _, name := range []string{segmentSuffix, tombstoneSuffix, manifestDraft} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dir := newMemoryLog(), t.TempDir()
			full := &fullFS{FS: quick()}
			ix := open(t, dir, Options{FS: full})
			w.put(note("d1", "A", "w1"))
			w.put(note("d2", "A", "w1"))
			catchUp(t, ix, w)
			before, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			w.put(note("d1", "A", "w2"))
			full.suffix = name
			if err := ix.Apply(context.Background(), span(2, 3), w.read(span(2, 3))); !errors.Is(err, errFull) {
				t.Fatalf("fill: %v, want that the disk is full", err)
			}
			after, _ := os.ReadDir(dir)
			after = slices.DeleteFunc(after, func(e os.DirEntry) bool { return e.Name() == manifestDraft })
			if len(after) != len(before) {
				t.Errorf("folder holds %v, before %v", after, before)
			}
			if got := found(t, ix, "w1"); len(got) != 2 {
				t.Errorf("found %v, want both documents as they were", got)
			}
			full.suffix = ""
			catchUp(t, ix, w)
			checkComplete(t, ix, w)
		})
	}
}

var errFull = errors.New("disk is full")

// fullFS has no space for some kinds of files.
type fullFS struct {
	disk.FS
	suffix string
}

func (f *fullFS) Create(path string) (disk.File, error) {
	if f.suffix != "" && strings.HasSuffix(path, f.suffix) {
		return nil, errFull
	}
	return f.FS.Create(path)
}

// glob returns the names of an index's files of one kind.
func glob(t testing.TB, dir, suffix string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil {
		t.Fatal(err)
	}
	return names
}
