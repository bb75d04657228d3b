package rank

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"carrel/internal/search/local/segment"
	"carrel/internal/search/query"
)

// ascending draws sorted distinct unit numbers.
func ascending(most int) *rapid.Generator[[]uint32] {
	return rapid.Custom(func(t *rapid.T) []uint32 {
		out := rapid.SliceOfNDistinct(rapid.Uint32Range(0, 500), 0, most, rapid.ID).Draw(t, "units")
		slices.Sort(out)
		return out
	})
}

func TestSeekEqualsAScan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		units := ascending(200).Draw(t, "list")
		from := rapid.IntRange(0, len(units)).Draw(t, "from")
		unit := rapid.Uint32Range(0, 520).Draw(t, "unit")
		want := from
		for want < len(units) && units[want] < unit {
			want++
		}
		if got := seek(units, from, unit); got != want {
			t.Fatalf("seek from %d for %d is %d, a scan %d", from, unit, got, want)
		}
	})
}

func TestIntersectionEqualsAScan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lists := rapid.SliceOfN(ascending(80), 1, 5).Draw(t, "lists")
		var want []uint32
		for _, unit := range lists[0] {
			if !slices.ContainsFunc(lists, func(l []uint32) bool { return !slices.Contains(l, unit) }) {
				want = append(want, unit)
			}
		}
		var got []uint32
		intersect(slices.Clone(lists), func(unit uint32) bool {
			got = append(got, unit)
			return true
		})
		if !slices.Equal(got, want) {
			t.Fatalf("%v have in common %v, want %v", lists, got, want)
		}
		if len(want) > 1 {
			n := 0
			intersect(lists, func(uint32) bool { n++; return false })
			if n != 1 {
				t.Fatalf("%d units after the first was refused", n)
			}
		}
	})
}

func TestLeastBoundEqualsAScanOfTheBlocks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		skew := rapid.IntRange(0, segment.BlockSize-1).Draw(t, "skew")
		n := rapid.IntRange(1, 4*segment.BlockSize).Draw(t, "postings")
		l := list{skew: skew, bounds: make([]float32, (skew+n-1)/segment.BlockSize+1)}
		for i := range l.bounds {
			l.bounds[i] = rapid.Float32Range(0, 9).Draw(t, "bound")
		}
		first := rapid.IntRange(0, n-1).Draw(t, "first")
		end := rapid.IntRange(first+1, n).Draw(t, "end")
		want := l.bounds[(first+skew)/segment.BlockSize]
		for at := first; at < end; at++ {
			want = min(want, l.bounds[(at+skew)/segment.BlockSize])
		}
		if got := l.least(first, end); got != want {
			t.Fatalf("the least bound of %d–%d is %v, want %v", first, end, got, want)
		}
	})
}

// The heap keeps the candidates that sorting all of them would put first, and one unit per document.
func TestTopEqualsSortingEveryCandidate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 12).Draw(t, "k")
		n := rapid.IntRange(0, 60).Draw(t, "candidates")
		best := top{k: k}
		byDocument := map[[2]uint32]candidate{}
		for i := range n {
			c := candidate{
				score: points(rapid.IntRange(0, 20).Draw(t, "score")), part: rapid.IntRange(0, 2).Draw(t, "part"),
				doc: uint32(rapid.IntRange(0, 15).Draw(t, "doc")), unit: uint32(i),
			}
			best.add(c, true)
			key := [2]uint32{uint32(c.part), c.doc}
			if old, ok := byDocument[key]; !ok || compare(c, old) < 0 {
				byDocument[key] = c
			}
			if len(best.heap) == k && best.least != best.heap[0].score {
				t.Fatalf("the least score is %d, the worst candidate has %d", best.least, best.heap[0].score)
			}
		}
		var want []candidate
		for _, c := range byDocument {
			want = append(want, c)
		}
		slices.SortFunc(want, compare)
		want = want[:min(k, len(want))]
		got := best.sorted()
		// Of units with equal scores either may be kept for a document that was displaced and returned.
		if len(got) != len(want) {
			t.Fatalf("%d candidates, want %d", len(got), len(want))
		}
		for i := range want {
			if got[i].score != want[i].score {
				t.Fatalf("candidate %d has the score %d, want %d", i, got[i].score, want[i].score)
			}
		}
	})
}

func TestCandidatesAreOrdered(t *testing.T) {
	t.Parallel()
	ordered := []candidate{
		{score: 1, named: true},
		{score: 9},
		{score: 5, part: 0, unit: 3},
		{score: 5, part: 0, unit: 4},
		{score: 5, part: 1, unit: 0},
		{score: 0},
	}
	shuffled := slices.Clone(ordered)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) {
		shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
	})
	slices.SortFunc(shuffled, compare)
	if !slices.Equal(shuffled, ordered) {
		t.Errorf("sorted %+v", shuffled)
	}
}

