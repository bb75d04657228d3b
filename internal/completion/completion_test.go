package completion_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"carrel/internal/completion"
	"carrel/internal/core"
	"carrel/internal/source"
	"carrel/internal/testkit"
)

// catalogue is a scripted catalogue that counts its requests.
type catalogue struct {
	asked []string
	fail  error
}

// codd is the record of the DOI 10.1/codd and of the arXiv identifier 2401.00001.
var codd = source.Document{
	Title: "A Relational Model of Data", Authors: []string{"Edgar F. Codd"}, Year: 1970, Venue: "CACM", DOI: "10.1/codd",
	URL: "https://doi.org/10.1/codd", Text: "The abstract.",
}

func (c *catalogue) find(id, known, from string) (source.Document, string, error) {
	c.asked = append(c.asked, id)
	switch {
	case c.fail != nil:
		return source.Document{}, from, c.fail
	case id != known:
		return source.Document{}, from, core.NotFound("work")
	}
	return codd, from, nil
}

// LookupDOI implements completion.Catalogue.
func (c *catalogue) LookupDOI(_ context.Context, doi string) (source.Document, string, error) {
	return c.find(doi, "10.1/codd", "crossref")
}

// LookupArXiv implements completion.Catalogue.
func (c *catalogue) LookupArXiv(_ context.Context, id string) (source.Document, string, error) {
	return c.find(id, "2401.00001", "arxiv")
}

func newService(t *testing.T) (*completion.Service, *catalogue, *testkit.Clock) {
	t.Helper()
	c, clock := &catalogue{}, testkit.NewClock()
	return completion.New(completion.Deps{Catalogue: c, Clock: clock, Log: slog.New(slog.DiscardHandler)}), c, clock
}

func TestRecordsCompleteDocuments(t *testing.T) {
	t.Parallel()
	const first = "CACM\nA RELATIONAL\nMODEL OF DA-\nTA\nE. Codd"
	for name, c := range map[string]struct {
		document source.Document
		guessed  bool
		want     []string
		from     string
	}{
		"guessed fields are replaced": {
			source.Document{Title: "scan 17", Authors: []string{"SAPBATCH"}, Year: 2015, DOI: "10.1/codd", Text: first},
			true,
			[]string{"title", "authors", "year", "venue", "url"},
			"crossref",
		},
		"stated fields are kept": {
			source.Document{Title: "Relational", Year: 1971, DOI: "10.1/codd", Text: first},
			false,
			[]string{"authors", "venue", "url"},
			"crossref",
		},
		"the title is enough": {
			source.Document{Title: "A relational model of data.", DOI: "10.1/codd", Year: 1970},
			false,
			[]string{"authors", "venue", "url"},
			"crossref",
		},
		"arXiv on the first page": {
			source.Document{Title: "x", URL: "https://a.example", Text: "arXiv:2401.00001v2 [cs.DB]\n" + first},
			true,
			[]string{"title", "authors", "year", "venue", "doi"},
			"arxiv",
		},
		"a DOI of arXiv": {
			source.Document{Title: "x", URL: "https://a.example", DOI: "10.48550/arXiv.2401.00001", Text: first},
			false,
			[]string{"authors", "year", "venue"},
			"arxiv",
		},
		"another work":  {source.Document{Title: "Other", DOI: "10.1/codd", Text: "A different text."}, true, nil, ""},
		"unknown":       {source.Document{Title: "Other", DOI: "10.1/none", Text: first}, true, nil, ""},
		"no identifier": {source.Document{Title: "A Relational Model of Data", Text: first}, true, nil, ""},
		"complete":      {codd, true, nil, ""},
	} {
		s, _, _ := newService(t)
		d := c.document
		s.Complete(t.Context(), &d, c.guessed)
		if !slices.Equal(d.Completed.Fields, c.want) || d.Completed.From != c.from {
			t.Errorf("%s: %v of %s", name, d.Completed.Fields, d.Completed.From)
		}
		if d.Text != c.document.Text {
			t.Errorf("%s: the text has changed", name)
		}
		if c.guessed && c.want != nil && (d.Title != codd.Title || d.Year != 1970 || d.Authors[0] != "Edgar F. Codd") {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func TestRepliesAreCachedForADay(t *testing.T) {
	t.Parallel()
	s, c, clock := newService(t)
	look := func(doi string) {
		s.Complete(t.Context(), &source.Document{Title: codd.Title, DOI: doi}, false)
	}
	for range 3 {
		look("10.1/codd")
		look("10.1/none") // unknown identifiers are cached as well
	}
	if len(c.asked) != 2 {
		t.Errorf("%d requests", len(c.asked))
	}
	clock.Advance(25 * time.Hour)
	look("10.1/codd")
	if len(c.asked) != 3 {
		t.Errorf("%d requests after a day", len(c.asked))
	}
}

func TestFailuresPauseTheRequests(t *testing.T) {
	t.Parallel()
	s, c, clock := newService(t)
	c.fail = errors.New("busy")
	look := func() source.Document {
		d := source.Document{Title: codd.Title, DOI: "10.1/codd"}
		s.Complete(t.Context(), &d, false)
		return d
	}
	for range 10 {
		look()
	}
	if len(c.asked) != 3 {
		t.Errorf("%d requests to a failing catalogue", len(c.asked))
	}
	c.fail = nil
	clock.Advance(6 * time.Minute)
	if d := look(); d.Completed.From != "crossref" || len(c.asked) != 4 {
		t.Errorf("after the pause: %+v, %d requests", d.Completed, len(c.asked))
	}
}
