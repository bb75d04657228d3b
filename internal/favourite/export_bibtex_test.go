package favourite

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// bibEntry is a parsed BibTeX entry.
type bibEntry struct {
	kind, key string
	fields    map[string]string // without their outer braces, still escaped
}

// bibKey matches citation keys that every BibTeX program accepts.
var bibKey = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

// readBib is a strict BibTeX parser: entries separated by blank lines, values in braces or bare. Like BibTeX it counts
// braces regardless of backslashes.
func readBib(s string) ([]bibEntry, error) {
	var out []bibEntry
	for s = strings.TrimLeft(s, "\n"); s != ""; s = strings.TrimLeft(s, "\n") {
		head, rest, ok := strings.Cut(s, ",\n")
		kind, key, ok2 := strings.Cut(strings.TrimPrefix(head, "@"), "{")
		if !ok || !ok2 || head[0] != '@' || !bibKey.MatchString(key) {
			return nil, fmt.Errorf("not the head of an entry: %.60q", s)
		}
		e := bibEntry{kind, key, map[string]string{}}
		s = rest
		for !strings.HasPrefix(s, "}\n") {
			name, rest, ok := strings.Cut(s, " = ")
			name = strings.TrimPrefix(name, "  ")
			if !ok || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLower(r) }) {
				return nil, fmt.Errorf("not a field: %.60q", s)
			}
			value, rest, err := readBibValue(rest)
			if err != nil {
				return nil, err
			}
			if _, twice := e.fields[name]; twice {
				return nil, fmt.Errorf("%s twice", name)
			}
			e.fields[name] = value
			s = rest
		}
		s = s[2:]
		out = append(out, e)
	}
	return out, nil
}

func readBibValue(s string) (value, rest string, err error) {
	if !strings.HasPrefix(s, "{") {
		value, rest, _ = strings.Cut(s, ",\n")
		return value, rest, nil
	}
	depth := 0
	for i, r := range s {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 {
			rest, ok := strings.CutPrefix(s[i+1:], ",\n")
			if !ok {
				return "", "", fmt.Errorf("text after a value: %.60q", s[i+1:])
			}
			return s[1:i], rest, nil
		}
	}
	return "", "", errors.New("a brace without its partner")
}

var bibMacros = strings.NewReplacer(
	`{\textbackslash}`, `\`, `{\textbraceleft}`, `{`, `{\textbraceright}`, `}`, `{\textasciitilde}`, `~`,
	`{\textasciicircum}`, `^`,
	`\%`, `%`, `\$`, `$`, `\&`, `&`, `\#`, `#`, `\_`, `_`, `{`, ``, `}`, ``,
)

// printBib returns a text as TeX prints it.
func printBib(s string) string { return bibMacros.Replace(s) }

// splitBib splits at a separator outside of braces.
func splitBib(s, sep string) []string {
	var out []string
	depth, start := 0, 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '{':
			depth++
		case s[i] == '}':
			depth--
		case depth == 0 && strings.HasPrefix(s[i:], sep):
			out = append(out, s[start:i])
			start = i + len(sep)
			i = start - 1
		}
	}
	return append(out, s[start:])
}

// readBibNames parses an author field like BibTeX.
func readBibNames(field string) []name {
	var out []name
	if field == "" {
		return nil
	}
	for _, author := range splitBib(field, " and ") {
		switch parts := splitBib(author, ", "); len(parts) {
		case 1:
			out = append(out, name{literal: printBib(parts[0])})
		case 2:
			out = append(out, name{family: printBib(parts[0]), given: printBib(parts[1])})
		case 3:
			out = append(out, name{family: printBib(parts[0]), suffix: printBib(parts[1]), given: printBib(parts[2])})
		default:
			out = append(out, name{literal: "too many commas: " + author})
		}
	}
	return out
}

// checkBib parses an export and compares it with its references.
func checkBib(t *testing.T, cards ...Card) []bibEntry {
	t.Helper()
	out := export(t, FormatBibTeX, cards...)
	entries, err := readBib(out)
	if err != nil || len(entries) != len(cards) {
		t.Fatalf("%d entries for %d cards, %v:\n%s", len(entries), len(cards), err, out)
	}
	seen := map[string]bool{}
	for i, e := range entries {
		r := parseReference(cards[i])
		if seen[e.key] {
			t.Errorf("the key %s stands twice", e.key)
		}
		seen[e.key] = true
		if got := readBibNames(e.fields["author"]); !slices.Equal(got, r.authors) {
			t.Errorf("authors: got %q, want %q\n%s", got, r.authors, out)
		}
		for field, want := range map[string]string{
			"title": r.title, r.kind.venueField: r.venue, "volume": r.volume, "number": r.issue,
			"pages":     bibPages(r.pages),
			"publisher": r.publisher, "abstract": r.abstract,
		} {
			if got := printBib(e.fields[field]); got != want {
				t.Errorf("%s: got %q, want %q\n%s", field, got, want, out)
			}
		}
		if title := e.fields["title"]; title != "" && title != "{"+bibText(r.title)+"}" {
			t.Errorf("the title's capitals are not protected: %s", e.fields["title"])
		}
		for _, raw := range []string{"url", "doi"} {
			if strings.ContainsAny(e.fields[raw], `{}\ `) {
				t.Errorf("%s can't stand verbatim: %s", raw, e.fields[raw])
			}
		}
	}
	return entries
}

