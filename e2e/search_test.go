package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	contractdoc "carrel/api"
	"carrel/internal/store"
	"carrel/internal/testkit"
	"carrel/internal/testkit/contract"
)

// newLibrary returns a installation with one account and one agent without documents. Every reply is checked against
// the contract.
func newLibrary(t *testing.T, opts testkit.ServerOptions) *installation {
	t.Helper()
	opts.Env = append(opts.Env, "CARREL_RATE_LIMITS=off")
	return newLimitedLibrary(t, opts)
}

// newLimitedLibrary is newLibrary with the default rate limits.
func newLimitedLibrary(t *testing.T, opts testkit.ServerOptions) *installation {
	t.Helper()
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	checker := contract.New(t, contractdoc.Document)
	w := &installation{
		server: testkit.StartServer(t, opts), checker: checker,
		client: &http.Client{Transport: checker.Transport(base), Timeout: testkit.Patience},
	}
	w.user = w.admin(t, "user", "create", "--email", "ada@example.org", "--name", "Ada",
		"--password", "correct horse battery").text("user", "id")
	w.agent = w.admin(t, "agent", "create", "--user", "ada@example.org", "--name", "Papers").text("agent", "id")
	w.key = w.admin(t, "key", "create", "--user", "ada@example.org", "--name", "test").text("key")
	return w
}

// add imports documents, one per line, and returns the id of their source. The command must report that they are
// indexed.
func (w *installation) add(t *testing.T, name, lines string, more ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "documents.jsonl")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	args := slices.Concat([]string{"source", "add", "--agent", w.agent, "--name", name}, more, []string{file})
	r := w.admin(t, args...)
	if r.at("indexed") != true {
		t.Errorf("source add says %v", r.body)
	}
	return r.text("source", "id")
}

// find searches with additional members of the request, such as `, "numResults": 1`.
func (w *installation) find(t *testing.T, query, fields string) reply {
	t.Helper()
	return w.do(t, "POST", w.below("/search"), fmt.Sprintf(`{"query": %q%s}`, query, fields))
}

// ids returns the external ids of the results, in order.
func (r reply) ids() []string {
	list, _ := r.at("results").([]any)
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = r.text("results", i, "externalId")
	}
	return ids
}

// lit returns the highlighted words of a result.
func (r reply) lit(result int) []string {
	snippet := []rune(r.text("results", result, "snippet"))
	spans, _ := r.at("results", result, "highlights").([]any)
	words := make([]string, len(spans))
	for i := range spans {
		start, _ := r.at("results", result, "highlights", i, "start").(float64)
		end, _ := r.at("results", result, "highlights", i, "end").(float64)
		words[i] = string(snippet[int(start):int(end)])
	}
	return words
}

const englishWorks = `{"id": "codd", "title": "A Relational Model of Data for Large Shared Data Banks", "authors": ["Edgar F. Codd"], "text": "Future users of large data banks must be protected from having to know how the data is organized.", "year": 1970, "doi": "10.1145/362384.362685"}
{"id": "lovelace", "title": "Notes on the Analytical Engine", "authors": ["Ada Lovelace"], "text": "The Analytical Engine weaves algebraic patterns just as the Jacquard loom weaves flowers and leaves.", "year": 1843}
{"id": "babbage", "title": "Passages from the Life of a Philosopher", "authors": ["Charles Babbage"], "text": "How the engine was made analytical, told by its inventor, with looms.", "year": 1864}
{"id": "letters", "title": "Letters", "authors": ["Augusta Ada King"], "text": "To Babbage, on flowers. Codd was not born."}
{"id": "who", "title": "The Who", "text": "A band with loud drums.", "year": 1964}
{"id": "what", "title": "Drums of the world", "text": "The makers of loud ones, and who they were.", "year": 1970}
{"id": "zh", "title": "关系数据库", "text": "关系模型由埃德加提出，用于大型共享数据库。", "year": 1971}
{"id": "ja", "title": "検索エンジン", "text": "全文検索の仕組みを説明する。", "year": 1998}
{"id": "ar", "title": "كتاب الجبر", "text": "الكتاب المختصر في حساب الجبر والمقابلة للخوارزمي", "year": 820}
{"id": "th", "title": "ภาษาไทย", "text": "ห้องสมุดดิจิทัลสำหรับการค้นหาเอกสาร", "year": 2001}
`

