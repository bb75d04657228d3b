package format

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/internal/format/pdf"
	"carrel/internal/lazyregexp"
)

// Scores of the candidates for a title.
const (
	scoreMetadata  = 40 // a title in the metadata, often of a template or an earlier version
	scoreHeading   = 50 // the largest text of the first page
	scoreBelow     = 25 // the largest text, in the lower half
	scoreFirstLine = 20
	scoreFileName  = 5
	scoreOnPage    = 60 // the metadata is printed on the first page
	scoreShape     = 15 // three words or more, and not longer than titles are
)

// bestTitle returns the title with the best evidence.
func bestTitle(t pdf.Text, first, name string) string {
	best, most := "", 0
	consider := func(title string, score int) {
		if title = oneLine(title); saysSomething(title) && score > most {
			best, most = title, score
		}
	}
	head := strings.Join(strings.Fields(first[:min(len(first), firstLook)]), " ")
	metadata := oneLine(t.Title)
	if !abridges(metadata, oneLine(t.Heading)) {
		consider(metadata, scoreMetadata+shapeScore(metadata)+pageScore(metadata, head))
	}
	consider(t.Heading, scoreHeading+shapeScore(t.Heading))
	if shape := shapeScore(t.HeadingBelow); shape > 0 {
		consider(t.HeadingBelow, scoreBelow+shape)
	}
	// A longer first line is running text.
	if line := titleLine(first); utf8.RuneCountInString(line) <= maxFirstLine && !t.FirstIsRow && !isForm(line) {
		consider(line, scoreFirstLine)
	}
	if best == "" {
		return stem(name)
	}
	return best
}

// abridges reports whether a title of the metadata is one or two words of the heading, as in "grasshopper" for "The
// Grasshopper".
func abridges(title, heading string) bool {
	return len(strings.Fields(title)) < minTitleWords && len(title) < len(heading) &&
		strings.Contains(" "+strings.ToLower(heading)+" ", " "+strings.ToLower(title)+" ")
}

// isForm reports whether a line consists of labelled fields, as in "Name: Smith Date: 1 May".
func isForm(line string) bool { return strings.Count(line, ": ") > 1 }

// maxFirstLine is the most characters of a first line that is a title.
const maxFirstLine = 100

// titleYear returns the year in a title, if the file was created in it, soon after it or, by a wrong clock, before it.
// Otherwise the title names the year of its subject.
func titleYear(title string, created int) int {
	years := yearOfTitle.FindAllString(title, 2)
	if len(years) != 1 {
		return 0
	}
	year, _ := strconv.Atoi(years[0]) // four digits
	if created != 0 && created-year > 2 {
		return 0
	}
	return year
}

// yearOfTitle matches years in which PDF files exist.
var yearOfTitle = lazyregexp.New(`\b(?:199\d|20[0-3]\d)\b`)

// topOfPage is the number of bytes of a first page in which the words of a title are expected.
const topOfPage = 1500

// pageScore rates whether a first page shows a title, or at least its words.
func pageScore(title, head string) int {
	title, head = strings.ToLower(title), strings.ToLower(head)
	if strings.Contains(head, title) {
		return scoreOnPage
	}
	top := map[string]bool{}
	for _, w := range strings.FieldsFunc(cut(head, topOfPage), notInWord) {
		top[w] = true
	}
	for _, w := range strings.FieldsFunc(title, notInWord) {
		if !top[w] {
			return 0
		}
	}
	return scoreOnPage / 2
}

func notInWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

const (
	minTitleWords = 3
	maxTitleRunes = 200
)

// shapeScore rates whether a text has the shape of a title.
func shapeScore(s string) int {
	letters, runes := 0, 0
	for _, r := range s {
		if runes++; unicode.IsLetter(r) || r == ' ' {
			letters++
		}
	}
	words, single := 0, 0
	for _, w := range strings.FieldsFunc(s, notInWord) {
		words++
		if len(w) == 1 {
			single++
		}
	}
	switch {
	case words > 1 && 2*single > words: // letters that are spaced out
		return -40
	case runes == 0 || 10*letters < 4*runes: // numbers and codes
		return -40
	case runes > maxTitleRunes:
		return -30
	case words >= minTitleWords, runes > 2*minTitleWords && caseless(s):
		return scoreShape
	case words == 1 && strings.ToLower(s) == s:
		return -scoreShape
	}
	return 0
}

// notAuthors matches names that programs fill in.
var notAuthors = lazyregexp.New(
	`(?i)^(?:administrator|admin|root|user|owner|author|authors?|unknown|none|anonymous|your name|guest|default|` +
		`microsoft office user|.*user|office.*|windows.*|.*\.(?:com|org|net)|(?:array|hash)\(0x.*)$`,
)

// isPerson reports whether a name of the metadata can be an author. Account names such as "SAPBATCH" and "e516160" are
// none: a single word counts only if the first page shows it.
func isPerson(name, first string) bool {
	if notAuthors.MatchString(name) || strings.ContainsAny(name, ":/\\@_") ||
		strings.IndexFunc(name, unicode.IsDigit) >= 0 || strings.ToLower(name) == name && strings.ToUpper(name) != name {
		return false
	}
	if strings.ContainsAny(name, " .") || caseless(name) {
		return true
	}
	return len(name) > 3 && strings.Contains(first, name)
}

// caseless reports whether a text is of a script without cases, such as Chinese, which has no spaces either.
func caseless(s string) bool { return strings.ToUpper(s) == strings.ToLower(s) }

// pdfAuthors returns the authors of the metadata. One name that is none makes the others doubtful as well.
func pdfAuthors(t pdf.Text, first string) []string {
	for _, names := range [][]string{cleanNames(t.Authors), splitNames(t.Author)} {
		if len(names) == 1 {
			names = splitNames(names[0])
		}
		good := len(names) > 0
		for _, n := range names {
			good = good && isPerson(n, first)
		}
		if good {
			return names
		}
	}
	return nil
}
