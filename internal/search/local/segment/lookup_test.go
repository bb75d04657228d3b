package segment

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// TestLookupInALargeDictionaryFindsEveryTerm uses more terms than Lookup keeps first bytes of, many with the same first
// bytes, and ordinals of one to three bytes.
func TestLookupInALargeDictionaryFindsEveryTerm(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(9, 10))
	m := make(map[string]bool)
	for i := range 20 * numHeads {
		term := strconv.Itoa(random.IntN(1 << 30))
		switch i % 4 {
		case 0:
			term = "sameprefix" + term
		case 1:
			term = term[:1+i%len(term)]
		case 2:
			term = term[:1] + "\x00\x00"[:i%3] + term[1:]
		}
		m[term] = true
	}
	var terms []string
	for term := range m {
		terms = append(terms, term)
	}
	slices.Sort(terms)
	text := slices.Clone(terms)
	random.Shuffle(len(text), func(i, j int) { text[i], text[j] = text[j], text[i] })
	s := mustOpen(t, build(t, Options{}, []Document{{ID: "d", SourceID: "s", Seq: 1, Units: []Unit{{Text: text}}}}))
	if len(s.heads) == 0 {
		t.Fatal("no first bytes are kept")
	}
	for _, round := range []string{"cold", "warm"} {
		for _, term := range text {
			ord, _ := slices.BinarySearch(terms, term)
			if got, ok, err := s.Lookup(term); !ok || err != nil || got.Ord != uint32(ord) {
				t.Fatalf("%s: %q is term %d, %v %v, want %d", round, term, got.Ord, ok, err, ord)
			}
			padded := (term + "\x00\x00\x00\x00\x00\x00\x00")[:7]
			for _, missing := range []string{term + "\x00", term + "x", padded} {
				if _, ok, err := s.Lookup(missing); ok != m[missing] || err != nil {
					t.Fatalf("%s: lookup of %q: %v %v", round, missing, ok, err)
				}
			}
		}
	}
	var f Forward
	if err := s.Forward(0, &f); err != nil || len(f.Text) != len(text) {
		t.Fatalf("forward record: %d terms, %v", len(f.Text), err)
	}
	for i, place := range f.Text {
		if terms[place-1] != text[i] {
			t.Fatalf("word %d is %q, want %q", i, terms[place-1], text[i])
		}
	}
}
