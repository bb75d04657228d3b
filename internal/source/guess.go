package source

import (
	"path"
	"strconv"

	"carrel/internal/lazyregexp"
)

// GuessedText is the number of characters at the start of a text in which a year is looked for.
const GuessedText = 2000

// GuessOrigin is the place where a year was found.
type GuessOrigin string

// The places where a year can be found.
const (
	GuessFromFileName GuessOrigin = "file_name"
	GuessFromText     GuessOrigin = "text"
)

// YearGuess is a possible year of a document whose year is unknown. The zero value means none.
type YearGuess struct {
	Year int
	From GuessOrigin
}

var (
	yearNumber = lazyregexp.New(`(?:1[5-9]|20)\d\d`)
	// arxivName matches file names such as 1706.03762v7.pdf, which begin with the two digits of a year and of a month.
	arxivName    = lazyregexp.New(`^(\d\d)(?:0[1-9]|1[0-2])\.\d{4,5}(?:v\d+)?(?:\D|$)`)
	hasExtension = lazyregexp.New(`\.[A-Za-z]{2,8}$`)
)

// guessYear returns the only year in the name of the document's file, or else the only year at the start of its text.
// Several different years are no guess, because the choice among them would be arbitrary.
func guessYear(d Document, thisYear int) YearGuess {
	if d.Year != 0 {
		return YearGuess{}
	}
	name := d.Original.Name
	if name == "" && hasExtension.MatchString(d.ExternalID) {
		name = path.Base(d.ExternalID)
	}
	if m := arxivName.FindStringSubmatch(name); m != nil {
		short, _ := strconv.Atoi(m[1]) // two digits
		if year := 2000 + short; year <= thisYear {
			return YearGuess{Year: year, From: GuessFromFileName}
		}
	}
	if year := onlyYear(name, thisYear); year != 0 {
		return YearGuess{Year: year, From: GuessFromFileName}
	}
	if year := onlyYear(d.Text, thisYear); year != 0 {
		return YearGuess{Year: year, From: GuessFromText}
	}
	return YearGuess{}
}

// onlyYear returns the year in s if it holds exactly one, which may be repeated, and else 0.
func onlyYear(s string, thisYear int) int {
	found := 0
	for _, at := range yearNumber.FindAllStringIndex(s, -1) {
		if at[0] > 0 && isDigit(s[at[0]-1]) || at[1] < len(s) && isDigit(s[at[1]]) {
			continue // part of a longer number
		}
		year, _ := strconv.Atoi(s[at[0]:at[1]]) // four digits
		if year > thisYear || year == found {
			continue
		}
		if found != 0 {
			return 0
		}
		found = year
	}
	return found
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
