package rank

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"carrel/internal/search"
	"carrel/internal/search/analysis"
	"carrel/internal/search/local/disk"
	"carrel/internal/search/local/segment"
	"carrel/internal/search/query"
)

// library generates random documents with few different words.
type library struct {
	*rand.Rand
	words   []string
	sources []string
	units   int  // maximum of a document
	text    int  // maximum words of a text
	uneven  bool // segments alternate between short and long texts
	dims    int  // of the embeddings of most units, 0 for none
}

func newLibrary(seed uint64, words, sources int) *library {
	l := &library{Rand: rand.New(rand.NewPCG(seed, 1)), units: 4, text: 30}
	for i := range words {
		l.words = append(l.words, "w"+strconv.Itoa(i))
	}
	for i := range sources {
		l.sources = append(l.sources, "src_"+strconv.Itoa(i))
	}
	return l
}

// word returns common words more often than rare ones.
func (l *library) word() string {
	return l.words[int(float64(len(l.words))*l.Float64()*l.Float64()*l.Float64())]
}

// field returns up to n terms, including positions without an indexed word and, in titles, stop words.
func (l *library) field(n int, stops bool) []string {
	var out []string
	for range l.IntN(n + 1) {
		switch {
		case l.IntN(6) > 0:
			out = append(out, l.word())
		case stops:
			out = append(out, analysis.StopMark+[]string{"the", "who", "of"}[l.IntN(3)])
		default:
			out = append(out, "")
		}
	}
	return out
}

func (l *library) document(seq uint64) segment.Document {
	d := segment.Document{ID: "doc_" + strconv.FormatUint(seq, 10), SourceID: l.sources[l.IntN(len(l.sources))], Seq: seq}
	if l.IntN(4) > 0 {
		d.Year = 1990 + l.IntN(20)
	}
	if l.IntN(8) == 0 {
		d.DOIKey = 1 + uint64(l.IntN(20))
	}
	title, authors := l.field(6, true), l.field(8, false)
	d.TitleKey = titleKey(title)
	for range 1 + max(0, l.IntN(2*l.units)-l.units) {
		u := segment.Unit{Title: title, Authors: authors, Text: l.field(l.text, false)}
		if l.dims > 0 && l.IntN(10) > 0 {
			u.Vector = l.vector()
		}
		d.Units = append(d.Units, u)
	}
	return d
}

func (l *library) vector() []float32 {
	v := make([]float32, l.dims)
	for i := range v {
		v[i] = float32(l.NormFloat64() / math.Sqrt(float64(l.dims)))
	}
	return v
}

func titleKey(title []string) uint64 {
	if len(title) == 0 {
		return 0
	}
	return xxhash.Sum64String(strings.Join(title, "\x00"))
}

// shelf holds the documents of a library in segments, some of them deleted.
type shelf struct {
	views []View
	live  []segment.Document
	read  map[*segment.Unit]reading
}

func (l *library) options() segment.Options {
	if l.dims == 0 {
		return segment.Options{}
	}
	return segment.Options{Model: "m", Dims: l.dims, Bits: segment.FourBits}
}

// shelve writes documents into segments and deletes a share of them.
func (l *library) shelve(t testing.TB, documents, segments, deletedOf10 int) *shelf {
	t.Helper()
	s := &shelf{read: make(map[*segment.Unit]reading)}
	dir := t.TempDir()
	seq := uint64(0)
	for n := range segments {
		b := segment.NewBuilder(l.options())
		var own []segment.Document
		if l.uneven {
			l.text = []int{3, 60}[n%2]
		}
		for range documents / segments {
			seq++
			d := l.document(seq)
			own = append(own, d)
			b.Add(&d)
		}
		path := filepath.Join(dir, strconv.Itoa(n))
		if err := b.Write(disk.OS, path); err != nil {
			t.Fatal(err)
		}
		seg, err := segment.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = seg.Close() })
		v := View{Segment: seg, Deleted: segment.NewBits(seg.Documents())}
		for _, d := range own {
			if l.IntN(10) >= deletedOf10 {
				s.live = append(s.live, d)
				continue
			}
			doc, ok, err := seg.FindID(d.ID)
			if err != nil || !ok {
				t.Fatalf("FindID: %v, %v", ok, err)
			}
			v.Deleted.Set(doc)
			if v.Deductions, err = v.Deductions.Without(seg, []uint32{doc}); err != nil {
				t.Fatal(err)
			}
		}
		s.views = append(s.views, v)
	}
	return s
}

// merged returns the same documents in one segment.
func (s *shelf) merged(t testing.TB) []View {
	t.Helper()
	path := filepath.Join(t.TempDir(), "merged")
	var inputs []segment.Input
	for _, v := range s.views {
		inputs = append(inputs, segment.Input{Segment: v.Segment, Deleted: v.Deleted})
	}
	if err := segment.Merge(t.Context(), disk.OS, path, inputs); err != nil {
		t.Fatal(err)
	}
	seg, err := segment.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = seg.Close() })
	return []View{{Segment: seg}}
}

