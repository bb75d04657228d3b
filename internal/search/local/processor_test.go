package local

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"carrel/internal/processor"
	"carrel/internal/search"
)

// cancelledOnWait is a context that is cancelled when a function waits for it, and not before.
type cancelledOnWait struct {
	context.Context
	cancel context.CancelFunc
}

func (c cancelledOnWait) Done() <-chan struct{} {
	c.cancel()
	return c.Context.Done()
}

// TestIndexingAndMergingWaitForAProcessor takes all slots, as questions would. It is not parallel, because the slots
// are those of all tests.
func TestIndexingAndMergingWaitForAProcessor(t *testing.T) {
	w := newMemoryLog()
	ix := open(t, t.TempDir(), Options{FS: quick()})
	for i := range ix.policy.factor {
		w.put(note(fmt.Sprint("d", i), "A", "w1"))
		catchUp(t, ix, w)
	}
	for range processor.Slots() {
		if err := processor.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	waiting := func() context.Context {
		ctx, cancel := context.WithCancel(t.Context())
		return cancelledOnWait{ctx, cancel}
	}
	head, err := w.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	change := search.Change{Seq: head + 1, Op: search.Put, Document: note("new", "A", "w1")}
	err = ix.Apply(waiting(), search.Span{After: head, Through: head + 1}, []search.Change{change})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Apply without a free processor: %v", err)
	}
	if _, err := ix.Merge(waiting()); !errors.Is(err, context.Canceled) {
		t.Errorf("Merge without a free processor: %v", err)
	}
	for range processor.Slots() {
		processor.Release()
	}
	if merged, err := ix.Merge(t.Context()); err != nil || !merged {
		t.Errorf("Merge with a free processor: %v %v", merged, err)
	}
	checkComplete(t, ix, w)
}
