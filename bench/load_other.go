//go:build !linux

package main

import (
	"context"
	"sync"
	"time"
)

// drive runs each exchange in a goroutine of its own. The first error ends all of them.
func drive(ctx context.Context, exchanges []*exchange, deadline time.Time) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, x := range exchanges {
		c := newKeepAlive(x.conn)
		// The deadline wakes a goroutine that waits for a reply that never arrives.
		_ = c.SetDeadline(deadline)
		stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
		defer stop()
		wg.Go(func() {
			now := time.Now()
			for ctx.Err() == nil && x.next(now) {
				status, body, err := c.do(x.raw)
				now = time.Now()
				if err := x.finish(now, status, body, err); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
