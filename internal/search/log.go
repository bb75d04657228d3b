package search

import "context"

// Log is the change log of the documents, which an index follows. It holds one row for each document, numbered by the
// document's latest change, so that reading it from the start is a full rebuild.
type Log interface {
	// Head returns the number of the newest change, 0 when nothing ever changed.
	Head(ctx context.Context) (uint64, error)
	// Changes returns the changes with after < seq ≤ through in order, at most limit of them. It returns fewer only when
	// there are no more. Numbers may be missing: what was changed again has moved to a later one.
	Changes(ctx context.Context, after, through uint64, limit int) ([]Change, error)
}

// Op is what happened to a document.
type Op uint8

// The operations. With Drop a whole source went, and the change's ID is the source's.
const (
	Put Op = iota + 1
	Delete
	Drop
)

// Change is the latest that happened to a document.
type Change struct {
	Seq uint64
	Op  Op
	ID  string
	// Document is what there is now, for Put.
	Document LogDocument
}

// LogDocument is a document as an index needs it. Year 0 means undated.
type LogDocument struct {
	ID       string
	SourceID string
	Title    string
	Text     string
	DOI      string
	// Language is the source's, empty when it is not known.
	Language string
	Authors  []string
	Year     int
	// Vectors is nil when there are none.
	Vectors *Vectors
}

// Vectors are the embeddings of a document's passages, in order, by one model.
type Vectors struct {
	Model    string
	Dims     int
	Passages [][]float32
}