const germanWorks = `{"id": "gutenberg", "title": "Die Geschichte der Büchereien", "text": "In den Häusern der Gelehrten standen Bücher über Straßen.", "year": 1450}
{"id": "zuse", "title": "Rechnender Raum", "text": "Der Rechner steht in einem Haus an der Strasse.", "year": 1969}
`

func TestSearchSupportsTheQueryLanguage(t *testing.T) {
	t.Parallel()
	w := newLibrary(t, testkit.ServerOptions{})
	w.add(t, "Works", englishWorks, "--default", "--language", "en")
	german := w.add(t, "Werke", germanWorks, "--language", "de")
	inGerman := `, "sourceId": "` + german + `"`
	for _, c := range []struct {
		name, query, fields string
		want                string // ids, best first
		lit                 string // in the first result's snippet
	}{
		{"words", "algebraic loom", "", "lovelace babbage", "algebraic loom"},
		{"a phrase", `"analytical engine"`, "", "lovelace", "Analytical Engine"},
		{"a phrase in other marks", `“large data banks”`, "", "codd", "large data banks data"},
		{"no phrase", "analytical engine", "", "lovelace babbage", "Analytical Engine"},
		{"an author", "author:babbage", "", "babbage", ""},
		{"an author by all names", `author:"lovelace ada"`, "", "lovelace", ""},
		{"an author and a word", "engine author:ada", "", "lovelace letters", "Engine"},
		{"the title", "title:passages", "", "babbage", ""},
		{"the title alone", "title:engine", "", "lovelace", "Engine"},
		{"the text", "text:babbage", "", "letters", "Babbage"},
		{"an exclusion", "engine -algebraic", "", "babbage", "engine"},
		{"an excluded phrase", `engine -"jacquard loom"`, "", "babbage", "engine"},
		{"an excluded author", "babbage -author:babbage", "", "letters", "Babbage"},
		{"exclusions alone", "-engine", "", "", ""},
		{"a DOI", "10.1145/362384.362685", "", "codd", ""},
		{"a DOI as an address", "https://doi.org/10.1145/362384.362685", "", "codd", ""},
		{"a DOI with its scheme", "DOI: 10.1145/362384.362685", "", "codd", ""},
		{"a title", "passages from the life of a philosopher", "", "babbage", ""},
		{"stop words", "the who", "", "who what babbage lovelace", ""},
		{"a stem", "patterned weaving", "", "lovelace", "weaves patterns weaves"},
		{"a number of results", "engine", `, "numResults": 1`, "lovelace", "Engine"},
		{"from a year", "engine", `, "fromYear": 1850`, "babbage", "engine"},
		{"to a year", "engine", `, "toYear": 1850`, "lovelace", "Engine"},
		{"both years, inclusive", "engine", `, "fromYear": 1843, "toYear": 1843`, "lovelace", "Engine"},
		{"no such word", "xylophones", "", "", ""},
		{"signs alone", `"' -- : ()`, "", "", ""},
		{"Chinese", "数据库", "", "zh", "数据库"},
		{"Chinese in another order", "据数库", "", "", ""},
		{"Japanese", "検索", "", "ja", "検索"},
		{"Arabic without its article", "كتاب", "", "ar", "الكتاب"},
		{"Arabic with marks", "الجَبْر", "", "ar", "الجبر"},
		{"Thai", "ค้นหา", "", "th", "ค้นหา"},
		{"German, plural and umlaut", "haus buch", inGerman, "gutenberg zuse", "Häusern Bücher"},
		{"German, ß as ss", "strasse", inGerman, "zuse gutenberg", "Strasse"},
	} {
		got := w.find(t, c.query, c.fields)
		ids := strings.Join(got.ids(), " ")
		if ids != c.want {
			t.Errorf("%s: %s finds %q, want %q", c.name, c.query, ids, c.want)
			continue
		}
		if lit := strings.Join(got.lit(0), " "); ids != "" && lit != c.lit {
			t.Errorf("%s: %s lights %q in %q, want %q", c.name, c.query, lit, got.text("results", 0, "snippet"), c.lit)
		}
		if corrected := got.text("query", "corrected"); corrected != "" {
			t.Errorf("%s: %s was taken for %s", c.name, c.query, corrected)
		}
	}
}

