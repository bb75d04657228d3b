package federated

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// dated are replies with documents of 1969, 1970, 1980, 1981 and one without a year, in the format of each API.
var dated = map[string]func() string{
	"openalex": func() string {
		return list(
			`{"results":[%s]}`, `{"id":"%[1]s","display_name":"%[1]s","publication_year":%[1]s}`,
			`{"id":"u","display_name":"u"}`,
		)
	},
	"crossref": func() string {
		return list(
			`{"message":{"items":[%s]}}`, `{"DOI":"10.1/%[1]s","title":["%[1]s"],"issued":{"date-parts":[[%[1]s]]}}`,
			`{"DOI":"10.1/u","title":["u"],"issued":{"date-parts":[[null]]}}`,
		)
	},
	"arxiv": func() string {
		return strings.ReplaceAll(list(`<feed xmlns="http://www.w3.org/2005/Atom">%s</feed>`,
			`<entry><id>http://arxiv.org/abs/%[1]s</id><title>%[1]s</title><published>%[1]s-01-02T00:00:00Z</published></entry>`,
			`<entry><id>http://arxiv.org/abs/u</id><title>u</title></entry>`), "</entry>,", "</entry>")
	},
	"semanticscholar": func() string {
		return list(
			`{"data":[%s]}`, `{"paperId":"%[1]s","title":"%[1]s","year":%[1]s}`,
			`{"paperId":"u","title":"u","year":null}`,
		)
	},
	"europepmc": func() string {
		return list(
			`{"resultList":{"result":[%s]}}`, `{"id":"%[1]s","source":"MED","title":"%[1]s","pubYear":"%[1]s"}`,
			`{"id":"u","source":"MED","title":"u"}`,
		)
	},
	"core": func() string {
		return list(
			`{"results":[%s]}`, `{"id":%[1]s,"title":"%[1]s","yearPublished":%[1]s}`,
			`{"id":1,"title":"u","yearPublished":null}`,
		)
	},
	"searxng": func() string {
		return list(
			`{"results":[%s]}`,
			`{"url":"https://example.org/%[1]s","title":"%[1]s","publishedDate":"%[1]s-06-01T00:00:00"}`,
			`{"url":"https://example.org/u","title":"u","publishedDate":null}`,
		)
	},
	"brave": func() string {
		return list(
			`{"web":{"results":[%s]}}`,
			`{"url":"https://example.org/%[1]s","title":"%[1]s","page_age":"%[1]s-06-01T00:00:00"}`,
			`{"url":"https://example.org/u","title":"u"}`,
		)
	},
	"tavily": func() string {
		return list(
			`{"results":[%s]}`, `{"url":"https://example.org/%[1]s","title":"%[1]s","published_date":"%[1]s-06-01"}`,
			`{"url":"https://example.org/u","title":"u"}`,
		)
	},
	"exa": func() string {
		return list(
			`{"results":[%s]}`,
			`{"id":"%[1]s","url":"https://example.org/%[1]s","title":"%[1]s","publishedDate":"%[1]s-06-01T00:00:00.000Z"}`,
			`{"id":"u","url":"https://example.org/u","title":"u"}`,
		)
	},
}

func list(around, each, undated string) string {
	var parts []string
	for _, y := range []string{"1969", "1970", "1980", "1981"} {
		parts = append(parts, fmt.Sprintf(each, y))
	}
	return fmt.Sprintf(around, strings.Join(append(parts, undated), ","))
}

