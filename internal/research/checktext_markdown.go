package research

import (
	"fmt"
	"strconv"
	"strings"

	"carrel/internal/core"
	"carrel/internal/markdown"
	"carrel/internal/thread"
)

// annotate returns a text with a footnote after each sentence that states a fact. The text itself is not changed;
// titles and quotes are escaped.
func annotate(text string, sentences []CheckedSentence) string {
	var body, notes strings.Builder
	runes := []rune(text)
	label := "check-"
	for strings.Contains(text, "[^"+label) {
		label = "x" + label // the text has notes of its own
	}
	at, n := 0, 0
	for _, s := range sentences {
		if s.State == thread.Talk {
			continue
		}
		n++
		mark := "[^" + label + strconv.Itoa(n) + "]"
		body.WriteString(string(runes[at:s.End]) + mark)
		at = s.End
		notes.WriteString(mark + ": " + s.note())
	}
	body.WriteString(string(runes[at:]))
	if n == 0 {
		return body.String()
	}
	return strings.TrimRight(body.String(), "\n") + "\n\n" + notes.String()
}

// note returns the text of a sentence's footnote.
func (s CheckedSentence) note() string {
	var b strings.Builder
	b.WriteString("**" + string(s.State) + "**")
	if s.By != "" {
		b.WriteString(" (" + string(s.By) + ")")
	}
	if s.Detail != "" {
		b.WriteString(": " + markdown.Text(core.OneLine(s.Detail)))
	}
	b.WriteString("\n")
	for _, e := range s.Evidence {
		title := markdown.Text(core.OneLine(e.Title))
		if e.Year != 0 {
			title += fmt.Sprintf(" (%d)", e.Year)
		}
		if e.Page != 0 {
			title += fmt.Sprintf(", p. %d", e.Page)
		}
		b.WriteString("    - " + string(e.Stance) + ": “" + markdown.Text(core.OneLine(e.Quote)) + "” — " + title + "\n")
	}
	return b.String()
}
