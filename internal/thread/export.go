package thread

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/core"
	"carrel/internal/markdown"
	"carrel/internal/source"
	"carrel/internal/task"
)

// exportPage is the number of messages read at once.
const exportPage = 200

// Export writes a thread as Markdown: every message with its quotes, and a bibliography of the cited works. entry
// returns the bibliography entry of a work as one line of Markdown.
func (s *Service) Export(ctx context.Context, actor core.Actor, agentID, threadID string,
	entry func(context.Context, Citation) (string, error), w io.Writer,
) error {
	t, err := s.getFor(ctx, actor, core.OpExportThread, agentID, threadID)
	if err != nil {
		return err
	}
	messages, err := s.allMessages(ctx, threadID)
	if err != nil {
		return err
	}
	works := worksOf(messages)
	entries := make([]string, len(works.cited))
	for i, c := range works.cited {
		if entries[i], err = entry(ctx, c); err != nil {
			return err
		}
	}
	e := exporter{Writer: bufio.NewWriter(w), works: works}
	e.thread(t, messages, entries)
	return e.Flush()
}

// Card returns the bibliographic data of a cited document as JSON: from its record or, if d is empty because the
// document was deleted, from the citation.
func (c Citation) Card(d source.Document) ([]byte, error) {
	if d.ID == "" {
		d = source.Document{Title: c.Title, Authors: c.Authors, Year: c.Year, URL: c.URL, DOI: c.DOI}
	}
	return json.Marshal(map[string]any{
		"title": d.Title, "authors": d.Authors, "year": d.Year, "publishedAt": d.PublishedAt, "venue": d.Venue,
		"type": d.Type, "url": d.URL, "doi": d.DOI,
	})
}

// allMessages reads a thread in chronological order.
func (s *Service) allMessages(ctx context.Context, threadID string) ([]Message, error) {
	var all []Message
	for before := 0; ; before = all[len(all)-1].Seq {
		page, err := s.store.Messages(ctx, threadID, before, exportPage)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < exportPage {
			slices.Reverse(all)
			return all, nil
		}
	}
}

// works are the documents that a thread cites, in the order of their first citation.
type works struct {
	cited  []Citation
	number map[string]int // by document id, from 1
}

func worksOf(messages []Message) works {
	out := works{number: map[string]int{}}
	for _, m := range messages {
		for _, c := range m.Answer.Citations {
			if out.number[c.DocumentID] == 0 {
				out.cited = append(out.cited, c)
				out.number[c.DocumentID] = len(out.cited)
			}
		}
	}
	return out
}

// exporter writes a thread. Write errors are returned by the Flush of its bufio.Writer, which keeps the first one.
type exporter struct {
	*bufio.Writer
	works works
}

// block writes a block after a blank line.
func (e exporter) block(parts ...string) {
	_ = e.WriteByte('\n')
	for _, p := range parts {
		_, _ = e.WriteString(p)
	}
	_ = e.WriteByte('\n')
}

func (e exporter) thread(t Thread, messages []Message, entries []string) {
	title := core.OneLine(t.Title)
	if title == "" {
		title = "Untitled"
	}
	// A # at the end of a heading would be parsed as its closing sequence.
	_, _ = e.WriteString("# " + strings.ReplaceAll(markdown.Text(title), "#", `\#`) + "\n")
	for _, m := range messages {
		e.message(m)
	}
	if len(entries) == 0 {
		return
	}
	e.block("## Bibliography")
	_ = e.WriteByte('\n')
	for i, entry := range entries {
		_, _ = e.WriteString(markdown.Item(i+1, entry))
	}
}

func (e exporter) message(m Message) {
	who := "Agent"
	if m.Role == RoleUser {
		who = "You"
	}
	e.block("## ", who, ", ", m.CreatedAt.UTC().Format("2006-01-02 15:04 UTC"))
	if text := markdown.Paragraphs(m.Text); text != "" {
		e.block(text)
	}
	for _, note := range notesOn(m) {
		e.block("*", markdown.Text(core.OneLine(note)), "*")
	}
	e.citations(m.Answer.Citations)
	e.verdicts(m)
}

