package local

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"carrel/internal/search"
)

// library returns an index of the documents, in the source "s" unless they name another.
func library(t testing.TB, documents ...search.Document) *Index {
	t.Helper()
	ix, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	})
	changes := make([]search.Change, len(documents))
	for i, d := range documents {
		if d.SourceID == "" {
			d.SourceID = "s"
		}
		changes[i] = search.Change{Seq: uint64(i + 1), Op: search.Put, ID: d.ID, Document: d}
	}
	if err := ix.Apply(t.Context(), search.Span{Through: uint64(len(documents))}, changes); err != nil {
		t.Fatal(err)
	}
	return ix
}

func find(t testing.TB, ix *Index, q search.Query) search.Result {
	t.Helper()
	if q.Sources == nil {
		q.Sources = []string{"s"}
	}
	if q.Limit == 0 {
		q.Limit = 10
	}
	q.Facets = true
	result, err := ix.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func ids(r search.Result) []string {
	var out []string
	for _, h := range r.Hits {
		out = append(out, h.ID)
	}
	return out
}

// Lengths are 8 (3×2+2, "the" not counted), 6 (3×1+3) and 4 (3×1+1); their average is 6.
var tiny = []search.Document{
	{ID: "a", Title: "Red fox", Text: "the fox runs"},
	{ID: "b", Title: "Blue", Text: "red, red sky"},
	{ID: "c", Title: "Green", Text: "grass", Authors: []string{"Ada Lovelace"}},
}

func TestScoresAreBM25FAsComputedByHand(t *testing.T) {
	t.Parallel()
	ln16, ln83 := 0.47000362924573563, 0.9808292530117262 // idf of a term in two of three documents, and in one
	tests := map[string]struct {
		query string
		want  []search.Hit
	}{
		// a: frequency 3, norm 1.2×(0.25+0.75×8/6) = 1.5; b: frequency 2, norm 1.2.
		"title weighs three": {"red", []search.Hit{{ID: "a", Score: ln16 * 6.6 / 4.5}, {ID: "b", Score: ln16 * 4.4 / 3.2}}},
		// a: "fox" 3+1 times, twice in the query.
		"query frequency kept": {"fox foxes", []search.Hit{{ID: "a", Score: 2 * ln83 * 8.8 / 5.5}}},
		// c: frequency 1, norm 1.2×(0.25+0.75×4/6) = 0.9: authors do not count towards the length.
		"authors weigh one": {"lovelace", []search.Hit{{ID: "c", Score: ln83 * 2.2 / 1.9}}},
		// a by its words (norm 1.5), and 0.4 × the mean idf × (0.67 for being adjacent, once; 0.33 for being near,
		// twice).
		"nearness counts": {"red fox", []search.Hit{
			{ID: "a", Score: ln16*6.6/4.5 + ln83*8.8/5.5 + 0.4*(ln16+ln83)/2*2.2*(0.67*1/2.5+0.33*2/3.5)},
			{ID: "b", Score: ln16 * 4.4 / 3.2},
		}},
		"unknown words": {"zebra", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := find(t, library(t, tiny...), search.Query{Text: test.query})
			if !slices.Equal(ids(got), ids(search.Result{Hits: test.want})) {
				t.Fatalf("hits %v, want %v", got.Hits, test.want)
			}
			for i, h := range got.Hits {
				if math.Abs(h.Score-test.want[i].Score) > 1e-8 {
					t.Errorf("score of %s is %v, want %v", h.ID, h.Score, test.want[i].Score)
				}
			}
		})
	}
}

func TestYearBoundsAreInclusiveAndLeaveOutTheUndated(t *testing.T) {
	t.Parallel()
	ix := library(t,
		search.Document{ID: "1990", Title: "alpha", Year: 1990}, search.Document{ID: "1995", Title: "alpha", Year: 1995},
		search.Document{ID: "1995b", Title: "alpha", Year: 1995}, search.Document{ID: "2000", Title: "alpha", Year: 2000},
		search.Document{ID: "undated", Title: "alpha"}, search.Document{ID: "other", Title: "beta"})
	all := []search.YearCount{{Year: 1990, Count: 1}, {Year: 1995, Count: 2}, {Year: 2000, Count: 1}}
	tests := map[string]struct {
		from, to int
		want     []string
		years    []search.YearCount
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
		got := find(t, ix, search.Query{Text: "alpha", FromYear: test.from, ToYear: test.to})
		if !slices.Equal(ids(got), test.want) || got.Total != len(test.want) {
			t.Errorf("%s: hits %v of %d, want %v", name, ids(got), got.Total, test.want)
		}
		if !slices.Equal(got.Years, test.years) || got.UndatedExcluded != test.undated {
			t.Errorf("%s: years %v, undated %d, want %v, %d", name, got.Years, got.UndatedExcluded, test.years, test.undated)
		}
	}
}

