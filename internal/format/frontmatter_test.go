package format

import (
	"reflect"
	"strings"
	"testing"

	"carrel/internal/source"
)

func TestFrontMatterDescribesTheDocument(t *testing.T) {
	t.Parallel()
	ada := []string{"Ada Lovelace", "Alan Turing"}
	for _, c := range []struct {
		name, head string
		want       source.Document
	}{
		{
			"everything",
			"title: \"On: things\"\nauthors: [Ada Lovelace, 'Alan Turing']\ndate: 2021-03-04\ndoi: https://doi.org/10.1000/x\n" +
				"url: https://x.org/a#b # where\nvenue: 'It''s here'\ntype: note\nother: x",
			source.Document{
				Title: "On: things", Authors: ada, Year: 2021, DOI: "10.1000/x", URL: "https://x.org/a#b",
				Venue: "It's here", Type: "note",
			},
		},
		{"a list below", "authors:\n- Ada Lovelace\n-  Alan Turing # him", source.Document{Authors: ada}},
		{"an indented list", "author:\n  - Ada Lovelace\n  - 'Alan Turing'", source.Document{Authors: ada}},
		{
			"a list of objects", "author:\n  - name: Ada Lovelace\n    email: a@x\n  - name: \"Alan Turing\"\n",
			source.Document{Authors: ada},
		},
		{"one string", "Author: Ada Lovelace and Alan Turing", source.Document{Authors: ada}},
		{
			"quoted commas", `authors: ["Lovelace, Ada", "Turing, Alan"]`,
			source.Document{Authors: []string{"Lovelace, Ada", "Turing, Alan"}},
		},
		{
			"a list over lines", "authors: [\n  Ada Lovelace,\n  Alan Turing\n]\ntitle: x",
			source.Document{Authors: ada, Title: "x"},
		},
		{"folded title", "title: >\n  A long\n  title\nyear: 1999", source.Document{Title: "A long title", Year: 1999}},
		{"year before date", "date: 2020-01-01\nyear: 1950", source.Document{Year: 1950}},
		{"nested objects", "meta:\n  title: inner\n  year: 1900\ntitle: outer", source.Document{Title: "outer"}},
		{"comments and blanks", "# title: no\n\ntitle: yes\n", source.Document{Title: "yes"}},
		{"nothing of use", "year: soon\nurl: ftp://x\ndoi: x\ntitle: ~\ntags: [a, b", source.Document{}},
		{"no pairs", "just text\n- item\n   more", source.Document{}},
		{"an apostrophe is no quote", "title: 'tis the season", source.Document{Title: "'tis the season"}},
		{"escapes", `title: "say \"hi\" \\"`, source.Document{Title: `say "hi" \`}},
		{"a comment after quotes", "title: 'x # y' # z", source.Document{Title: "x # y"}},
	} {
		if got := parseFrontMatter(c.head).document(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

func TestFrontMatterIsCutOnlyWhereItIsClosed(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"---\ntitle: x\n---\ntext":  "text",
		"--- \ntitle: x\n...\ntext": "text",
		"---\n---":                  "",
		"---\n---\ntext":            "text",
		"---\ntext":                 "---\ntext",
		"---":                       "---",
		"----\na\n---\nb":           "----\na\n---\nb",
		longNotes:                   longNotes,
		"text\n---\na: b\n---\n":    "text\n---\na: b\n---\n",
		"":                          "",
	} {
		if _, body := cutFrontMatter(source); body != want {
			t.Errorf("%q: got %q", source, body)
		}
	}
}

// longNotes exceed maxFrontMatter.
var longNotes = "---\n" + strings.Repeat("a: b\n", maxFrontMatter/5+1) + "---\ntext"
