package transcript

import (
	"bufio"
	"cmp"
	"io"
	"slices"
	"strings"

	"carrel/internal/core"
	"carrel/internal/markdown"
	"carrel/internal/thread"
)

// markdownWriter writes a transcript. Write errors are returned by the Flush of its bufio.Writer, which keeps the first
// one.
type markdownWriter struct{ *bufio.Writer }

func writeMarkdown(w io.Writer, t Transcript) error {
	out := markdownWriter{bufio.NewWriter(w)}
	out.transcript(t)
	return out.Flush()
}

// block writes a block after a blank line.
func (w markdownWriter) block(parts ...string) {
	_ = w.WriteByte('\n')
	for _, p := range parts {
		_, _ = w.WriteString(p)
	}
	_ = w.WriteByte('\n')
}

func (w markdownWriter) transcript(t Transcript) {
	// A # at the end of a heading would be parsed as its closing sequence.
	_, _ = w.WriteString("# " + strings.ReplaceAll(markdown.Text(t.Title), "#", `\#`) + "\n")
	for _, m := range t.Messages {
		w.message(m)
	}
	if len(t.Works) == 0 {
		return
	}
	w.block("## Bibliography")
	_ = w.WriteByte('\n')
	for i, entry := range t.Works {
		_, _ = w.WriteString(markdown.Item(i+1, entry))
	}
}

func (w markdownWriter) message(m Message) {
	w.block("## ", m.heading())
	text := markdown.Paragraphs(m.text)
	if !m.Question { // answers are written in Markdown, questions are not
		text = markdown.Formatted(withVerdicts(m))
	}
	if text != "" {
		w.block(text)
	}
	for _, note := range m.Notes {
		w.block("*", markdown.Text(core.OneLine(note)), "*")
	}
	w.quotes(m.Quotes)
	w.verdicts(m)
}

// quotes writes the quotes of a message as a plain list, because many Markdown renderers do not support footnotes.
func (w markdownWriter) quotes(quotes []Quote) {
	if len(quotes) == 0 {
		return
	}
	w.block("Quotes:")
	_ = w.WriteByte('\n')
	for _, q := range quotes {
		_, _ = w.WriteString("- " + markdown.Text(q.line()) + " (" + q.place() + ")\n")
	}
}

// verdicts writes how many sentences have each verdict. It lists those whose citations do not support them, and the
// facts without a citation.
func (w markdownWriter) verdicts(m Message) {
	if m.Verdicts != "" {
		w.block("Sentences: ", m.Verdicts)
	}
	for _, list := range m.Problems {
		lines := make([]string, len(list.Sentences))
		for i, s := range list.Sentences {
			lines[i] = "- " + markdown.Text(s)
		}
		w.block(list.Head)
		w.block(strings.Join(lines, "\n"))
	}
}

// withVerdicts returns the text of a message with the verdict after each sentence that has a problem.
func withVerdicts(m Message) string {
	text := []rune(m.text)
	checks := slices.Clone(m.checks)
	slices.SortStableFunc(checks, func(a, b thread.Check) int { return cmp.Compare(a.End, b.End) })
	var b strings.Builder
	from := 0
	for _, c := range checks {
		mark := problemMarks[c.State]
		if mark == "" || !within(c, text) {
			continue
		}
		_, _ = b.WriteString(string(text[from:c.End]) + " " + mark)
		from = c.End
	}
	_, _ = b.WriteString(string(text[from:]))
	return b.String()
}