// notesOn returns remarks about a message that its text does not contain.
func notesOn(m Message) []string {
	var notes []string
	if m.Answer.Query != "" {
		notes = append(notes, "Searched for: "+m.Answer.Query)
	}
	if m.Answer.Partial {
		notes = append(notes, "This reply is partial.")
	}
	switch {
	case m.Status == string(task.StateComplete):
	case m.Error != nil:
		notes = append(notes, m.Error.Detail)
	default:
		notes = append(notes, "This reply is "+m.Status+".")
	}
	return notes
}

// citations writes the quotes of a message as a plain list, because many Markdown renderers do not support footnotes.
func (e exporter) citations(cited []Citation) {
	if len(cited) == 0 {
		return
	}
	e.block("Quotes:")
	_ = e.WriteByte('\n')
	for _, c := range cited {
		place := "work " + strconv.Itoa(e.works.number[c.DocumentID])
		if c.Page > 0 {
			place += ", p. " + strconv.Itoa(c.Page)
		}
		_, _ = e.WriteString("- " + markdown.Text("["+strconv.Itoa(c.N)+"] “"+core.OneLine(c.Quote)+"”") + " (" +
			place + ")\n")
	}
}

// verdicts writes how many sentences have each verdict. It lists those whose citations do not support them, and the
// facts without a citation.
func (e exporter) verdicts(m Message) {
	if line := verdictLine(m.Answer.Checks); line != "" {
		e.block("Sentences: ", line)
	}
	for _, list := range []struct {
		head string
		of   func(Check) bool
	}{
		{"Not supported by the cited quotes:", Check.Refuted},
		{"Without a citation:", func(c Check) bool { return c.State == Uncited }},
	} {
		if lines := checkLines(m, list.of); len(lines) > 0 {
			e.block(list.head)
			e.block(strings.TrimSuffix(strings.Join(lines, ""), "\n"))
		}
	}
}

// verdictTexts describe the verdicts, in the order of an export.
var verdictTexts = []struct {
	state CheckState
	text  string
}{
	{Quoted, "quoted"},
	{Supported, "supported"},
	{Cited, "cited, not judged"},
	{Contradicted, "contradicted"},
	{Unsupported, "not supported"},
	{Uncited, "without a citation"},
	{FromMemory, "from a memory"},
}

// verdictLine counts the sentences by verdict and judge: "2 quoted; 1 supported (judged by the model)". Sentences that
// make no claim are left out.
func verdictLine(checks []Check) string {
	var parts []string
	for _, v := range verdictTexts {
		counts := map[Judge]int{}
		for _, c := range checks {
			if c.State == v.state {
				counts[c.By]++
			}
		}
		for _, judge := range []Judge{ByRules, ByModel, ""} {
			if counts[judge] == 0 {
				continue
			}
			part := strconv.Itoa(counts[judge]) + " " + v.text
			if v.state == Supported || v.state == Contradicted || v.state == Unsupported {
				part += map[Judge]string{ByRules: " (judged by rules)", ByModel: " (judged by the model)"}[judge]
			}
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + "."
}

// checkLines returns the sentences of a message whose checks fulfil a condition, as items of a list.
func checkLines(m Message, of func(Check) bool) []string {
	text := []rune(m.Text)
	var lines []string
	for _, c := range m.Answer.Checks {
		if !of(c) || c.Start < 0 || c.End > len(text) || c.Start >= c.End {
			continue
		}
		line := "“" + core.OneLine(string(text[c.Start:c.End])) + "”"
		if c.Detail != "" {
			line += ": " + core.OneLine(c.Detail)
		}
		lines = append(lines, "- "+markdown.Text(line)+"\n")
	}
	return lines
}