func TestSearchReturnsCountsAndYears(t *testing.T) {
	t.Parallel()
	w := newLibrary(t, testkit.ServerOptions{})
	source := w.add(t, "Works", englishWorks, "--default", "--language", "en")

	all := w.find(t, "flowers", "") // one of the two has no year
	if fmt.Sprint(all.at("years")) != "[map[count:1 year:1843]]" || all.at("total") != 2.0 ||
		all.at("undatedExcluded") != 0.0 || all.text("sourceId") != source {
		t.Errorf("all: %v", all.body)
	}
	one := w.find(t, "loud", `, "numResults": 1`)
	if len(one.ids()) != 1 || one.at("total") != 2.0 ||
		fmt.Sprint(one.at("years")) != "[map[count:1 year:1964] map[count:1 year:1970]]" {
		t.Errorf("counts are those of the page: %v", one.body)
	}
	old := w.find(t, "flowers", `, "toYear": 1900`)
	if old.at("total") != 1.0 || old.at("undatedExcluded") != 1.0 ||
		fmt.Sprint(old.at("years")) != "[map[count:1 year:1843]]" {
		t.Errorf("with a bound: %v", old.body)
	}
	plain := w.find(t, "flowers", `, "facets": false`)
	_, total := plain.body["total"]
	_, years := plain.body["years"]
	if total || years || !slices.Equal(plain.ids(), all.ids()) {
		t.Errorf("without facets: %v", plain.body)
	}
	if bounded := w.find(t, "flowers", `, "facets": false, "toYear": 1900`); bounded.at("undatedExcluded") != 1.0 {
		t.Errorf("without facets, with a bound: %v", bounded.body)
	}
	for name, c := range map[string]struct{ query, corrected string }{
		"a letter twice":  {"algebbraic patterns", "algebraic patterns"},
		"letters swapped": {"jacqaurd", "jacquard"},
		"in a phrase":     {`"analitical engine"`, `"analytical engine"`},
		"with a field":    {"author:lovelase", "author:lovelace"},
	} {
		got := w.find(t, c.query, "")
		if got.text("query", "corrected") != c.corrected ||
			!slices.Equal(got.ids()[:min(1, len(got.ids()))], []string{"lovelace"}) {
			t.Errorf("%s: %q was taken for %q and finds %v", name, c.query, got.text("query", "corrected"), got.ids())
		}
	}
}

func TestSearchesAreCountedAndCharged(t *testing.T) {
	t.Parallel()
	w := newLibrary(t, testkit.ServerOptions{})
	w.add(t, "Works", englishWorks, "--default")
	const searches = 7
	for range searches {
		w.find(t, "engine", "")
	}
	search := call{method: "POST", path: w.below("/search"), body: `{"query": "engine"}`, key: w.key}
	w.problem(t, call{method: "POST", path: w.below("/search"), body: `{"query": " "}`, key: w.key}, 400,
		"invalid_request")
	w.admin(t, "plan", "set", "--user", "ada@example.org", "--plan", "none")
	w.problem(t, search, 402, "no_subscription")
	w.admin(t, "plan", "set", "--user", "ada@example.org", "--plan", "open")
	w.send(t, search, 200)
	w.server.Stop() // writes the counters that are kept in memory

	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(w.server.Data, "carrel.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	counted := 0
	for _, ago := range []time.Duration{0, 24 * time.Hour} { // it may be just after midnight
		n, err := db.SearchesOf(t.Context(), w.user, time.Now().UTC().Add(-ago).Format(time.DateOnly))
		if err != nil {
			t.Fatal(err)
		}
		counted += n
	}
	if counted != searches+1 {
		t.Errorf("%d searches are counted, want %d", counted, searches+1)
	}
}
