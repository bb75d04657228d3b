// Package segment is the file format of the local search index: an immutable set of documents, written once,
// memory-mapped, and never served unverified.
//
// A segment holds terms and numbers, without regard to language or ranking. Its documents are sorted by (source, seq),
// so that a source is one range of documents and of units, and the statistics of a source are differences of offsets.
package segment

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
)

// ErrDamaged is wrapped by every error about a file whose content is not what was written, or that was written by
// another version.
var ErrDamaged = errors.New("segment is damaged")

// StopMark is the first byte of the term of a stop word. Such terms have postings but do not add to a unit's length.
const StopMark = '\x01'

// Segment is an open segment file. Its methods may be called concurrently, but not during or after Close; slices they
// return must not be used then either. Strings are copies.
type Segment struct {
	data  []byte
	unmap func() error
	meta  meta

	sources []Range

	// Verified by Open.
	lengths, docOf, firstUnits []uint32
	years                      []uint16
	seqs                       []uint64

	// Verified page by page, on first use.
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
	bytes          column[uint8]
	scales         column[float32]
	vectorsChecked atomic.Bool

	// heads holds the first bytes of the terms that Lookup compares first, in the order of a heap, 0 for those that it has
	// not read yet. It is empty in small segments.
	heads []atomic.Uint64

	// undated holds the sources with undated documents; it is computed on first use.
	undated          map[string]bool
	lookedForUndated sync.Once

	ofYears yearCache
}

// Range is the part of a segment that belongs to one source.
type Range struct {
	Source             string
	FirstDoc, EndDoc   uint32
	FirstUnit, EndUnit uint32
	Length             uint64 // sum of the units' lengths, including deleted ones
}

// Term is the ordinal of a term in the dictionary and the range of its postings.
type Term struct {
	Ord        uint32
	First, End uint64
}

// Postings are the postings of a term as parallel slices, in ascending order of units.
//
// BlockSize consecutive postings of the file share a bound: the bound of posting p is
// Bounds[p/BlockSize-First/BlockSize]. A bound q is just below the least (0.3+0.9×length/average)/freq in the block,
// where average is the mean length of the units of the posting's source in this segment (K1×(1-B) is 0.3, K1×B is 0.9).
// So no posting of the block has a saturation above (1+K1)/(1+q×min(1, average/queryAverage)).
type Postings struct {
	First  uint64
	Units  []uint32
	Freqs  []uint8
	Bounds []float32
}

// Forward holds the terms of a unit in order, as ord+1 per field, 0 for a position without a term.
type Forward struct{ Title, Authors, Text []uint32 }

// Close unmaps the file. A second call does nothing.
func (s *Segment) Close() error {
	unmap := s.unmap
	if unmap == nil {
		return nil
	}
	// A late caller finds an empty segment instead of unmapped memory.
	s.unmap, s.data, s.meta, s.sources = nil, nil, meta{}, nil
	s.lengths, s.docOf, s.firstUnits, s.years, s.seqs = nil, nil, nil, nil, nil
	s.attach([numSections]section{})
	return unmap()
}

// Units returns the number of units.
func (s *Segment) Units() int { return int(s.meta.units) }

// Documents returns the number of documents.
func (s *Segment) Documents() int { return int(s.meta.docs) }

// Terms returns the number of terms in the dictionary.
func (s *Segment) Terms() int { return int(s.meta.terms) }

// Size returns the size of the file in bytes.
func (s *Segment) Size() int64 { return int64(len(s.data)) }

// Model returns the embedding model of the vectors and their dimensions, "" and 0 without vectors.
func (s *Segment) Model() (name string, dims int) { return s.meta.model, int(s.meta.dims) }

// Sources returns the ranges of the sources, sorted by Source. The slice must not be changed.
func (s *Segment) Sources() []Range { return s.sources }

// Source returns the range of a source.
func (s *Segment) Source(id string) (Range, bool) {
	i, ok := slices.BinarySearchFunc(s.sources, id, func(r Range, id string) int { return cmp.Compare(r.Source, id) })
	if !ok {
		return Range{}, false
	}
	return s.sources[i], true
}

// Lengths returns the lengths of the units: three times the number of terms in the title, plus the number of terms in
// the text.
func (s *Segment) Lengths() []uint32 { return s.lengths }

// Years returns the years of the documents, 0 for undated ones.
func (s *Segment) Years() []uint16 { return s.years }

// Undated reports whether a source has undated documents in this segment, including deleted ones.
func (s *Segment) Undated(source string) bool {
	s.lookedForUndated.Do(func() {
		s.undated = make(map[string]bool, len(s.sources))
		for _, r := range s.sources {
			s.undated[r.Source] = slices.Contains(s.years[r.FirstDoc:r.EndDoc], 0)
		}
	})
	return s.undated[source]
}

// DocOf maps units to documents.
func (s *Segment) DocOf() []uint32 { return s.docOf }

// FirstUnits maps documents to their first units, with one more entry at the end.
func (s *Segment) FirstUnits() []uint32 { return s.firstUnits }

// Seq returns the number of a document's change.
func (s *Segment) Seq(doc uint32) uint64 { return s.seqs[doc] }
