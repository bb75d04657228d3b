package store

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A revoked credential must fail in every request that arrives after the revocation, so a reader must not get the
// result of a query that had started before it.
func TestReaderNeverSharesAQueryThatHasStarted(t *testing.T) {
	t.Parallel()
	db := &DB{}
	started, permit := make(chan int), make(chan struct{})
	calls := make(chan int, 100)
	for n := range 100 {
		calls <- n
	}
	read := func(ctx context.Context) (int, error) {
		return share(ctx, db, "row", func(context.Context) (int, error) {
			n := <-calls
			started <- n
			<-permit
			return n, nil
		})
	}
	results := make(chan int, 100)
	arrive := func() {
		go func() {
			n, err := read(t.Context())
			if err != nil {
				t.Error(err)
			}
			results <- n
		}()
	}
	for range maxReadsOfRow {
		arrive()
		<-started
	}
	const waiting = 20
	for range waiting {
		arrive()
	}
	select {
	case n := <-started:
		t.Fatalf("query %d started although others are running", n)
	case n := <-results:
		t.Fatalf("a reader got the result of query %d, which is running", n)
	case <-time.After(50 * time.Millisecond): // the readers above had time to arrive; fewer would still be correct
	}
	permit <- struct{}{}
	if n := <-results; n >= maxReadsOfRow {
		t.Errorf("the first result is that of query %d", n)
	}
	seen := map[int]int{}
	for len(results) > 0 || seen[-1] < waiting+maxReadsOfRow-1 {
		select {
		case <-started:
		case permit <- struct{}{}:
		case n := <-results:
			seen[n]++
			seen[-1]++
		case <-time.After(time.Minute):
			t.Fatalf("results %v", seen)
		}
	}
	if seen[0]+seen[1] != maxReadsOfRow-1 {
		t.Errorf("results by query: %v", seen)
	}
	db.shared.mu.Lock()
	defer db.shared.mu.Unlock()
	if len(db.shared.rows) != 0 {
		t.Errorf("%d rows are still being read", len(db.shared.rows))
	}
}

func TestWaitingReaderEndsWithItsContext(t *testing.T) {
	t.Parallel()
	db := &DB{}
	db.shared.rows = map[any]*rowReads{"row": {running: maxReadsOfRow}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := share(ctx, db, "row", func(context.Context) (int, error) { return 1, nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
