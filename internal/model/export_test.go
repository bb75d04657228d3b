package model

import (
	"context"
	"time"
)

// Pauses lets the client note how long it would wait, in place of waiting.
func (c *EmbeddingClient) Pauses(note func(time.Duration)) {
	c.pause = func(ctx context.Context, d time.Duration) error {
		note(d)
		return ctx.Err()
	}
}
