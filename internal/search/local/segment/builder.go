package segment

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// Options configure the optional content of a segment.
type Options struct {
	// Model and Dims describe the embeddings; Dims 0 means none.
	Model string
	Dims  int
	// Bits is the number of bits of a value, EightBits if it is 0.
	Bits int
	// Surface returns a readable form of a term for spelling correction, or "" for the term itself. It may be nil. If
	// it depends only on the term, all nodes write the same file.
	Surface func(term string) string
	// Words is the expected number of words, or 0.
	Words int
}

// Builder collects documents in memory and writes them as a segment. It stores the words of units as term numbers, four
// bytes each; postings are derived at the end by counting, which needs no growing list per term.
type Builder struct {
	options Options
	docs    []builtDoc
	units   []builtUnit
	words   []uint32 // term numbers plus one, 0 for a position without a term

	dictionary dictionary
	sources    map[string]uint32 // index in names by source
	names      []string
	docIDs     []byte

	codes  []uint64
	bytes  []byte
	scales []float32

	err error
}

type builtDoc struct {
	seq            uint64
	title, doi     uint64
	id, idEnd      uint64 // range in docIDs
	source         uint32
	unit, unitsEnd uint32
	year           uint16
}

type builtUnit struct {
	words                uint64 // index of its first word in Builder.words
	title, authors, text uint32 // number of words
	length               uint32
	vector               uint32 // vector number plus one, 0 for none
}

// NewBuilder returns an empty Builder.
func NewBuilder(o Options) *Builder {
	o.Bits = cmp.Or(o.Bits, EightBits)
	return &Builder{
		options: o, dictionary: newDictionary(), sources: map[string]uint32{}, words: make([]uint32, 0, o.Words),
	}
}

// Add adds a document, in any order. It keeps no reference to d. IDs must be distinct. Invalid documents are reported
// by Write.
func (b *Builder) Add(d *Document) {
	if b.err != nil {
		return
	}
	if uint64(len(b.docs)) >= maxNumber || uint64(len(b.units)+len(d.Units)) > maxNumber {
		b.err = fmt.Errorf("%w: %d documents, %d units", errTooBig, len(b.docs), len(b.units))
		return
	}
	doc := builtDoc{
		seq: d.Seq, title: d.TitleKey, doi: d.DOIKey,
		id: uint64(len(b.docIDs)), idEnd: uint64(len(b.docIDs) + len(d.ID)),
		source: b.source(d.SourceID), unit: uint32(len(b.units)), unitsEnd: uint32(len(b.units) + len(d.Units)),
	}
	if d.Year > 0 && d.Year <= 9999 {
		doc.year = uint16(d.Year)
	}
	for i := range d.Units {
		if err := b.addUnit(&d.Units[i]); err != nil {
			b.err = fmt.Errorf("segment: document %s: %w", d.ID, err)
			return
		}
	}
	b.docIDs = append(b.docIDs, d.ID...)
	b.docs = append(b.docs, doc)
}

func (b *Builder) source(id string) uint32 {
	n, ok := b.sources[id]
	if !ok {
		n = uint32(len(b.names))
		id = strings.Clone(id)
		b.names = append(b.names, id)
		b.sources[id] = n
	}
	return n
}

func (b *Builder) addUnit(u *Unit) error {
	unit := builtUnit{
		words: uint64(len(b.words)),
		title: uint32(len(u.Title)), authors: uint32(len(u.Authors)), text: uint32(len(u.Text)),
	}
	title := b.addWords(u.Title)
	b.addWords(u.Authors)
	text := b.addWords(u.Text)
	unit.length = uint32(min(TitleWeight*title+text, math.MaxUint32))
	if u.Vector != nil {
		if len(u.Vector) != b.options.Dims {
			return fmt.Errorf("a vector of %d values, not %d", len(u.Vector), b.options.Dims)
		}
		unit.vector = b.addVector(u.Vector)
	}
	b.units = append(b.units, unit)
	return nil
}

// addWords stores the words of a field and returns how many count towards the unit's length.
func (b *Builder) addWords(field []string) uint64 {
	var length uint64
	stamp := uint32(len(b.units)) + 1
	for _, term := range field {
		if term == "" {
			b.words = append(b.words, 0)
			continue
		}
		if term[0] != StopMark {
			length++
		}
		number := b.dictionary.number(term)
		if t := &b.dictionary.terms[number-1]; t.last != stamp {
			t.last = stamp
			t.units++
		}
		b.words = append(b.words, number)
	}
	return length
}

// addVector returns the vector's number plus one, or 0 for a vector without direction.
func (b *Builder) addVector(vector []float32) uint32 {
	codes, bytes, scale := Quantise(vector, b.options.Bits, b.codes, b.bytes)
	if scale == 0 {
		return 0
	}
	b.codes, b.bytes, b.scales = codes, bytes, append(b.scales, scale)
	return uint32(len(b.scales))
}

// Documents returns the number of documents added.
func (b *Builder) Documents() int { return len(b.docs) }

// Size estimates the memory of the builder in bytes, including what Write needs.
func (b *Builder) Size() int {
	const (
		doc  = 72 + 20 // with the hash of its id
		unit = 32 + 4
		word = 4 + 5 // with its posting
		term = 48    // with its sort entry
	)
	return len(b.docs)*doc + len(b.units)*unit + len(b.words)*word +
		len(b.dictionary.terms)*term + b.dictionary.size() + len(b.docIDs) +
		8*len(b.codes) + len(b.bytes) + 4*len(b.scales)
}
