package store

import (
	"context"
	"sync"
	"time"
)

const (
	// maxRowsOfBatch limits the writes that share a statement.
	maxRowsOfBatch = 64
	// batchPatience is how long a write waits for the statement of others before it starts one itself. A statement that
	// waits for a lock then delays only the writes it contains.
	batchPatience = 20 * time.Millisecond
)

// batch lets concurrent writes of one kind share a statement on PostgreSQL. A write that finds no other at work starts
// at once; those that arrive meanwhile are written together afterwards. The zero value is ready for use.
type batch[T any] struct {
	mu      sync.Mutex
	waiting []*batchRow[T]
	running int
}

// batchRow is a write of a batch.
type batchRow[T any] struct {
	value T
	err   error
	done  chan struct{}
}

// add writes a value with the function, alone or with others, and returns the value with its result. The function gets
// a context that does not end with those of the callers. If the context ends before the write has started, the value is
// not written.
func (b *batch[T]) add(ctx context.Context, value T, write func(context.Context, []*batchRow[T])) (T, error) {
	row := &batchRow[T]{value: value, done: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, row)
	idle := b.running == 0
	b.mu.Unlock()
	if idle {
		b.writeWaiting(ctx, write)
	}
	patience := time.NewTimer(batchPatience)
	defer patience.Stop()
	for {
		select {
		case <-row.done:
			return row.value, row.err
		case <-patience.C:
			b.writeWaiting(ctx, write)
			patience.Reset(batchPatience)
		case <-ctx.Done():
			if b.remove(row) {
				return row.value, ctx.Err()
			}
			<-row.done
			return row.value, row.err
		}
	}
}

// writeWaiting writes what waits. Rows that arrive during the statement are left to another goroutine, so that the
// caller is not delayed by them.
func (b *batch[T]) writeWaiting(ctx context.Context, write func(context.Context, []*batchRow[T])) {
	b.mu.Lock()
	n := min(len(b.waiting), maxRowsOfBatch)
	rows := b.waiting[:n:n]
	b.waiting = b.waiting[n:]
	if n == 0 {
		b.mu.Unlock()
		return
	}
	b.running++
	b.mu.Unlock()
	defer func() {
		for _, row := range rows {
			close(row.done)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.running--
		if b.running == 0 && len(b.waiting) > 0 {
			go b.writeWaiting(ctx, write)
		}
	}()
	write(context.WithoutCancel(ctx), rows)
}

// remove removes a row that has not been written yet, and reports whether it did.
func (b *batch[T]) remove(row *batchRow[T]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, r := range b.waiting {
		if r == row {
			b.waiting = append(b.waiting[:i:i], b.waiting[i+1:]...)
			return true
		}
	}
	return false
}
