package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/search"
)

func TestCheckCountsWhatASoundIndexHolds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := layered(t, dir)
	r, err := Check(context.Background(), dir)
	if err != nil || len(r.Problems) > 0 {
		t.Fatalf("check: %v, %v", r.Problems, err)
	}
	sources := make(map[string]int)
	for _, v := range w.documents() {
		sources[v.source]++
	}
	if r.Documents != len(w.documents()) || fmt.Sprint(r.Sources) != fmt.Sprint(sources) ||
		fmt.Sprint(r.Covered) != fmt.Sprint([]search.Span{span(0, w.head)}) {
		t.Errorf("report is %+v, want %d documents in %v", r, len(w.documents()), sources)
	}
	deleted := 0
	for _, s := range r.Segments {
		deleted += s.Deleted
		if s.Bytes == 0 || s.Units == 0 || s.Problem != nil {
			t.Errorf("segment is %+v", s)
		}
	}
	if deleted != 2 {
		t.Errorf("%d documents are deleted, want 2", deleted)
	}
}

func TestCheckNamesTheSegmentThatIsDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	layered(t, dir)
	name := glob(t, dir, segmentSuffix)[1]
	spoil(t, name, false, 0.5)
	before, err := os.ReadFile(filepath.Clean(name))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Check(context.Background(), dir)
	if err != nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "segment ") {
		t.Errorf("check: %q, %v", r.Problems, err)
	}
	if after, err := os.ReadFile(filepath.Clean(name)); err != nil || string(after) != string(before) {
		t.Errorf("check changed the index (%v)", err)
	}
}

func TestCheckFindsADocumentThatIsHeldTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newMemoryLog()
	ix := open(t, dir, Options{FS: quick()})
	w.put(note("d1", "A", "w1"))
	catchUp(t, ix, w)
	w.put(note("d1", "A", "w2"))
	w.put(note("d2", "A", "w2"))
	batch := newBatch(span(1, 3), w.read(span(1, 3)))
	f, err := ix.build(context.Background(), batch.puts)
	if err != nil {
		t.Fatal(err)
	}
	defer f.release()
	// A commit that does not delete the older version.
	if err := ix.change(
		func(d *draft) error { d.parts = append(d.parts, newPart(batch.span, f, nil)); return nil },
	); err != nil {
		t.Fatal(err)
	}
	r, err := Check(context.Background(), dir)
	if err != nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "d1") {
		t.Errorf("check: %q, %v", r.Problems, err)
	}
}

func TestCheckOfNothingIsAnEmptyReport(t *testing.T) {
	t.Parallel()
	r, err := Check(context.Background(), filepath.Join(t.TempDir(), "none"))
	if err != nil || len(r.Problems)+len(r.Segments)+len(r.Covered) != 0 {
		t.Errorf("check: %+v, %v", r, err)
	}
}
