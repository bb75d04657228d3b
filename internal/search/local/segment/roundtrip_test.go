package segment

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// checkAgainst compares all results of a segment with the model.
func checkAgainst(tb rapid.TB, s *Segment, m *model) {
	tb.Helper()
	if s.Documents() != len(m.docs) || s.Units() != len(m.units) || s.Terms() != len(m.terms) {
		tb.Fatalf("%d documents, %d units, %d terms", s.Documents(), s.Units(), s.Terms())
	}
	equal(tb, "lengths", s.Lengths(), m.lengths)
	equal(tb, "documents of units", s.DocOf(), m.docOf)
	equal(tb, "units of documents", s.FirstUnits(), m.firsts)
	checkTerms(tb, s, m)
	checkDocs(tb, s, m)
	checkForward(tb, s, m)
	checkSources(tb, s, m)
	if err := s.Verify(); err != nil {
		tb.Fatalf("verify: %v", err)
	}
}

func checkTerms(tb rapid.TB, s *Segment, m *model) {
	tb.Helper()
	place := uint64(0)
	for ord, term := range m.dictionary() {
		want := m.terms[term]
		got, ok, err := s.Lookup(term)
		if err != nil || !ok || got != (Term{uint32(ord), place, place + uint64(len(want))}) {
			tb.Fatalf("lookup %q: %+v %v %v", term, got, ok, err)
		}
		place = got.End
		name, same, err := s.Term(uint32(ord))
		if err != nil || name != term || same != got {
			tb.Fatalf("term %d: %q %+v %v", ord, name, same, err)
		}
		surface, err := s.Surface(uint32(ord))
		if known := surfaceOf(term); err != nil || surface != known && (known != "" || surface != term) {
			tb.Fatalf("surface of %q: %q %v", term, surface, err)
		}
		p, err := s.Postings(got)
		if err != nil || p.First != got.First || len(p.Units) != len(want) || len(p.Freqs) != len(want) {
			tb.Fatalf("postings of %q: %+v %v", term, p, err)
		}
		for i, w := range want {
			if p.Units[i] != w.unit || p.Freqs[i] != w.freq {
				tb.Fatalf("posting %d of %q: %d×%d, want %+v", i, term, p.Units[i], p.Freqs[i], w)
			}
		}
	}
	for _, term := range []string{"", "\x00", "aa", "nobody", "\xff\xff", strings.Repeat("z", 300)} {
		if _, ok, err := s.Lookup(term); ok || err != nil {
			tb.Fatalf("lookup of a missing term %q: %v %v", term, ok, err)
		}
	}
}

func checkDocs(tb rapid.TB, s *Segment, m *model) {
	tb.Helper()
	for i, d := range m.docs {
		doc := uint32(i)
		if id, err := s.ID(doc); err != nil || id != d.ID {
			tb.Fatalf("id of %d: %q %v", doc, id, err)
		}
		if found, ok, err := s.FindID(d.ID); err != nil || !ok || found != doc {
			tb.Fatalf("find %q: %d %v %v", d.ID, found, ok, err)
		}
		if s.Seq(doc) != d.Seq || int(s.Years()[doc]) != d.Year {
			tb.Fatalf("document %d: seq %d, year %d", doc, s.Seq(doc), s.Years()[doc])
		}
	}
	for _, id := range []string{"", "doc-", "nobody"} {
		if _, ok, err := s.FindID(id); ok || err != nil {
			tb.Fatalf("found %q: %v %v", id, ok, err)
		}
	}
	for _, key := range []uint64{1, 2, 7, 8, 9, math.MaxUint64} {
		got, err := s.FindTitle(key)
		if err != nil {
			tb.Fatalf("find title: %v", err)
		}
		equal(tb, "titles", got, m.withKey(func(d Document) uint64 { return d.TitleKey }, key))
		got, err = s.FindDOI(key)
		if err != nil {
			tb.Fatalf("find DOI: %v", err)
		}
		equal(tb, "DOIs", got, m.withKey(func(d Document) uint64 { return d.DOIKey }, key))
	}
}

