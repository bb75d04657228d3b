package segment

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
)

// forge changes numbers of a section in place and recomputes the checksums.
func forge[T number](data []byte, id sectionID, change func(v []T)) []byte {
	bad := aligned(data)
	table, _, err := readFooter(bad)
	if err != nil {
		panic(err)
	}
	change(view[T](bad[table[id].at:][:table[id].length]))
	reseal(bad)
	return bad
}

func swap[T any](i, j int) func(v []T) {
	return func(v []T) { v[i], v[j] = v[j], v[i] }
}

func set[T any](i int, to T) func(v []T) {
	return func(v []T) { v[i] = to }
}

// These files could come from a faulty writer: all checksums are correct.
func TestStructureIsChecked(t *testing.T) {
	t.Parallel()
	data := small(t)
	s := mustOpen(t, data)
	// The dictionary is \x01the a abc b network neural z 日本; "a" has three postings.
	a, _, err := s.Lookup("a")
	if err != nil || a.End-a.First != 3 {
		t.Fatalf("%+v %v", a, err)
	}
	first := int(a.First)
	for _, c := range []struct {
		name string
		data []byte
		open bool // Open detects it
		says string
	}{
		{"units of documents descend", forge(data, secFirstUnits, set(1, uint32(3))), true, "unit"},
		{"a unit of another document", forge(data, secDocOf, set(0, uint32(1))), true, "document of unit"},
		{"a length that the sum does not have", forge(data, secLengths, set(0, uint32(99))), true, "documents of source"},
		{"seqs descend", forge(data, secSeqs, swap[uint64](0, 1)), true, "documents of source"},
		{
			"lengths that their words do not have", forge(data, secLengths, func(v []uint32) { v[0]++; v[1]-- }), false,
			"bound of place",
		},
		{"a posting beyond the units", forge(data, secPostingUnits, set(0, uint32(4))), false, "out of range"},
		{"postings descend", forge(data, secPostingUnits, swap[uint32](first, first+1)), false, "order of postings"},
		{"a posting's frequency is none", forge(data, secPostingFreqs, set(0, uint8(0))), false, "frequency 0"},
		{"a bound too high", forge(data, secPostingBounds, func(v []float32) { v[0] *= 1.01 }), false, "bound of place"},
		{"a bound too low", forge(data, secPostingBounds, func(v []float32) { v[0] *= 0.99 }), false, "bound of place"},
		{"places descend", forge(data, secPostingStarts, set(1, uint64(99))), false, "postings of term"},
		{"places with a gap", forge(data, secPostingStarts, set(0, uint64(1))), false, "places of term"},
		{"terms descend", forge(data, secTermText, set(4, byte('z'))), false, "order of term"},
		{"a term without a text", forge(data, secTermOffsets, set(1, uint32(0))), false, "order of term"},
		{"term offsets descend", forge(data, secTermOffsets, set(2, uint32(0))), false, "terms"},
		{"surface offsets beyond the text", forge(data, secSurfaceOffsets, set(3, uint32(9999))), false, "surfaces"},
		{"ids that overlap", forge(data, secIDOffsets, set(0, uint32(1))), false, "id"},
		{"an id with another's hash", forge(data, secIDHashes, func(v []uint64) { v[0]-- }), false, "hash of document"},
		{"an id found twice", forge(data, secIDDocs, func(v []uint32) { v[0] = v[1] }), false, "hash of document"},
		{"an id beyond the documents", forge(data, secIDDocs, set(0, uint32(3))), false, "out of range"},
		{"title keys descend", forge(data, secTitleHashes, swap[uint64](0, 2)), false, "order of title"},
		{"a title key of 0", forge(data, secTitleHashes, set(0, uint64(0))), false, "order of title"},
		{"documents of a title descend", forge(data, secTitleDocs, swap[uint32](0, 1)), false, "order of title"},
		{"a scale below 0", forge(data, secVectorScales, set(1, float32(-1))), false, "scale"},
		{
			"a value with another sign", forge(data, secVectorCodes, func(v []uint64) { v[1] = ^v[1] }), false, "vector of unit",
		},
		{"a vector that there is none of", forge(data, secVectorBytes, set(0, int8(1))), false, "vector of unit"},
		{"a forward record with another word", forge(data, secForward, func(v []byte) { v[4]++ }), false, "differ"},
		{"a forward record with a word less", forge(data, secForward, set(4, byte(0))), false, "length of unit"},
		{"a forward record with a word beyond", forge(data, secForward, set(4, byte(100))), false, "forward record"},
		{"a forward record with fewer words", forge(data, secForward, set(0, byte(1))), false, "forward record"},
		{"a forward record with more words", forge(data, secForward, set(0, byte(100))), false, "forward record"},
		{"forward records that overlap", forge(data, secForwardOffsets, set(1, uint64(0))), false, "forward record"},
		{"as it was", forge(data, secYears, set(0, uint16(0))), false, "nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := open(c.data)
			if c.open != (err != nil) {
				t.Fatalf("open: %v", err)
			}
			if err == nil {
				err = s.Verify()
			}
			if c.says == "nothing" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v", err)
			}
		})
	}
}