// bounds are the parameters of each API for 1970 to 1980, from 1970, and up to 1980. Empty means that the API has no
// such filter.
var bounds = map[string][3]string{
	"openalex": {
		"filter=publication_year:1970-1980", "filter=publication_year:1970-3000", "filter=publication_year:1000-1980",
	},
	"crossref": {
		"filter=from-pub-date:1970,until-pub-date:1980", "filter=from-pub-date:1970", "filter=until-pub-date:1980",
	},
	"arxiv": {
		"AND submittedDate:[197001010000 TO 198012312359]", "[197001010000 TO 300012312359]",
		"[100001010000 TO 198012312359]",
	},
	"semanticscholar": {"year=1970-1980", "year=1970-", "year=-1980"},
	"europepmc":       {"(PUB_YEAR:[1970 TO 1980])", "(PUB_YEAR:[1970 TO 3000])", "(PUB_YEAR:[1000 TO 1980])"},
	"core": {
		"yearPublished>=1970 AND yearPublished<=1980", "AND yearPublished>=1970", "AND yearPublished<=1980",
	},
	"searxng": {},
	"brave": {
		"freshness=1970-01-01to1980-12-31", "freshness=1970-01-01to3000-12-31", "freshness=1000-01-01to1980-12-31",
	},
	"tavily": {
		`"end_date":"1980-12-31","max_results":10,"query":"x","search_depth":"basic","start_date":"1970-01-01"`,
		`"start_date":"1970-01-01"`, `"end_date":"1980-12-31"`,
	},
	"exa": {
		`"startPublishedDate":"1970-01-01T00:00:00.000Z"`, `"startPublishedDate":"1970-01-01T00:00:00.000Z"`,
		`"endPublishedDate":"1980-12-31T23:59:59.999Z"`,
	},
}

func TestYearsAreSentToTheAPIAndCheckedAgain(t *testing.T) {
	t.Parallel()
	for kind, answer := range dated {
		for i, c := range []struct {
			from, to int
			want     []string
			undated  int
		}{
			{1970, 1980, []string{"1970", "1980"}, 1},
			{1970, 0, []string{"1970", "1980", "1981"}, 1},
			{0, 1980, []string{"1969", "1970", "1980"}, 1},
			{0, 0, []string{"1969", "1970", "1980", "1981", "u"}, 0},
		} {
			t.Run(fmt.Sprint(kind, i), func(t *testing.T) {
				t.Parallel()
				a := serve(t, func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					sent, bad := url.QueryUnescape(r.URL.RawQuery)
					if err != nil || bad != nil {
						t.Error(err, bad)
					}
					sent += string(body)
					if i < 3 && !strings.Contains(sent, bounds[kind][i]) {
						t.Errorf("sent %s", sent)
					}
					if i == 3 && (strings.Contains(sent, "1000") || strings.Contains(sent, "3000")) {
						t.Errorf("a bound was sent: %s", sent)
					}
					_, _ = io.WriteString(w, answer())
				})
				found, err := search(t.Context(), kind, a, Query{Text: "x", FromYear: c.from, ToYear: c.to})
				if err != nil || !reflect.DeepEqual(titles(found.Documents), c.want) ||
					found.UndatedExcluded != c.undated {
					t.Errorf("%v, %d undated, %v", titles(found.Documents), found.UndatedExcluded, err)
				}
			})
		}
	}
}

func TestPagesAreReadUntilThereAreEnough(t *testing.T) {
	t.Parallel()
	for kind, param := range map[string]string{"brave": "offset", "wikipedia": "gsroffset", "searxng": "pageno"} {
		for limit, want := range map[int]int{7: 7, 25: 25, 50: 45} { // 45 results exist
			t.Run(fmt.Sprint(kind, limit), func(t *testing.T) {
				t.Parallel()
				size := min(kinds[kind].pageSize, limit)
				a := serve(t, func(w http.ResponseWriter, r *http.Request) {
					var at int
					if _, err := fmt.Sscan(r.URL.Query().Get(param), &at); err != nil {
						t.Error(err)
					}
					start := map[string]int{"brave": at * size, "wikipedia": at, "searxng": (at - 1) * size}[kind]
					results := []any{}
					for n := start; n < min(start+size, 45); n++ {
						results = append(results, map[string]any{
							"url": fmt.Sprint("https://example.org/", n), "title": strconv.Itoa(n), "pageid": n + 1,
							"index": n - start,
						})
					}
					reply := map[string]any{
						"results": results, "web": map[string]any{"results": results},
						"query": map[string]any{"pages": results},
					}
					if kind == "searxng" {
						reply["query"] = "x"
					}
					if err := json.NewEncoder(w).Encode(reply); err != nil {
						t.Error(err)
					}
				})
				found, err := search(t.Context(), kind, a, Query{Text: "x", Limit: limit})
				if err != nil || len(found.Documents) != want {
					t.Fatalf("%d documents, %v", len(found.Documents), err)
				}
				for i, d := range found.Documents {
					if d.Title != strconv.Itoa(i) {
						t.Fatalf("document %d is %s", i, d.Title)
					}
				}
			})
		}
	}
}
