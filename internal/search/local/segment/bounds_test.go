package segment

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// quotient is the value that bounds limit: the norm of a unit for some average, divided by the frequency.
func quotient(length uint32, freq uint8, average float64) float64 {
	return (K1*(1-B) + K1*B/average*float64(length)) / float64(freq)
}

// manyPostings returns documents whose terms have several blocks of postings.
func manyPostings(docs int, seed uint64) []Document {
	random := rand.New(rand.NewPCG(seed, 1))
	out := make([]Document, docs)
	for i := range out {
		var u Unit
		for range random.IntN(12) {
			u.Text = append(u.Text, strconv.Itoa(int(math.Sqrt(float64(random.IntN(64))))))
		}
		for range random.IntN(2) {
			u.Title = append(u.Title, strconv.Itoa(random.IntN(4)))
		}
		out[i] = Document{ID: "d" + strconv.Itoa(i), SourceID: strconv.Itoa(random.IntN(3)), Seq: uint64(i), Units: []Unit{u}}
	}
	return out
}

// eachBound calls f with every posting, its bound and the average of its source.
func eachBound(tb rapid.TB, s *Segment, f func(place uint64, unit uint32, freq uint8, bound, average float64)) {
	tb.Helper()
	for ord := range uint32(s.Terms()) {
		_, term, err := s.Term(ord)
		if err != nil {
			tb.Fatalf("term: %v", err)
		}
		p, err := s.Postings(term)
		if err != nil {
			tb.Fatalf("postings: %v", err)
		}
		if want := (term.End-1)/BlockSize - term.First/BlockSize + 1; uint64(len(p.Bounds)) != want {
			tb.Fatalf("%d bounds for places %d to %d", len(p.Bounds), term.First, term.End)
		}
		for i, u := range p.Units {
			place := p.First + uint64(i)
			for _, r := range s.Sources() {
				if u >= r.FirstUnit && u < r.EndUnit {
					f(place, u, p.Freqs[i], float64(p.Bounds[place/BlockSize-p.First/BlockSize]), r.average())
				}
			}
		}
	}
}

func TestBoundsHoldForEveryAverage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		docs := manyPostings(rapid.IntRange(1, 600).Draw(t, "documents"), rapid.Uint64().Draw(t, "seed"))
		s := mustOpen(t, build(t, Options{}, docs))
		query := rapid.Float64Range(0.01, 1000).Draw(t, "average")
		eachBound(t, s, func(place uint64, unit uint32, freq uint8, bound, own float64) {
			if got := quotient(s.Lengths()[unit], freq, query); got < bound*min(1, own/query) {
				t.Fatalf("place %d: %v is below the bound %v (average %v, query's %v)", place, got, bound, own, query)
			}
		})
	})
}

func TestBoundsAreTightForTheSegmentsOwnAverage(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, build(t, Options{}, manyPostings(2000, 7)))
	type block struct {
		ord   uint32
		bound float64
	}
	least := map[block]float64{}
	ord, before := uint32(0), uint64(0)
	eachBound(t, s, func(place uint64, unit uint32, freq uint8, bound, own float64) {
		for _, term, _ := s.Term(ord); place >= term.End; _, term, _ = s.Term(ord) {
			ord++
		}
		before = place
		b := block{ord<<16 | uint32(place/BlockSize), bound}
		got := quotient(s.Lengths()[unit], freq, own)
		if old, ok := least[b]; !ok || got < old {
			least[b] = got
		}
	})
	if before < 4*BlockSize {
		t.Fatalf("only %d postings", before)
	}
	for b, q := range least {
		if b.bound > q || b.bound < q*(1-1e-6) {
			t.Errorf("the bound of %+v is %v, the least %v", b, b.bound, q)
		}
	}
}

func TestUnitsWithoutLengthHaveABound(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, build(t, Options{}, []Document{{ID: "1", Units: []Unit{{Authors: []string{"x", "x"}}}}}))
	p, err := s.Postings(Term{Ord: 0, First: 0, End: 1})
	if err != nil || p.Bounds[0] >= 0.3/2 || p.Bounds[0] < 0.3/2*(1-1e-6) {
		t.Fatalf("bounds %v %v", p.Bounds, err)
	}
}

// A term that ends with its block leaves the next entry of the section unused.
func TestBoundsOfTermsThatEndWithABlock(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 127, 128, 129, 255, 256, 257, 384} {
		var docs []Document
		for i := range n {
			docs = append(docs, Document{ID: strconv.Itoa(i), Seq: uint64(i), Units: []Unit{{Text: []string{"a", "b", "c"}}}})
		}
		s := mustOpen(t, build(t, Options{}, docs))
		if err := s.Verify(); err != nil {
			t.Errorf("%d postings a term: %v", n, err)
		}
		eachBound(t, s, func(place uint64, _ uint32, _ uint8, bound, _ float64) {
			if math.Abs(bound-1.2) > 1e-6 {
				t.Errorf("%d postings a term, place %d: bound %v", n, place, bound)
			}
		})
	}
}