func TestBibTeXRoundTrips(t *testing.T) {
	t.Parallel()
	entries := checkBib(t, goldenCards...)
	var kinds []string
	for _, e := range entries {
		kinds = append(kinds, e.kind)
	}
	if want := []string{
		"article", "inproceedings", "book", "incollection", "techreport", "misc", "misc",
		"misc",
	}; !slices.Equal(kinds, want) {
		t.Errorf("got %v, want %v", kinds, want)
	}
}

func TestBibTeXEscapesEveryCharacterThatTeXActsOn(t *testing.T) {
	t.Parallel()
	const in = "a{b}c\\d%e$f&g#h_i~j^k\nl"
	const want = `{a{\textbraceleft}b{\textbraceright}c{\textbackslash}d\%e\$f\&g\#h\_i` +
		`{\textasciitilde}j{\textasciicircum}k l}`
	entries := checkBib(t, cardOf(t, map[string]any{"title": in}))
	if got := entries[0].fields["title"]; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBibTeXGuessesTheKindFromTheVenue(t *testing.T) {
	t.Parallel()
	for venue, want := range map[string]string{
		"": "misc", "Mind": "article", "Proceedings of the ACM": "inproceedings", "NeurIPS Workshop": "inproceedings",
	} {
		if got := checkBib(t, cardOf(t, map[string]any{"title": "x", "venue": venue}))[0].kind; got != want {
			t.Errorf("%q: got %s, want %s", venue, got, want)
		}
	}
}

func TestCitationKeysAreUniqueAndStayWhenMoreIsSaved(t *testing.T) {
	t.Parallel()
	ref := func(family, title string, year int) reference {
		return reference{title: title, year: year, authors: []name{{family: family, given: "A."}}}
	}
	// Newest first, like exports.
	refs := []reference{
		ref("Doe", "Net", 2020), ref("Doe", "The Nets!", 2020), ref("Doe", "Neta", 2020), ref("Doe", "A net", 2020),
		ref("Doe", "Net", 2020),
		ref("Erdős", "Łatwe «problemy»", 1950), ref("van der Waals", "On the", 1873),
		{authors: []name{{literal: "The OpenAI Team"}}, title: "GPT-4"},
		{title: "深度学习"},
		{},
		{year: 1999},
	}
	want := []string{
		"doe2020netc", "doe2020nets", "doe2020neta", "doe2020netb", "doe2020net",
		"erdos1950latwe", "vanderwaals1873on", "openaigpt4", "refa", "ref", "ref1999",
	}
	if got := citationKeys(refs); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for i := range refs {
		if got := citationKeys(refs[i:]); got[0] != want[i] && want[i] != "doe2020netb" {
			t.Errorf("with %d older ones: got %s, want %s", len(refs)-i-1, got[0], want[i])
		}
	}
	many := make([]reference, 1000)
	keys := citationKeys(many)
	slices.Sort(keys)
	if len(slices.Compact(keys)) != len(many) {
		t.Error("keys of a thousand alike are not unique")
	}
}

func FuzzBibTeX(f *testing.F) {
	f.Add("A {Title} with \\ and %$&#_~^ \"q\"", "Alan M. Turing", "Mind", "https://example.org/{x}", "10.1/{x}\\")
	f.Add("}", "{", "}{", "http://a", "10.1/x")
	f.Add("@article{x,\n}\n", "A and B, C", "\\", "", "")
	f.Add("שלום 🚀\u2028\x00", "and", "and and", "javascript:x", "10.")
	f.Add(`\textbackslash{}`, `Smith, Jr., and`, "{\\textbraceleft}", "https://x/%", "doi:10.1/%")
	f.Fuzz(func(t *testing.T, title, author, venue, url, doi string) {
		card := cardOf(t, map[string]any{
			"title": title, "authors": []any{author, map[string]string{"family": author, "given": title}, venue},
			"venue": venue, "url": url, "doi": doi, "abstract": title, "pages": venue, "type": author,
		})
		checkBib(t, card, cardOf(t, map[string]any{"title": "Next"}))
	})
}
