package segment

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"carrel/internal/search/local/disk"
)

// abstracts returns documents like those of a library: a title of ten words, an abstract of a hundred, two authors, and
// a natural distribution of words.
func abstracts(docs int, seed uint64) []Document {
	random := rand.New(rand.NewPCG(seed, 1))
	zipf := rand.NewZipf(random, 1.07, 5, 300_000)
	words := make([]string, 300_001)
	for i := range words {
		words[i] = fmt.Sprintf("%x-term", uint32(i)*2654435761)
	}
	draw := func(n int) []string {
		out := make([]string, n)
		for i := range out {
			if i%3 != 2 { // the others are stop words
				out[i] = words[zipf.Uint64()]
			}
		}
		return out
	}
	out := make([]Document, docs)
	for i := range out {
		n := seed*1_000_000 + uint64(i)
		out[i] = Document{
			ID: fmt.Sprintf("document-%016x", n*2654435761), SourceID: fmt.Sprintf("source-%d", i%3), Seq: n, Year: 1950 + i%75,
			TitleKey: random.Uint64(), DOIKey: random.Uint64(),
			Units: []Unit{{Title: draw(10), Authors: draw(4), Text: draw(80 + random.IntN(40))}},
		}
	}
	return out
}

func benchSegment(b *testing.B, docs int, seed uint64) *Segment {
	b.Helper()
	builder := NewBuilder(Options{})
	for _, d := range abstracts(docs, seed) {
		builder.Add(&d)
	}
	path := b.TempDir() + "/s"
	if err := builder.Write(disk.OS, path); err != nil {
		b.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

func BenchmarkBuilder(b *testing.B) {
	docs := abstracts(20_000, 1)
	path := b.TempDir() + "/s"
	b.ReportAllocs()
	for b.Loop() {
		builder := NewBuilder(Options{})
		for i := range docs {
			builder.Add(&docs[i])
		}
		if err := builder.Write(disk.OS, path); err != nil {
			b.Fatal(err)
		}
	}
	perDocument(b, len(docs))
}

func BenchmarkBuilderAdd(b *testing.B) {
	docs := abstracts(20_000, 1)
	b.ReportAllocs()
	for b.Loop() {
		builder := NewBuilder(Options{})
		for i := range docs {
			builder.Add(&docs[i])
		}
	}
	perDocument(b, len(docs))
}

func BenchmarkMerge(b *testing.B) {
	for _, deleted := range []bool{false, true} {
		b.Run(fmt.Sprintf("deleted=%v", deleted), func(b *testing.B) {
			var inputs []Input
			n := 0
			for i := range uint64(5) {
				in := Input{Segment: benchSegment(b, 20_000, i+1)}
				if deleted {
					in.Deleted = NewBits(in.Segment.Documents())
					for doc := uint32(0); int(doc) < in.Segment.Documents(); doc += 10 {
						in.Deleted.Set(doc)
					}
				}
				n += in.Segment.Documents()
				inputs = append(inputs, in)
			}
			path := b.TempDir() + "/m"
			runtime.GC()
			b.ReportAllocs()
			for b.Loop() {
				if err := Merge(b.Context(), disk.OS, path, inputs); err != nil {
					b.Fatal(err)
				}
			}
			perDocument(b, n)
		})
	}
}

func perDocument(b *testing.B, docs int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*docs), "µs/doc")
	b.ReportMetric(float64(b.N*docs)/b.Elapsed().Seconds(), "docs/s")
}

func BenchmarkOpen(b *testing.B) {
	docs := abstracts(20_000, 1)
	builder := NewBuilder(Options{})
	for i := range docs {
		builder.Add(&docs[i])
	}
	path := b.TempDir() + "/s"
	if err := builder.Write(disk.OS, path); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		s, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	s := benchSegment(b, 20_000, 1)
	names := make([]string, s.Terms())
	for ord := range names {
		names[ord], _, _ = s.Term(uint32(ord))
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, ok, err := s.Lookup(names[i%len(names)]); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkPostings(b *testing.B) {
	s := benchSegment(b, 20_000, 1)
	var longest Term
	for ord := range uint32(s.Terms()) {
		if _, t, _ := s.Term(ord); t.End-t.First > longest.End-longest.First {
			longest = t
		}
	}
	b.ReportAllocs()
	b.ReportMetric(float64(longest.End-longest.First), "postings")
	for b.Loop() {
		if _, err := s.Postings(longest); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkForward(b *testing.B) {
	s := benchSegment(b, 20_000, 1)
	var record Forward
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := s.Forward(uint32(i*7919%s.Units()), &record); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFindID(b *testing.B) {
	s := benchSegment(b, 20_000, 1)
	ids := make([]string, s.Documents())
	for doc := range ids {
		ids[doc], _ = s.ID(uint32(doc))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, ok, err := s.FindID(ids[i*7919%len(ids)]); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	s := benchSegment(b, 20_000, 1)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Verify(); err != nil {
			b.Fatal(err)
		}
	}
	perDocument(b, s.Documents())
}

func BenchmarkQuantise(b *testing.B) {
	vector := make([]float32, 256)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range vector {
		vector[i] = float32(r.NormFloat64())
	}
	var codes [4]uint64
	var bytes [128]byte
	b.ReportAllocs()
	for b.Loop() {
		Quantise(vector, FourBits, codes[:0], bytes[:0])
	}
}
