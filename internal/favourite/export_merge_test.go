package favourite

import (
	"strings"
	"testing"
)

func TestAWorkSavedTwiceIsExportedOnce(t *testing.T) {
	t.Parallel()
	const base = `"title":"A Relational Model","authors":["Edgar F. Codd"],"year":1970`
	old := Card{ID: "old", JSON: []byte(`{` + base + `,"doi":"10.1/X","documentId":"doc_1"}`), Abstract: "First."}
	for name, c := range map[string]struct {
		json string
		want int
	}{
		"same document":            {`{"title":"Another title","documentId":"doc_1"}`, 1},
		"same DOI":                 {`{"title":"Relational","doi":"https://doi.org/10.1/x"}`, 1},
		"same title and year":      {`{"title":"A relational model.","authors":["E. F. Codd"],"year":1970}`, 1},
		"without authors":          {`{"title":"A Relational Model","year":1970}`, 1},
		"another DOI":              {`{` + base + `,"doi":"10.1/Y"}`, 2},
		"another year":             {`{"title":"A Relational Model","authors":["Edgar F. Codd"],"year":1971}`, 2},
		"another author":           {`{"title":"A Relational Model","authors":["C. J. Date"],"year":1970}`, 2},
		"no year":                  {`{"title":"A Relational Model"}`, 2},
		"another title, no DOI":    {`{"title":"Another","year":1970}`, 2},
		"nothing that identifies":  {`{}`, 2},
		"title without any letter": {`{"title":"…","year":1970}`, 2},
	} {
		newer := Card{ID: "new", JSON: []byte(c.json), Abstract: "Second.", Tags: []string{"t"}, Note: "N"}
		for f, entry := range map[Format]string{FormatBibTeX: "\n}", FormatRIS: "TY  - ", FormatCSLJSON: `"id":`} {
			got := export(t, f, newer, old)
			if n := strings.Count(got, entry); n != c.want {
				t.Errorf("%s: %d entries in %s, want %d\n%s", name, n, f, c.want, got)
			}
			if n := strings.Count(got, "Second."); n != c.want-1 {
				t.Errorf("%s: %s has the second abstract %d times", name, f, n)
			}
			if strings.Count(got, "First.") != 1 || !strings.Contains(got, "N") {
				t.Errorf("%s: %s lacks an abstract or the note\n%s", name, f, got)
			}
		}
	}
}

func TestMergedReferenceIsCompleteAndKeepsItsKey(t *testing.T) {
	t.Parallel()
	got := export(t, FormatBibTeX,
		Card{ID: "3", JSON: []byte(`{"title":"Unrelated","year":1999}`)},
		Card{
			ID: "2", JSON: []byte(`{"title":"On X","year":2001,"doi":"10.1/x","venue":"Mind","pages":"1-2"}`),
			Tags: []string{"A", "b"}, Note: "Two.", Abstract: "It is.",
		},
		Card{ID: "1", JSON: []byte(`{"title":"On X","authors":["A. Bee"],"year":2001}`), Tags: []string{"a"}, Note: "One."})
	want := `@misc{ref1999unrelated,
  title = {{Unrelated}},
  year = {1999},
}

@article{bee2001x,
  title = {{On X}},
  author = {Bee, A.},
  journal = {Mind},
  year = {2001},
  pages = {1--2},
  doi = {10.1/x},
  abstract = {It is.},
  keywords = {a, b},
  annote = {One. Two.},
}
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAbstractIsFoundInTheBeginningOfAText(t *testing.T) {
	t.Parallel()
	body := strings.TrimSpace(strings.Repeat("The model is relational. ", 8))
	long := strings.Repeat("More text follows here. ", 400)
	for name, c := range map[string]struct{ text, want string }{
		"of a reference":          {body, body},
		"with keywords":           {body + "\n\nKeywords: a, b", body},
		"heading":                 {"Title\nA. Author\n\nAbstract\n" + body + "\n\n1 Introduction\n" + long, body},
		"heading in the line":     {"Title\n\nAbstract—" + body + "\nIndex Terms—x\n" + long, body},
		"Markdown":                {"# Title\n\n## Abstract\n\n" + body + "\n\n## Methods\n\n" + long, body},
		"numbered":                {"Title\nABSTRACT: " + body + "\n1. Background\n" + long, body},
		"German":                  {"Titel\n\nZusammenfassung\n\n" + body + "\n\nEinleitung\n" + long, body},
		"in a table of contents":  {"Abstract\n\n1. Introduction\n\nAbstract\n\n" + body + "\n\nIntroduction\n" + long, body},
		"long text without one":   {long, ""},
		"word in a sentence":      {"This abstract is long. " + long, ""},
		"section without an end":  {"Abstract\n" + long, ""},
		"nothing":                 {"", ""},
		"text without any letter": {"1 2 3 …", ""},
	} {
		if got := abstractOf(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