func checkForward(tb rapid.TB, s *Segment, m *model) {
	tb.Helper()
	var record Forward
	dictionary := m.dictionary()
	words := func(field []uint32) []string {
		out := make([]string, len(field))
		for i, n := range field {
			if n > 0 {
				out[i] = dictionary[n-1]
			}
		}
		return out
	}
	for i, u := range m.units {
		if err := s.Forward(uint32(i), &record); err != nil {
			tb.Fatalf("forward: %v", err)
		}
		equal(tb, "title", words(record.Title), u.Title)
		equal(tb, "authors", words(record.Authors), u.Authors)
		equal(tb, "text", words(record.Text), u.Text)
	}
}

func checkSources(tb rapid.TB, s *Segment, m *model) {
	tb.Helper()
	seen := uint32(0)
	for _, r := range s.Sources() {
		if same, ok := s.Source(r.Source); !ok || same != r {
			tb.Fatalf("source %q: %+v %v", r.Source, same, ok)
		}
		var length uint64
		for u := r.FirstUnit; u < r.EndUnit; u++ {
			length += uint64(m.lengths[u])
		}
		if r.FirstDoc != seen || r.FirstUnit != m.firsts[r.FirstDoc] || r.EndUnit != m.firsts[r.EndDoc] ||
			r.Length != length {
			tb.Fatalf("range %+v, length %d", r, length)
		}
		for doc := r.FirstDoc; doc < r.EndDoc; doc++ {
			if m.docs[doc].SourceID != r.Source {
				tb.Fatalf("document %d is not of %q", doc, r.Source)
			}
		}
		seen = r.EndDoc
	}
	if int(seen) != len(m.docs) {
		tb.Fatalf("sources hold %d of %d documents", seen, len(m.docs))
	}
	if _, ok := s.Source("nobody's"); ok {
		tb.Fatalf("a source that is not there")
	}
}

func TestSegmentHoldsTheAddedDocuments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		docs := someDocs(0).Draw(t, "documents")
		s := mustOpen(t, build(t, Options{Surface: surfaceOf}, docs))
		checkAgainst(t, s, newModel(docs))
	})
}

func TestSegmentDoesNotDependOnTheOrderOfAdding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		docs := someDocs(3).Draw(t, "documents")
		o := Options{Model: "m", Dims: 3, Surface: surfaceOf}
		sameBytes(t, build(t, o, rapid.Permutation(docs).Draw(t, "shuffled")), build(t, o, docs))
	})
}

func TestBuilderCanWriteTwice(t *testing.T) {
	t.Parallel()
	b := NewBuilder(Options{})
	doc := Document{ID: "1", SourceID: "s", Seq: 1, Units: []Unit{{Title: []string{"x"}}}}
	b.Add(&doc)
	fs := newMemory()
	for _, path := range []string{"first", "second"} {
		if err := b.Write(fs, path); err != nil {
			t.Fatal(err)
		}
		if !fs.synced[path] || fs.opened != 0 {
			t.Fatalf("%s is synced: %v; %d files open", path, fs.synced[path], fs.opened)
		}
	}
	sameBytes(t, fs.files["second"].data, fs.files["first"].data)
	// The written file must not depend on documents added later.
	doc = Document{ID: "2", SourceID: "s", Seq: 2, Units: []Unit{{Title: []string{"y"}}}}
	b.Add(&doc)
	if err := b.Write(fs, "third"); err != nil {
		t.Fatal(err)
	}
	if s := mustOpen(t, fs.files["third"].data); s.Documents() != 2 || b.Documents() != 2 {
		t.Fatalf("%d documents", s.Documents())
	}
}

