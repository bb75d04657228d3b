package core

import "context"

// IdempotencyRecord is the stored state of a request with an Idempotency-Key.
type IdempotencyRecord struct {
	// Hash binds the key to one method, path and body.
	Hash []byte
	// Seed is the id, without prefix, of the object that the request creates. It is stored before the work starts, so that
	// a retry after a crash creates the same object instead of a second one.
	Seed string
	// Status is 0 while the first request is in progress.
	Status int
	Body   []byte
}

type seedKey struct{}

// NewSeed returns a new id without prefix.
func NewSeed() string { return NewID("")[1:] }

// WithSeed returns a context in which NewIDIn uses this seed.
func WithSeed(ctx context.Context, seed string) context.Context {
	return context.WithValue(ctx, seedKey{}, seed)
}

// NewIDIn returns the id for an object that a request creates, from the seed of the context if there is one. An insert
// with such an id must succeed if the object exists.
func NewIDIn(ctx context.Context, prefix string) string {
	if seed, ok := ctx.Value(seedKey{}).(string); ok {
		return prefix + "_" + seed
	}
	return NewID(prefix)
}
