package local

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"carrel/internal/search"
	"carrel/internal/search/disk"
)

// TestIndexSurvivesAPowerCutAtEveryStep cuts the process at each single step that changes the disk, and has the disk
// forget what was not synced. What Fill had acknowledged must be there; the rest must be missing and can be filled in.
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
		for _, gap := range ix.gaps(h.world.head) {
			if gap.Overlaps(span) {
				t.Fatalf("cut at %d: %v was acknowledged, and %v is missing", cut, span, gap)
			}
		}
	}
	checkHeld(t, ix, h.world)
	catchUp(t, ix, h.world)
	checkComplete(t, ix, h.world)
}

// history is a life of an index in which everything happens that changes the disk.
type history struct {
	world        *world
	acknowledged []search.Span
}

func (h *history) run(fs *cutFS) error {
	h.world = newWorld()
	ix, err := Open(fs.dir, Options{FS: fs, Log: quiet})
	if err != nil {
		return err
	}
	defer func() { _ = ix.Close() }()
	ix.policy.factor = 3
	ctx := context.Background()
	fill := func(s search.Span) error {
		err := ix.Apply(ctx, s, h.world.read(s))
		if err == nil {
			h.acknowledged = append(h.acknowledged, s)
		}
		return err
	}
	news := func() error { return fill(span(lastOf(ix), h.world.head)) }
	merge := func() error { _, err := ix.Merge(ctx); return err }
	steps := []func() error{
		func() error { h.puts("a", "A", 4); return news() },
		func() error { h.puts("b", "B", 3); return news() },
		func() error { h.world.delete("a1"); return news() },
		func() error { h.puts("a", "A", 2); h.world.delete("b0"); return news() },
		merge,
		func() error { // a gap, filled in after a later deletion
			h.puts("c", "C", 2)
			gap := span(lastOf(ix), h.world.head)
			stale := h.world.read(gap)
			h.world.delete("c0")
			h.world.drop("B")
			if err := fill(span(gap.Through, h.world.head)); err != nil {
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
		func() error { h.world.delete("d1"); return news() },
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
		h.world.put(note(fmt.Sprint(prefix, i), source, "title", "some", fmt.Sprint("word", h.world.head)))
	}
}

// lastOf is the highest number that the index knows of.
func lastOf(ix *Index) uint64 {
	_, last := ix.coveredThrough()
	return last
}
