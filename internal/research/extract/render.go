package extract

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Searched tells what a search went through.
type Searched struct {
	// Sources are the names of those that were searched, or Count of them when their names do not matter.
	Sources []string
	Count   int
	// Failed are the names of those that could not be searched.
	Failed []string
}

// Render writes an answer in Markdown: what kind of answer it is, the quotes with a mark [n] each, n counting from 1,
// and what was not found. No word of it is a model's. The words of sources are escaped, so that they read as they
// stand and nothing in them works as Markdown or HTML.
func Render(a Answer, s Searched) string {
	var b strings.Builder
	count := max(s.Count, len(s.Sources))
	switch a.Outcome {
	case Answered:
		b.WriteString("**Quotes from your sources**\n")
	case Closest:
		b.WriteString("**Closest passages; they may not answer this**\n")
	default:
		renderNothing(&b, a, count)
	}
	for i, quote := range a.Quotes {
		fmt.Fprintf(&b, "\n> %s [%d]\n>\n> — %s\n", escape(quote.Text), i+1, origin(quote))
	}
	if a.Outcome == Closest && len(a.Missing) > 0 {
		fmt.Fprintf(&b, "\nNot in the closest passage: %s.\n", list(a.Missing))
	}
	if len(a.Unmatched) > 0 {
		fmt.Fprintf(&b, "\nNo source holds: %s.\n", list(a.Unmatched))
	}
	if len(a.Query.Added) > 0 {
		fmt.Fprintf(&b, "\nRead as a follow-up; searched for: %s\n", escape(a.Query.Text))
	}
	if a.Outcome == Nothing && len(s.Sources) > 0 {
		fmt.Fprintf(&b, "\nSearched: %s.\n", list(s.Sources))
	}
	if len(s.Failed) > 0 {
		fmt.Fprintf(&b, "\nCould not be searched: %s.\n", list(s.Failed))
	}
	if len(a.FollowUps) > 0 {
		b.WriteString("\nYou could ask:\n\n")
		for _, question := range a.FollowUps {
			fmt.Fprintf(&b, "- %s\n", escape(question))
		}
	}
	return b.String()
}

func renderNothing(b *strings.Builder, a Answer, count int) {
	if len(a.Query.terms) == 0 {
		b.WriteString("**The question has no word to search for**\n")
		return
	}
	noun := "sources"
	if count == 1 {
		noun = "source"
	}
	fmt.Fprintf(b, "**Nothing in %d %s matched**\n", count, noun)
	if len(a.Unmatched) == 0 {
		b.WriteString("\nThe sources hold these words, but no passage holds enough of them together.\n")
	}
}

// origin tells where a quote is from: title, year and place.
func origin(q Quote) string {
	title := escape(q.Title)
	if title == "" {
		title = "Untitled"
	}
	parts := []string{"*" + title + "*"}
	if q.Year != 0 {
		parts[0] += " (" + strconv.Itoa(q.Year) + ")"
	}
	if q.Heading != "" {
		parts = append(parts, "“"+escape(q.Heading)+"”")
	}
	if q.Page > 0 {
		parts = append(parts, "p. "+strconv.Itoa(q.Page))
	} else if q.Heading == "" {
		parts = append(parts, fmt.Sprintf("characters %d–%d", q.Start+1, q.End))
	}
	return strings.Join(parts, ", ")
}

// list writes words with commas between them.
func list(words []string) string {
	escaped := make([]string, len(words))
	for i, word := range words {
		escaped[i] = escape(word)
	}
	return strings.Join(escaped, ", ")
}

// escape writes a text on one line so that Markdown shows it as it is.
func escape(text string) string {
	var b strings.Builder
	space := false
	for _, r := range text {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			space = b.Len() > 0
			continue
		}
		if '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069' {
			continue // they would turn what follows the quote around
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		if needsEscape(b.String(), r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return numbered(b.String())
}

// needsEscape reports whether a code point after what is written so far works as Markdown, or completes an address
// that readers make a link of.
func needsEscape(before string, r rune) bool {
	switch r {
	case '\\', '`', '*', '_', '[', ']', '<', '~', '|', '&':
		return true
	case '#', '+', '-', '=', '>':
		return before == ""
	case ':', '@', '.':
		return before != "" && isAlphanumeric(before[len(before)-1]) && beginsLink(before, r)
	}
	return false
}

// beginsLink reports whether a mark after a text can make an address of it.
func beginsLink(text string, mark rune) bool {
	if mark == '@' {
		return true
	}
	from := len(text)
	for from > 0 && isAlphanumeric(text[from-1]) {
		from--
	}
	word := strings.ToLower(text[from:])
	if mark == '.' {
		return word == "www"
	}
	return strings.HasSuffix(word, "http") || strings.HasSuffix(word, "https") || strings.HasSuffix(word, "ftp") ||
		strings.HasSuffix(word, "mailto") || strings.HasSuffix(word, "xmpp")
}

// numbered keeps a line that begins like an item of a list from becoming one.
func numbered(line string) string {
	digits := 0
	for digits < len(line) && '0' <= line[digits] && line[digits] <= '9' {
		digits++
	}
	if digits > 0 && digits < len(line) && (line[digits] == '.' || line[digits] == ')') {
		return line[:digits] + "\\" + line[digits:]
	}
	return line
}
