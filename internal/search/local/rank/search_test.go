package rank

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"carrel/internal/search"
	"carrel/internal/search/analysis"
	"carrel/internal/search/local/disk"
	"carrel/internal/search/local/segment"
	"carrel/internal/search/query"
)

// write writes documents into one segment, in the source "s". Texts are words separated by spaces; "the" is a stop
// word.
func write(t testing.TB, o segment.Options, documents ...segment.Document) []View {
	t.Helper()
	b := segment.NewBuilder(o)
	for i := range documents {
		d := documents[i]
		d.Seq = uint64(i + 1)
		if d.SourceID == "" {
			d.SourceID = "s"
		}
		b.Add(&d)
	}
	path := filepath.Join(t.TempDir(), "segment")
	if err := b.Write(disk.OS, path); err != nil {
		t.Fatal(err)
	}
	s, err := segment.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return []View{{Segment: s}}
}

func document(id, title, text string) segment.Document {
	words := func(text string, stop string) []string {
		var out []string
		for word := range strings.FieldsSeq(text) {
			if word == "the" || word == "who" {
				word = stop + word
				if stop == "" {
					word = ""
				}
			}
			out = append(out, word)
		}
		return out
	}
	d := segment.Document{ID: id, Units: []segment.Unit{{Title: words(title, analysis.StopMark), Text: words(text, "")}}}
	d.TitleKey = titleKey(d.Units[0].Title)
	return d
}

func asking(words string) Request {
	return Request{
		Parsed: queryOf(strings.Fields(words)), Query: search.Query{Sources: []string{"s"}, Limit: 10, Facets: true},
	}
}

func TestATitleThatIsTheQueryComesFirst(t *testing.T) {
	t.Parallel()
	views := write(t, segment.Options{},
		document("chatter", "war art art war", strings.Repeat("art war ", 50)),
		document("sequel", "art war ii", "art war"),
		document("work", "art war", strings.Repeat("strategy terrain ", 200)),
		document("undated", "art war", "x"))
	r := asking("art war")
	r.Parsed.TitleKey = titleKey([]string{"art", "war"})
	got := ask(t, views, r)
	if !slices.Equal(got.IDs[:2], []string{"undated", "work"}) || len(got.IDs) != 4 || got.Total != 4 {
		t.Errorf("hits %v of %d, want undated and work first of 4", got.IDs, got.Total)
	}
	if !slices.IsSortedFunc(got.Scores, func(x, y float64) int { return int(y - x) }) {
		t.Errorf("scores rise down the list: %v", got.Scores)
	}
	r.Limit = 1
	if got := ask(t, views, r); !slices.Equal(got.IDs, []string{"undated"}) || got.Total != 4 {
		t.Errorf("first of one: %v of %d", got.IDs, got.Total)
	}
}

func TestADOINamesOneWork(t *testing.T) {
	t.Parallel()
	cites, work, same := document("cites", "", "vector"), document("work", "vector", ""), document("same", "vector", "")
	work.DOIKey, same.DOIKey, work.Year = 5, 5, 1975
	views := write(t, segment.Options{}, cites, work, same)
	r := asking("vector")
	r.Parsed.DOIKey = 5
	if got := ask(t, views, r); !slices.Equal(got.IDs, []string{"work", "same"}) || got.Total != 2 {
		t.Errorf("hits %v of %d, want the two with that DOI", got.IDs, got.Total)
	}
	r.FromYear = 1970
	if got := ask(t, views, r); !slices.Equal(got.IDs, []string{"work"}) || got.UndatedExcluded != 1 || got.Total != 1 {
		t.Errorf("since 1970: hits %v of %d, undated %d, want work, 1, 1", got.IDs, got.Total, got.UndatedExcluded)
	}
	// A DOI that no document has is searched as text.
	r.Parsed.DOIKey, r.FromYear = 6, 0
	if got := ask(t, views, r); len(got.IDs) != 3 {
		t.Errorf("hits %v, want all that hold the word", got.IDs)
	}
}

func TestStopWordsAloneAreLookedForInTitles(t *testing.T) {
	t.Parallel()
	views := write(t, segment.Options{}, document("band", "the who", "an album"), document("text", "health", "the who"))
	r := asking(analysis.StopMark + "the " + analysis.StopMark + "who")
	if got := ask(t, views, r); !slices.Equal(got.IDs, []string{"band"}) {
		t.Errorf("hits %v, want band", got.IDs)
	}
}

func TestEmptyQueriesAndEmptyIndexesFindNothing(t *testing.T) {
	t.Parallel()
	views := write(t, segment.Options{}, document("a", "word", ""))
	empty := write(t, segment.Options{})
	for name, test := range map[string]struct {
		views []View
		edit  func(*Request)
	}{
		"no term":        {views, func(r *Request) { r.Parsed = query.Parsed{} }},
		"no source":      {views, func(r *Request) { r.Sources = nil }},
		"unknown source": {views, func(r *Request) { r.Sources = []string{"other"} }},
		"no segment":     {nil, func(*Request) {}},
		"empty segment":  {empty, func(*Request) {}},
	} {
		r := asking("word")
		test.edit(&r)
		if got := ask(t, test.views, r); len(got.IDs) != 0 || got.Total != 0 {
			t.Errorf("%s: found %+v", name, got)
		}
	}
}

