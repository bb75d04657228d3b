package segment

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestUnitsOfYearsEqualAScan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		docs := someDocs(0).Draw(t, "documents")
		for i := range docs {
			docs[i].Year = rapid.SampledFrom([]int{0, 1, 2019, 2020, 2021, 9999}).Draw(t, "year")
		}
		s := mustOpen(t, build(t, Options{}, docs))
		for range 3 {
			year := rapid.SampledFrom([]uint16{0, 1, 2, 2019, 2020, 2021, 9999, math.MaxUint16})
			checkYears(t, s, year.Draw(t, "from"), year.Draw(t, "to"))
		}
	})
}

func checkYears(tb rapid.TB, s *Segment, from, to uint16) {
	tb.Helper()
	for _, r := range s.Sources() {
		set := s.UnitsOfYears(r, from, to)
		for unit := r.FirstUnit; unit < r.EndUnit; unit++ {
			year := s.Years()[s.DocOf()[unit]]
			want := year != 0 && year >= from && year <= to
			place := unit - r.FirstUnit
			if got := set[place/64]>>(place%64)&1 == 1; got != want {
				tb.Fatalf("%d to %d: unit %d of %q, of %d: %v", from, to, unit, r.Source, year, got)
			}
		}
	}
}

func TestSetsOfYearsAreKeptForTheLastRanges(t *testing.T) {
	t.Parallel()
	var docs []Document
	for i := range 3 * leastKeptUnits {
		docs = append(docs, Document{
			ID: strconv.Itoa(i), SourceID: strconv.Itoa(i % 2), Seq: uint64(i + 1), Year: 1990 + i%40, Units: []Unit{{}},
		})
	}
	s := mustOpen(t, build(t, Options{}, docs))
	r := s.Sources()[1]
	first := s.UnitsOfYears(r, 2000, 2010)
	for range 3 {
		for n := range uint16(2 * keptYears) {
			checkYears(t, s, 2000+n, 2010)
		}
	}
	if n := len(s.ofYears.entries); n != keptYears {
		t.Errorf("%d sets are kept, want %d", n, keptYears)
	}
	again := s.UnitsOfYears(r, 2000, 2010)
	if !slices.Equal(again, first) || &again[0] == &first[0] {
		t.Error("a set that was not used for long was kept, or differs")
	}
	for n := range uint16(2 * keptYears) {
		s.UnitsOfYears(r, 2001+n, 2010)
		if kept := s.UnitsOfYears(r, 2000, 2010); &kept[0] != &again[0] {
			t.Fatal("a set in use was not kept")
		}
	}
}
