package store

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// heldBatch is a batch whose statements wait for a permission each.
type heldBatch struct {
	batch   batch[int]
	started chan []int
	permit  chan error
}

func newHeldBatch() *heldBatch {
	return &heldBatch{started: make(chan []int), permit: make(chan error)}
}

func (h *heldBatch) write(_ context.Context, rows []*batchRow[int]) {
	h.started <- columnOf(rows, func(r *batchRow[int]) int { return r.value })
	err := <-h.permit
	for _, r := range rows {
		r.value, r.err = -r.value, err
	}
}

func TestWritesThatArriveDuringAStatementShareTheNext(t *testing.T) {
	t.Parallel()
	h := newHeldBatch()
	results := make(chan int, 10)
	add := func(n int) {
		got, err := h.batch.add(t.Context(), n, h.write)
		if err != nil {
			t.Error(err)
		}
		results <- got
	}
	go add(1)
	if first := <-h.started; !slices.Equal(first, []int{1}) {
		t.Fatalf("the first statement has %v", first)
	}
	// A write that has waited long enough starts a statement itself, with all that wait.
	for n := 2; n <= 4; n++ {
		go add(n)
	}
	var written []int
	for range 3 {
		select {
		case rows := <-h.started:
			written = append(written, rows...)
			go func() { h.permit <- nil }()
		case <-time.After(time.Minute):
			t.Fatal("a statement that stands still holds up others")
		}
		if len(written) == 3 {
			break
		}
	}
	h.permit <- nil
	got := []int{<-results, <-results, <-results, <-results}
	slices.Sort(got)
	if !slices.Equal(got, []int{-4, -3, -2, -1}) {
		t.Errorf("results %v", got)
	}
}

func TestErrorOfAStatementReachesItsWrites(t *testing.T) {
	t.Parallel()
	h := newHeldBatch()
	broken := errors.New("broken")
	go func() {
		<-h.started
		h.permit <- broken
	}()
	if _, err := h.batch.add(t.Context(), 1, h.write); !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
}

func TestCancelledWriteIsNotStarted(t *testing.T) {
	t.Parallel()
	h := newHeldBatch()
	var lost batch[int] // whose statement never returns a row to its writer
	lost.running = 1
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lost.add(ctx, 1, h.write); !errors.Is(err, context.Canceled) || len(lost.waiting) != 0 {
		t.Errorf("%v, %d writes wait", err, len(lost.waiting))
	}
}

func TestWriteThatHasStartedIsNotCancelled(t *testing.T) {
	t.Parallel()
	h := newHeldBatch()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		got, err := h.batch.add(ctx, 1, h.write)
		if got != -1 {
			t.Errorf("the result is %d", got)
		}
		result <- err
	}()
	<-h.started
	cancel()
	h.permit <- nil
	if err := <-result; err != nil {
		t.Error(err)
	}
}

func TestRowsThatViolateAConstraintAreLeftOut(t *testing.T) {
	t.Parallel()
	var calls [][]int
	rows := []*batchRow[int]{{value: 1}, {value: 2}, {value: 3}}
	writeRows(rows, func(rows []*batchRow[int]) error {
		values := columnOf(rows, func(r *batchRow[int]) int { return r.value })
		calls = append(calls, values)
		if slices.Contains(values, 2) {
			return &pgconn.PgError{Code: "23505"}
		}
		for _, r := range rows {
			r.value = -r.value
		}
		return nil
	})
	got := columnOf(rows, func(r *batchRow[int]) int { return r.value })
	if !slices.Equal(got, []int{-1, 2, -3}) || len(calls) != 4 || rows[1].err != nil {
		t.Errorf("%v after %v", got, calls)
	}
}