// request returns a random request.
func (l *library) request() Request {
	var words []string
	for range 1 + l.IntN(8) {
		words = append(words, l.word())
	}
	if l.IntN(10) == 0 {
		words = append(words, "nowhere")
	}
	r := Request{Parsed: queryOf(words), Query: search.Query{Limit: l.IntN(12), Facets: l.IntN(3) > 0}}
	for _, source := range l.sources {
		if l.IntN(3) > 0 {
			r.Sources = append(r.Sources, source)
		}
	}
	if l.IntN(3) == 0 {
		r.FromYear = 1990 + l.IntN(20)
	}
	if l.IntN(3) == 0 {
		r.ToYear = 1990 + l.IntN(20)
	}
	if l.IntN(6) == 0 {
		r.Parsed.Require = append(r.Parsed.Require, l.clause())
	}
	if l.IntN(6) == 0 {
		r.Parsed.Exclude = append(r.Parsed.Exclude, l.clause())
	}
	return r
}

func (l *library) clause() query.Clause {
	c := query.Clause{Field: query.Field(l.IntN(4)), Terms: []string{l.word()}}
	if l.IntN(4) == 0 {
		c.Terms = append(c.Terms, "")
	}
	if len(c.Terms) == 2 || l.IntN(2) == 0 {
		c.Terms = append(c.Terms, l.word())
	}
	return c
}

func queryOf(words []string) query.Parsed {
	q := query.Parsed{Stops: !slices.ContainsFunc(words, func(w string) bool { return !isStop(w) })}
	for _, w := range words {
		i := slices.IndexFunc(q.Terms, func(t query.Term) bool { return t.Text == w })
		if i < 0 {
			i = len(q.Terms)
			q.Terms = append(q.Terms, query.Term{Text: w})
		}
		q.Terms[i].Count++
		q.Sequence = append(q.Sequence, i)
	}
	return q
}

// ask searches and resolves the ids of the hits.
func ask(t testing.TB, views []View, r Request) answer {
	t.Helper()
	found, err := Search(t.Context(), views, r)
	if err != nil {
		t.Fatal(err)
	}
	out := answer{Total: found.Total, Years: found.Years, Sources: found.Sources, UndatedExcluded: found.UndatedExcluded}
	for _, h := range found.Hits {
		s := views[h.View].Segment
		id, err := s.ID(h.Doc)
		if err != nil {
			t.Fatal(err)
		}
		out.IDs = append(out.IDs, id)
		out.Units = append(out.Units, int(h.Unit-s.FirstUnits()[h.Doc]))
		out.Scores = append(out.Scores, h.Score)
	}
	return out
}

func compareWithOracle(t *testing.T, s *shelf, views []View, r Request) {
	t.Helper()
	want := newOracle(s.live, s.read, r).answer()
	if got := ask(t, views, r); !reflect.DeepEqual(got, want) {
		t.Fatalf("request %+v\ngot  %+v\nwant %+v", r, got, want)
	}
}

func TestRankingEqualsScoringEveryDocument(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			l := newLibrary(seed, 5+int(seed), 1+int(seed%3))
			s := l.shelve(t, int(seed*seed/4), 1+int(seed%4), int(seed%5))
			merged := s.merged(t)
			for range 25 {
				r := l.request()
				compareWithOracle(t, s, s.views, r)
				compareWithOracle(t, s, merged, r)
			}
		})
	}
}

func TestRankingOverManyWindowsEqualsScoringEveryDocument(t *testing.T) {
	t.Parallel()
	l := newLibrary(7, 3000, 2)
	l.uneven = true
	s := l.shelve(t, 20_000, 3, 1)
	merged := s.merged(t)
	for range 60 {
		r := l.request()
		r.Sources = l.sources
		compareWithOracle(t, s, s.views, r)
		compareWithOracle(t, s, merged, r)
	}
}

func TestNoUnitScoresMoreThanTheBoundOfItsWindow(t *testing.T) {
	t.Parallel()
	l := newLibrary(11, 300, 2)
	l.uneven = true
	s := l.shelve(t, 6000, 4, 1)
	for range 40 {
		r := l.request()
		r.Sources, r.Parsed.Require, r.Parsed.Exclude = l.sources, nil, nil
		p, err := newPlan(t.Context(), s.views, r)
		if err != nil {
			t.Fatal(err)
		}
		bounds := make(map[[2]int]points)
		for _, w := range p.windows() {
			bounds[[2]int{w.part, int(w.first)}] = w.bound
		}
		for i := range p.parts {
			at := &p.parts[i]
			from := make([]int, len(at.lists))
			for unit := at.r.FirstUnit; unit < at.r.EndUnit; unit++ {
				first := at.r.FirstUnit + (unit-at.r.FirstUnit)/windowUnits*windowUnits
				if got, most := p.unitScore(at, unit, from), bounds[[2]int{i, int(first)}]; got > most {
					t.Fatalf("unit %d scores %d, its window's bound is %d", unit, got, most)
				}
			}
		}
	}
}
