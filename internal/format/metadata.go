package format

import (
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"carrel/internal/core"
	"carrel/internal/lazyregexp"
)

const (
	minYear = 1
	maxYear = 9999
)

// webAddress returns s if it is an absolute http or https address, else "". Links are displayed to be clicked, so
// other schemes such as "javascript:" must not get through.
func webAddress(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxURL {
		return ""
	}
	return core.WebLink(s)
}

var (
	doiPrefix = lazyregexp.New(`(?i)^(?:https?://)?(?:(?:dx\.|www\.)?doi\.org/)?(?:doi:)?\s*`)
	doiForm   = lazyregexp.New(`^10\.\d{4,9}/[^\s\x00-\x1f\x7f]+$`)
)

// bareDOI returns a DOI without prefixes and resolver addresses, or "".
func bareDOI(s string) string {
	if s = strings.TrimSpace(s); len(s) > maxURL {
		return ""
	}
	bare := s[len(doiPrefix.FindString(s)):]
	if strings.Contains(bare, "%") && len(bare) < len(s) {
		if plain, err := url.PathUnescape(bare); err == nil && utf8.ValidString(plain) {
			bare = plain
		}
	}
	if !doiForm.MatchString(bare) {
		return ""
	}
	return bare
}

// betweenNames matches the separators of a list of authors in one string. A comma is none, because it also occurs in
// "Lovelace, Ada".
var betweenNames = lazyregexp.New(`\s*;\s*(?:and\s)?|\s+and\s+`)

// maxNames limits the bytes of a list of authors. Papers with a thousand authors have less.
const maxNames = 256 << 10

// splitNames splits a list of authors in one string.
func splitNames(s string) []string { return cleanNames(betweenNames.Split(cut(s, maxNames), -1)) }

// cut returns the first n bytes of a text without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// cleanNames trims names and drops empty ones.
func cleanNames(names []string) []string {
	var out []string
	size := 0
	for _, n := range names {
		if size += len(n) + 1; size > maxNames {
			break
		}
		if n = strings.Join(strings.Fields(n), " "); n != "" {
			out = append(out, n)
		}
	}
	return out
}

var dateYear = lazyregexp.New(`(?:^|\D)(\d{4})(?:\d{4})?(?:\D|$)`)

// yearOfDate finds the year in a date such as "2021-03-04", "20210304" or "4 March 2021", or returns 0.
func yearOfDate(s string) int {
	m := dateYear.FindStringSubmatch(cut(s, maxTitle))
	if m == nil {
		return 0
	}
	year, err := strconv.Atoi(m[1])
	if err != nil || year < minYear || year > maxYear {
		return 0
	}
	return year
}

// dateForm matches a full-date or date-time of RFC 3339, section 5.6. time.Parse accepts other forms as well.
var dateForm = lazyregexp.New(`^\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))?$`)

// isDate reports whether s is a valid RFC 3339 date in the supported range of years.
func isDate(s string) bool {
	if !dateForm.MatchString(s) {
		return false
	}
	layout := time.RFC3339
	if len(s) == len(time.DateOnly) {
		layout = time.DateOnly
	}
	at, err := time.Parse(layout, s)
	return err == nil && at.Year() >= minYear
}

// oneLine folds white space and limits the length to maxTitle.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(cut(s, 64*maxTitle)), " ")
	if len(s) <= maxTitle {
		return s
	}
	n := 0
	for i := range s {
		if n++; n > maxTitle {
			return strings.TrimSpace(s[:i])
		}
	}
	return s
}

// firstOf returns the first string that is not blank.
func firstOf(candidates ...string) string {
	for _, s := range candidates {
		if strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}
