package research

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"carrel/internal/language"
	"carrel/internal/lazyregexp"
	"carrel/internal/research/quote"
	"carrel/internal/thread"
)

// replyWriter is a reply being written. Every piece is streamed at once.
type replyWriter struct {
	b      strings.Builder
	length int // in code points
	checks []thread.Check
	say    func(string)
	*language.Phrases
}

func (p *replyWriter) String() string { return strings.TrimSpace(p.b.String()) }

func (p *replyWriter) add(text string) {
	p.b.WriteString(text)
	p.length += utf8.RuneCountInString(text)
	if p.say != nil {
		p.say(text)
	}
}

// paragraph begins a paragraph.
func (p *replyWriter) paragraph(text string) {
	if p.length > 0 {
		text = "\n\n" + text
	}
	p.add(text)
}

// write writes an answer of quotes. It does not claim more than that. subjects are the sides of a comparison that the
// citations belong to.
func (t *turn) write(
	p *replyWriter, answer quote.Answer, citations []thread.Citation, subjects []string, w quoteReason,
) {
	if len(citations) == 0 && w.Failure != nil {
		p.paragraph(t.actionTexts().noReply)
	} else if explanation := w.explanation(p.Phrases); explanation != "" {
		p.paragraph(explanation)
	}
	switch answer.Outcome {
	case quote.Answered:
		switch {
		case w.Failure != nil:
		case answer.Form == quote.List:
			p.paragraph(p.Listed)
		default:
			p.paragraph(p.Answered)
		}
	case quote.Closest:
		p.paragraph(p.Closest)
	default:
		t.writeNoAnswer(p, answer)
		return
	}
	subject := ""
	for i, c := range citations {
		if subjects[i] != subject {
			subject = subjects[i]
			p.paragraph("**" + oneLine(subject) + "**")
		}
		p.quote(c)
	}
	p.writeLacking(answer)
	p.writeProblems(t.found.Problems)
}

// writeLacking lists the words of the question that the closest passages do not contain.
func (p *replyWriter) writeLacking(answer quote.Answer) {
	if missing := answer.Missing; answer.Outcome == quote.Closest && len(missing)+len(answer.Unmatched) > 0 {
		p.paragraph(fill(p.Lacking, list(quoted(append(missing, answer.Unmatched...)), p.And)))
	}
}

// fill replaces the placeholder of a phrase.
func fill(phrase, text string) string { return strings.Replace(phrase, "%s", text, 1) }

// explanation explains why the answer consists of quotes although there is a model.
func (w quoteReason) explanation(p *language.Phrases) string {
	switch {
	case w.Failure == nil && w.Unanswered:
		return p.Unanswered
	case w.Failure == nil:
		return ""
	case w.Failure.Code == codeCap:
		return p.PartialCap
	case w.Failure.Code == codeTime:
		return p.PartialTime
	}
	return fill(p.Failed, w.Failure.Detail)
}

// quote writes a quote with its citation, and below it the document.
func (p *replyWriter) quote(c thread.Citation) {
	p.paragraph("")
	from := p.length
	p.add("> " + oneLine(c.Quote) + " [" + strconv.Itoa(c.N) + "]")
	p.checks = append(p.checks, thread.Check{
		Start: from + 2, End: p.length, State: thread.Quoted, By: thread.ByRules, Citations: []int{c.N},
	})
	p.add("\n>\n> — " + p.describe(c))
}

// describe returns the title, year and page of a citation.
func (p *replyWriter) describe(c thread.Citation) string {
	out := oneLine(c.Title)
	if out == "" {
		out = p.Untitled
	}
	if c.Year != 0 {
		out += " (" + strconv.Itoa(c.Year) + ")"
	}
	if c.Page != 0 {
		out += ", " + p.Page + " " + strconv.Itoa(c.Page)
	}
	return out
}

// citationMarks match citations inside a quote, which would be confused with citations of the reply.
var citationMarks = lazyregexp.New(`\s*[\[【]\s*\d+(\s*[,;–-]\s*\d+)*\s*[\]】]`)

// imageMarks match the beginning of an image, which a quote may cut off.
var imageMarks = lazyregexp.New(`!+\[`)

// oneLine returns a text from a source on one line, without links, images and citations. The citation holds the
// original text.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(citationMarks.ReplaceAllString(text, "")), " ")
	return imageMarks.ReplaceAllString(quote.Plain(text, nil), "[")
}

// writeNoAnswer explains why there is no answer.
func (t *turn) writeNoAnswer(p *replyWriter, answer quote.Answer) {
	sources := t.ready.Sources
	if len(sources) == 0 {
		p.paragraph(p.NoSources)
		return
	}
	documents := 0
	for _, s := range sources {
		documents += s.Documents
	}
	if documents == 0 {
		p.paragraph(fill(p.NoDocuments, several(len(sources), p.Source, p.Sources)))
		return
	}
	p.paragraph(fill(p.Nothing, several(len(sources), p.Source, p.Sources)))
	if len(answer.Unmatched) > 0 {
		p.paragraph(fill(p.NoSource, list(quoted(answer.Unmatched), p.Or)))
	} else if len(answer.Missing) > 0 {
		p.paragraph(fill(p.TooLittle, list(quoted(answer.Missing), p.And)))
	}
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = oneLine(s.Name) + " (" + several(s.Documents, p.Document, p.Documents) + ")"
	}
	p.paragraph(fill(p.Searched, strings.Join(names, ", ")))
	p.writeProblems(t.found.Problems)
}

// writeProblems lists the searches that were incomplete.
func (p *replyWriter) writeProblems(all []problem) {
	if len(all) == 0 {
		return
	}
	p.paragraph(p.Incomplete)
	for _, one := range all {
		line := "\n- "
		if one.Source != "" {
			line += oneLine(one.Source) + ": "
		}
		p.add(line + one.Detail)
	}
}

// count formats a number of things: "1 source", "3 sources".
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "“" + oneLine(w) + "”"
	}
	return out
}

// list joins words: "a, b and c".
func list(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}
