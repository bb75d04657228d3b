package model

import (
	"context"
	"errors"
	"time"
)

// Embedder computes vectors of texts. Texts of similar meaning have vectors of similar direction.
type Embedder interface {
	// Embed returns one vector for each text, in order. The error is an *EmbeddingError or the context's cause.
	Embed(ctx context.Context, texts []string) (Embeddings, error)
	// Model returns the name of the model. Vectors of different models can't be compared.
	Model() string
	// Dims returns the length of the vectors, or 0 before the first response if it is not configured.
	Dims() int
}

// Embeddings is the result of Embedder.Embed.
type Embeddings struct {
	// Vectors have unit length, so that the cosine of two is their dot product.
	Vectors [][]float32
	// Tokens is the provider's count, or 0 if it sent none.
	Tokens int
}

// Limits of one request. Providers accept more, but a small request loses less when it fails.
const (
	maxTexts = 96
	maxBytes = 256 << 10
)

// EmbeddingBatch returns how many of the first texts go into one request: at least one, if there are any.
func EmbeddingBatch(texts []string) int {
	bytes := 0
	for n, text := range texts {
		if bytes += len(text); n == maxTexts || n > 0 && bytes > maxBytes {
			return n
		}
	}
	return len(texts)
}

// Fault is the cause of a failed request. It determines whether a retry or a change of settings helps.
type Fault string

// Faults.
const (
	// FaultEndpoint: the endpoint is unreachable, overloaded or broken. A later retry may succeed.
	FaultEndpoint Fault = "endpoint"
	// FaultSettings: the address, key, model or number of dimensions is wrong. The operator must correct it.
	FaultSettings Fault = "settings"
	// FaultInput: the endpoint rejects the texts. Requests with other texts may succeed.
	FaultInput Fault = "input"
)

// EmbeddingError is the error of a request for embeddings. Its text contains neither the key nor any of the texts.
type EmbeddingError struct {
	Fault Fault
	// Suspect is set if one of the texts may be the cause. A request with other or fewer texts may succeed.
	Suspect bool
	// RetryAfter is the delay that the endpoint asked for, or 0.
	RetryAfter time.Duration
	// retryable is set if the same request may succeed after a moment.
	retryable bool
	detail    string
	cause     error
}

// Error returns the problem and its remedy.
func (e *EmbeddingError) Error() string { return "embeddings: " + e.detail }

// Unwrap returns the cause.
func (e *EmbeddingError) Unwrap() error { return e.cause }

// FaultOf returns the fault of an error. Errors of other types are FaultEndpoint.
func FaultOf(err error) Fault {
	var e *EmbeddingError
	if errors.As(err, &e) {
		return e.Fault
	}
	return FaultEndpoint
}
