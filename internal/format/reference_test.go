package format

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"carrel/internal/source"
)

// records returns the documents and the errors of a file of many records.
func records(t *testing.T, read recordReader, content string) (docs []source.Document, wrong []string) {
	t.Helper()
	err := read(testBudget(t), strings.NewReader(content), func() {}, func(d source.Document, err error) bool {
		if err != nil {
			wrong = append(wrong, err.Error())
		} else {
			docs = append(docs, d)
		}
		return true
	})
	if record, is := errors.AsType[*RecordError](err); is {
		wrong = append(wrong, record.Error())
	} else if err != nil {
		t.Fatal(err)
	}
	return docs, wrong
}

func TestLaTeXBecomesPlainText(t *testing.T) {
	t.Parallel()
	for latex, want := range map[string]string{
		"plain":                          "plain",
		"two  \n lines":                  "two lines",
		`G{\"o}del`:                      "Gödel",
		`G\"{o}del`:                      "Gödel",
		`G\"odel`:                        "Gödel",
		`Erd{\H{o}}s`:                    "Erdős",
		`\'Evariste`:                     "Évariste",
		`na\"{\i}ve`:                     "naïve",
		`na\"\i{}ve`:                     "naïve",
		`\v{S}koda and \c{c}a`:           "Škoda and ça",
		`\r{a}ngstr\"om`:                 "ångström",
		`{\ss} \ae \OE \o \L`:            "ß æŒøŁ",
		`Stra{\ss}e`:                     "Straße",
		`Strau\ss{} II`:                  "Strauß II",
		`{The} {UNIX} System`:            "The UNIX System",
		`\emph{in vitro} \textbf{bold}`:  "in vitro bold",
		`50\% of \$5 \& more \_ \#`:      "50% of $5 & more _ #",
		`pages 1--2 --- see`:             "pages 1–2 — see",
		"``quoted''":                     "“quoted”",
		`Don~Knuth`:                      "Don Knuth",
		`$\alpha \leq \beta$`:            "α≤β",
		`$10\,000$ and 1\,mm`:            "10 000 and 1 mm",
		`hy\-phen\-ation`:                "hyphenation",
		`shelf\/ful`:                     "shelfful",
		`one\\two`:                       "one two",
		`ends in \`:                      "ends in",
		`\"`:                             "",
		`\"{}`:                           "",
		`\"{`:                            "",
		`\unknowncommand{kept}`:          "kept",
		`{{{nested}}}`:                   "nested",
		"d\u2019\u00e9t\u00e9 {\\'e}":    "d’été é",
		`\textendash\ \ldots \copyright`: "– …",
	} {
		if got := delatex(latex); got != want {
			t.Errorf("%s: got %q, want %q", latex, got, want)
		}
	}
}

func TestNamesAreTurned(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"Lovelace, Ada":            "Ada Lovelace",
		"Ada Lovelace":             "Ada Lovelace",
		"van Gogh, Vincent":        "Vincent van Gogh",
		"King, Jr., Martin Luther": "Martin Luther King Jr.",
		"King, Martin Luther, Jr.": "Martin Luther King Jr.",
		"Smith, J., Jr":            "J. Smith Jr",
		"Ford, III, Henry":         "Henry Ford III",
		"Ford, Henry, III":         "Henry Ford III",
		"Dumas, père, Alexandre":   "père Dumas Alexandre", // an unknown suffix is read as RIS would
		" Plato ":                  "Plato",
		"Lovelace,":                "Lovelace",
		",":                        "",
		"":                         "",
		"A, B, C, D":               "A, B, C, D",
	} {
		if got := turnName(given); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}

