package format

import (
	"strings"
	"testing"

	"carrel/internal/format/pdf"
)

func TestTheTitleWithTheBestEvidenceWins(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  pdf.Text
		first string
		want  string
	}{
		"printed metadata": {
			pdf.Text{Title: "Losing the Cabin", Heading: "flightOPS"},
			"x Losing the\nCabin y", "Losing the Cabin",
		},
		"of a template": {
			pdf.Text{Title: "A Plan of Another Town", Heading: "Traffic Plan of the Town"},
			"x", "Traffic Plan of the Town",
		},
		"a placeholder": {
			pdf.Text{Title: "PowerPoint Presentation", Heading: "Cats and Dogs"},
			"", "Cats and Dogs",
		},
		"none": {pdf.Text{Title: "none", Heading: "Cats and Dogs"}, "", "Cats and Dogs"},
		"an address": {
			pdf.Text{Title: "https://example.org/a", Heading: "Cats and Dogs"},
			"", "Cats and Dogs",
		},
		"a file": {
			pdf.Text{Title: "IBM-PDFs.graffle", Heading: "Vitality Rebate"},
			"", "Vitality Rebate",
		},
		"an identifier": {
			pdf.Text{Title: "905_Precinct_NoOU", Heading: "Precinct Bulletin"},
			"", "Precinct Bulletin",
		},
		"a running head": {
			pdf.Text{Heading: "Mai 30, 18 13:27 zen.txt Page 1/1"},
			"The Zen of Python\n\nBeautiful is", "The Zen of Python",
		},
		"a list of contents": {pdf.Text{Heading: "Contents"}, "Contents\n1 A", "file"},
		"words on the page": {
			pdf.Text{Title: "2010 Form 1040", Heading: "1040 U.S. Income Tax"},
			"Form 1040 of 2010", "2010 Form 1040",
		},
		"spaced letters": {
			pdf.Text{Title: "solicitud del titulo", Heading: "E X P O N E:"},
			"", "solicitud del titulo",
		},
		"a number": {pdf.Text{Heading: "120."}, "", "file"},
		"a long large text": {
			pdf.Text{Title: "National Energy", Heading: strings.Repeat("many words ", 30)},
			"", "National Energy",
		},
		"a word of the heading": {
			pdf.Text{Title: "grasshopper", Heading: "THE GRASSHOPPER"}, "THE GRASSHOPPER\nA", "THE GRASSHOPPER",
		},
		"a form":             {pdf.Text{}, "Name: Smith Date: 1 May\nA", "file"},
		"the row of a table": {pdf.Text{FirstIsRow: true}, "Year Port Depth Width\n1901", "file"},
		"a word of a template": {
			pdf.Text{Title: "grasshopper", Heading: "The Grasshopper of Old"},
			"", "The Grasshopper of Old",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := bestTitle(c.text, c.first, "file.pdf"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAccountNamesAreNoAuthors(t *testing.T) {
	t.Parallel()
	const first = "A Title\nJacobus wrote this."
	for author, want := range map[string]string{
		"Ada Lovelace": "Ada Lovelace", "Cuellar-Lopez, Monica": "Cuellar-Lopez, Monica", "投知网": "投知网",
		"Ada Lovelace; Alan Turing": "Ada Lovelace|Alan Turing", "J. Doe": "J. Doe", "Jacobus": "Jacobus",
		"SAPBATCH": "", "e516160": "", "SE:W:CAR:MP": "", "ARRAY(0x2c7cf020)": "", "Administrator": "", "PC3": "",
		"Microsoft Office User": "", "wi children and families": "", "Your Name": "", "a@b.org": "", "": "", "none": "",
		"office-2007": "",
	} {
		if got := strings.Join(pdfAuthors(pdf.Text{Author: author}, first), "|"); got != want {
			t.Errorf("%q: got %q, want %q", author, got, want)
		}
	}
	got := pdfAuthors(pdf.Text{Author: "Ada L.", Authors: []string{"Ada Lovelace", "Alan Turing"}}, first)
	if strings.Join(got, "|") != "Ada Lovelace|Alan Turing" {
		t.Errorf("XMP: got %q", got)
	}
}

func TestAPublishedYearIsPreferredToASubmission(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"Received 3 May 2011\nPublished online 7 January 2013":          2013,
		"Received May 3, 2011; accepted June 5, 2012":                   2012,
		"Received 3 May 2011\nJournal of X, March 2013":                 2013,
		"On March 3, 2000, the flight crew noticed a loss of pressure.": 0,
		"NICS Checks November - 2015":                                   2015,
		"Geneva, 4 Feb. 2016":                                           2016,
	} {
		if got := yearIn(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}
