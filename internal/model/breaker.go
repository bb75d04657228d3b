package model

import (
	"context"
	"errors"
	"sync"
	"time"

	"carrel/internal/core"
)

const (
	// QueryTimeout is the time limit for the vector of a search query.
	QueryTimeout = 2 * time.Second
	// maxFailures consecutive failures open the breaker for openFor.
	maxFailures = 3
	openFor     = 30 * time.Second
)

// ErrBreakerOpen is returned by a Breaker that is open.
var ErrBreakerOpen = errors.New("embeddings: the endpoint failed repeatedly and is not called for a while")

// Breaker is a circuit breaker for queries. It limits each call to QueryTimeout. After maxFailures consecutive failures
// it fails at once for openFor, so that searches do not wait for a dead endpoint; then a single call probes it.
type Breaker struct {
	Embedder
	clock core.Clock

	mu       sync.Mutex
	failures int // consecutive
	// openUntil is zero while the breaker is closed.
	openUntil time.Time
	probing   bool
}

// NewBreaker returns a circuit breaker for an embedder.
func NewBreaker(e Embedder, clock core.Clock) *Breaker { return &Breaker{Embedder: e, clock: clock} }

// Embed calls the embedder, or returns ErrBreakerOpen.
func (b *Breaker) Embed(ctx context.Context, texts []string) (Embeddings, error) {
	probe, ok := b.enter()
	if !ok {
		return Embeddings{}, ErrBreakerOpen
	}
	result := endpointFailed // also if the embedder panics
	defer func() { b.leave(probe, result) }()
	limited, cancel := context.WithTimeoutCause(ctx, QueryTimeout, &EmbeddingError{
		Fault: FaultEndpoint, detail: "no response within " + QueryTimeout.String(), cause: context.DeadlineExceeded,
	})
	defer cancel()
	out, err := b.Embedder.Embed(limited, texts)
	switch {
	case err == nil || FaultOf(err) == FaultInput: // an endpoint that rejects a text is up
		result = endpointWorks
	case ctx.Err() != nil: // the caller has gone
		result = inconclusive
	}
	return out, err
}

// outcome is the conclusion of a call about the endpoint.
type outcome int

const (
	inconclusive outcome = iota
	endpointWorks
	endpointFailed
)

// enter reports whether a call may proceed, and whether it is the probe of an open breaker.
func (b *Breaker) enter() (probe, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.openUntil.IsZero() {
		return false, true
	}
	if b.probing || b.clock.Now().Before(b.openUntil) {
		return false, false
	}
	b.probing = true
	return true, true
}

// leave records the outcome of a call.
func (b *Breaker) leave(probe bool, result outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if probe {
		b.probing = false
	}
	switch result {
	case inconclusive:
	case endpointWorks:
		b.failures, b.openUntil = 0, time.Time{}
	case endpointFailed:
		if b.failures++; b.failures >= maxFailures {
			b.openUntil = b.clock.Now().Add(openFor)
		}
	}
}
