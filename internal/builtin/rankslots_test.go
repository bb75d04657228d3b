package builtin

import (
	"context"
	"errors"
	"testing"

	"carrel/internal/processor"
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

// TestRankingWaitsForAProcessor takes all slots, as other questions would. It is not parallel, because the slots are
// those of all tests.
func TestRankingWaitsForAProcessor(t *testing.T) {
	for range processor.Slots() {
		if err := processor.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Rank(cancelledOnWait{ctx, cancel}, "Who?", []Sentence{{Text: "Ada did."}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("without a free processor: %v", err)
	}
	for range processor.Slots() {
		processor.Release()
	}
	if _, err := Rank(t.Context(), "Who?", []Sentence{{Text: "Ada did."}}); err != nil {
		t.Error(err)
	}
}
