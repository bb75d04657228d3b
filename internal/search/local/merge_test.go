package local

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"carrel/internal/search"
	"carrel/internal/search/local/segment"
)

func TestATrickleOfSingleDocumentsMakesFewSegments(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	ix := open(t, t.TempDir(), Options{FS: quick()})
	most := 0
	for i := range 300 {
		w.put(note(fmt.Sprint("d", i), "A", "w1", fmt.Sprint("w", i%50)))
		catchUp(t, ix, w)
		if _, err := ix.mergeSmall(context.Background()); err != nil {
			t.Fatal(err)
		}
		most = max(most, ix.Status().Segments)
	}
	if most > ix.policy.factor {
		t.Errorf("there were %d segments at a time, want at most %d", most, ix.policy.factor)
	}
	checkComplete(t, ix, w)
}

func TestOneDocumentChangedOverAndOverLeavesOneSegment(t *testing.T) {
	t.Parallel()
	w, dir := newMemoryLog(), t.TempDir()
	ix := open(t, dir, Options{FS: quick()})
	for range 20 {
		w.put(note("d", "A", "w1"))
		catchUp(t, ix, w)
	}
	if got := glob(t, dir, segmentSuffix); len(got) != 1 {
		t.Errorf("folder holds %v, want one segment", got)
	}
}

func TestSegmentWithManyDeletedDocumentsIsRewritten(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	ix := open(t, t.TempDir(), Options{FS: quick()})
	for i := range 20 {
		w.put(note(fmt.Sprint("d", i), "A", "w1"))
	}
	catchUp(t, ix, w)
	for i := range 5 {
		w.delete(fmt.Sprint("d", i))
		catchUp(t, ix, w)
		merged, err := ix.Merge(context.Background())
		if want := i == 4; err != nil || merged != want {
			t.Fatalf("after %d deletions of 20 it was merged: %v (%v), want %v", i+1, merged, err, want)
		}
	}
	if got := ix.Status(); got.Deleted != 0 || got.Documents != 15 {
		t.Errorf("stats are %+v", got)
	}
	checkComplete(t, ix, w)
}

func TestMergingNeverJoinsPartsAcrossAGap(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	ix := open(t, t.TempDir(), Options{FS: quick()})
	for i := range 9 {
		w.put(note(fmt.Sprint("d", i), "A", "w1"))
	}
	for _, s := range []search.Span{span(0, 1), span(1, 2), span(3, 4), span(4, 5), span(5, 6), span(8, 9)} {
		fill(t, ix, w, s)
	}
	if err := ix.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(ix.Status().Covered); got != "[{0 2} {3 6} {8 9}]" {
		t.Errorf("covered are %s", got)
	}
	if n := ix.Status().Segments; n != 3 {
		t.Errorf("there are %d segments, want 3", n)
	}
	checkHeld(t, ix, w)
	catchUp(t, ix, w)
	checkComplete(t, ix, w)
}

