package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/source"
)

func TestSearchPages(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"AreFilteredSortedAndCounted", filteredSearch},
		{"GoBeyondOneHundredResults", longSearch},
		{"SimilarDocumentsAndBatches", similarAndBatches},
	})
}

// library loads documents of two sources and returns the ids of the sources.
func (p *testUser) library() (first, second string) {
	p.t.Helper()
	first = p.load(p.agent,
		source.Document{
			ExternalID: "codd", Title: "A relational model of data", Text: "Relations.", Year: 1970, Type: "article",
			Authors: []string{"Edgar F. Codd"}, Venue: "CACM", Tags: []string{"databases"},
		},
		source.Document{
			ExternalID: "notes", Title: "Notes on the relational model", Text: "Notes.", Type: "note",
			Authors: []string{"Nobody"},
		})
	added, err := p.w.sources.Add(p.t.Context(), core.Operator(p.id), p.agent, source.New{Name: "Second"})
	if err != nil {
		p.t.Fatal(err)
	}
	p.importInto(added, source.Document{
		ExternalID: "date", Title: "An introduction to the relational model", Text: "Introduction.", Year: 1975,
		Type: "book", Authors: []string{"Chris Date"},
	})
	return first, added.ID
}

func (p *testUser) searchFor(rest string) answer {
	p.t.Helper()
	return p.send("POST", p.at("/search"), `{"query":"relational model"`+rest+`}`)
}

func filteredSearch(t *testing.T, w *testServer) {
	p, other := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	first, second := p.library()
	theirs, _ := other.library()
	for rest, want := range map[string]string{
		`,"sourceIds":["*"],"sort":"year"`:                                                "date codd notes",
		`,"sourceIds":["*"],"sort":"oldest"`:                                              "codd date notes",
		`,"sourceIds":["` + first + `"],"sort":"year"`:                                    "codd notes",
		`,"sourceIds":["` + first + `","` + second + `"],"sort":"year"`:                   "date codd notes",
		`,"sourceId":"` + second + `","sort":"added"`:                                     "date",
		`,"sourceIds":["*"],"filter":{"authors":["codd","date"]},"sort":"year"`:           "date codd",
		`,"sourceIds":["*"],"filter":{"types":["book"]}`:                                  "date",
		`,"sourceIds":["*"],"filter":{"tags":["Databases"],"venues":["cacm"]}`:            "codd",
		`,"sourceIds":["*"],"filter":{"hasYear":false}`:                                   "notes",
		`,"sourceIds":["*"],"filter":{"hasYear":true},"sort":"year","toYear":1972`:        "codd",
		`,"sourceIds":["*"],"filter":{"types":["book"],"authors":["codd"]},"facets":true`: "",
	} {
		a := p.searchFor(rest).ok(t)
		if got := strings.Join(a.list("results", "externalId"), " "); got != want {
			t.Errorf("%s finds %q, want %q", rest, got, want)
		}
		if total := a.value("total"); total != float64(len(strings.Fields(want))) {
			t.Errorf("%s counts %v", rest, total)
		}
	}
	a := p.searchFor(`,"sourceIds":["*"],"countBy":["type","source"],"sort":"relevance"`).ok(t)
	if got := fmt.Sprint(a.value("counts")); strings.Count(got, "count:1") != 4 || !strings.Contains(got, "count:2") {
		t.Errorf("the counts are %s", got)
	}
	for rest, pointer := range map[string]string{
		`,"sourceIds":["` + theirs + `"]`:                       "/sourceIds",
		`,"sourceIds":["*"],"sourceId":"` + first + `"`:         "/sourceIds",
		`,"sort":"xyzzy"`:                                       "/sort",
		`,"cursor":"xyzzy"`:                                     "/cursor",
		`,"countBy":["xyzzy"]`:                                  "/countBy/0",
		`,"filter":{"types":[""]}`:                              "/filter/types/0",
		`,"filter":{"hasYear":"yes"}`:                           "/filter",
		`,"sort":"year","numResults":101`:                       "/numResults",
		`,"sourceIds":["` + strings.Repeat(`x","`, 100) + `x"]`: "/sourceIds",
	} {
		if a := p.searchFor(rest); a.status != http.StatusBadRequest || !strings.Contains(string(a.body), `"`+pointer) {
			t.Errorf("%.60s: %d %s", rest, a.status, a.body)
		}
	}
}

