package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// work is one line of the library. Strict decoding reports a misspelt member.
type work struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Authors []string `json:"authors"`
	Text    string   `json:"text"`
	Year    int      `json:"year"`
	URL     string   `json:"url"`
	DOI     string   `json:"doi"`
	Venue   string   `json:"venue"`
	Type    string   `json:"type"`
}

var (
	slug      = regexp.MustCompile(`^[a-z]+(-[a-z]+)*-\d{4}$`)
	doiSyntax = regexp.MustCompile(`^10\.\d{4,9}/\S+$`)
)

func TestLibraryIsTheFileOfLandmarks(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("landmarks.jsonl")
	if err != nil || !bytes.Equal(Library(), want) {
		t.Errorf("landmarks.jsonl.gz has other works than landmarks.jsonl: run go generate (%v)", err)
	}
}

// works decodes the library and fails the test at the first line that is not exactly one JSON object of this form.
func works(t *testing.T) []work {
	t.Helper()
	library := Library()
	if !utf8.Valid(library) {
		t.Fatal("the library is not valid UTF-8")
	}
	if !bytes.HasSuffix(library, []byte("\n")) {
		t.Fatal("the last line has no newline")
	}
	lines := bytes.Split(bytes.TrimSuffix(library, []byte("\n")), []byte("\n"))
	all := make([]work, 0, len(lines))
	for i, line := range lines {
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		var w work
		if err := dec.Decode(&w); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if _, err := dec.Token(); !errors.Is(err, io.EOF) {
			t.Fatalf("line %d: more follows the object", i+1)
		}
		all = append(all, w)
	}
	return all
}

func TestEveryWorkIsComplete(t *testing.T) {
	t.Parallel()
	types := map[string]bool{
		"article": true, "paper-conference": true, "book": true, "report": true, "chapter": true,
	}
	for _, w := range works(t) {
		if !slug.MatchString(w.ID) {
			t.Errorf("id %q is not a slug of name and year", w.ID)
		}
		if w.Year < 1936 || w.Year > 2020 {
			t.Errorf("%s: year %d is outside 1936-2020", w.ID, w.Year)
		}
		if !types[w.Type] {
			t.Errorf("%s: unknown type %q", w.ID, w.Type)
		}
		if len(w.Authors) == 0 {
			t.Errorf("%s: no authors", w.ID)
		}
		for _, s := range append([]string{w.Title, w.Venue, w.Text}, w.Authors...) {
			if !isTidy(s) {
				t.Errorf("%s: empty or untidy string %q", w.ID, s)
			}
		}
		if n := len(strings.Fields(w.Text)); n < 90 || n > 200 {
			t.Errorf("%s: the text has %d words, want 90-200", w.ID, n)
		}
		if !strings.HasSuffix(w.Text, ".") {
			t.Errorf("%s: the text does not end with a full stop", w.ID)
		}
	}
}

// isTidy reports whether s is not empty, has single spaces between its words and none around them, and no control
// characters.
func isTidy(s string) bool {
	return s != "" && s == strings.Join(strings.Fields(s), " ") && !strings.ContainsFunc(s, unicode.IsControl)
}

func TestAnIDEndsWithTheYearOfItsWork(t *testing.T) {
	t.Parallel()
	for _, w := range works(t) {
		if year := w.ID[strings.LastIndexByte(w.ID, '-')+1:]; year != strconv.Itoa(w.Year) {
			t.Errorf("%s: the year is %d", w.ID, w.Year)
		}
	}
}

func TestLinksAreSecureAndAgreeWithTheDOI(t *testing.T) {
	t.Parallel()
	for _, w := range works(t) {
		if w.DOI != "" && !doiSyntax.MatchString(w.DOI) {
			t.Errorf("%s: %q is not a DOI", w.ID, w.DOI)
		}
		if w.URL == "" {
			if w.DOI != "" {
				t.Errorf("%s: a DOI but no link", w.ID)
			}
			continue
		}
		u, err := url.Parse(w.URL)
		if err != nil || u.Scheme != "https" || u.Host == "" {
			t.Errorf("%s: %q is not an https link (%v)", w.ID, w.URL, err)
			continue
		}
		if strings.ContainsAny(w.URL, "<> \"") {
			t.Errorf("%s: %q needs percent-encoding", w.ID, w.URL)
		}
		// Comparing the decoded path lets old DOIs with < and > be escaped
		// in the link and plain in the field.
		if isDOILink := u.Host == "doi.org"; isDOILink != (w.DOI != "") {
			t.Errorf("%s: link %q and DOI %q do not go together", w.ID, w.URL, w.DOI)
		} else if isDOILink && (u.Path != "/"+w.DOI || u.RawQuery != "" || u.Fragment != "") {
			t.Errorf("%s: link %q leads to another DOI than %q", w.ID, w.URL, w.DOI)
		}
	}
}

func TestNoWorkAppearsTwice(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, w := range works(t) {
		keys := []string{"id " + w.ID, "title " + strings.ToLower(w.Title), "text " + w.Text}
		if w.DOI != "" {
			// DOIs are compared without regard to case (ISO 26324).
			keys = append(keys, "doi "+strings.ToLower(w.DOI))
		}
		if w.URL != "" {
			keys = append(keys, "url "+w.URL)
		}
		for _, k := range keys {
			if other, dup := seen[k]; dup {
				t.Errorf("%s repeats the %s of %s", w.ID, strings.Fields(k)[0], other)
			}
			seen[k] = w.ID
		}
	}
}

func TestTheLibraryCoversEveryDecade(t *testing.T) {
	t.Parallel()
	all := works(t)
	if len(all) < 58 {
		t.Errorf("the library has %d works, want at least 58", len(all))
	}
	perDecade := map[int]int{}
	for i, w := range all {
		perDecade[w.Year/10*10]++
		if i > 0 && w.Year < all[i-1].Year {
			t.Errorf("%s stands after a later work; the file is kept in order of year", w.ID)
		}
	}
	for decade := 1930; decade <= 2020; decade += 10 {
		if perDecade[decade] == 0 {
			t.Errorf("nothing from the %ds", decade)
		}
	}
}

func TestTheAgentIsDescribed(t *testing.T) {
	t.Parallel()
	for _, s := range []string{AgentName, AgentDescription, AgentInstructions} {
		if !isTidy(s) {
			t.Errorf("empty or untidy text %q", s)
		}
	}
}

func TestCallersCannotChangeTheLibrary(t *testing.T) {
	t.Parallel()
	first := Library()
	first[0] = 'x'
	if Library()[0] != '{' {
		t.Error("a change to one copy shows in the next")
	}
}