func TestTotalCountsStrongMatchesAndListedHits(t *testing.T) {
	t.Parallel()
	documents := []search.Document{{ID: "both", Text: "rare common", Year: 2001}, {ID: "rare", Text: "rare", Year: 2002}}
	for i := range 20 {
		documents = append(documents, search.Document{ID: "common" + strconv.Itoa(i), Text: "common", Year: 2003})
	}
	ix := library(t, documents...)
	q := search.Query{Text: "rare common", Limit: 1}
	// "rare" alone has more than half of the weight, "common" has not.
	if got, want := find(t, ix, q), []search.YearCount{{Year: 2001, Count: 1}, {Year: 2002, Count: 1}}; got.Total != 2 ||
		!slices.Equal(got.Years, want) {
		t.Errorf("one listed: total %d, years %v, want 2, %v", got.Total, got.Years, want)
	}
	q.Limit = 5
	if got, want := find(t, ix, q), []search.YearCount{
		{Year: 2001, Count: 1}, {Year: 2002, Count: 1}, {Year: 2003, Count: 3},
	}; got.Total != 5 || !slices.Equal(got.Years, want) {
		t.Errorf("five listed: total %d, years %v, want 5, %v", got.Total, got.Years, want)
	}
}

func TestNamedDocumentsComeFirst(t *testing.T) {
	t.Parallel()
	ix := library(t,
		search.Document{ID: "chatter", Title: "War art, art war", Text: strings.Repeat("art war ", 50)},
		search.Document{ID: "sequel", Title: "The Art of War II", Text: "art war"},
		search.Document{
			ID: "work", Title: "The Art of War", Text: strings.Repeat("strategy and terrain ", 200), DOI: "10.1000/ABC",
		},
		search.Document{ID: "cites", Text: "see 10.1000/abc"},
		search.Document{ID: "band", Title: "My Generation: The Who"})
	for query, want := range map[string]string{
		"the art of war": "work", "THE ÁRT OF WAR!": "work", "https://doi.org/10.1000/abc": "work", "the who": "band",
	} {
		if got := find(t, ix, search.Query{Text: query}); len(got.Hits) == 0 || got.Hits[0].ID != want {
			t.Errorf("%q finds %v, want %s first", query, ids(got), want)
		}
	}
	if got := find(t, ix, search.Query{Text: "10.1000/abc"}); len(got.Hits) != 1 {
		t.Errorf("a DOI finds %v, want the work alone", ids(got))
	}
}

func TestOperatorsChooseDocuments(t *testing.T) {
	t.Parallel()
	ix := library(t,
		search.Document{
			ID: "knuth", Title: "Sorting and searching", Text: "An art of computer programming.",
			Authors: []string{"Donald E. Knuth"},
		},
		search.Document{
			ID: "other", Title: "Searching", Text: "Sorting by Knuth is art. State of the art in computers.",
			Authors: []string{"Donald Duck", "Ada Knuth"},
		},
		search.Document{ID: "plain", Title: "Sorting", Text: "computer science"})
	for query, want := range map[string][]string{
		`sorting`:                      {"knuth", "other", "plain"},
		`sorting author:knuth`:         {"knuth", "other"},
		`author:"donald knuth"`:        {"knuth"},
		`author:"knuth donald"`:        {"knuth"},
		`sorting -author:duck`:         {"knuth", "plain"},
		`"state of the art" computers`: {"other"},
		`"computer programming"`:       {"knuth"},
		`title:searching sorting`:      {"knuth", "other"},
		`sorting -searching`:           {"plain"},
		`text:sorting`:                 {"other"},
		`-sorting`:                     nil,
	} {
		got := ids(find(t, ix, search.Query{Text: query}))
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s finds %v, want %v", query, got, want)
		}
	}
}

func TestALongDocumentIsOneHitWithItsBestPassage(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("Nothing of note happens in this paragraph of the long report. ", 60)
	ix := library(t,
		search.Document{ID: "long", Title: "Report", Text: filler + "\n\nA zebra crosses the savanna.\n\n" + filler},
		search.Document{ID: "short", Title: "Note", Text: "zebra"})
	got := find(t, ix, search.Query{Text: "zebra"})
	if len(got.Hits) != 2 || got.Total != 2 {
		t.Fatalf("hits %v of %d, want two", ids(got), got.Total)
	}
	for _, h := range got.Hits {
		if h.ID == "long" && h.Passage == 0 {
			t.Error("the best passage of the long document is its first, want one in the middle")
		}
	}
	// A word of the title is in every passage, but gives one hit.
	if got := find(t, ix, search.Query{Text: "report"}); len(got.Hits) != 1 || got.Total != 1 {
		t.Errorf("hits %v of %d, want one", ids(got), got.Total)
	}
}

