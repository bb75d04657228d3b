package rank

import (
	"cmp"
	"reflect"
	"slices"
	"testing"
)

// TestNearestUnitsEqualComparingEveryUnit compares the documents nearest to a query within its filters with those of an
// exhaustive comparison. Vectors of 256 values are compared by the instructions of the processor.
func TestNearestUnitsEqualComparingEveryUnit(t *testing.T) {
	t.Parallel()
	for _, dims := range []int{64, 256} {
		l := newLibrary(uint64(dims), 40, 3)
		l.dims = dims
		s := l.shelve(t, 3000, 3, 2)
		for range 40 {
			r := l.request()
			r.Sources = l.sources[:1+l.IntN(len(l.sources))]
			r.Vector, r.Model, r.VectorWeight = l.vector(), "m", 0.3
			p, err := newPlan(t.Context(), s.views, r)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.applyClauses(); err != nil {
				t.Fatal(err)
			}
			p.filter()
			vectors, some, err := p.vectors()
			if err != nil || !some {
				t.Fatalf("vectors: %v %v", some, err)
			}
			q := quantise(r.Vector)
			got, err := p.nearest(vectors, q, denseDepth)
			if err != nil {
				t.Fatal(err)
			}
			if want := nearestByScan(t, p, q); !reflect.DeepEqual(got, want) {
				t.Fatalf("years %d to %d, %d clauses: %d documents %v\nwant %d %v", r.FromYear, r.ToYear,
					len(r.Parsed.Require)+len(r.Parsed.Exclude), len(got), got, len(want), want)
			}
		}
	}
}

// nearestByScan compares all units of the plan, without bit sets.
func nearestByScan(t *testing.T, p *plan, q quantised) []candidate {
	t.Helper()
	var all []nearUnit
	for i := range p.parts {
		at := &p.parts[i]
		v, err := at.s.Vectors()
		if err != nil {
			t.Fatal(err)
		}
		for unit := at.r.FirstUnit; unit < at.r.EndUnit; unit++ {
			doc := at.s.DocOf()[unit]
			if v.Scales[unit] == 0 || !p.holds(at, doc) || !p.request.Covers(int(at.s.Years()[doc])) {
				continue
			}
			words := len(q.code)
			d := distance(v.Codes[int(unit)*words:][:words], q.code)
			all = append(all, nearUnit{part: i, unit: unit, distance: uint32(d)})
		}
	}
	slices.SortStableFunc(all, func(x, y nearUnit) int { return cmp.Compare(x.distance, y.distance) })
	best := make(map[[2]uint32]candidate)
	for i, n := range all {
		if i >= denseRescan && n.distance > all[denseRescan-1].distance {
			break
		}
		at := &p.parts[n.part]
		v, err := at.s.Vectors()
		if err != nil {
			t.Fatal(err)
		}
		cosine, err := dot(at.s, &v, n.unit, &q)
		if err != nil {
			t.Fatal(err)
		}
		c := candidate{score: cosinePoints(cosine), part: n.part, unit: n.unit, doc: at.s.DocOf()[n.unit]}
		key := [2]uint32{uint32(c.part), c.doc}
		if known, ok := best[key]; !ok || compare(c, known) < 0 {
			best[key] = c
		}
	}
	var out []candidate
	for _, c := range best {
		out = append(out, c)
	}
	slices.SortFunc(out, compare)
	return out[:min(len(out), denseDepth)]
}