func TestBibTeXSyntax(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content string
		want    source.Document
	}{
		"quotes":       {`@misc{k, title = "A {"}quoted{"} title"}`, source.Document{Title: `A "quoted" title`}},
		"parentheses":  {`@misc(k, title = {T})`, source.Document{Title: "T"}},
		"upper case":   {`@MISC{k, TITLE = {T}, YEAR = 1999}`, source.Document{Title: "T", Year: 1999}},
		"joined parts": {`@string{a = "One"} @misc{k, title = a # " and " # {two}}`, source.Document{Title: "One and two"}},
		"macro of a macro": {
			`@string{a = "One"} @string{b = a # " more"} @misc{k, title = b}`, source.Document{Title: "One more"},
		},
		"unknown macro": {`@misc{k, title = {T}, journal = tcs}`, source.Document{Title: "T", Venue: "tcs"}},
		"comments": {
			`% ada@example.org` + "\n@comment{x} @preamble{\"y\"} text @misc{k, title={T}}", source.Document{Title: "T"},
		},
		"first field counts": {`@misc{k, title={T}, title={U}}`, source.Document{Title: "T"}},
		"trailing comma":     {`@misc{k, title={T},}`, source.Document{Title: "T"}},
		"no commas between":  {`@misc{k, title={T} year={1999}}`, source.Document{Title: "T", Year: 1999}},
		"full date": {
			`@misc{k, title={T}, date={2019-04-05}}`, source.Document{Title: "T", Year: 2019, PublishedAt: "2019-04-05"},
		},
		"kind": {
			`@PhdThesis{k, title={T}, school={MIT}}`, source.Document{Title: "T", Type: "thesis", Venue: "MIT"},
		},
		"escaped address": {
			`@misc{k, title={T}, url={https://x.org/a\_b\%20c}, doi={10.1000/a\_b}}`,
			source.Document{Title: "T", URL: "https://x.org/a_b%20c", DOI: "10.1000/a_b"},
		},
		"address of a DOI": {
			`@misc{k, title={T}, url={https://doi.org/10.1000/1}}`,
			source.Document{Title: "T", URL: "https://doi.org/10.1000/1", DOI: "10.1000/1"},
		},
		"authors": {
			`@misc{k, title={T}, author={Codd, E. F. and {Barnes and Noble} AND Ada Lovelace}}`,
			source.Document{Title: "T", Authors: []string{"E. F. Codd", "Barnes and Noble", "Ada Lovelace"}},
		},
		"and others": {
			`@misc{k, title={T}, author={Codd, E. F. and others}}`, source.Document{Title: "T", Authors: []string{"E. F. Codd"}},
		},
		"editors": {`@book{k, title={T}, editor={Ada Lovelace}}`, source.Document{
			Title: "T", Type: "book", Authors: []string{"Ada Lovelace"},
		}},
		"keywords": {`@misc{k, title={T}, keywords={a, b; c}}`, source.Document{Title: "T", Text: "Keywords: a, b, c"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs, wrong := records(t, readBibTeX, c.content)
			c.want.ExternalID = "k"
			if len(docs) != 1 || len(wrong) != 0 || !reflect.DeepEqual(docs[0], c.want) {
				t.Errorf("got %+v, wrong %q\nwant %+v", docs, wrong, c.want)
			}
		})
	}
}

// An entry without a key is identified by its DOI, else by its title.
func TestBibTeXEntriesWithoutAKey(t *testing.T) {
	t.Parallel()
	docs, wrong := records(t, readBibTeX, "@misc{,title={T},doi={10.1000/1}}\n@misc{, title={Only a title}}")
	if len(docs) != 2 || docs[0].ExternalID != "10.1000/1" || docs[1].ExternalID != "Only a title" {
		t.Errorf("got %+v, wrong %q", docs, wrong)
	}
}

