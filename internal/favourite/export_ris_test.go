package favourite

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var risLine = regexp.MustCompile(`^([A-Z][A-Z0-9])  - (.*)$`)

// readRIS is a strict RIS parser: records from TY to ER, one tag per line, CRLF line endings.
func readRIS(s string) ([]map[string][]string, error) {
	var out []map[string][]string
	var record map[string][]string
	for _, line := range strings.SplitAfter(s, "\n") {
		line, ok := strings.CutSuffix(line, "\r\n")
		if line == "" && record == nil {
			continue
		}
		m := risLine.FindStringSubmatch(line)
		if !ok || m == nil || strings.ContainsAny(line, "\r\n\u0085\u2028\u2029") {
			return nil, fmt.Errorf("not a line of RIS: %q", line)
		}
		tag, value := m[1], m[2]
		switch {
		case tag == "TY" && record == nil:
			record = map[string][]string{}
		case tag == "TY" || record == nil:
			return nil, fmt.Errorf("%s out of place", tag)
		case tag == "ER":
			out = append(out, record)
			record = nil
			continue
		}
		record[tag] = append(record[tag], value)
	}
	if record != nil {
		return nil, fmt.Errorf("a record without end")
	}
	return out, nil
}

// checkRIS parses an export and compares it with its references.
func checkRIS(t *testing.T, cards ...Card) []map[string][]string {
	t.Helper()
	out := export(t, FormatRIS, cards...)
	records, err := readRIS(out)
	if err != nil || len(records) != len(cards) {
		t.Fatalf("%d records for %d cards, %v:\n%s", len(records), len(cards), err, out)
	}
	for i, record := range records {
		r := parseReference(cards[i])
		var authors []string
		for _, n := range r.authors {
			authors = append(authors, n.inverted())
		}
		if !slices.Equal(record["AU"], authors) {
			t.Errorf("AU: got %q, want %q", record["AU"], authors)
		}
		pages := r.pages
		if first, last, ok := pageRange(pages); ok {
			pages = first
			if got := strings.Join(record["EP"], "|"); got != last {
				t.Errorf("EP: got %q, want %q", got, last)
			}
		}
		for tag, want := range map[string]string{
			"TY": r.kind.ris, "ID": r.id, "TI": r.title, "T2": r.venue, "VL": r.volume, "IS": r.issue,
			"PB": r.publisher,
			"DO": r.doi, "UR": r.url, "AB": r.abstract, "SP": pages,
		} {
			if got := strings.Join(record[tag], "|"); got != want || len(record[tag]) > 1 {
				t.Errorf("%s: got %q, want %q", tag, record[tag], want)
			}
		}
	}
	return records
}

func TestRISRoundTrips(t *testing.T) {
	t.Parallel()
	records := checkRIS(t, goldenCards...)
	turing := records[0]
	for tag, want := range map[string]string{
		"TY": "JOUR", "PY": "1950", "DA": "1950/10/01", "JO": "Mind", "SP": "433", "EP": "460",
		"DO": "10.1093/mind/LIX.236.433",
	} {
		if got := strings.Join(turing[tag], "|"); got != want {
			t.Errorf("%s: got %q, want %q", tag, got, want)
		}
	}
}

func TestRISTextCannotStartATag(t *testing.T) {
	t.Parallel()
	for _, newline := range []string{"\n", "\r\n", "\r", "\u2028", "\u0085", "\v", "\f"} {
		record := checkRIS(t, cardOf(t, map[string]any{"title": "x" + newline + "ER  - " + newline + "TY  - BOOK"}))[0]
		if got := record["TI"][0]; got != "x ER - TY - BOOK" {
			t.Errorf("%q: got %q", newline, got)
		}
	}
}

func FuzzRIS(f *testing.F) {
	f.Add("Title", "Alan M. Turing", "Mind", "https://example.org", "10.1/x", "12-34")
	f.Add("x\r\nER  - \r\n\r\nTY  - BOOK", "A\nB", "\u2028", "http://a\n", "10.1/\n", "–")
	f.Add("שלום 🚀\x00", "", "  ", "javascript:x", "10.", "1 2")
	f.Fuzz(func(t *testing.T, title, author, venue, url, doi, pages string) {
		card := cardOf(t, map[string]any{
			"title": title, "authors": []any{author, map[string]string{"family": author, "given": title}},
			"venue": venue, "url": url, "doi": doi, "abstract": title, "pages": pages, "type": venue,
		})
		card.ID = author + title
		checkRIS(t, card, cardOf(t, map[string]any{"title": "Next"}))
	})
}
