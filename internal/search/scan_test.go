package search

import (
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// stream yields documents as a store would.
func stream(documents []Document) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		for _, d := range documents {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func scan(t testing.TB, documents []Document, q Query) Result {
	t.Helper()
	result, err := Scan(stream(documents), q)
	if err != nil {
		t.Fatalf("Scan: %v", err)
	}
	return result
}

func ids(hits []Hit) []string {
	var out []string
	for _, h := range hits {
		out = append(out, h.ID)
	}
	return out
}

// Lengths are 8 (3×2+2, "the" not counted), 6 (3×1+3) and 4 (3×1+1); their average is 6.
var tiny = []Document{
	{ID: "a", Title: "Red fox", Text: "the fox runs"},
	{ID: "b", Title: "Blue", Text: "red, red sky"},
	{ID: "c", Title: "Green", Text: "grass", Authors: []string{"Ada Lovelace"}},
}

func TestScoresAreBM25FAsComputedByHand(t *testing.T) {
	t.Parallel()
	ln16, ln83 := 0.47000362924573563, 0.9808292530117262 // idf of a term in two of three documents, and in one
	tests := map[string]struct {
		query string
		want  []Hit
	}{
		// a: frequency 3, norm 1.2×(0.25+0.75×8/6) = 1.5; b: frequency 2, norm 1.2.
		"title weighs three": {"red", []Hit{{ID: "a", Score: ln16 * 6.6 / 4.5}, {ID: "b", Score: ln16 * 4.4 / 3.2}}},
		// a: "fox" 3+1 times, asked for twice; b: "sky" once.
		"query frequency kept": {"fox sky foxes", []Hit{{ID: "a", Score: 2 * ln83 * 8.8 / 5.5}, {ID: "b", Score: ln83}}},
		// c: frequency 1, norm 1.2×(0.25+0.75×4/6) = 0.9: authors are no part of the length.
		"authors weigh one": {"lovelace", []Hit{{ID: "c", Score: ln83 * 2.2 / 1.9}}},
		"unknown words":     {"zebra", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := scan(t, tiny, Query{Text: test.query, Limit: 10}).Hits
			if !slices.Equal(ids(got), ids(test.want)) {
				t.Fatalf("hits %v, want %v", got, test.want)
			}
			for i := range got {
				if math.Abs(got[i].Score-test.want[i].Score) > 1e-12 {
					t.Errorf("score of %s is %v, want %v", got[i].ID, got[i].Score, test.want[i].Score)
				}
			}
		})
	}
}

func TestYearBoundsAreInclusiveAndLeaveOutTheUndated(t *testing.T) {
	t.Parallel()
	documents := []Document{
		{ID: "1990", Title: "alpha", Year: 1990},
		{ID: "1995", Title: "alpha", Year: 1995},
		{ID: "1995b", Title: "alpha", Year: 1995},
		{ID: "2000", Title: "alpha", Year: 2000},
		{ID: "undated", Title: "alpha"},
		{ID: "other", Title: "beta"},
	}
	all := []YearCount{{1990, 1}, {1995, 2}, {2000, 1}}
	tests := map[string]struct {
		from, to int
		want     []string
		years    []YearCount
		undated  int
	}{
		"open":          {0, 0, []string{"1990", "1995", "1995b", "2000", "undated"}, all, 0},
		"from":          {1995, 0, []string{"1995", "1995b", "2000"}, all[1:], 1},
		"to":            {0, 1995, []string{"1990", "1995", "1995b"}, all[:2], 1},
		"both":          {1991, 1999, []string{"1995", "1995b"}, all[1:2], 1},
		"one year":      {2000, 2000, []string{"2000"}, all[2:], 1},
		"wide as can":   {1, 9999, []string{"1990", "1995", "1995b", "2000"}, all, 1},
		"no such year":  {1991, 1994, nil, nil, 1},
		"crossed bound": {2000, 1990, nil, nil, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := scan(t, documents, Query{Text: "alpha", Limit: 10, FromYear: test.from, ToYear: test.to, Facets: true})
			if !slices.Equal(ids(got.Hits), test.want) || got.Total != len(test.want) {
				t.Errorf("hits %v of %d, want %v", ids(got.Hits), got.Total, test.want)
			}
			if !slices.Equal(got.Years, test.years) || got.UndatedExcluded != test.undated {
				t.Errorf("years %v, undated %d, want %v, %d", got.Years, got.UndatedExcluded, test.years, test.undated)
			}
		})
	}
}