func TestDeletingEverythingLeavesAnEmptyIndex(t *testing.T) {
	t.Parallel()
	views := write(t, segment.Options{}, document("a", "word", ""), document("b", "word", "more"))
	views[0].Deleted = segment.NewBits(2)
	views[0].Deleted.Set(0)
	views[0].Deleted.Set(1)
	var err error
	if views[0].Deductions, err = views[0].Deductions.Without(
		views[0].Segment, slices.Collect(views[0].Deleted.All()),
	); err != nil {
		t.Fatal(err)
	}
	r := asking("word")
	r.Parsed.DOIKey = 1
	if got := ask(t, views, r); len(got.IDs) != 0 || got.Total != 0 {
		t.Errorf("found %+v", got)
	}
}

func TestDeductionsAddUp(t *testing.T) {
	t.Parallel()
	l := newLibrary(3, 20, 3)
	s := l.shelve(t, 300, 1, 0)
	seg := s.views[0].Segment
	deleted := segment.NewBits(seg.Documents())
	var step *Deductions
	for _, doc := range l.Perm(300)[:100] {
		deleted.Set(uint32(doc))
		var err error
		if step, err = step.Without(seg, []uint32{uint32(doc)}); err != nil {
			t.Fatal(err)
		}
	}
	once, err := (*Deductions)(nil).Without(seg, slices.Collect(deleted.All()))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range l.sources {
		units, length := step.of(source)
		wantUnits, wantLength := once.of(source)
		if units != wantUnits || length != wantLength || units == 0 {
			t.Errorf("%s lost %d units of length %d, want %d of %d", source, units, length, wantUnits, wantLength)
		}
		for ord := range uint32(seg.Terms()) {
			if got, want := step.holders(source, ord), once.holders(source, ord); got != want {
				t.Fatalf("%s lost %d holders of term %d, want %d", source, got, ord, want)
			}
		}
	}
}

func TestHitsWithLessThanHalfTheWeightAreWeak(t *testing.T) {
	t.Parallel()
	documents := []segment.Document{document("a", "retrieval neural", "document")}
	for range 30 {
		documents = append(documents, document("x", "", "document model"))
	}
	views := write(t, segment.Options{}, documents...)
	for words, want := range map[string]bool{
		"retreival document": true, "retrieval document": false, "retrieval neural document zzzz": false, "zzzz": true,
		"document": false,
	} {
		got, err := Search(t.Context(), views, asking(words))
		if err != nil {
			t.Fatal(err)
		}
		if got.Weak != want {
			t.Errorf("%q is weak: %v, want %v", words, got.Weak, want)
		}
	}
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	surface := map[string]string{"retriev": "retrieval", "neural": "", "inform": "information"}
	mine := document("a", "retriev neural inform", "networks neurol")
	more := document("b", "neural", "")
	other := document("c", "retreive neuron", "")
	other.SourceID = "other"
	views := write(t, segment.Options{Surface: func(term string) string { return surface[term] }}, mine, more, other)
	for term, want := range map[string]string{
		"retreiv": "retrieval", // swapped letters
		"nueral":  "neural",
		"neurel":  "neural", // as near as neurol, and more frequent
		"infrm":   "information",
		"networx": "", // two edits are too many for a short word
		"eural":   "", // another first letter
		"neu":     "", // too short
		"neuro":   "neurol",
		"":        "",
	} {
		got, ok, err := Suggest(t.Context(), views, []string{"s"}, term)
		if err != nil || got != want || ok != (want != "") {
			t.Errorf("Suggest(%q) = %q, %v, %v, want %q", term, got, ok, err, want)
		}
	}
}

