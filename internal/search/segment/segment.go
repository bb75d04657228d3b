// Package segment is the search index's file: an immutable set of documents,
// written once, memory-mapped, and never served unverified.
//
// A segment knows terms and numbers, not language or ranking. Its documents are
// sorted by (source, seq), so that a source is one range of documents and of
// units, and statistics of some sources are differences of places.
package segment

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
)

// ErrDamaged is in the chain of every error about a file that is not, byte for
// byte, what was written, or was written by another version.
var ErrDamaged = errors.New("segment is damaged")

// StopMark is the first byte of a term for a stop word. Such terms have postings
// but add nothing to a unit's length.
const StopMark = '\x01'

// Segment is an open file. Its methods may be called from many goroutines at
// once; none may be called during or after Close, and no slice that one of them
// returned may be used then. Strings are copies and stay.
type Segment struct {
	data  []byte
	unmap func() error
	meta  meta

	sources []Range

	// Verified by Open.
	lengths, docOf, firstUnits []uint32
	years                      []uint16
	seqs                       []uint64

	// Verified page by page, on use.
	sections       [numSections]section
	terms          text[uint32]
	surfaces       text[uint32]
	starts         column[uint64]
	postingUnits   column[uint32]
	postingFreqs   column[uint8]
	postingBounds  column[float32]
	forward        text[uint64]
	ids            text[uint32]
	idKeys         keyTable
	titleKeys      keyTable
	doiKeys        keyTable
	codes          column[uint64]
	bytes          column[int8]
	scales         column[float32]
	vectorsChecked atomic.Bool

	// undated are the sources with documents without a year, once somebody has asked.
	undated          map[string]bool
	lookedForUndated sync.Once
}

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
//
// BlockSize postings share a bound, counted over the whole file: the bound of
// place p is Bounds[p/BlockSize-First/BlockSize]. A bound q is just below the
// least of (0.3+0.9×length/average)/freq over the block, average being the mean
// length of the units of the posting's own source in this segment (K1×(1-B) is
// 0.3, K1×B is 0.9). So no posting of the block saturates better than
// (1+K1)/(1+q×min(1, average/queryAverage)).
type Postings struct {
	First  uint64
	Units  []uint32
	Freqs  []uint8
	Bounds []float32
}

// Forward is what a unit says: term ords+1 per field, 0 for a place without a term.
type Forward struct{ Title, Authors, Text []uint32 }

// Close unmaps the file. A second call does nothing.
func (s *Segment) Close() error {
	unmap := s.unmap
	if unmap == nil {
		return nil
	}
	// Whoever comes late finds an empty segment rather than memory that is gone.
	s.unmap, s.data, s.meta, s.sources = nil, nil, meta{}, nil
	s.lengths, s.docOf, s.firstUnits, s.years, s.seqs = nil, nil, nil, nil, nil
	s.attach([numSections]section{})
	return unmap()
}

// Units is how many units it holds.
func (s *Segment) Units() int { return int(s.meta.units) }

// Documents is how many documents it holds.
func (s *Segment) Documents() int { return int(s.meta.docs) }

// Terms is how many terms its dictionary has.
func (s *Segment) Terms() int { return int(s.meta.terms) }

// Size is the file's, in bytes.
func (s *Segment) Size() int64 { return int64(len(s.data)) }

// Model names the embedding of its vectors; "" and 0 when no unit has one.
func (s *Segment) Model() (name string, dims int) { return s.meta.model, int(s.meta.dims) }

// Sources are the ranges of its sources, ascending by Source. The slice must not be changed.
func (s *Segment) Sources() []Range { return s.sources }

// Source returns the range of a source.
func (s *Segment) Source(id string) (Range, bool) {
	i, ok := slices.BinarySearchFunc(s.sources, id, func(r Range, id string) int { return cmp.Compare(r.Source, id) })
	if !ok {
		return Range{}, false
	}
	return s.sources[i], true
}

// Lengths are the units' lengths: three times the title's terms and the text's.
func (s *Segment) Lengths() []uint32 { return s.lengths }

// Years are the documents' years, 0 for an undated one.
func (s *Segment) Years() []uint16 { return s.years }

// Undated reports whether a source has documents without a year here, deleted ones included.
func (s *Segment) Undated(source string) bool {
	s.lookedForUndated.Do(func() {
		s.undated = make(map[string]bool, len(s.sources))
		for _, r := range s.sources {
			s.undated[r.Source] = slices.Contains(s.years[r.FirstDoc:r.EndDoc], 0)
		}
	})
	return s.undated[source]
}

// DocOf maps units to their documents.
func (s *Segment) DocOf() []uint32 { return s.docOf }

// FirstUnits maps documents to their first units, with one entry more at the end.
func (s *Segment) FirstUnits() []uint32 { return s.firstUnits }

// Seq is the number of a document's change.
func (s *Segment) Seq(doc uint32) uint64 { return s.seqs[doc] }
