package segment

import (
	"iter"
	"math/bits"
	"slices"
)

// Bits is a set of documents of one segment. A nil *Bits is an empty set for reading. Set must not run concurrently
// with reads; use a Clone.
type Bits struct {
	words []uint64
	n     int
	count int
}

// NewBits returns an empty set of the documents 0 to n-1.
func NewBits(n int) *Bits { return &Bits{words: make([]uint64, (n+63)/64), n: n} }

// Len returns the size of the range that the set is over.
func (b *Bits) Len() int {
	if b == nil {
		return 0
	}
	return b.n
}

// Get reports whether the set contains the document. It is false beyond the end.
func (b *Bits) Get(doc uint32) bool {
	return b != nil && int(doc) < b.n && b.words[doc/64]&(1<<(doc%64)) != 0
}

// Set adds a document and reports whether it is new. It panics beyond the end of the range.
func (b *Bits) Set(doc uint32) bool {
	if int(doc) >= b.n {
		panic("segment: document beyond the set's end")
	}
	word, bit := &b.words[doc/64], uint64(1)<<(doc%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	b.count++
	return true
}

// Count returns the number of documents in the set.
func (b *Bits) Count() int {
	if b == nil {
		return 0
	}
	return b.count
}

// Clone returns an independent copy, and nil for nil.
func (b *Bits) Clone() *Bits {
	if b == nil {
		return nil
	}
	return &Bits{words: slices.Clone(b.words), n: b.n, count: b.count}
}

// All yields the documents in ascending order.
func (b *Bits) All() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if b == nil {
			return
		}
		for i, word := range b.words {
			for ; word != 0; word &= word - 1 {
				if !yield(uint32(i*64 + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}
