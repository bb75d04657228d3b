package analysis

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

func TestKnownWordsAreLikeAMap(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, random.IntN(2*shortWord+2))
		for i := range b {
			b[i] = "ab\x00\xc3"[random.IntN(4)] // few letters, so that words share parts
		}
		return string(b)
	}
	var k knownWords
	model := make(map[string]entry)
	for range 50_000 {
		w := word()
		got, want := k.find([]byte(w)), model[w]
		switch _, ok := model[w]; {
		case ok && (got == nil || *got != want):
			t.Fatalf("find(%q) = %v, want %v", w, got, want)
		case !ok && got != nil:
			t.Fatalf("find(%q) = %v, want nothing", w, *got)
		case !ok:
			e := entry{term: w + "!", stop: len(w)%2 == 0}
			k.add(w, e)
			model[w] = e
		}
		if k.len() != len(model) {
			t.Fatalf("%d words, want %d", k.len(), len(model))
		}
		if random.IntN(20_000) == 0 {
			k.clear()
			clear(model)
		}
	}
	for w, want := range model {
		if got := k.find([]byte(w)); got == nil || *got != want {
			t.Errorf("find(%q) = %v, want %v", w, got, want)
		}
	}
}

func TestPackTellsWordsOfOneSizeApart(t *testing.T) {
	t.Parallel()
	for size := 1; size <= shortWord; size++ {
		seen := make(map[[2]uint64]string)
		for at := range size {
			for letter := range 256 {
				word := make([]byte, size)
				word[at] = byte(letter)
				low, high := pack(word)
				if other, ok := seen[[2]uint64{low, high}]; ok && other != string(word) {
					t.Fatalf("%q and %q have the same numbers", other, word)
				}
				seen[[2]uint64{low, high}] = string(word)
			}
		}
	}
}

func TestKnownWordIsACacheLine(t *testing.T) {
	t.Parallel()
	if unsafe.Sizeof(uintptr(0)) == 8 && unsafe.Sizeof(knownWord{}) != 64 {
		t.Errorf("a slot has %d bytes, want 64", unsafe.Sizeof(knownWord{}))
	}
}

func BenchmarkKnownWords(b *testing.B) {
	var k knownWords
	words := make([][]byte, 1<<16)
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 4, 100_000)
	for i := range words {
		words[i] = fmt.Appendf(nil, "word%d", zipf.Uint64())
		if k.find(words[i]) == nil {
			k.add(string(words[i]), entry{term: string(words[i])})
		}
	}
	for i := 0; b.Loop(); i++ {
		if k.find(words[i%len(words)]) == nil {
			b.Fatal("a word is missing")
		}
	}
}