func TestOtherSourcesDoNotAffectResults(t *testing.T) {
	t.Parallel()
	documents := slices.Clone(tiny)
	alone := find(t, library(t, documents...), search.Query{Text: "red fox"})
	for i := range 50 {
		documents = append(
			documents, search.Document{ID: "x" + strconv.Itoa(i), SourceID: "other", Title: "red red fox", Text: "fox"},
		)
	}
	ix := library(t, documents...)
	beside := find(t, ix, search.Query{Text: "red fox"})
	if !slices.Equal(alone.Hits, beside.Hits) || alone.Total != beside.Total {
		t.Errorf("beside another source: %+v, alone: %+v", beside, alone)
	}
	both := find(t, ix, search.Query{Text: "red fox", Sources: []string{"s", "other"}})
	if want := []search.SourceCount{
		{SourceID: "other", Count: 50}, {SourceID: "s", Count: 1},
	}; !slices.Equal(both.Sources, want) {
		t.Errorf("counts by source %v, want %v", both.Sources, want)
	}
}

func TestAMisspeltQueryIsCorrectedWhenItsHitsAreWeak(t *testing.T) {
	t.Parallel()
	documents := []search.Document{
		{ID: "ir", Title: "Information retrieval", Text: "retrieving documents"},
		{ID: "ml", Title: "Neural networks", Text: "learning representations"},
	}
	for i := range 20 {
		documents = append(documents, search.Document{ID: "d" + strconv.Itoa(i), Text: "documents about nothing"})
	}
	ix := library(t, documents...)
	for query, want := range map[string]struct {
		first, corrected string
	}{
		"Infromation retreival!":    {"ir", "information retrieval!"},
		"nueral networks":           {"ml", "neural networks"},
		"retreival of documents":    {"ir", "retrieval of documents"},
		"neural networks zzqxj":     {"ml", ""}, // strong without it
		"information retrieval":     {"ir", ""},
		"xylophonists":              {"", ""},
		`neural -netwroks networks`: {"ml", ""}, // excluded words are not corrected
	} {
		got := find(t, ix, search.Query{Text: query})
		first := ""
		if len(got.Hits) > 0 {
			first = got.Hits[0].ID
		}
		if first != want.first || got.Corrected != want.corrected {
			t.Errorf("%q finds %q, corrected %q, want %q, %q", query, first, got.Corrected, want.first, want.corrected)
		}
	}
}

// Vietnamese accents distinguish words, but a query may lack them.
func TestVietnameseIsFoundWithoutAccents(t *testing.T) {
	t.Parallel()
	ix := library(
		t, search.Document{
			ID: "library", Language: "vi", Title: "Thư viện", Text: "Một thư viện ở Huế có bản đồ cũ.",
			Authors: []string{"Nguyễn Ba Huệ"},
		},
		search.Document{ID: "autumn", Language: "vi", Text: "Mùa thu ở Hà Nội", Authors: []string{"Trần Văn"}},
	)
	for text, want := range map[string]string{
		"thư viện": "library", "thu vien": "library", `"thu vien"`: "library", `"bản đồ cũ"`: "library",
		`"ban do cu"`: "library", "title:vien": "library", `author:"nguyen ba"`: "library", "mùa thu": "autumn",
		`author:"Nguyễn Huệ"`: "library", "-thu vien": "",
	} {
		got := find(t, ix, search.Query{Text: text, Language: "vi"})
		first := ""
		if len(got.Hits) > 0 {
			first = got.Hits[0].ID
		}
		if first != want {
			t.Errorf("%s finds %v, want %q", text, ids(got), want)
		}
	}
	if got := find(t, ix, search.Query{Text: "thư", Language: "vi"}); !slices.Equal(ids(got), []string{"library"}) {
		t.Errorf("thư finds %v, want the library alone", ids(got))
	}
}

func TestEachLanguageIsAnalysedByItsRules(t *testing.T) {
	t.Parallel()
	for language, test := range map[string]struct{ text, query string }{
		"en": {"indexed documents", "indexing document"},
		"de": {"Die Häuser der Städte", "haus stadt"},
		"fr": {"les chevaux étaient mangés", "cheval mangé"},
		"ru": {"поисковые системы", "поисковая система"},
		"ja": {"自然言語処理の研究", "言語処理"},
		"ko": {"기계 학습을 연구한다", "기계 학습"},
		"ar": {"المكتبات الرقمية", "مكتبات"},
		"th": {"การค้นหาข้อมูล", "ค้นหา"},
		"el": {"οι βιβλιοθήκες των πόλεων", "βιβλιοθήκη"},
		"zh": {"我家有一只黑猫和一条狗", "猫"},
		"vi": {"Thư viện quốc gia", "thư viện"},
	} {
		ix := library(
			t, search.Document{ID: "d", Language: language, Text: test.text},
			search.Document{ID: "x", Language: language, Text: "zzz"},
		)
		if got := find(t, ix, search.Query{Text: test.query, Language: language}); !slices.Equal(ids(got), []string{"d"}) {
			t.Errorf("%s: %q finds %v, want d", language, test.query, ids(got))
		}
	}
}
