package favourite

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"carrel/internal/core"
)

var update = flag.Bool("update", false, "write the golden exports anew")

var formats = []Format{FormatBibTeX, FormatRIS, FormatCSLJSON, FormatCSV, FormatMarkdown}

// goldenCards are ordinary, unusual and hostile cards.
var goldenCards = []Card{
	{
		ID: "crd_turing",
		JSON: []byte(`{"type":"article","title":"Computing Machinery and Intelligence","authors":["Alan M. Turing"],
		"year":1950,		"publishedAt":"1950-10-01","venue":"Mind","volume":59,"issue":"236","pages":"433-460",
		"publisher":"Oxford University Press",
		"doi":"https://doi.org/10.1093/mind/LIX.236.433","url":"https://academic.oup.com/mind/article/LIX/236/433/986238",
		"abstract":"I propose to consider the question,\n\"Can machines think?\""}`),
	},
	{
		ID: "crd_vaswani",
		JSON: []byte(`{"type":"paper-conference","title":"Attention Is All You Need","authors":[{"given":"Ashish",
			"family":"Vaswani"},
		{"name":"Noam Shazeer"},"Ludwig van Beethoven","King, Martin Luther, Jr.","OpenAI","World Health Organization",
		"山田 太郎"],
		"year":"2017","venue":"Advances in Neural Information Processing Systems 30","url":"https://arxiv.org/abs/1706.03762",
		"snippet":"Dominant models…"}`),
	},
	{
		ID: "crd_knuth",
		JSON: []byte(`{"type":"book","title":"The Art of Computer Programming","authors":"Donald E. Knuth","year":1968,
			"publisher":"Addison-Wesley","page":7}`),
	},
	{
		ID: "crd_turing_2",
		JSON: []byte(`{"type":"chapter","title":"Computing it all again","authors":["Turing, Alan"],"year":1950,
			"venue":"Collected Works"}`),
	},
	{
		ID: "crd_report",
		JSON: []byte(`{"type":"report","title":"Über naïve Façades","authors":[{"literal":"IBM, Research and Sons"}],
			"publishedAt":"1981-07","venue":"IBM"}`),
	},
	{
		ID: "crd/hostile",
		JSON: []byte(`{"type":"misc",
			"title":"{Braces} } and \\ 100% of $5 & #1 _x_ ~ ^ \"quotes\" @article{evil,\r\nER  - \r\nTY  - EVIL\u2028 ` +
			`*bold* <script>alert(1)</script> [x](javascript:alert(1)) שלום 🚀",
		"authors":["=cmd|' /C calc'!A0","# Heading","and","Smith and Wesson","{family}, \\given"],"venue":"@SUM(1+1)*cmd",
		"volume":"-1","issue":"+1",
		"url":"https://example.org/a_b?x=1&copy;=2&y={z}(1)%20#f","doi":"10.1002/(SICI)1097<693::AID>3.0.CO;2-O{\\}",
		"abstract":"  =HYPERLINK(\"http://evil\")  "}`),
	},
	{
		ID: "crd_wrong",
		JSON: []byte(`{"title":["x"],"authors":[1,null,{},[],"",{"name":7}],"year":"MCML","publishedAt":12,"venue":{},
			"doi":"not a doi","url":"javascript:alert(1)","type":3,"pages":[1],"volume":1.5}`),
	},
	{ID: "crd_broken", JSON: []byte(`{"title":"x`)},
}

func export(t testing.TB, f Format, cards ...Card) string {
	t.Helper()
	var out bytes.Buffer
	if err := Export(&out, f, cards); err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(out.Bytes()) {
		t.Fatalf("%s: not UTF-8", f)
	}
	return out.String()
}

func cardOf(t testing.TB, fields map[string]any) Card {
	t.Helper()
	b, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return Card{ID: "crd_1", JSON: b}
}

func TestExportWritesTheGoldenShelf(t *testing.T) {
	t.Parallel()
	for _, f := range formats {
		path := filepath.Join("testdata", f.Filename())
		got := export(t, f, goldenCards...)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs from %s; after a look at it, go test -update.\n%s", f, path, got)
		}
	}
}

