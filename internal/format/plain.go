package format

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// maxTitleLine is the maximum length of a first line that becomes the title.
const maxTitleLine = 120

// parsePlain reads a text without markup.
func parsePlain(b *budget.Budget, name string, data []byte) (source.Document, error) {
	b.Work(workText * len(data))
	b.Hold(len(data)) // for the string
	text, err := decodeText(data)
	if err != nil {
		return source.Document{}, err
	}
	return source.Document{Title: firstOf(titleLine(text), stem(name)), Text: strings.TrimSpace(text)}, nil
}

// titleLine returns the first non-blank line if it looks like a title: short, with a letter, not the end of a
// sentence, and not the start of a longer paragraph.
func titleLine(text string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if utf8.RuneCountInString(first) > maxTitleLine || strings.IndexFunc(first, unicode.IsLetter) < 0 {
		return ""
	}
	if first = strings.TrimSpace(first); strings.ContainsRune(".,;:", rune(first[len(first)-1])) {
		return ""
	}
	if r, _ := utf8.DecodeRuneInString(rest); unicode.IsLower(r) {
		return ""
	}
	return oneLine(first)
}