func TestEmptyBuilderWritesAValidSegment(t *testing.T) {
	t.Parallel()
	s, err := openFile(t, build(t, Options{Model: "m", Dims: 8, Surface: surfaceOf}, nil))
	if err != nil {
		t.Fatal(err)
	}
	checkAgainst(t, s, newModel(nil))
	if v, err := s.Vectors(); err != nil || v.Codes != nil || v.Scales != nil || v.Dims != 0 {
		t.Fatalf("vectors of nothing: %+v %v", v, err)
	}
	if name, dims := s.Model(); name != "" || dims != 0 {
		t.Fatalf("model %q %d of no vector", name, dims)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestFrequencyIsWeightedAndCapped(t *testing.T) {
	t.Parallel()
	repeat := func(term string, n int) []string {
		return strings.Split(strings.TrimSuffix(strings.Repeat(term+" ", n), " "), " ")
	}
	for _, c := range []struct {
		name         string
		unit         Unit
		freq, length int
	}{
		{"a title counts three times", Unit{Title: []string{"x"}}, 3, 3},
		{"text counts once", Unit{Text: []string{"x", "", "y"}}, 1, 2},
		{"authors count but are no length", Unit{Authors: []string{"x"}}, 1, 0},
		{"all fields add up", Unit{Title: []string{"x"}, Authors: []string{"x"}, Text: []string{"x"}}, 5, 4},
		{"stop words are no length", Unit{Title: []string{"\x01the", "x"}}, 3, 3},
		{"just below the cap", Unit{Text: repeat("x", 254)}, 254, 254},
		{"at the cap", Unit{Text: repeat("x", 255)}, 255, 255},
		{"above the cap", Unit{Text: repeat("x", 256)}, 255, 256},
		{"above the cap by titles", Unit{Title: repeat("x", 86)}, 255, 258},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := mustOpen(t, build(t, Options{}, []Document{{ID: "1", SourceID: "s", Units: []Unit{c.unit}}}))
			term, _, err := s.Lookup("x")
			if err != nil {
				t.Fatal(err)
			}
			p, err := s.Postings(term)
			if err != nil || int(p.Freqs[0]) != c.freq || int(s.Lengths()[0]) != c.length {
				t.Fatalf("frequency %v, length %v, %v", p.Freqs, s.Lengths(), err)
			}
		})
	}
}

func TestYearOutOfRangeIsUndated(t *testing.T) {
	t.Parallel()
	for year, want := range map[int]uint16{-1: 0, 0: 0, 1: 1, 9999: 9999, 10000: 0, 70000: 0} {
		s := mustOpen(t, build(t, Options{}, []Document{{ID: "1", Year: year}}))
		if s.Years()[0] != want {
			t.Errorf("year %d is %d", year, s.Years()[0])
		}
	}
}

func TestBuilderKeepsNothingOfADocument(t *testing.T) {
	t.Parallel()
	b := NewBuilder(Options{Dims: 2, Model: "m"})
	doc := Document{ID: "1", SourceID: "s", Seq: 1, Units: []Unit{{Text: []string{"x"}, Vector: []float32{1, 2}}}}
	b.Add(&doc)
	doc.Units[0].Text[0], doc.Units[0].Vector[0], doc.ID = "y", -5, "2"
	fs := newMemory()
	if err := b.Write(fs, "s"); err != nil {
		t.Fatal(err)
	}
	want := build(t, Options{Dims: 2, Model: "m"}, []Document{{
		ID: "1", SourceID: "s", Seq: 1, Units: []Unit{{Text: []string{"x"}, Vector: []float32{1, 2}}},
	}})
	sameBytes(t, fs.files["s"].data, want)
}

func TestSizeGrowsWithWhatIsAdded(t *testing.T) {
	t.Parallel()
	b := NewBuilder(Options{Dims: 64, Model: "m"})
	before := b.Size()
	for range 3 {
		b.Add(&Document{ID: "1", Units: []Unit{{Text: []string{"x", "y"}, Vector: make([]float32, 64)}}})
		if b.Size() <= before {
			t.Fatalf("size %d after %d", b.Size(), before)
		}
		before = b.Size()
	}
}
