// Package model speaks to the models of others, behind interfaces of a few lines. Nothing else of Carrel knows how a
// provider wants to be asked.
package model

import (
	"context"
	"errors"
	"time"
)

// Embedder makes vectors of texts: texts that mean alike get vectors that point alike.
type Embedder interface {
	// Embed returns one vector for each text, in order. Its error is a *EmbeddingError, or that of the context.
	Embed(ctx context.Context, texts []string) (Embeddings, error)
	// Model names the model. Vectors of different models have nothing to do with each other.
	Model() string
	// Dims is the length of the vectors, or 0 as long as nobody knows it.
	Dims() int
}

// Embeddings is what a model made of some texts.
type Embeddings struct {
	// Vectors have unit length, so that the cosine of two is their dot product.
	Vectors [][]float32
	// Tokens is what the provider counted and charges for; 0 when it did not say.
	Tokens int
}

// Limits of one request. Providers take more; small requests lose less when one fails.
const (
	maxTexts = 96
	maxBytes = 256 << 10
)

// EmbeddingBatch returns how many of the texts, from the first on, go into one request: at least one if there is one.
func EmbeddingBatch(texts []string) int {
	bytes := 0
	for n, text := range texts {
		if bytes += len(text); n == maxTexts || n > 0 && bytes > maxBytes {
			return n
		}
	}
	return len(texts)
}

// Fault is what is to blame for a failure, which says what to do about it.
type Fault string

// The faults.
const (
	// FaultEndpoint is an endpoint that is away, overloaded or broken: the same again may work later.
	FaultEndpoint Fault = "endpoint"
	// FaultSettings is a wrong address, key, model or number of dimensions: somebody has to change something.
	FaultSettings Fault = "settings"
	// FaultInput is a request that the endpoint does not take: it may take the others.
	FaultInput Fault = "input"
)

// EmbeddingError is why there are no vectors. It never holds the key or a text.
type EmbeddingError struct {
	Fault Fault
	// Suspect says that one of the texts may be to blame: with others, or fewer, it may work.
	Suspect bool
	// RetryAfter is how long a pause the endpoint asked for, or 0.
	RetryAfter time.Duration
	// again says that the same request may work in a moment.
	again  bool
	detail string
	cause  error
}

// Error says what went wrong and what to do.
func (e *EmbeddingError) Error() string { return "embeddings: " + e.detail }

// Unwrap returns what lies behind it, for errors.Is and errors.As.
func (e *EmbeddingError) Unwrap() error { return e.cause }

// FaultOf returns whose fault an error is; what says nothing about it is the endpoint's.
func FaultOf(err error) Fault {
	var e *EmbeddingError
	if errors.As(err, &e) {
		return e.Fault
	}
	return FaultEndpoint
}
