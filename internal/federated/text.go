package federated

import (
	"crypto/sha256"
	"encoding/hex"
	"html"
	"strconv"
	"strings"
	"time"

	xhtml "golang.org/x/net/html"

	"carrel/internal/core"
)

// plainText removes the HTML and JATS markup that catalogues leave in titles and abstracts, and folds white space.
func plainText(s string) string {
	if !strings.ContainsAny(s, "<&") {
		return core.OneLine(s)
	}
	var b strings.Builder
	z := xhtml.NewTokenizer(strings.NewReader(s))
	for {
		switch z.Next() {
		case xhtml.ErrorToken:
			return core.OneLine(html.UnescapeString(b.String())) // some catalogues escape twice
		case xhtml.TextToken:
			b.Write(z.Text())
		case xhtml.StartTagToken, xhtml.EndTagToken, xhtml.SelfClosingTagToken:
			if name, _ := z.TagName(); !inlineElements[string(name)] {
				b.WriteByte(' ')
			}
		}
	}
}

// inlineElements occur inside words; all other elements separate words.
var inlineElements = map[string]bool{
	"i": true, "b": true, "em": true, "strong": true, "sub": true, "sup": true, "u": true, "span": true, "mark": true,
	"jats:italic": true, "jats:bold": true, "jats:sub": true, "jats:sup": true, "jats:sc": true,
}

// normalizeDOI returns a DOI in lower case without the address of a resolver, or "" for any other text.
func normalizeDOI(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	for _, prefix := range []string{
		"https://doi.org/", "http://doi.org/", "https://dx.doi.org/", "http://dx.doi.org/", "doi:",
	} {
		s = strings.TrimPrefix(s, prefix)
	}
	if !strings.HasPrefix(s, "10.") {
		return ""
	}
	return s
}

// doiURL returns the resolver address of a DOI, or "" for none.
func doiURL(id string) string {
	if id == "" {
		return ""
	}
	return "https://doi.org/" + id
}

func firstNonEmpty(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// leadingYear returns the year at the start of a date, or 0.
func leadingYear(date string) int {
	if len(date) < 4 {
		return 0
	}
	y, err := strconv.Atoi(date[:4])
	if err != nil || y < 1 {
		return 0
	}
	return y
}

// dateLayouts are the formats that the APIs use.
var dateLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.000", "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly,
	time.RFC1123, time.RFC1123Z,
}

// normalizeDate returns a date as 2006-01-02, or "" if it can't be parsed.
func normalizeDate(s string) string {
	for _, form := range dateLayouts {
		if t, err := time.Parse(form, s); err == nil && t.Year() >= 1 {
			return t.Format(time.DateOnly)
		}
	}
	return ""
}

// joinDate formats a complete and valid date, else "".
func joinDate(y, m, d int) string {
	if y < 1 || y > 9999 || m < 1 || d < 1 {
		return ""
	}
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	if t.Day() != d {
		return ""
	}
	return t.Format(time.DateOnly)
}

// yearOr returns y, or other if y is 0.
func yearOr(y, other int) string {
	if y == 0 {
		y = other
	}
	return strconv.Itoa(y)
}

// The widest bounds, for APIs that require both.
const (
	firstYear = 1000
	lastYear  = 3000
)

// cleanNames folds white space and drops empty names.
func cleanNames(list []string) []string {
	out := make([]string, 0, len(list))
	for _, n := range list {
		if n = core.OneLine(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}

// author is the author element of CORE and Semantic Scholar (JSON) and arXiv (Atom).
type author struct {
	Name string `json:"name" xml:"http://www.w3.org/2005/Atom name"`
}

func authorNames(authors []author) []string {
	list := make([]string, len(authors))
	for i, a := range authors {
		list[i] = a.Name
	}
	return cleanNames(list)
}

// nonNegative drops a count that is unknown or negative.
func nonNegative(n *int) *int {
	if n == nil || *n < 0 {
		return nil
	}
	return n
}

// maxTitle limits a title taken from the start of a text, in code points.
const maxTitle = 120

// truncate shortens a text to n code points, with an ellipsis.
func truncate(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return strings.TrimSpace(string(r[:n-1])) + "…"
	}
	return s
}

// shortHash identifies a text that has no id.
func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:12])
}

func webAddress(s string) string { return core.WebLink(s) }
