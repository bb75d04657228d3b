package segment

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestBitsAreASet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		b := NewBits(n)
		model := map[uint32]bool{}
		for _, doc := range rapid.SliceOf(rapid.Uint32Range(0, uint32(n-1))).Draw(t, "documents") {
			if b.Set(doc) == model[doc] {
				t.Fatalf("%d is new: %v", doc, !model[doc])
			}
			model[doc] = true
		}
		if b.Count() != len(model) || b.Len() != n {
			t.Fatalf("count %d, length %d", b.Count(), b.Len())
		}
		for doc := range uint32(n + 70) {
			if b.Get(doc) != model[doc] {
				t.Fatalf("%d: %v", doc, b.Get(doc))
			}
		}
		all := slices.Collect(b.All())
		if !slices.IsSorted(all) || len(all) != len(model) {
			t.Fatalf("all: %v", all)
		}
	})
}

func TestCloneOfBitsIsItsOwn(t *testing.T) {
	t.Parallel()
	b := NewBits(100)
	b.Set(3)
	c := b.Clone()
	c.Set(99)
	if b.Get(99) || b.Count() != 1 || !c.Get(3) || c.Count() != 2 {
		t.Errorf("%v %v", slices.Collect(b.All()), slices.Collect(c.All()))
	}
}

func TestNilBitsAreEmpty(t *testing.T) {
	t.Parallel()
	var b *Bits
	if b.Get(0) || b.Count() != 0 || b.Len() != 0 || b.Clone() != nil || len(slices.Collect(b.All())) != 0 {
		t.Error("nil holds something")
	}
}

func TestBitsIterationStopsEarly(t *testing.T) {
	t.Parallel()
	b := NewBits(200)
	for doc := range uint32(200) {
		b.Set(doc)
	}
	last := uint32(0)
	for doc := range b.All() {
		if last = doc; doc == 70 {
			break
		}
	}
	if last != 70 {
		t.Errorf("stopped at %d", last)
	}
}

func TestSetBeyondTheEndPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	NewBits(65).Set(65)
}
