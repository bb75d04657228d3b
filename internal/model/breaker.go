package model

import (
	"context"
	"errors"
	"sync"
	"time"

	"carrel/internal/core"
)

const (
	// QueryTimeout is how long a search waits for the vector of its query.
	QueryTimeout = 2 * time.Second
	// breakAfter failures in a row the endpoint is left alone for breakFor.
	breakAfter = 3
	breakFor   = 30 * time.Second
)

// ErrBreakerOpen is what a Breaker answers with while it leaves the endpoint alone.
var ErrBreakerOpen = errors.New("embeddings: the endpoint failed several times and is left alone for a while")

// Breaker is an Embedder for those who can't wait: it gives up after QueryTimeout, and once the endpoint has failed a
// few times it fails at once for a while, so that not every search waits for a dead endpoint.
type Breaker struct {
	Embedder
	clock core.Clock

	mu       sync.Mutex
	failures int // in a row
	// until is how long the endpoint is left alone; zero while it is not.
	until time.Time
	// probing says that one call is finding out whether the endpoint is back.
	probing bool
}

// NewBreaker returns a breaker before an embedder.
func NewBreaker(e Embedder, clock core.Clock) *Breaker { return &Breaker{Embedder: e, clock: clock} }

// Embed asks the embedder behind, or fails at once with ErrBreakerOpen.
func (b *Breaker) Embed(ctx context.Context, texts []string) (Embeddings, error) {
	probe, ok := b.enter()
	if !ok {
		return Embeddings{}, ErrBreakerOpen
	}
	learnt := endpointFailed // also when the embedder panics
	defer func() { b.leave(probe, learnt) }()
	limited, cancel := context.WithTimeoutCause(ctx, QueryTimeout, &EmbeddingError{
		Fault: FaultEndpoint, detail: "no answer within " + QueryTimeout.String(), cause: context.DeadlineExceeded,
	})
	defer cancel()
	out, err := b.Embedder.Embed(limited, texts)
	switch {
	case err == nil || FaultOf(err) == FaultInput: // whoever refuses a text is there
		learnt = endpointWorks
	case ctx.Err() != nil: // the caller left
		learnt = nothing
	}
	return out, err
}

// lesson is what a call says about the endpoint.
type lesson int

const (
	nothing lesson = iota
	endpointWorks
	endpointFailed
)

// enter asks whether a call may go through, and whether it is the one that finds out about the endpoint.
func (b *Breaker) enter() (probe, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return false, true
	}
	if b.probing || b.clock.Now().Before(b.until) {
		return false, false
	}
	b.probing = true
	return true, true
}

// leave notes how a call went.
func (b *Breaker) leave(probe bool, learnt lesson) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if probe {
		b.probing = false
	}
	switch learnt {
	case nothing:
	case endpointWorks:
		b.failures, b.until = 0, time.Time{}
	case endpointFailed:
		if b.failures++; b.failures >= breakAfter {
			b.until = b.clock.Now().Add(breakFor)
		}
	}
}
