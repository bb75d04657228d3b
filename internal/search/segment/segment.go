// Package segment is the search index's file: an immutable set of documents,
// written once, memory-mapped, and never served unverified.
package segment

import (
	"context"
	"errors"

	"carrel/internal/search/disk"
)

// ErrDamaged is in the chain of every error about a file that is not, byte for byte, what was written.
var ErrDamaged = errors.New("segment is damaged")

// The parameters of BM25 that bounds are computed with.
const (
	K1 = 1.2
	B  = 0.75
)

// BlockSize is how many postings share a bound.
const BlockSize = 128

// Segment is an open file. Its methods may be called from many goroutines at once; none may be after Close.
type Segment struct{}

// Range is what a segment holds of one source.
type Range struct {
	Source             string
	FirstDoc, EndDoc   uint32
	FirstUnit, EndUnit uint32
	Length             uint64 // sum of its units' lengths, deleted ones too
}

// Term is a term's number in the dictionary and the places of its postings.
type Term struct {
	Ord        uint32
	First, End uint64
}

// Postings are a term's, as parallel slices over the file, units ascending.
type Postings struct {
	First  uint64
	Units  []uint32
	Freqs  []uint8
	Bounds []float32
}

// Forward is what a unit says: term ords+1 per field, 0 for a place without a term.
type Forward struct{ Title, Authors, Text []uint32 }

// Vectors are the units' embeddings.
type Vectors struct {
	Dims   int
	Codes  []uint64
	Bytes  []int8
	Scales []float32
}

// Open maps a file.
func Open(path string) (*Segment, error) { panic("not yet") }

func (s *Segment) Close() error                                      { panic("not yet") }
func (s *Segment) Verify() error                                     { panic("not yet") }
func (s *Segment) Units() int                                        { panic("not yet") }
func (s *Segment) Documents() int                                    { panic("not yet") }
func (s *Segment) Size() int64                                       { panic("not yet") }
func (s *Segment) Model() (name string, dims int)                    { panic("not yet") }
func (s *Segment) Sources() []Range                                  { panic("not yet") }
func (s *Segment) Source(id string) (Range, bool)                    { panic("not yet") }
func (s *Segment) Lengths() []uint32                                 { panic("not yet") }
func (s *Segment) Years() []uint16                                   { panic("not yet") }
func (s *Segment) DocOf() []uint32                                   { panic("not yet") }
func (s *Segment) FirstUnits() []uint32                              { panic("not yet") }
func (s *Segment) Terms() int                                        { panic("not yet") }
func (s *Segment) Lookup(term string) (Term, bool, error)            { panic("not yet") }
func (s *Segment) Term(ord uint32) (string, Term, error)             { panic("not yet") }
func (s *Segment) Surface(ord uint32) (string, error)                { panic("not yet") }
func (s *Segment) Postings(t Term) (Postings, error)                 { panic("not yet") }
func (s *Segment) Forward(unit uint32, into *Forward) error          { panic("not yet") }
func (s *Segment) ID(doc uint32) (string, error)                     { panic("not yet") }
func (s *Segment) Seq(doc uint32) uint64                             { panic("not yet") }
func (s *Segment) FindID(id string) (doc uint32, ok bool, err error) { panic("not yet") }
func (s *Segment) FindTitle(key uint64) ([]uint32, error)            { panic("not yet") }
func (s *Segment) FindDOI(key uint64) ([]uint32, error)              { panic("not yet") }
func (s *Segment) Vectors() (Vectors, error)                         { panic("not yet") }

// Input is a segment to merge without its deleted documents.
type Input struct {
	Segment *Segment
	Deleted *Bits // by document, may be nil
}

// Merge writes the inputs' surviving documents as one segment.
func Merge(ctx context.Context, fs disk.FS, path string, inputs []Input) error { panic("not yet") }
