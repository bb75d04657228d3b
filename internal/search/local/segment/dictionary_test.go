package segment

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestDictionaryNumbersTermsByFirstAppearance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := newDictionary()
		model := map[string]uint32{}
		for _, term := range rapid.SliceOf(
			rapid.OneOf(rapid.SampledFrom(vocabulary), rapid.StringN(1, 12, -1)),
		).Draw(t, "terms") {
			want, ok := model[term]
			if !ok {
				want = uint32(len(model) + 1)
				model[term] = want
			}
			if got := d.number(term); got != want {
				t.Fatalf("%q is %d, want %d", term, got, want)
			}
		}
	})
}

func TestDictionaryGrows(t *testing.T) {
	t.Parallel()
	d := newDictionary()
	const n = 20_000
	for range 2 { // all terms are known the second time
		for i := range n {
			if got := d.number("term" + strconv.Itoa(i)); got != uint32(i+1) {
				t.Fatalf("term %d is %d", i, got)
			}
		}
	}
	if len(d.terms) != n || len(d.slots) < n {
		t.Fatalf("%d terms in %d slots", len(d.terms), len(d.slots))
	}
}

func TestDictionarySortsByBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// The prefix alone cannot distinguish long common beginnings and trailing zeros.
		term := rapid.StringOfN(rapid.SampledFrom([]rune("ab\x00é")), 1, 12, -1)
		d := newDictionary()
		var want []string
		for _, term := range rapid.SliceOfDistinct(term, rapid.ID).Draw(t, "terms") {
			d.number(term)
			want = append(want, term)
		}
		slices.Sort(want)
		for ord, n := range d.sorted() {
			if got := string(d.bytes(&d.terms[n])); got != want[ord] {
				t.Fatalf("%d is %q, want %q", ord, got, want[ord])
			}
		}
	})
}

func TestQueueYieldsInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lists := rapid.SliceOf(rapid.SliceOfN(rapid.IntRange(0, 50), 1, 20)).Draw(t, "lists")
		q := queue[*[]int]{less: func(a, b *[]int) bool { return (*a)[0] < (*b)[0] }}
		var want []int
		for i := range lists {
			slices.Sort(lists[i])
			want = append(want, lists[i]...)
			rest := lists[i]
			q.push(&rest)
		}
		slices.Sort(want)
		var got []int
		for len(q.items) > 0 {
			first := q.items[0]
			got = append(got, (*first)[0])
			*first = (*first)[1:]
			q.settle(len(*first) > 0)
		}
		equal(t, "merged", got, want)
	})
}