func TestTotalCountsHalfTheMassAndWhatIsListed(t *testing.T) {
	t.Parallel()
	documents := []Document{
		{ID: "both", Text: "rare common", Year: 2001},
		{ID: "rare", Text: "rare", Year: 2002},
	}
	for i := range 20 {
		documents = append(documents, Document{ID: "common" + strconv.Itoa(i), Text: "common", Year: 2003})
	}
	q := Query{Text: "rare common misspeled", Facets: true}

	// "rare" alone is more than half of the mass, "common" is not; a word that nobody holds asks for nothing.
	got := scan(t, documents, q)
	if want := []YearCount{{2001, 1}, {2002, 1}}; got.Total != 2 || !slices.Equal(got.Years, want) {
		t.Errorf("nothing listed: total %d, years %v, want 2, %v", got.Total, got.Years, want)
	}
	q.Limit = 5
	got = scan(t, documents, q)
	if want := []YearCount{{2001, 1}, {2002, 1}, {2003, 3}}; got.Total != 5 || !slices.Equal(got.Years, want) {
		t.Errorf("five listed: total %d, years %v, want 5, %v", got.Total, got.Years, want)
	}
	q.Facets = false
	if plain := scan(t, documents, q); plain.Total != 0 || plain.Years != nil || !slices.Equal(plain.Hits, got.Hits) {
		t.Errorf("without facets: %+v, want the same hits and no counts", plain)
	}
}

func TestOnlyUndatedDocumentsWorthCountingAreReportedAsLeftOut(t *testing.T) {
	t.Parallel()
	documents := []Document{{ID: "rare", Text: "rare"}, {ID: "dated", Text: "rare", Year: 2001}}
	for i := range 20 {
		documents = append(documents, Document{ID: "common" + strconv.Itoa(i), Text: "common"})
	}
	if got := scan(t, documents, Query{Text: "rare common", FromYear: 2000}).UndatedExcluded; got != 1 {
		t.Errorf("%d left out, want 1", got)
	}
}

func TestExactlyHalfOfTheMassCounts(t *testing.T) {
	t.Parallel()
	documents := []Document{{ID: "a", Text: "one two"}, {ID: "b", Text: "three four"}, {ID: "c", Text: "five six"}}
	// Terms of equal weight: no sum of floats may tip the balance.
	if got := scan(t, documents, Query{Text: "one two three four", Facets: true}).Total; got != 2 {
		t.Errorf("total %d, want 2", got)
	}
	if got := scan(t, documents, Query{Text: "one two three four five six", Facets: true}).Total; got != 0 {
		t.Errorf("total of thirds %d, want 0", got)
	}
}

func TestAnExactTitleComesFirst(t *testing.T) {
	t.Parallel()
	documents := []Document{
		{ID: "chatter", Title: "War art, art war", Text: strings.Repeat("art war ", 50)},
		{ID: "sequel", Title: "The Art of War II", Text: "art war"},
		{ID: "work", Title: "The Art of War", Text: strings.Repeat("strategy and terrain ", 200)},
	}
	got := scan(t, documents, Query{Text: "the art of war", Limit: 3}).Hits
	if len(got) != 3 || got[0].ID != "work" {
		t.Fatalf("hits %v, want work first", got)
	}
	if got[0].Score < got[1].Score || got[1].Score < got[2].Score {
		t.Errorf("scores rise down the list: %v", got)
	}
}