func TestMalformedRecordsAreReported(t *testing.T) {
	t.Parallel()
	const openEntry = "is not closed, has a field without a value, or is longer than 16 MiB"
	for name, c := range map[string]struct {
		read    recordReader
		content string
		want    string // documents, then errors
	}{
		"BibTeX: nothing": {readBibTeX, " \n", ""},
		"BibTeX: no entry": {
			readBibTeX, "just text", "the file holds no entry: in BibTeX each begins as @article{ does",
		},
		"BibTeX: an address": {
			readBibTeX, "ada@example.org", "the file holds no entry: in BibTeX each begins as @article{ does",
		},
		"BibTeX: open":            {readBibTeX, "\n@misc{a, title={x", "line 2 " + openEntry},
		"BibTeX: open, then good": {readBibTeX, "@misc{a, title={x\n@misc{b, title={B}}", "b;line 1 " + openEntry},
		"BibTeX: no value":        {readBibTeX, "@misc{a, title}", "line 1 " + openEntry},
		"BibTeX: no title":        {readBibTeX, "@misc{a, year=1999}", "a"},
		"BibTeX: twice": {
			readBibTeX, "@misc{a, title={x}}\n\n@misc{a, title={y}}", "a;line 3 repeats the id of line 1",
		},
		"BibTeX: no text":     {readBibTeX, "@misc{a, title={\x00\xe4}}", "the file is not UTF-8 text; save it as UTF-8"},
		"BibTeX: with BOM":    {readBibTeX, "\xef\xbb\xbf@misc{a, title={x}}", "a"},
		"RIS: nothing":        {readRIS, "\n\n", ""},
		"RIS: no reference":   {readRIS, "text", "the file holds no reference: in RIS each begins with a line TY  -"},
		"RIS: not ended":      {readRIS, "TY  - JOUR\nID  - a\nTI  - x", "a"},
		"RIS: two, not ended": {readRIS, "TY  - JOUR\nID  - a\nTI  - x\nTY  - JOUR\nID  - b\nTI  - y", "a b"},
		"RIS: text before":    {readRIS, "exported by x\nTI  - lost\nTY  - JOUR\nID  - a\nTI  - x\nER  -", "a"},
		"RIS: no title":       {readRIS, "TY  - JOUR\nID  - a\nER  - ", "line 1 has neither a title nor a text"},
		"RIS: twice": {
			readRIS, "TY  - JOUR\nTI  - x\nER  - \nTY  - JOUR\nTI  - x\nER  - ", "x;line 4 repeats the id of line 1",
		},
		"RIS: no text":          {readRIS, "TY  - JOUR\nTI  - \x00\xe4\nER  - ", "line 1 is not valid UTF-8"},
		"CSL: nothing":          {readCSL, "", "the file is not a list of references in CSL-JSON"},
		"CSL: a number":         {readCSL, "7", "the file is not a list of references in CSL-JSON"},
		"CSL: a text":           {readCSL, `"x"`, "the file is not a list of references in CSL-JSON"},
		"CSL: an empty list":    {readCSL, "[]", ""},
		"CSL: cut":              {readCSL, `[{"id":"a","title":"x"},{"id"`, "a;the file stops being JSON after entry 1"},
		"CSL: items of no list": {readCSL, `{"items":7}`, "the file is not a list of references in CSL-JSON"},
		"CSL: a list in it":     {readCSL, `[[]]`, "entry 1 is not a reference in CSL-JSON"},
		"CSL: no title":         {readCSL, `[{"id":"a"}]`, "entry 1 has neither a title nor a text"},
		"CSL: one reference":    {readCSL, ` {"id":"a","title":"x"}`, "a"},
		"CSL: items":            {readCSL, `{"version":1,"items":[{"id":"a","title":"x"}],"after":2}`, "a"},
		"CSL: UTF-16":           {readCSL, "\xff\xfe[\x00{\x00}\x00]\x00", "entry 1 has no id"},
		"CSV: nothing":          {readCSV, "", ""},
		"CSV: only columns":     {readCSV, "title,year\n", ""},
		"CSV: no title column": {
			readCSV, "a,b\n1,2\n", "line 1 names no column title or text; the first row must name the columns",
		},
		"CSV: too many columns": {
			readCSV, strings.Repeat("title,", maxColumns+1), "line 1 does not name the columns of a table",
		},
		"CSV: an empty row": {readCSV, "id,title\na,x\n,\nb,y\n", "a b;line 3 has neither a title nor a text"},
		"CSV: short rows":   {readCSV, "id,title,year\na,x\nb,y,1999,more\n", "a b"},
		"CSV: no text": {
			readCSV, "id,title\na,\x00\xe4\nb,y\n", "b;line 2 is not valid UTF-8; save the table as UTF-8",
		},
		"CSV: open quote": {readCSV, "id,title\na,\"x\nb,y\n", "a"}, // LazyQuotes: the rest belongs to it
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs, wrong := records(t, c.read, c.content)
			var found []string
			for _, d := range docs {
				found = append(found, d.ExternalID)
			}
			got := strings.Join(append([]string{strings.Join(found, " ")}, wrong...), ";")
			if got = strings.TrimPrefix(got, ";"); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestRISFields(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines string
		want  source.Document
	}{
		"a wrapped title": {
			"TI  - A title\n  over lines", source.Document{ExternalID: "A title over lines", Title: "A title over lines"},
		},
		"older tags": {
			"T1  - T\nA1  - Codd, E.\nN2  - Text\nY1  - 1970/05/01/",
			source.Document{
				ExternalID: "T", Title: "T", Text: "Text", Authors: []string{"E. Codd"}, Year: 1970, PublishedAt: "1970-05-01",
			},
		},
		"a year of its own": {
			"TI  - T\nPY  - 1971\nDA  - 1970/05/01",
			source.Document{ExternalID: "T", Title: "T", Year: 1971, PublishedAt: "1970-05-01"},
		},
		"a partial date": {"TI  - T\nDA  - 1970/05//", source.Document{ExternalID: "T", Title: "T", Year: 1970}},
		"editors": {
			"TI  - T\nED  - Lovelace, Ada\nA2  -",
			source.Document{ExternalID: "T", Title: "T", Authors: []string{"Ada Lovelace"}},
		},
		"authors, not editor": {
			"TI  - T\nED  - No, One\nAU  - Lovelace, Ada",
			source.Document{ExternalID: "T", Title: "T", Authors: []string{"Ada Lovelace"}},
		},
		"keywords": {
			"TI  - T\nKW  - a\nKW  - b", source.Document{ExternalID: "T", Title: "T", Text: "Keywords: a, b"},
		},
		"a DOI as the id": {
			"TI  - T\nDO  - doi:10.1000/1", source.Document{ExternalID: "10.1000/1", Title: "T", DOI: "10.1000/1"},
		},
		"a number as the id": {"TI  - T\nAN  - 77", source.Document{ExternalID: "77", Title: "T"}},
		"one space":          {"TI - T", source.Document{ExternalID: "T", Title: "T"}},
		"unknown tags":       {"TI  - T\nXX  - ?\nC7  - !", source.Document{ExternalID: "T", Title: "T"}},
		"a dash in the text": {
			"TI  - T\nAB  - A - b\nno tag - here", source.Document{ExternalID: "T", Title: "T", Text: "A - b no tag - here"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs, wrong := records(t, readRIS, "TY  - GEN\n"+c.lines+"\nER  - \n")
			if len(docs) != 1 || !reflect.DeepEqual(docs[0], c.want) {
				t.Errorf("got %+v, wrong %q\nwant %+v", docs, wrong, c.want)
			}
		})
	}
}

func TestCSLFields(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		members string
		want    source.Document
	}{
		"numbers as texts": {
			`"id":7,"title":"T","issued":{"date-parts":[["1999"]]}`, source.Document{ExternalID: "7", Title: "T", Year: 1999},
		},
		"a full date": {
			`"title":"T","issued":{"date-parts":[[1999,4,5]]}`,
			source.Document{ExternalID: "T", Title: "T", Year: 1999, PublishedAt: "1999-04-05"},
		},
		"a month": {
			`"title":"T","issued":{"date-parts":[[1999,4]]}`, source.Document{ExternalID: "T", Title: "T", Year: 1999},
		},
		"a range": {
			`"title":"T","issued":{"date-parts":[[1999],[2001]]}`, source.Document{ExternalID: "T", Title: "T", Year: 1999},
		},
		"a raw date": {
			`"title":"T","issued":{"raw":"in 1999"}`, source.Document{ExternalID: "T", Title: "T", Year: 1999},
		},
		"no date":     {`"title":"T","issued":{"date-parts":[[]]}`, source.Document{ExternalID: "T", Title: "T"}},
		"a null date": {`"title":"T","issued":{"date-parts":[[null]]}`, source.Document{ExternalID: "T", Title: "T"}},
		"lists as titles": {
			`"title":["T","second"],"container-title":["J"]`, source.Document{ExternalID: "T", Title: "T", Venue: "J"},
		},
		"an empty list": {`"id":"a","title":[],"abstract":"x"`, source.Document{ExternalID: "a", Text: "x"}},
		"markup": {
			`"title":"T","abstract":"<jats:title>Aim</jats:title><jats:p>One &amp; two</jats:p><jats:p>CO<jats:sub>` +
				`2</jats:sub></jats:p>"`,
			source.Document{ExternalID: "T", Title: "T", Text: "Aim\n\nOne & two\n\nCO2"},
		},
		"names": {
			`"title":"T","author":[{"family":"Gogh","given":"Vincent","non-dropping-particle":"van"},{"literal":"ACM"},` +
				`{"family":"King","suffix":"Jr."}]`,
			source.Document{ExternalID: "T", Title: "T", Authors: []string{"Vincent van Gogh", "ACM", "King Jr."}},
		},
		"editors": {
			`"title":"T","editor":[{"family":"Ada"}]`, source.Document{ExternalID: "T", Title: "T", Authors: []string{"Ada"}},
		},
		"a DOI as id": {
			`"title":"T","DOI":"10.1000/1"`, source.Document{ExternalID: "10.1000/1", Title: "T", DOI: "10.1000/1"},
		},
		"keywords and type": {
			`"title":"T","type":"paper-conference","keyword":"a;b"`,
			source.Document{ExternalID: "T", Title: "T", Type: "conference-paper", Text: "Keywords: a, b"},
		},
		"other types": {
			`"id":"a","title":"T","abstract":{"x":1},"URL":true,"keyword":null`, source.Document{ExternalID: "a", Title: "T"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs, wrong := records(t, readCSL, "[{"+c.members+"}]")
			if len(docs) != 1 || !reflect.DeepEqual(docs[0], c.want) {
				t.Errorf("got %+v, wrong %q\nwant %+v", docs, wrong, c.want)
			}
		})
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		table string
		want  source.Document
	}{
		"semicolons": {
			"id;title;year\na;T, with a comma;1999\n", source.Document{ExternalID: "a", Title: "T, with a comma", Year: 1999},
		},
		"tabs":              {"id\ttitle\na\tT\n", source.Document{ExternalID: "a", Title: "T"}},
		"a byte order mark": {"\xef\xbb\xbfid,title\na,T\n", source.Document{ExternalID: "a", Title: "T"}},
		"Windows line ends": {"id,title\r\na,T\r\n", source.Document{ExternalID: "a", Title: "T"}},
		"quotes": {
			"id,title\na,\"A \"\"quoted\"\"\nline\"\n", source.Document{ExternalID: "a", Title: `A "quoted" line`},
		},
		"names of databases": {
			"EID,Document Title,Author Full Names,Publication Year,Source title\na,T,\"Codd, E.; Lovelace, A.\",1999,J\n",
			source.Document{ExternalID: "a", Title: "T", Authors: []string{"Codd, E.", "Lovelace, A."}, Year: 1999, Venue: "J"},
		},
		"the first column": {
			"id,title,name\na,T,other\n", source.Document{ExternalID: "a", Title: "T", Text: "name: other"},
		},
		"unknown columns": {
			"id,title,colour,size,\na,T,red,,x\n", source.Document{ExternalID: "a", Title: "T", Text: "colour: red"},
		},
		"text and others": {
			"id,text,colour\na,Body,red\n", source.Document{ExternalID: "a", Text: "Body\n\ncolour: red"},
		},
		"a full date": {
			"id,title,date\na,T,1999-04-05\n",
			source.Document{ExternalID: "a", Title: "T", Year: 1999, PublishedAt: "1999-04-05"},
		},
		"the DOI is the id": {
			"title,doi\nT,10.1000/1\n", source.Document{ExternalID: "10.1000/1", Title: "T", DOI: "10.1000/1"},
		},
		"the row is the id": {"title\nT\n", source.Document{ExternalID: "row 1", Title: "T"}},
		"a type of its own": {
			"id,title,type\na,T,Field note\n", source.Document{ExternalID: "a", Title: "T", Type: "Field note"},
		},
		"an address that runs": {"id,title,url\na,T,javascript:alert(1)\n", source.Document{ExternalID: "a", Title: "T"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs, wrong := records(t, readCSV, c.table)
			if len(docs) != 1 || !reflect.DeepEqual(docs[0], c.want) {
				t.Errorf("got %+v, wrong %q\nwant %+v", docs, wrong, c.want)
			}
		})
	}
}
