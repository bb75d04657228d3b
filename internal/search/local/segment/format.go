package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"unsafe"
)

// The layout of a file, with all numbers in native byte order:
//
//	header    magic, byte order, version, the constants of the ranking, checksum
//	sections  in the order of their ids, each aligned to 8 bytes, with zeros between
//	footer    the section table, then the page checksums of every section, in that order
//	trailer   the length of the footer, the number of sections, the checksum of both and the footer, magic
//
// Native arrays can be searched in place in the mapping. A file is never moved to another machine, because the index
// can be rebuilt: one with another byte order or version counts as damaged.
const (
	headerMagic  = "carrelSG"
	trailerMagic = "SGcarrel"

	formatVersion = 1
	byteOrderMark = 0x01020304

	headerSize  = 64
	entrySize   = 24
	trailerSize = 24
	alignment   = 8

	// pageSize is the range of one checksum. It is small, so that reading a posting list from a large file verifies
	// little more than the list.
	pageSize = 64 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type sectionID uint32

const (
	secMeta sectionID = iota
	secSources
	secLengths
	secYears
	secDocOf
	secFirstUnits
	secSeqs
	secTermOffsets
	secTermText
	secSurfaceOffsets
	secSurfaceText
	secPostingStarts
	secPostingUnits
	secPostingFreqs
	secPostingBounds
	secIDOffsets
	secIDText
	secIDHashes
	secIDDocs
	secTitleHashes
	secTitleDocs
	secDOIHashes
	secDOIDocs
	secVectorCodes
	secVectorBytes
	secVectorScales
	secForwardOffsets
	// secForward is last, because only its length is unknown before it is written.
	secForward
	numSections
)

var sectionNames = [numSections]string{
	"meta", "sources", "lengths", "years", "units' documents", "documents' units", "seqs",
	"term offsets", "terms", "surface offsets", "surfaces",
	"posting starts", "posting units", "posting frequencies", "posting bounds",
	"id offsets", "ids", "id hashes", "id documents", "title hashes", "title documents", "DOI hashes", "DOI documents",
	"vector codes", "vector bytes", "vector scales", "forward offsets", "forward records",
}

func (id sectionID) String() string { return sectionNames[id] }

// lengths are the section lengths in bytes.
type lengths [numSections]uint64

// meta holds the counts of a segment, which determine the lengths of most sections.
type meta struct {
	docs, units, terms, postings uint64
	titles, dois                 uint64 // number of keys
	dims                         uint64 // 0 without vectors
	bits                         uint64 // of a value of a vector
	model                        string
}

const metaSize = 7 * 8

const (
	maxNumber   = math.MaxUint32 - 1 // ords are stored plus one, and the highest number means "gone"
	maxPostings = 1 << 48
	maxDims     = 1 << 16
	maxModel    = 1 << 10
)

// errTooBig means that the documents do not fit into one file.
var errTooBig = errors.New("too large for one segment")

func (m *meta) check() error {
	for _, n := range []struct {
		name       string
		value, max uint64
	}{
		{"documents", m.docs, maxNumber},
		{"units", m.units, maxNumber},
		{"terms", m.terms, maxNumber},
		{"postings", m.postings, maxPostings},
		{"title keys", m.titles, m.docs},
		{"DOI keys", m.dois, m.docs},
		{"dimensions", m.dims, maxDims},
		{"bytes in the model's name", uint64(len(m.model)), maxModel},
	} {
		if n.value > n.max {
			return fmt.Errorf("%w: %d %s, at most %d", errTooBig, n.value, n.name, n.max)
		}
	}
	return nil
}

func (m *meta) encode() []byte {
	b := make([]byte, 0, metaSize+len(m.model))
	for _, n := range []uint64{m.docs, m.units, m.terms, m.postings, m.titles, m.dois, m.shape()} {
		b = binary.NativeEndian.AppendUint64(b, n)
	}
	return append(b, m.model...)
}

func decodeMeta(b []byte) (meta, error) {
	if len(b) < metaSize {
		return meta{}, damaged("meta is %d bytes short", metaSize-len(b))
	}
	n := view[uint64](b[:metaSize])
	dims, bits := readShape(n[6])
	m := meta{
		docs: n[0], units: n[1], terms: n[2], postings: n[3], titles: n[4], dois: n[5], dims: dims, bits: bits,
		model: string(b[metaSize:]),
	}
	if err := m.check(); err != nil {
		return meta{}, damaged("%v", err)
	}
	if n[6] == fourBitMark {
		return meta{}, damaged("bits without dimensions")
	}
	return m, nil
}

// fourBitMark marks the dimensions of vectors with four bits a value. Files without it have eight.
const fourBitMark = 1 << 32

// shape returns the dimensions and bits of the vectors as one number.
func (m *meta) shape() uint64 {
	if m.bits == FourBits {
		return m.dims | fourBitMark
	}
	return m.dims
}

func readShape(n uint64) (dims, bits uint64) {
	if n&fourBitMark != 0 {
		return n &^ fourBitMark, FourBits
	}
	return n, EightBits
}

// valueBytes returns the number of bytes of a vector's quantised values.
func (m *meta) valueBytes() uint64 { return uint64(valueBytes(int(m.dims), int(m.bits))) }

// words returns the number of 64-bit words for the sign bits of a vector.
func (m *meta) words() uint64 { return (m.dims + 63) / 64 }

// fixed returns the section lengths that follow from m, and 0 for text sections.
func (m *meta) fixed() lengths {
	l := lengths{
		secMeta:           metaSize + uint64(len(m.model)),
		secLengths:        4 * m.units,
		secYears:          2 * m.docs,
		secDocOf:          4 * m.units,
		secFirstUnits:     4 * (m.docs + 1),
		secSeqs:           8 * m.docs,
		secTermOffsets:    4 * (m.terms + 1),
		secSurfaceOffsets: 4 * (m.terms + 1),
		secPostingStarts:  8 * (m.terms + 1),
		secPostingUnits:   4 * m.postings,
		secPostingFreqs:   m.postings,
		secPostingBounds:  4 * (m.postings/BlockSize + m.terms),
		secIDOffsets:      4 * (m.docs + 1),
		secIDHashes:       8 * m.docs,
		secIDDocs:         4 * m.docs,
		secTitleHashes:    8 * m.titles,
		secTitleDocs:      4 * m.titles,
		secDOIHashes:      8 * m.dois,
		secDOIDocs:        4 * m.dois,
		secForwardOffsets: 8 * (m.units + 1),
	}
	if m.dims > 0 {
		l[secVectorCodes] = 8 * m.words() * m.units
		l[secVectorBytes] = m.valueBytes() * m.units
		l[secVectorScales] = 4 * m.units
	}
	return l
}

// isText reports whether the length of a section does not follow from meta.
func isText(id sectionID) bool {
	switch id {
	case secSources, secTermText, secSurfaceText, secIDText, secForward:
		return true
	}
	return false
}

// header returns the first bytes of the file. They are equal in every file that this version can read: a change of a
// constant that sections were computed with makes older files unreadable.
func header() []byte {
	b := make([]byte, 0, headerSize)
	b = append(b, headerMagic...)
	b = binary.NativeEndian.AppendUint32(b, byteOrderMark)
	b = binary.NativeEndian.AppendUint32(b, formatVersion)
	b = binary.NativeEndian.AppendUint32(b, pageSize)
	b = binary.NativeEndian.AppendUint32(b, BlockSize)
	b = binary.NativeEndian.AppendUint64(b, math.Float64bits(K1))
	b = binary.NativeEndian.AppendUint64(b, math.Float64bits(B))
	b = binary.NativeEndian.AppendUint32(b, TitleWeight)
	b = b[:headerSize-4]
	return binary.NativeEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// checkHeader describes the mismatch of a header.
func checkHeader(b []byte) error {
	want := header()
	if string(b) == string(want) {
		return nil
	}
	mark := binary.NativeEndian.Uint32(b[8:])
	version := binary.NativeEndian.Uint32(b[12:])
	switch {
	case string(b[:8]) != headerMagic:
		return damaged("not a segment")
	case mark != byteOrderMark:
		return damaged("written on a machine with another byte order")
	case version != formatVersion:
		return damaged("format version %d, not %d", version, formatVersion)
	}
	return damaged("bad header")
}

// damaged returns an error that wraps ErrDamaged.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

func align(n uint64) uint64 { return (n + alignment - 1) &^ (alignment - 1) }

func pages(length uint64) uint64 { return (length + pageSize - 1) / pageSize }

// number is the element type of a section.
type number interface {
	~uint8 | ~int8 | ~uint16 | ~uint32 | ~uint64 | ~float32
}

// view returns bytes as a slice of numbers in the same memory. They must be aligned to the number's size: sections are,
// and mappings start at a page.
func view[T number](b []byte) []T {
	var zero T
	//nolint:gosec // same memory and length
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

// bytesOf is the inverse of view.
func bytesOf[T number](v []T) []byte {
	var zero T
	//nolint:gosec // same memory and length
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(zero)))
}
