package segment

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestCounterSumsWeightsUpToTheCap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var c counter
		c.init(8)
		for range 2 { // the counter is reset by all
			want := map[uint32]uint32{}
			for range rapid.IntRange(0, 300).Draw(t, "words") {
				ord, weight := rapid.Uint32Range(0, 7).Draw(t, "ord"), rapid.SampledFrom([]uint32{1, 3}).Draw(t, "weight")
				want[ord] = min(want[ord]+weight, maxFreq)
				c.add(ord, weight)
			}
			got := map[uint32]uint32{}
			for ord, freq := range c.all() {
				got[ord] = uint32(freq)
			}
			if !maps.Equal(got, want) {
				t.Fatalf("counted %v, want %v", got, want)
			}
		}
	})
}

// A document is found by its id, title key and DOI key, and by nothing else.
func TestDocumentsAreFoundByTheirKeys(t *testing.T) {
	t.Parallel()
	var docs []Document
	for i := range 500 {
		docs = append(docs, Document{
			ID: fmt.Sprintf("d%03d", i), SourceID: "s", Seq: uint64(i + 1),
			TitleKey: uint64(i%7) << 40, DOIKey: uint64(i % 3 * (i + 1)),
			Units: []Unit{{Text: []string{"word"}}},
		})
	}
	s := mustOpen(t, build(t, Options{}, docs))
	for i, d := range docs {
		if doc, ok, err := s.FindID(d.ID); err != nil || !ok || doc != uint32(i) {
			t.Fatalf("%s is document %d, %v, %v", d.ID, doc, ok, err)
		}
	}
	for _, id := range []string{"", "d", "d500", "D001"} {
		if _, ok, err := s.FindID(id); ok || err != nil {
			t.Errorf("%q is found, %v", id, err)
		}
	}
	for key := range uint64(9) {
		var want []uint32
		for i, d := range docs {
			if d.TitleKey == key<<40 && d.TitleKey != 0 {
				want = append(want, uint32(i))
			}
		}
		if got, err := s.FindTitle(key << 40); err != nil || !slices.Equal(got, want) {
			t.Errorf("title key %d: %v, %v, want %v", key, got, err, want)
		}
	}
	for _, key := range []uint64{0, math.MaxUint64} {
		if got, err := s.FindDOI(key); err != nil || len(got) != 0 {
			t.Errorf("DOI key %d: %v, %v", key, got, err)
		}
	}
}

// Every posting lies in the block whose bound is at place/BlockSize, also for terms that begin inside a block.
func TestPostingsAgreeWithTheForwardRecords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := mustOpen(t, build(t, Options{}, someDocs(0).Draw(t, "documents")))
		counts := map[uint32]map[uint32]int{} // unit and weighted frequency by ord
		var f Forward
		for unit := range uint32(s.Units()) {
			if err := s.Forward(unit, &f); err != nil {
				t.Fatal(err)
			}
			for weight, fields := range map[int][][]uint32{TitleWeight: {f.Title}, 1: {f.Authors, f.Text}} {
				for _, field := range fields {
					for _, place := range field {
						if place == 0 {
							continue
						}
						if counts[place-1] == nil {
							counts[place-1] = map[uint32]int{}
						}
						counts[place-1][unit] += weight
					}
				}
			}
		}
		for ord := range uint32(s.Terms()) {
			text, term, err := s.Term(ord)
			if err != nil {
				t.Fatal(err)
			}
			postings, err := s.Postings(term)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.IsSorted(postings.Units) || len(postings.Units) != len(counts[ord]) {
				t.Fatalf("%q has the units %v, want %v", text, postings.Units, counts[ord])
			}
			for i, unit := range postings.Units {
				if want := min(counts[ord][unit], maxFreq); int(postings.Freqs[i]) != want {
					t.Fatalf("%q occurs %d times in unit %d, want %d", text, postings.Freqs[i], unit, want)
				}
			}
			if found, ok, err := s.Lookup(text); err != nil || !ok || found != term {
				t.Fatalf("%q is %+v, %v, %v, want %+v", text, found, ok, err, term)
			}
		}
	})
}

func TestTermsOutsideTheDictionaryAreNotFound(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, build(t, Options{}, []Document{{
		ID: "a", SourceID: "s", Seq: 1, Units: []Unit{{Text: []string{"b", "bb", "d"}}},
	}}))
	for _, term := range []string{"", "a", "ba", "bbb", "c", "dd", "\xff"} {
		if found, ok, err := s.Lookup(term); ok || err != nil {
			t.Errorf("%q is %+v, %v", term, found, err)
		}
	}
}

func FuzzForwardRecords(f *testing.F) {
	f.Add([]byte{1, 2, 3}, uint64(3), uint64(9))
	f.Add(binary.AppendUvarint(nil, math.MaxUint64), uint64(1), uint64(9))
	f.Add([]byte{0x80}, uint64(1), uint64(200))
	f.Add([]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}, uint64(1), uint64(9))
	f.Fuzz(func(t *testing.T, record []byte, n, limit uint64) {
		n = min(n, 1000)
		limit = min(limit, math.MaxUint32)
		terms, rest, ok := appendTerms(nil, record, n, limit)
		if !ok {
			return
		}
		if uint64(len(terms)) != n || len(rest) > len(record) {
			t.Fatalf("%d terms of %d, %d bytes left of %d", len(terms), n, len(rest), len(record))
		}
		var again []byte
		for _, v := range terms {
			if uint64(v) > limit {
				t.Fatalf("term %d is above %d", v, limit)
			}
			again = binary.AppendUvarint(again, uint64(v))
		}
		if len(again) > len(record)-len(rest) {
			t.Fatalf("% x encodes to more than it was read from", record)
		}
	})
}

// A range of a source without units has no average, and its norm is the flat part.
func TestNormsAreRoundedDown(t *testing.T) {
	t.Parallel()
	if got := (&Range{}).average(); got != 0 {
		t.Errorf("a source without units has the average %f", got)
	}
	for _, length := range []uint32{0, 1, 10, 1000, math.MaxUint32} {
		for _, average := range []float64{0, 0.5, 1, 37.3, 1e6} {
			exact := K1 * (1 - B)
			if average > 0 {
				exact += K1 * B * float64(length) / average
			}
			got := float64(norm(length, average))
			if got > exact || got < exact*(1-1e-6) {
				t.Errorf("length %d, average %f: the norm is %g, exactly %g", length, average, got, exact)
			}
			if b := bound(float32(got)); b >= float32(got) || b < 0 {
				t.Errorf("the bound %g is not below %g", b, got)
			}
		}
	}
}