func TestPhrasesMatchPositions(t *testing.T) {
	t.Parallel()
	// Terms are numbered from 1; 0 is a position without a term.
	forward := segment.Forward{
		Title: []uint32{1, 2, 3}, Text: []uint32{4, 0, 5, 4, 5, 6}, Authors: []uint32{7, 8, 0, 9, 8, 10},
	}
	for _, c := range []struct {
		field  query.Field
		places []uint32
		want   bool
	}{
		{query.Any, []uint32{2}, true},
		{query.Any, []uint32{9}, true},
		{query.Any, []uint32{11}, false},
		{query.Title, []uint32{1, 2}, true},
		{query.Title, []uint32{2, 1}, false},
		{query.Title, []uint32{4}, false},
		{query.Title, []uint32{1, 2, 3, 4}, false}, // longer than the title
		{query.Text, []uint32{4, 5}, true},
		{query.Text, []uint32{4, 0, 5}, true},
		{query.Text, []uint32{5, 6}, true},
		{query.Text, []uint32{5, 0, 4}, false},
		{query.Text, []uint32{1}, false},
		{query.Any, []uint32{3, 4}, false}, // across fields
		{query.Author, []uint32{8, 7}, true},
		{query.Author, []uint32{10, 9}, true}, // any order within a name
		{query.Author, []uint32{7, 9}, false},
		{query.Author, []uint32{8}, true}, // but within one name
		{query.Author, []uint32{1}, false},
		{query.Author, []uint32{10, 0, 9}, true},
	} {
		m := matcher{clause: query.Clause{Field: c.field}, places: c.places, forward: forward}
		if got := m.match(); got != c.want {
			t.Errorf("field %v, %v: %v", c.field, c.places, got)
		}
	}
}

// Documents that are deleted are in no answer, and the others rank as if they had never been there.
func TestDeletedDocumentsAreNeverScored(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		l := newLibrary(seed, 30, 2)
		s := l.shelve(t, 400, 5, 4)
		for range 10 {
			r := l.request()
			r.Vector = nil
			got, err := Search(t.Context(), s.views, r)
			if err != nil {
				t.Fatal(err)
			}
			for _, hit := range got.Hits {
				v := s.views[hit.View]
				if v.Deleted.Get(hit.Doc) {
					t.Fatalf("seed %d: the deleted document %d is found", seed, hit.Doc)
				}
				if v.Segment.DocOf()[hit.Unit] != hit.Doc {
					t.Fatalf("seed %d: unit %d is not of document %d", seed, hit.Unit, hit.Doc)
				}
			}
			if !slices.IsSortedFunc(got.Hits, func(x, y Hit) int {
				switch {
				case x.Score > y.Score:
					return -1
				case x.Score < y.Score:
					return 1
				}
				return 0
			}) {
				t.Fatalf("seed %d: scores increase: %+v", seed, got.Hits)
			}
		}
	}
}

// Merging segments and dropping deleted documents changes no answer.
func TestMergedSegmentsGiveTheSameAnswers(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		l := newLibrary(100+seed, 25, 3)
		s := l.shelve(t, 300, 4, 3)
		merged := s.merged(t)
		for range 15 {
			r := l.request()
			r.Vector = nil
			before, after := ask(t, s.views, r), ask(t, merged, r)
			if fmt.Sprint(before) != fmt.Sprint(after) {
				t.Fatalf("seed %d: %+v\nbefore %+v\nafter  %+v", seed, r, before, after)
			}
		}
	}
}

func TestSuggestionsPreferTheNearestThenTheMostFrequent(t *testing.T) {
	t.Parallel()
	ordered := []*suggestion{
		{term: "z", distance: 1, holders: 9},
		{term: "a", distance: 1, holders: 3},
		{term: "b", distance: 1, holders: 3},
		{term: "c", distance: 2, holders: 99},
	}
	shuffled := []*suggestion{ordered[3], ordered[2], ordered[0], ordered[1]}
	slices.SortFunc(shuffled, compareSuggestions)
	if !slices.Equal(shuffled, ordered) {
		t.Errorf("sorted %+v", shuffled)
	}
}

func TestTermsAreCountedInTheSearchedSourcesOnly(t *testing.T) {
	t.Parallel()
	one, two := document("a", "", "word word other"), document("b", "", "word")
	two.SourceID = "t"
	views := write(t, segment.Options{}, one, two, document("c", "", "other"))
	for _, c := range []struct {
		sources []string
		term    string
		want    int
	}{
		{[]string{"s"}, "word", 1},
		{[]string{"t"}, "word", 1},
		{[]string{"s", "t"}, "word", 2},
		{[]string{"s"}, "other", 2},
		{[]string{"s"}, "none", 0},
		{[]string{"u"}, "word", 0},
		{nil, "word", 0},
	} {
		if got, err := Holders(views, c.sources, c.term); err != nil || got != c.want {
			t.Errorf("%v hold %q %d times, want %d (%v)", c.sources, c.term, got, c.want, err)
		}
	}
}
