package core

import "context"

// IdempotencyRecord is what is kept of a request that came with an Idempotency-Key.
type IdempotencyRecord struct {
	// Hash binds the key to one method, path and body.
	Hash []byte
	// Seed is the body of the id of whatever the request creates. It is drawn before the work starts, so that a
	// request cut off by a crash and sent again makes the very same thing, not a second one.
	Seed string
	// Status is 0 while the first request is still being answered.
	Status int
	Body   []byte
}

type seedKey struct{}

// NewSeed draws the body of an id.
func NewSeed() string { return NewID("")[1:] }

// WithSeed returns a context in which NewIDIn uses this seed.
func WithSeed(ctx context.Context, seed string) context.Context {
	return context.WithValue(ctx, seedKey{}, seed)
}

// NewIDIn returns a new id for what a request creates: made of the request's seed where it has one.
// A creation that uses it must take "already there" from its store as success.
func NewIDIn(ctx context.Context, prefix string) string {
	if seed, ok := ctx.Value(seedKey{}).(string); ok {
		return prefix + "_" + seed
	}
	return NewID(prefix)
}
