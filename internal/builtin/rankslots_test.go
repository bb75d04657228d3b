package builtin

import (
	"context"
	"errors"
	"testing"
)

// TestRankingWaitsForAProcessor takes all slots, as other questions would. It is not parallel, because the slots are
// those of all tests.
func TestRankingWaitsForAProcessor(t *testing.T) {
	for range cap(rankSlots) {
		rankSlots <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Rank(ctx, "Who?", []Sentence{{Text: "Ada did."}})
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("without a free processor: %v", err)
	}
	for range cap(rankSlots) {
		<-rankSlots
	}
	if _, err := Rank(t.Context(), "Who?", []Sentence{{Text: "Ada did."}}); err != nil {
		t.Error(err)
	}
}
