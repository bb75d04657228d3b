package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"slices"
	"sync/atomic"
)

// Open maps a file and verifies its header, its footer and the sections that are read all the time: the sources and the
// values of documents and units. The other sections are verified on first use.
//
// An error that is caused by the content or a missing file wraps ErrDamaged. A system error, such as a missing
// permission or too many open files, does not, because the file may be intact.
func Open(path string) (*Segment, error) {
	data, unmap, err := mapFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	s, err := open(data)
	if err != nil {
		_ = unmap()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	s.unmap = unmap
	return s, nil
}

// open opens a segment in memory that is aligned to 8 bytes.
func open(data []byte) (*Segment, error) {
	s := &Segment{data: data}
	err := catchFaults(func() error {
		table, sums, err := readFooter(data)
		if err != nil {
			return err
		}
		sections, err := cut(data, table, sums)
		if err != nil {
			return err
		}
		return s.load(sections)
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// entry is an entry of the section table.
type entry struct{ id, at, length uint64 }

// readFooter verifies the footer and returns the section table and the page checksums.
func readFooter(data []byte) ([numSections]entry, []uint32, error) {
	var table [numSections]entry
	if len(data) < headerSize+trailerSize {
		return table, nil, damaged("%d bytes are too few for a segment", len(data))
	}
	if err := checkHeader(data[:headerSize]); err != nil {
		return table, nil, err
	}
	trailer := data[len(data)-trailerSize:]
	if string(trailer[16:]) != trailerMagic {
		return table, nil, damaged("the end is missing")
	}
	length := binary.NativeEndian.Uint64(trailer)
	room := uint64(len(data) - headerSize - trailerSize)
	if length > room || length < entrySize*uint64(numSections) || length%4 != 0 {
		return table, nil, damaged("a footer of %d bytes", length)
	}
	at := uint64(len(data)) - trailerSize - length
	if at%alignment != 0 {
		return table, nil, damaged("a footer at %d", at)
	}
	if n := binary.NativeEndian.Uint32(trailer[8:]); n != uint32(numSections) {
		return table, nil, damaged("%d sections, not %d", n, numSections)
	}
	footer := data[at : at+length]
	if crc32.Checksum(data[at:at+length+12], castagnoli) != binary.NativeEndian.Uint32(trailer[12:]) {
		return table, nil, damaged("checksum of the footer")
	}
	for i := range table {
		e := view[uint64](footer[i*entrySize:][:entrySize])
		table[i] = entry{id: e[0], at: e[1], length: e[2]}
	}
	// Copied, because the checksums must not be in memory that may be damaged.
	return table, slices.Clone(view[uint32](footer[entrySize*int(numSections):])), nil
}

// cut locates the sections in the file. Each must start directly after the one before, so that equal content means
// equal files.
func cut(data []byte, table [numSections]entry, sums []uint32) ([numSections]section, error) {
	var sections [numSections]section
	end := uint64(headerSize)
	limit := uint64(len(data)) - trailerSize - uint64(len(sums))*4 - entrySize*uint64(numSections)
	for i, e := range table {
		at := align(end)
		if e.id != uint64(i) || e.at != at || at > limit || e.length > limit-at || pages(e.length) > uint64(len(sums)) {
			return sections, damaged("section table, entry %d", i)
		}
		end = e.at + e.length
		n := pages(e.length)
		sections[i] = newSection(sectionID(i), data[e.at:end:end], sums[:n:n])
		sums = sums[n:]
	}
	if align(end) != limit || len(sums) > 0 {
		return sections, damaged("section table")
	}
	return sections, nil
}

// load verifies that the sections fit together and reads the small ones.
func (s *Segment) load(sections [numSections]section) error {
	for i := secMeta; i <= secSeqs; i++ {
		if err := sections[i].need(0, uint64(len(sections[i].data))); err != nil {
			return err
		}
	}
	var err error
	if s.meta, err = decodeMeta(sections[secMeta].data); err != nil {
		return err
	}
	fixed := s.meta.fixed()
	for i := range sections {
		id := sectionID(i)
		got := uint64(len(sections[i].data))
		if !isText(id) && got != fixed[i] {
			return damaged("%d bytes of %v, not %d", got, id, fixed[i])
		}
		if isText(id) && id != secForward && got > math.MaxUint32 {
			return damaged("%d bytes of %v", got, id)
		}
	}
	s.lengths = view[uint32](sections[secLengths].data)
	s.years = view[uint16](sections[secYears].data)
	s.docOf = view[uint32](sections[secDocOf].data)
	s.firstUnits = view[uint32](sections[secFirstUnits].data)
	s.seqs = view[uint64](sections[secSeqs].data)
	if err := s.checkUnits(); err != nil {
		return err
	}
	if s.sources, err = decodeSources(sections[secSources].data, s.firstUnits); err != nil {
		return err
	}
	if err := s.checkSources(); err != nil {
		return err
	}
	s.attach(sections)
	return nil
}

// attach interprets the sections as columns.
func (s *Segment) attach(sections [numSections]section) {
	s.sections = sections
	at := func(id sectionID) *section { return &s.sections[id] }
	s.terms = newText[uint32](at(secTermOffsets), at(secTermText))
	s.surfaces = newText[uint32](at(secSurfaceOffsets), at(secSurfaceText))
	s.starts = newColumn[uint64](at(secPostingStarts))
	s.postingUnits = newColumn[uint32](at(secPostingUnits))
	s.postingFreqs = newColumn[uint8](at(secPostingFreqs))
	s.postingBounds = newColumn[float32](at(secPostingBounds))
	s.forward = newText[uint64](at(secForwardOffsets), at(secForward))
	s.ids = newText[uint32](at(secIDOffsets), at(secIDText))
	docs := s.meta.docs
	s.idKeys = newKeyTable(at(secIDHashes), at(secIDDocs), docs)
	s.titleKeys = newKeyTable(at(secTitleHashes), at(secTitleDocs), docs)
	s.doiKeys = newKeyTable(at(secDOIHashes), at(secDOIDocs), docs)
	s.codes = newColumn[uint64](at(secVectorCodes))
	s.bytes = newColumn[uint8](at(secVectorBytes))
	s.scales = newColumn[float32](at(secVectorScales))
	s.sections[secPostingUnits].valid = below(s.meta.units)
	s.heads = nil
	if s.meta.terms >= 2*numHeads {
		s.heads = make([]atomic.Uint64, numHeads)
	}
}

// below returns a page check that all values are less than n, for values used as indexes.
func below(n uint64) func(page []byte) bool {
	return func(page []byte) bool {
		for _, v := range view[uint32](page) {
			if uint64(v) >= n {
				return false
			}
		}
		return true
	}
}

// checkUnits verifies that documents and units map to each other.
func (s *Segment) checkUnits() error {
	if s.firstUnits[0] != 0 || uint64(s.firstUnits[s.meta.docs]) != s.meta.units {
		return damaged("units of documents")
	}
	for doc := range s.years {
		first, end := s.firstUnits[doc], s.firstUnits[doc+1]
		if first > end || uint64(end) > s.meta.units {
			return damaged("units of document %d", doc)
		}
		for u := first; u < end; u++ {
			if s.docOf[u] != uint32(doc) {
				return damaged("document of unit %d", u)
			}
		}
	}
	return nil
}

// checkSources verifies the ranges that statistics and merges rely on.
func (s *Segment) checkSources() error {
	for i := range s.sources {
		r := &s.sources[i]
		var length uint64
		for _, n := range s.lengths[r.FirstUnit:r.EndUnit] {
			length += uint64(n)
		}
		if length != r.Length || !slices.IsSorted(s.seqs[r.FirstDoc:r.EndDoc]) {
			return damaged("documents of source %q", r.Source)
		}
	}
	return nil
}

// decodeSources decodes the table of sources and verifies that it covers all documents.
func decodeSources(b []byte, firstUnits []uint32) ([]Range, error) {
	var sources []Range
	docs := uint64(len(firstUnits) - 1)
	var doc uint64
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			b = nil
			return math.MaxUint64
		}
		b = b[n:]
		return v
	}
	for len(b) > 0 {
		size := next()
		if size > uint64(len(b)) {
			return nil, damaged("table of sources")
		}
		name := string(b[:size])
		b = b[size:]
		n, units, length := next(), next(), next()
		if n == 0 || n > docs-doc {
			return nil, damaged("documents of source %q", name)
		}
		r := Range{
			Source: name, FirstDoc: uint32(doc), EndDoc: uint32(doc + n),
			FirstUnit: firstUnits[doc], EndUnit: firstUnits[doc+n], Length: length,
		}
		if uint64(r.EndUnit-r.FirstUnit) != units {
			return nil, damaged("units of source %q", name)
		}
		if len(sources) > 0 && sources[len(sources)-1].Source >= name {
			return nil, damaged("order of sources")
		}
		sources = append(sources, r)
		doc += n
	}
	if doc != docs {
		return nil, damaged("%d documents without a source", docs-doc)
	}
	return sources, nil
}
