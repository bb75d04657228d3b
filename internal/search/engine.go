package search

import (
	"context"
	"errors"
)

// Engine is a search engine that holds a copy of the documents. Its methods may be called concurrently. Package
// searchtest holds every engine to this contract.
type Engine interface {
	// Search returns the documents that match a query, from the changes applied so far.
	Search(ctx context.Context, q Query) (Result, error)
	// Statistics counts the passages of the sources that hold each term. Terms are in the form of package analysis.
	Statistics(ctx context.Context, sources, terms []string) (Statistics, error)
	// Status describes what searches can find.
	Status() Status
	// Missing returns the first span up to head that the engine does not hold, and whether there is one.
	Missing(head uint64) (Span, bool)
	// Apply adds the changes of a missing span. They are durable and searchable when it returns. If it fails, the span is
	// still missing; an engine in the process then holds none of the changes, and a remote one may hold some of them. A
	// span that is not missing is ErrCovered.
	//
	// Spans may be applied concurrently and in any order: of two changes to a document the one with the higher number
	// wins. The changes must have been read from the log while the span was missing.
	Apply(ctx context.Context, span Span, changes []Change) error
	// Rebuild makes the whole log missing. Searches read the old content until all of it has been applied again.
	Rebuild() error
	// Purge erases deleted documents of dropped sources from the engine's storage.
	Purge(ctx context.Context) error
	// Close releases the engine. Searches after Close return ErrClosed.
	Close() error
}

var (
	// ErrClosed is returned by an engine after Close.
	ErrClosed = errors.New("search index is closed")
	// ErrUnavailable is returned by an engine whose service does not answer or cannot answer now.
	ErrUnavailable = errors.New("the search service is not available")
	// ErrCovered is returned by Apply for a span that the engine already holds, in whole or in part.
	ErrCovered = errors.New("search index already holds this span")
)

// Status describes the content of an engine.
type Status struct {
	// Documents, Passages, Segments, Bytes and Sources describe what searches read. Deleted counts documents that are
	// still stored but no longer found; no other number includes them.
	Documents int
	Deleted   int
	Passages  int
	Segments  int
	Bytes     int64
	// Sources is the number of documents of each source.
	Sources map[string]int
	// Covered are the spans of the log that the engine holds, in order. During a rebuild they describe the new
	// content, while searches read the old.
	Covered    []Span
	Rebuilding bool
}

// NodeIndex is the position of a node's index in the change log.
type NodeIndex struct {
	Node    string
	Through uint64
}
