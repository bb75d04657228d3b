package search

import "context"

// Document is what is searched. Year 0 means undated.
type Document struct {
	ID       string
	SourceID string
	Title    string
	Text     string
	DOI      string
	// Language is an ISO 639-1 code; an unknown one is read as English.
	Language string
	Authors  []string
	Year     int
	// Vectors are the embeddings of the document's passages, nil for none.
	Vectors *Vectors
}

// Vectors are a document's embeddings, one for each of analysis.Passages(Text); one that is missing is nil.
type Vectors struct {
	Model    string
	Dims     int
	Passages [][]float32
}

// Op says what a change did.
type Op uint8

// What a change can do.
const (
	// Put adds a document, or replaces it by a new version.
	Put Op = iota + 1
	// Delete takes a document out.
	Delete
	// Drop takes a whole source out: ID is the source's.
	Drop
)

// Change is an entry of the documents' change log.
type Change struct {
	Seq uint64
	Op  Op
	ID  string
	// Document is what was put.
	Document Document
}

// Log is the documents' change log. It holds one entry for each document, its latest: a further change of the
// document moves the entry to a new, higher number. What has a number up to Head is therefore settled but for
// entries that leave.
//
// A document never moves to another source: a Drop speaks for all documents that the source ever had, also for those
// whose own entries it took out of the log.
type Log interface {
	// Head returns the newest number given, 0 when nothing ever changed.
	Head(ctx context.Context) (uint64, error)
	// Changes returns the changes with after < Seq ≤ through in order, at most limit of them; fewer only when there
	// are no more.
	Changes(ctx context.Context, after, through uint64, limit int) ([]Change, error)
}
