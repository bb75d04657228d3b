package favourite

import (
	"strings"
	"unicode"

	"carrel/internal/lazyregexp"
)

const (
	// maxAbstract is the maximum length of an abstract in bytes. A longer text without a heading is not an abstract.
	maxAbstract = 5000
	// minAbstract excludes a heading of a table of contents, which is followed by the next heading.
	minAbstract = 100
)

var (
	// abstractHeading matches the heading of an abstract, with its text on the same or the next line.
	abstractHeading = lazyregexp.New(
		`(?im)^[#*\s]*(?:abstract|summary|zusammenfassung|résumé|resumen|sommario|resumo)\b[*\s]*[:.—–-]*[*\s]*`)
	// abstractEnd matches the heading after an abstract.
	abstractEnd = lazyregexp.New(
		`(?im)^[#*\s]*(?:(?:[1I][.\s]+|[1I]$)?` +
			`(?:introduction|einleitung|einführung|introducción|introduzione|introdução)\b|` +
			`(?:key\s?words|index terms|schlüsselwörter|schlagwörter|mots[ -]clés|palabras clave|ccs concepts|contents)\b|` +
			`#{1,6}\s|[1I]\.\s+\p{Lu})`)
	// keywordLine is the last line that imports of references add to an abstract.
	keywordLine = lazyregexp.New(`\n\nKeywords: [^\n]*$`)
)

// abstractOf returns the abstract in the beginning of a document's text: the section with that heading, or the whole
// text if it is short enough to be the abstract of a reference. Otherwise it returns "".
func abstractOf(opening string) string {
	for _, at := range abstractHeading.FindAllStringIndex(opening, 8) {
		section := opening[at[1]:]
		if end := abstractEnd.FindStringIndex(section); end != nil {
			section = section[:end[0]]
		}
		section = strings.TrimSpace(section)
		if len(section) >= minAbstract && len(section) <= maxAbstract {
			return section
		}
	}
	text := strings.TrimSpace(keywordLine.ReplaceAllString(opening, ""))
	if len(text) > maxAbstract || strings.IndexFunc(text, unicode.IsLetter) < 0 {
		return ""
	}
	return text
}