func TestADOINamesOneWork(t *testing.T) {
	t.Parallel()
	documents := []Document{
		{ID: "cites", Text: "see 10.1145/361219.361220", Year: 1999},
		{ID: "work", Title: "A vector space model", DOI: "10.1145/361219.361220", Year: 1975},
		{ID: "same", Title: "A vector space model, reprinted", DOI: "https://doi.org/10.1145/361219.361220"},
	}
	q := Query{Text: "https://doi.org/10.1145/361219.361220", Limit: 10, Facets: true}
	got := scan(t, documents, q)
	if want := []string{"same", "work"}; !slices.Equal(ids(got.Hits), want) || got.Total != 2 {
		t.Errorf("hits %v of %d, want %v", ids(got.Hits), got.Total, want)
	}
	q.FromYear = 1970
	got = scan(t, documents, q)
	if want := []string{"work"}; !slices.Equal(ids(got.Hits), want) || got.UndatedExcluded != 1 {
		t.Errorf("since 1970: hits %v, undated %d, want %v, 1", ids(got.Hits), got.UndatedExcluded, want)
	}
	// A DOI that no document has is a text like any other.
	if got := scan(t, documents[:1], q); !slices.Equal(ids(got.Hits), []string{"cites"}) {
		t.Errorf("hits %v, want the document that cites it", got.Hits)
	}
}

func TestAQueryOfStopWordsLooksForThem(t *testing.T) {
	t.Parallel()
	documents := []Document{
		{ID: "band", Title: "My Generation", Text: "An album by The Who"},
		{ID: "health", Title: "Health", Text: "organisation"},
		{ID: "tin", Title: "Cans", Text: "of tin"},
	}
	if got := scan(t, documents, Query{Text: "The Who", Limit: 5}).Hits; !slices.Equal(ids(got), []string{"band"}) {
		t.Errorf("hits %v, want band", got)
	}
	// Beside a word that says something they are dropped.
	if got := scan(t, documents, Query{Text: "the who of health", Limit: 5}).Hits; !slices.Equal(ids(got), []string{"health"}) {
		t.Errorf("hits %v, want health", got)
	}
	// "cans" has the stem of the stop word "can", and is not answered by it.
	documents = append(documents, Document{ID: "able", Text: "I can"})
	if got := scan(t, documents, Query{Text: "cans", Limit: 5}).Hits; !slices.Equal(ids(got), []string{"tin"}) {
		t.Errorf("hits %v, want tin", got)
	}
}

func TestAQueryWithoutWordsFindsNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "  ", "?!", "—", "\u0301", "😀"} {
		got := scan(t, tiny, Query{Text: text, Limit: 10, Facets: true})
		if !reflect.DeepEqual(got, Result{}) {
			t.Errorf("query %q found %+v", text, got)
		}
	}
}

func TestALibraryOfNothingIsNoError(t *testing.T) {
	t.Parallel()
	if got := scan(t, nil, Query{Text: "x", Limit: 1, Facets: true}); !reflect.DeepEqual(got, Result{}) {
		t.Errorf("found %+v in nothing", got)
	}
	// Documents of authors alone have no length to compare.
	got := scan(t, []Document{{ID: "a", Authors: []string{"Turing"}}}, Query{Text: "turing", Limit: 1}).Hits
	if len(got) != 1 || math.IsNaN(got[0].Score) || got[0].Score <= 0 {
		t.Errorf("hits %v, want one with a score", got)
	}
}

func TestAFailingStoreFailsTheScan(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	_, err := Scan(func(yield func(Document, error) bool) {
		_ = yield(tiny[0], nil) && yield(Document{}, broken)
	}, Query{Text: "red", Limit: 1})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want it to wrap %v", err, broken)
	}
}

// vocabulary mixes plain words, stems, stop words, accents and other scripts, few enough to collide often.
var vocabulary = []string{
	"rank", "ranking", "Index", "indexes", "the", "who", "café", "cafe\u0301", "graph", "𝔾raph", "自然言語", "言語処理",
	"학습", "שָׁלוֹם", "😀", "—", "2013", "CO₂",
}

func phrase(t *rapid.T, label string, longest int) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, longest).Draw(t, label), " ")
}

func library(t *rapid.T) []Document {
	documents := make([]Document, rapid.IntRange(0, 12).Draw(t, "documents"))
	for i := range documents {
		documents[i] = Document{
			ID: "doc" + strconv.Itoa(i), SourceID: "src", Title: phrase(t, "title", 4), Text: phrase(t, "text", 12),
			Authors: []string{phrase(t, "author", 2)}, Year: rapid.SampledFrom([]int{0, 1990, 1991, 1992}).Draw(t, "year"),
		}
	}
	return documents
}

func TestResultsKeepTheirPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		documents := library(rt)
		q := Query{
			Text: phrase(rt, "query", 5), Limit: rapid.IntRange(0, 15).Draw(rt, "limit"), Facets: true,
			FromYear: rapid.SampledFrom([]int{0, 1990, 1991}).Draw(rt, "from"),
			ToYear:   rapid.SampledFrom([]int{0, 1991, 1992}).Draw(rt, "to"),
		}
		got := scan(t, documents, q)

		if len(got.Hits) > q.Limit || got.Total < len(got.Hits) {
			rt.Fatalf("%d hits of %d, limit %d", len(got.Hits), got.Total, q.Limit)
		}
		for i, hit := range got.Hits {
			if hit.Score <= 0 || i > 0 && hit.Score > got.Hits[i-1].Score {
				rt.Fatalf("score %d of %v is out of order", i, got.Hits)
			}
		}
		dated := 0
		for i, y := range got.Years {
			if y.Count < 1 || i > 0 && y.Year <= got.Years[i-1].Year || y.Year == 0 || !q.holds(y.Year) {
				rt.Fatalf("years %v within %d to %d", got.Years, q.FromYear, q.ToYear)
			}
			dated += y.Count
		}
		bounded := q.FromYear != 0 || q.ToYear != 0
		if dated > got.Total || bounded && dated != got.Total || !bounded && got.UndatedExcluded != 0 {
			rt.Fatalf("total %d, dated %d, undated left out %d", got.Total, dated, got.UndatedExcluded)
		}

		shuffled := rapid.Permutation(documents).Draw(rt, "order")
		if again := scan(t, shuffled, q); !reflect.DeepEqual(again, got) {
			rt.Fatalf("in another order: %+v, want %+v", again, got)
		}
	})
}

func TestAYearBoundOnlyTakesAway(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		documents := library(rt)
		text := phrase(rt, "query", 5)
		year := make(map[string]int)
		for _, d := range documents {
			year[d.ID] = d.Year
		}
		everything := scan(t, documents, Query{Text: text, Limit: len(documents)})
		counted := scan(t, documents, Query{Text: text, Facets: true})

		for y := 1990; y <= 1992; y++ {
			bounded := scan(t, documents, Query{Text: text, Limit: len(documents), FromYear: y, ToYear: y})
			want := slices.DeleteFunc(ids(everything.Hits), func(id string) bool { return year[id] != y })
			if !slices.Equal(ids(bounded.Hits), want) {
				rt.Fatalf("hits of %d are %v, want %v", y, ids(bounded.Hits), want)
			}
			facet := 0
			for _, count := range counted.Years {
				if count.Year == y {
					facet = count.Count
				}
			}
			if total := scan(t, documents, Query{Text: text, Facets: true, FromYear: y, ToYear: y}).Total; total != facet {
				rt.Fatalf("%d has %d results, the facet said %d", y, total, facet)
			}
		}
	})
}

func BenchmarkScan(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 20_000)
	for i := range words {
		words[i] = "word" + strconv.FormatInt(int64(i*7919), 36)
	}
	// Squaring a uniform number makes low words common and high ones rare, as in language.
	text := func(n int) string {
		var out strings.Builder
		for range n {
			u := random.Float64()
			out.WriteString(words[int(u*u*float64(len(words)))])
			out.WriteByte(' ')
		}
		return out.String()
	}
	documents := make([]Document, 5_000)
	for i := range documents {
		documents[i] = Document{
			ID: "doc" + strconv.Itoa(i), Title: text(8), Text: text(150), Authors: []string{text(2)}, Year: 1960 + i%60,
		}
	}
	q := Query{Text: "what is known about " + text(6), Limit: 10, FromYear: 1990, Facets: true}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Scan(stream(documents), q); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(documents))*float64(b.N)/b.Elapsed().Seconds(), "docs/s")
}