// Verify reads the disk again, because pages may have been damaged since their first use.
func TestVerifyDoesNotTrustEarlierChecks(t *testing.T) {
	t.Parallel()
	data := aligned(small(t))
	s, err := open(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []sectionID{secLengths, secTermText, secPostingUnits, secForward} {
		s.sections[id].data[0] ^= 1
		if err := s.Verify(); !errors.Is(err, ErrDamaged) {
			t.Errorf("%v: %v", id, err)
		}
		s.sections[id].data[0] ^= 1
	}
	if err := s.Verify(); err != nil {
		t.Fatalf("mended again: %v", err)
	}
}

// Sections that end exactly at, before and after the end of a page.
func TestSectionsOfWholePages(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, pageSize - 1, pageSize, pageSize + 1, 3 * pageSize, 3*pageSize + 8} {
		id := strings.Repeat("i", size)
		word := strings.Repeat("w", size)
		s := mustOpen(t, build(t, Options{Surface: func(string) string { return word }}, []Document{
			{ID: id, SourceID: strings.Repeat("s", size), Units: []Unit{{Text: slices.Repeat([]string{word, ""}, size/2+1)}}},
		}))
		if err := s.Verify(); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if got, err := s.ID(0); err != nil || got != id {
			t.Errorf("%d bytes: %v", size, err)
		}
		if _, ok, err := s.Lookup(word); err != nil || !ok {
			t.Errorf("%d bytes: lookup %v %v", size, ok, err)
		}
		if want := pages(uint64(size)); uint64(len(s.sections[secIDText].sums)) != want {
			t.Errorf("%d bytes: %d pages", size, len(s.sections[secIDText].sums))
		}
		var f Forward
		if err := s.Forward(0, &f); err != nil || len(f.Text) != 2*(size/2+1) {
			t.Errorf("%d bytes: %d words, %v", size, len(f.Text), err)
		}
	}
}

// The section table may be forged, with a correct checksum.
func TestForgedTablesAreRefused(t *testing.T) {
	t.Parallel()
	data := small(t)
	for entry := range int(numSections) {
		for field := range 3 {
			for _, to := range []uint64{0, 1, 7, 1 << 20, 1 << 63, ^uint64(0), ^uint64(0) - 7} {
				bad := aligned(data)
				at := footerAt(data) + entry*entrySize + field*8
				if binary.NativeEndian.Uint64(bad[at:]) == to {
					continue
				}
				binary.NativeEndian.PutUint64(bad[at:], to)
				sealFooter(bad)
				if _, err := open(bad); !errors.Is(err, ErrDamaged) {
					t.Fatalf("entry %d, field %d, %d: %v", entry, field, to, err)
				}
			}
		}
	}
}

func TestForgedSourcesAreRefused(t *testing.T) {
	t.Parallel()
	firstUnits := []uint32{0, 1, 3}
	for name, table := range map[string][]byte{
		"none":                {},
		"cut":                 {1, 'a', 1},
		"a name beyond":       {9, 'a'},
		"no documents":        {1, 'a', 0, 0, 0, 1, 'b', 2, 3, 0},
		"too few documents":   {1, 'a', 1, 1, 0},
		"too many documents":  {1, 'a', 3, 3, 0},
		"other units":         {1, 'a', 1, 2, 0, 1, 'b', 1, 1, 0},
		"names descend":       {1, 'b', 1, 1, 0, 1, 'a', 1, 2, 0},
		"twice":               {1, 'a', 1, 1, 0, 1, 'a', 1, 2, 0},
		"an endless number":   slices.Repeat([]byte{0xff}, 20),
		"more after the last": {1, 'a', 1, 1, 0, 1, 'b', 1, 2, 0, 1, 'c', 1, 0, 0},
	} {
		if sources, err := decodeSources(table, firstUnits); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %+v %v", name, sources, err)
		}
	}
	if sources, err := decodeSources([]byte{1, 'a', 1, 1, 5, 1, 'b', 1, 2, 0}, firstUnits); err != nil ||
		len(sources) != 2 {
		t.Errorf("a good table: %+v %v", sources, err)
	}
}
