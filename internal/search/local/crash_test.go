package local

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"carrel/internal/search"
	"carrel/internal/search/local/disk"
)

// TestIndexSurvivesAPowerCutAtEveryStep stops the process at each step that writes to the disk, and loses what was not
// synced. Changes that Apply acknowledged must survive; the others must be missing and applicable.
func TestIndexSurvivesAPowerCutAtEveryStep(t *testing.T) {
	t.Parallel()
	total := newCutFS(t.TempDir(), 1<<30)
	if err := new(history).run(total); err != nil {
		t.Fatal(err)
	}
	if total.taken < 200 {
		t.Fatalf("only %d steps were taken: is the disk used otherwise?", total.taken)
	}
	for _, how := range []loss{keepsAll, losesAll, zeroes, truncates, mixes} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			for cut := 1; cut <= total.taken; cut++ {
				cutAt(t, cut, how)
			}
		})
	}
}

func cutAt(t *testing.T, cut int, how loss) {
	t.Helper()
	before := newCutFS(t.TempDir(), cut)
	var h history
	if err := h.run(before); err != nil && !errors.Is(err, errCut) {
		t.Fatalf("cut at %d: %v", cut, err)
	}
	dir := t.TempDir()
	before.restart(t, dir, how, rand.New(rand.NewPCG(uint64(cut), 1)))
	ix, err := Open(dir, Options{FS: &hookFS{FS: disk.OS}, Log: quiet})
	if err != nil {
		t.Fatalf("cut at %d: %v", cut, err)
	}
	defer func() { _ = ix.Close() }()
	for _, span := range h.acknowledged {
		for _, gap := range ix.gaps(h.memoryLog.head) {
			if gap.Overlaps(span) {
				t.Fatalf("cut at %d: %v was acknowledged, and %v is missing", cut, span, gap)
			}
		}
	}
	checkHeld(t, ix, h.memoryLog)
	catchUp(t, ix, h.memoryLog)
	checkComplete(t, ix, h.memoryLog)
}

// history runs all operations of an index that write to the disk.
type history struct {
	memoryLog    *memoryLog
	acknowledged []search.Span
}

func (h *history) run(fs *cutFS) error {
	h.memoryLog = newMemoryLog()
	ix, err := Open(fs.dir, Options{FS: fs, Log: quiet})
	if err != nil {
		return err
	}
	defer func() { _ = ix.Close() }()
	ix.policy.factor = 3
	ctx := context.Background()
	fill := func(s search.Span) error {
		err := ix.Apply(ctx, s, h.memoryLog.read(s))
		if err == nil {
			h.acknowledged = append(h.acknowledged, s)
		}
		return err
	}
	news := func() error { return fill(span(lastOf(ix), h.memoryLog.head)) }
	merge := func() error { _, err := ix.Merge(ctx); return err }
	steps := []func() error{
		func() error { h.puts("a", "A", 4); return news() },
		func() error { h.puts("b", "B", 3); return news() },
		func() error { h.memoryLog.delete("a1"); return news() },
		func() error { h.puts("a", "A", 2); h.memoryLog.delete("b0"); return news() },
		merge,
		func() error { // a gap, applied after a later deletion
			h.puts("c", "C", 2)
			gap := span(lastOf(ix), h.memoryLog.head)
			stale := h.memoryLog.read(gap)
			h.memoryLog.delete("c0")
			h.memoryLog.drop("B")
			if err := fill(span(gap.Through, h.memoryLog.head)); err != nil {
				return err
			}
			if err := ix.Apply(ctx, gap, stale); err != nil {
				return err
			}
			h.acknowledged = append(h.acknowledged, gap)
			return nil
		},
		func() error { h.puts("d", "A", 3); return news() },
		merge,
		func() error { return ix.Compact(ctx) },
		func() error { h.memoryLog.delete("d1"); return news() },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (h *history) puts(prefix, source string, n int) {
	for i := range n {
		h.memoryLog.put(note(fmt.Sprint(prefix, i), source, "title", "some", fmt.Sprint("word", h.memoryLog.head)))
	}
}

// lastOf returns the highest number that the index holds.
func lastOf(ix *Index) uint64 {
	_, last := ix.coveredThrough()
	return last
}