func TestMergedSegmentsStayWithinTheirBounds(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	ix := open(t, t.TempDir(), Options{FS: quick()})
	ix.policy = policy{factor: 4, floor: 1 << 10, maxBytes: 1 << 30, maxUnits: 25, maxDeleted: 0.2}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		for j := range 1 + random.IntN(4) {
			w.put(note(fmt.Sprint("d", i, ".", j), "A", "w1", strings.Repeat("w2 ", random.IntN(9))))
		}
		catchUp(t, ix, w)
		for merged := true; merged; {
			var err error
			if merged, err = ix.Merge(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range ix.current.files() {
			if p.file.Units() > 25 {
				t.Fatalf("a segment has %d units", p.file.Units())
			}
		}
	}
	// The number of full segments stays; segments that are not full must be merged.
	if got, bound := ix.Status().Segments, 2*w.head/25+8; uint64(got) > bound {
		t.Errorf("there are %d segments for %d documents, want at most %d", got, w.head, bound)
	}
	checkComplete(t, ix, w)
}

func TestMergesClaimTheirParts(t *testing.T) {
	t.Parallel()
	w := newMemoryLog()
	hook := &hookFS{FS: quick()}
	ix := open(t, t.TempDir(), Options{FS: hook})
	for i := range 8 {
		w.put(note(fmt.Sprint("d", i), "A", "w1"))
		catchUp(t, ix, w)
	}
	within := true
	hook.created = func(string) {
		hook.created = nil
		var err error
		if within, err = ix.Merge(context.Background()); err != nil {
			t.Error(err)
		}
	}
	merged, err := ix.Merge(context.Background())
	if err != nil || !merged || within {
		t.Errorf("merged %v (%v), and at the same time again: %v", merged, err, within)
	}
	if n := ix.Status().Segments; n != 1 {
		t.Errorf("there are %d segments", n)
	}
	if len(ix.merging) != 0 {
		t.Errorf("claims are left: %v", ix.merging)
	}
}

func TestAMergeThatIsCancelledChangesNothing(t *testing.T) {
	t.Parallel()
	w, dir := newMemoryLog(), t.TempDir()
	ix := open(t, dir, Options{FS: quick()})
	for i := range 8 {
		w.put(note(fmt.Sprint("d", i), "A", "w1"))
		catchUp(t, ix, w)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if merged, err := ix.Merge(ctx); err == nil || merged {
		t.Fatalf("merged %v, %v", merged, err)
	}
	if got := glob(t, dir, segmentSuffix); len(got) != 8 {
		t.Errorf("folder holds %v", got)
	}
	checkComplete(t, ix, w)
}

// wordsOnDisk returns the terms of all segments in a folder.
func wordsOnDisk(t *testing.T, dir string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, path := range glob(t, dir, segmentSuffix) {
		s, err := segment.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for ord := range uint32(s.Terms()) {
			term, _, err := s.Term(ord)
			if err != nil {
				t.Fatal(err)
			}
			out[term] = true
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestTheWordsOfADeletedSourceLeaveTheDisk(t *testing.T) {
	t.Parallel()
	for name, purge := range map[string]func(t *testing.T, dir string, ix *Index, w *memoryLog){
		"by the next merge": func(t *testing.T, _ string, ix *Index, _ *memoryLog) {
			for merged := true; merged; {
				var err error
				if merged, err = ix.Merge(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
		},
		"after a restart": func(t *testing.T, dir string, ix *Index, _ *memoryLog) {
			if err := ix.Close(); err != nil {
				t.Fatal(err)
			}
			if err := open(t, dir, Options{FS: quick()}).Purge(context.Background()); err != nil {
				t.Fatal(err)
			}
		},
		"at the end of the process": func(t *testing.T, _ string, ix *Index, w *memoryLog) {
			if err := NewFollower(ix, w, FollowerOptions{Log: quiet}).Finish(context.Background()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dir := newMemoryLog(), t.TempDir()
			ix := open(t, dir, Options{FS: quick()})
			// Far less than a fifth is deleted, so the segment would not be rewritten for its size.
			for i := range 100 {
				w.put(note(fmt.Sprint("d", i), "A", "w1", "staying"))
			}
			w.put(note("e", "B", "w1", "leaving"))
			catchUp(t, ix, w)
			w.drop("B")
			if name != "at the end of the process" {
				catchUp(t, ix, w)
			}
			if !wordsOnDisk(t, dir)["leav"] {
				t.Fatal("the word is not there to begin with")
			}
			purge(t, dir, ix, w)
			if got := wordsOnDisk(t, dir); got["leav"] || !got["stay"] {
				t.Errorf("on the disk are %v", got)
			}
		})
	}
}

// TestASourceThatIsDeletedDuringAMergeLeavesTheDisk deletes the source between the beginning of a merge and its end.
func TestASourceThatIsDeletedDuringAMergeLeavesTheDisk(t *testing.T) {
	t.Parallel()
	w, dir := newMemoryLog(), t.TempDir()
	ix := open(t, dir, Options{FS: quick()})
	for i := range 100 {
		w.put(note(fmt.Sprint("d", i), "A", "w1", "staying"))
	}
	w.put(note("e", "B", "w1", "leaving"))
	catchUp(t, ix, w)
	w.put(note("f", "A", "w1", "staying"))
	catchUp(t, ix, w)
	s, parts, err := ix.claim(ix.policy.compact)
	if err != nil || len(parts) != 2 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	w.drop("B")
	catchUp(t, ix, w)
	if err := ix.mergeParts(context.Background(), parts); err != nil {
		t.Fatal(err)
	}
	ix.unclaim(parts)
	s.release()
	if err := ix.Purge(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := wordsOnDisk(t, dir); got["leav"] || !got["stay"] {
		t.Errorf("on the disk are %v", got)
	}
	checkComplete(t, ix, w)
}