func TestExportWithoutCardsIsAnEmptyBibliography(t *testing.T) {
	t.Parallel()
	for f, want := range map[Format]string{
		FormatBibTeX: "", FormatRIS: "", FormatCSLJSON: "[]\n",
		FormatCSV:      "cardId,type,title,authors,year,venue,volume,issue,pages,publisher,doi,url,abstract,tags,note\r\n",
		FormatMarkdown: "# Favourites\n\nThere are none yet.\n",
	} {
		if got := export(t, f); got != want {
			t.Errorf("%s: got %q, want %q", f, got, want)
		}
	}
}

func TestParseFormatAcceptsFiveFormats(t *testing.T) {
	t.Parallel()
	for _, f := range formats {
		got, err := ParseFormat(string(f))
		if err != nil || got != f || f.ContentType() == "" || !strings.HasPrefix(f.Filename(), "favourites.") {
			t.Errorf("%s: %q, %v, %q, %q", f, got, err, f.ContentType(), f.Filename())
		}
	}
	for _, s := range []string{"", "BibTeX", "json", "bibtex ", "xml"} {
		_, err := ParseFormat(s)
		var e *core.Error
		if !errors.As(err, &e) || e.Kind != core.KindInvalid || len(e.Fields) != 1 || e.Fields[0].Pointer != "format" {
			t.Errorf("%q: %v", s, err)
		}
		if err := Export(&bytes.Buffer{}, Format(s), nil); err == nil {
			t.Errorf("%q: exported", s)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("the line is dead") }

func TestExportReportsTheWritersError(t *testing.T) {
	t.Parallel()
	for _, f := range formats {
		if err := Export(brokenWriter{}, f, goldenCards); err == nil {
			t.Errorf("%s: no error", f)
		}
	}
}

func TestNamesAreSplitAsBibliographiesDo(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]name{
		"Alan M. Turing":               {family: "Turing", given: "Alan M."},
		"  Alan \n Turing ":            {family: "Turing", given: "Alan"},
		"Turing, Alan M.":              {family: "Turing", given: "Alan M."},
		"Ludwig van Beethoven":         {family: "van Beethoven", given: "Ludwig"},
		"Ludwig Mies van der Rohe":     {family: "van der Rohe", given: "Ludwig Mies"},
		"alan m turing":                {family: "turing", given: "alan m"},
		"Martin Luther King Jr.":       {family: "King", given: "Martin Luther", suffix: "Jr."},
		"Martin Luther King, Jr.":      {family: "King", given: "Martin Luther", suffix: "Jr."},
		"King, Jr., Martin Luther":     {family: "King", given: "Martin Luther", suffix: "Jr."},
		"King, Martin Luther, Jr.":     {family: "King", given: "Martin Luther", suffix: "Jr."},
		"Plato":                        {literal: "Plato"},
		"World Health Organization":    {literal: "World Health Organization"},
		"AT&T Labs":                    {literal: "AT&T Labs"},
		"University of California, LA": {literal: "University of California, LA"},
		"山田 太郎":                        {literal: "山田 太郎"},
		"A, B, C, D":                   {literal: "A, B, C, D"},
		"Turing,":                      {literal: "Turing,"},
		"Area 51 Crew":                 {literal: "Area 51 Crew"},
		"":                             {},
	} {
		if got := parseAuthor(in); got != want {
			t.Errorf("%q: got %+v, want %+v", in, got, want)
		}
	}
}

func TestReferenceReadsDatesAndAddresses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		card             string
		year, month, day int
	}{
		{`{"year":1950}`, 1950, 0, 0},
		{`{"year":"1950"}`, 1950, 0, 0},
		{`{"year":1.95e3}`, 1950, 0, 0},
		{`{"year":1950.5}`, 0, 0, 0},
		{`{"year":0}`, 0, 0, 0},
		{`{"year":-44}`, 0, 0, 0},
		{`{"year":10000}`, 0, 0, 0},
		{`{"year":"NaN"}`, 0, 0, 0},
		{`{"year":1e999}`, 0, 0, 0},
		{`{"year":null,"publishedAt":"1950-10-01T23:00:00-05:00"}`, 1950, 10, 1},
		{`{"publishedAt":"1950-10"}`, 1950, 10, 0},
		{`{"publishedAt":"1950"}`, 1950, 0, 0},
		{`{"publishedAt":"last week"}`, 0, 0, 0},
		{`{"year":1951,"publishedAt":"1950-10-01"}`, 1951, 0, 0},
	} {
		r := parseReference(Card{JSON: []byte(tc.card)})
		if r.year != tc.year || r.month != tc.month || r.day != tc.day {
			t.Errorf("%s: got %d-%d-%d", tc.card, r.year, r.month, r.day)
		}
	}
	for in, want := range map[string]string{
		"10.1000/182": "10.1000/182", "doi: 10.1000/182": "10.1000/182", "DOI:10.1000/182": "10.1000/182",
		"https://doi.org/10.1000/a%3Cb": "10.1000/a<b", "HTTP://dx.doi.org/10.1000/182": "10.1000/182",
		"10.1000/": "", "10.1000": "", "11.1/x": "", "10.1/a b": "", "": "",
	} {
		if got := parseDOI(in); got != want {
			t.Errorf("DOI %q: got %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"https://example.org/ü?a=b": "https://example.org/ü?a=b", "http://example.org": "http://example.org",
		"https://example.org/a b\"<": "https://example.org/a%20b%22%3C", "HTTPS://example.org": "HTTPS://example.org",
		"javascript:alert(1)": "", "data:text/html,x": "", "file:///etc/passwd": "", "//example.org": "", "https:": "",
		"https://": "", "example.org": "", "http://[": "", " java\tscript:x": "",
	} {
		if got := parseURL(core.OneLine(in)); got != want {
			t.Errorf("URL %q: got %q, want %q", in, got, want)
		}
	}
}

func TestCSLItemsMatchTheSchema(t *testing.T) {
	t.Parallel()
	var items []map[string]any
	if err := json.Unmarshal([]byte(export(t, FormatCSLJSON, goldenCards...)), &items); err != nil {
		t.Fatal(err)
	}
	if len(items) != len(goldenCards) {
		t.Fatalf("%d items for %d cards", len(items), len(goldenCards))
	}
	types := []string{"article-journal", "paper-conference", "book", "chapter", "report", "document"}
	for i, item := range items {
		if item["id"] != goldenCards[i].ID || !slices.Contains(types, item["type"].(string)) {
			t.Errorf("item %d: %v, %v", i, item["id"], item["type"])
		}
		for key, v := range item {
			if _, isText := v.(string); !isText && key != "author" && key != "issued" {
				t.Errorf("item %d: %s is %v", i, key, v)
			}
		}
	}
	issued, err := json.Marshal(items[0]["issued"])
	if err != nil || string(issued) != `{"date-parts":[[1950,10,1]]}` {
		t.Errorf("issued: %s, %v", issued, err)
	}
}

func TestCSVRoundTripsWithoutFormulas(t *testing.T) {
	t.Parallel()
	out := export(t, FormatCSV, goldenCards...)
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != len(goldenCards)+1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if strings.Count(out, "\r\n") != len(rows) || strings.Count(out, "\n") != len(rows) {
		t.Error("lines do not end in CRLF alone")
	}
	for _, row := range rows {
		for _, cell := range row {
			if cell != "" && strings.ContainsRune("=+-@\t\r", []rune(cell)[0]) {
				t.Errorf("a cell that is a formula: %q", cell)
			}
		}
	}
	hostile := rows[6]
	if hostile[5] != "'@SUM(1+1)*cmd" || hostile[6] != "'-1" || hostile[12] != `'=HYPERLINK("http://evil")` {
		t.Errorf("got %q", hostile)
	}
	for in, want := range map[string]string{
		"=1": "'=1", "\t=1": "'\t=1", "\r=1": "'\r=1", "＝1": "'＝1", "1=1": "1=1",
		"": "", "é": "é",
	} {
		if got := csvCell(in); got != want {
			t.Errorf("%q: got %q", in, got)
		}
	}
}