func longSearch(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	docs := make([]source.Document, 130)
	for i := range docs {
		docs[i] = source.Document{
			ExternalID: strconv.Itoa(i), Title: "The relational model", Text: "Copy " + strconv.Itoa(i), Year: 1900 + i%7,
		}
	}
	src := p.load(p.agent, docs...)
	seen := map[string]bool{}
	rest := `,"numResults":60,"sort":"year","sourceIds":["` + src + `"]`
	cursor, pages := "", 0
	var years []string
	for {
		a := p.searchFor(rest + cursor).ok(t)
		for _, id := range a.list("results", "externalId") {
			seen[id] = true
		}
		for _, r := range a.value("results").([]any) {
			years = append(years, fmt.Sprint(r.(map[string]any)["year"]))
		}
		pages++
		next, more := a.value("nextCursor").(string)
		if !more {
			break
		}
		cursor = `,"cursor":"` + next + `"`
	}
	descending := slices.IsSortedFunc(years, func(a, b string) int { return strings.Compare(b, a) })
	if pages != 3 || len(seen) != len(docs) || !descending {
		t.Errorf("%d pages with %d documents, in order: %t", pages, len(seen), descending)
	}
}

func similarAndBatches(t *testing.T, w *testServer) {
	p, other := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	p.library()
	id := p.searchFor(`,"sourceIds":["*"],"filter":{"types":["article"]}`).ok(t).list("results", "documentId")[0]
	path := p.at("/documents/" + id + "/similar")
	found := p.get(path).ok(t).list("results", "externalId")
	slices.Sort(found)
	if !slices.Equal(found, []string{"date", "notes"}) {
		t.Errorf("similar are %v", found)
	}
	if got := p.get(path+"?limit=1").ok(t).list("results", "externalId"); len(got) != 1 {
		t.Errorf("one similar document: %v", got)
	}
	for _, a := range []answer{
		other.get(path), other.get(strings.Replace(path, p.agent, other.agent, 1)),
		p.get(p.at("/documents/doc_none/similar")),
	} {
		if a.status != http.StatusNotFound {
			t.Errorf("what is not there: %d %s", a.status, a.body)
		}
	}
	if a := p.get(path + "?limit=101"); a.status != http.StatusBadRequest {
		t.Errorf("limit 101: %d %s", a.status, a.body)
	}
	batch := p.send("POST", p.at("/searches"),
		`{"queries":[{"query":"introduction","sourceIds":["*"]},{"query":"codd","sourceIds":["*"],"colour":1}]}`).ok(t)
	replies := batch.value("replies").([]any)
	if len(replies) != 2 || !strings.Contains(string(batch.body), `"pointer":"/queries/1/colour"`) {
		t.Errorf("the replies are %s", batch.body)
	}
	a := p.send("POST", p.at("/searches"), `{"queries":[{"query":"x"},{"query":" "}]}`)
	if a.status != http.StatusBadRequest || !strings.Contains(string(a.body), `"/queries/1/query"`) {
		t.Errorf("a wrong query: %d %s", a.status, a.body)
	}
	many := strings.Repeat(`{"query":"x"},`, 20) + `{"query":"x"}`
	for _, body := range []string{`{"queries":[]}`, `{"queries":[` + many + `]}`} {
		if a := p.send("POST", p.at("/searches"), body); a.status != http.StatusBadRequest {
			t.Errorf("%.40s: %d %s", body, a.status, a.body)
		}
	}
}