func TestEmbeddingsRaiseNearDocumentsWithinTheFilters(t *testing.T) {
	t.Parallel()
	const dims = 64
	random := rand.New(rand.NewPCG(1, 2))
	vector := func(near []float32, noise float64) []float32 {
		out := make([]float32, dims)
		for i := range out {
			out[i] = float32(random.NormFloat64() * noise)
			if near != nil {
				out[i] += near[i]
			}
		}
		return out
	}
	question := vector(nil, 1)
	with := func(id, text string, year int, v []float32) segment.Document {
		d := document(id, "", text)
		d.Year, d.Units[0].Vector = year, v
		return d
	}
	documents := []segment.Document{
		with("word", "word other", 2000, vector(nil, 1)),
		with("both", "word thing", 2001, vector(question, 0.2)),
		with("near", "unrelated text", 2002, vector(question, 0.1)),
		with("plain", "word", 2003, nil),
		with("old", "nothing", 1900, vector(question, 0.1)),
	}
	for range 40 {
		documents = append(documents, with("far", "else", 2004, vector(nil, 1)))
	}
	views := write(t, segment.Options{Model: "m", Dims: dims}, documents...)
	r := asking("word")
	r.Vector, r.Model, r.VectorWeight, r.FromYear = question, "m", 0.3, 1950
	got := ask(t, views, r)
	if got.IDs[0] != "both" || !slices.Contains(got.IDs, "near") || slices.Contains(got.IDs, "old") {
		t.Errorf("hits %v, want both first, near among them, old not", got.IDs)
	}
	words := []string{"plain", "word", "both"}
	for name, exact := range map[string]func(*Request){
		"weight 0": func(r *Request) { r.VectorWeight = 0 },
		"plain":    func(r *Request) { r.Plain = true },
		"phrase":   func(r *Request) { r.Parsed.Require = []query.Clause{{Terms: []string{"word"}}} },
		"exclusion": func(r *Request) {
			r.Parsed.Exclude = []query.Clause{{Field: query.Title, Terms: []string{"word"}}}
		},
		"DOI": func(r *Request) { r.Parsed.DOIKey = 7 },
	} {
		exactly := r
		exact(&exactly)
		if got := ask(t, views, exactly); !slices.Equal(got.IDs, words) {
			t.Errorf("%s: hits %v, want those with the word, by words alone", name, got.IDs)
		}
	}
	r.VectorWeight = 1
	if got := ask(t, views, r); got.IDs[0] != "near" {
		t.Errorf("by vectors alone: hits %v, want the nearest first", got.IDs)
	}
	r.Model = "another"
	if got := ask(t, views, r); !slices.Equal(got.IDs, []string{"plain", "word", "both"}) {
		t.Errorf("with vectors of another model: hits %v, want those with the word", got.IDs)
	}
}

func TestHitsWithoutAWordOfTheQueryAreMarked(t *testing.T) {
	t.Parallel()
	with := func(id, text string, v ...float32) segment.Document {
		d := document(id, "", text)
		d.Units[0].Vector = v
		return d
	}
	views := write(t, segment.Options{Model: "m", Dims: 2},
		with("word", "word", 0.6, 0.8), with("meaning", "other", 1, 0), with("far", "else", 0, 1))
	r := asking("word")
	lexical := ask(t, views, r).Scores[0]
	r.Vector, r.Model, r.VectorWeight = []float32{1, 0}, "m", 0.3
	answer, err := Search(t.Context(), views, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range answer.Hits {
		if id, _ := views[h.View].Segment.ID(h.Doc); h.ByMeaning != (id != "word") {
			t.Errorf("%s is marked: %t", id, h.ByMeaning)
		}
	}
	r.LeastCosine = 0.5
	if got := ask(t, views, r); !slices.Equal(got.IDs, []string{"word", "meaning"}) {
		t.Errorf("hits %v, want none that is far and holds no word", got.IDs)
	}
	if best := answer.Hits[0].Score; best > lexical || best < 0.5*lexical {
		t.Errorf("the best score is %v, want one of the magnitude of %v, the score by words", best, lexical)
	}
}

func TestASearchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	views := write(t, segment.Options{}, document("a", "word", ""))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Search(ctx, views, asking("word")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// A memory fault of the goroutine that compares vectors must reach the caller, who drops the damaged segment.
func TestFaultWhileVectorsAreComparedReachesTheCaller(t *testing.T) {
	t.Parallel()
	p := &plan{parts: make([]part, 1)} // whose segment is nil
	ran := false
	defer func() {
		if r, ok := recover().(runtime.Error); !ok || !ran {
			t.Errorf("recovered %v; ranked by words: %v", r, ran)
		}
	}()
	_, _ = p.neighboursDuring(func() error {
		ran = true
		return nil
	})
}

func TestDamagedVectorsFailTheSearch(t *testing.T) {
	t.Parallel()
	vector := make([]float32, 64)
	for i := range vector {
		vector[i] = float32(i%7) - 2.5
	}
	d := document("1", "bridge", "an old bridge")
	d.Seq, d.SourceID, d.Units[0].Vector = 1, "s", vector
	b := segment.NewBuilder(segment.Options{Model: "m", Dims: len(vector), Bits: segment.FourBits})
	b.Add(&d)
	path := filepath.Join(t.TempDir(), "segment")
	if err := b.Write(disk.OS, path); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	codes, _, _ := segment.Quantise(vector, segment.FourBits, nil, nil)
	at := bytes.Index(file, binary.LittleEndian.AppendUint64(nil, codes[0]))
	if at < 0 {
		t.Fatal("the file does not hold the sign bits")
	}
	file[at] ^= 1
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := segment.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	_, err = Search(t.Context(), []View{{Segment: s}}, Request{
		Query: search.Query{
			Text: "bridge", Sources: []string{"s"}, Limit: 5, Vector: vector, Model: "m", VectorWeight: 0.3,
		},
		Parsed: query.Parse(analysis.New("en"), "bridge"),
	})
	if !errors.Is(err, segment.ErrDamaged) {
		t.Errorf("the search ends with %v", err)
	}
}
