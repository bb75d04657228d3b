package search

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
)

// Document is the searchable part of a document. Year 0 means undated.
type Document struct {
	ID       string
	SourceID string
	Title    string
	Text     string
	DOI      string
	// Language is an ISO 639-1 code; an unknown one is analysed as English.
	Language string
	Authors  []string
	Year     int
	// Vectors are the embeddings of the passages, or nil.
	Vectors *Vectors
}

// Vectors are a document's embeddings, one for each of analysis.Passages(Text). A missing one is nil.
type Vectors struct {
	Model    string
	Dims     int
	Passages [][]float32
}

// Op is the kind of a change.
type Op uint8

// The kinds of changes.
const (
	// Put adds a document or replaces it with a new version.
	Put Op = iota + 1
	// Delete removes a document.
	Delete
	// Drop removes a source with all its documents. The change's ID is the source's.
	Drop
)

// Change is an entry of the change log.
type Change struct {
	Seq uint64
	Op  Op
	ID  string
	// Document is set for Put.
	Document Document
}

// Log is the change log of the documents. Each document has a single entry, for its latest change: another change moves
// the entry to a new, higher number. Entries up to Head therefore only ever leave.
//
// A document never moves to another source. A Drop covers every document the source ever had, including those whose
// entries it removed from the log.
type Log interface {
	// Head returns the highest number in use, 0 before the first change.
	Head(ctx context.Context) (uint64, error)
	// Changes returns up to limit changes with after < Seq ≤ through, in order. Fewer than limit means that there are
	// no more.
	Changes(ctx context.Context, after, through uint64, limit int) ([]Change, error)
}

// Span is a range of numbers in the change log: After is exclusive, Through inclusive.
type Span struct{ After, Through uint64 }

// Touches reports whether next begins where s ends.
func (s Span) Touches(next Span) bool { return s.Through == next.After }

// Overlaps reports whether the spans have a number in common.
func (s Span) Overlaps(other Span) bool { return s.After < other.Through && other.After < s.Through }

// Contains reports whether the span includes the number.
func (s Span) Contains(seq uint64) bool { return s.After < seq && seq <= s.Through }

// Len returns how many numbers the span includes.
func (s Span) Len() uint64 { return s.Through - s.After }

// Identity names a database in its indexes, so that an index of another database is not used. It is derived from the
// database's secret without revealing it.
func Identity(secret []byte) string {
	sum := sha256.Sum256(append([]byte("carrel search index\x00"), secret...))
	return hex.EncodeToString(sum[:16])
}
