package research

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"carrel/internal/language"
	"carrel/internal/research/quote"
	"carrel/internal/thread"
)

// page is a reply that is being written. Each piece that is said is told the readers at once.
type page struct {
	b      strings.Builder
	length int // in code points
	checks []thread.Check
	say    func(string)
	*language.Phrases
}

func (p *page) String() string { return strings.TrimSpace(p.b.String()) }

// add writes a piece.
func (p *page) add(text string) {
	p.b.WriteString(text)
	p.length += utf8.RuneCountInString(text)
	if p.say != nil {
		p.say(text)
	}
}

// paragraph begins a new one.
func (p *page) paragraph(text string) {
	if p.length > 0 {
		text = "\n\n" + text
	}
	p.add(text)
}

// write writes an answer of quotes. It never claims to be more than that.
func (t *turn) write(p *page, answer quote.Answer, citations []thread.Citation, w why) {
	if said := w.lead(p.Phrases); said != "" {
		p.paragraph(said)
	}
	switch answer.Outcome {
	case quote.Answered:
		if w.Failure == nil {
			p.paragraph(p.Answered)
		}
	case quote.Closest:
		p.paragraph(p.Closest)
	default:
		t.abstain(p, answer)
		return
	}
	for _, c := range citations {
		p.quote(c)
	}
	if missing := answer.Missing; answer.Outcome == quote.Closest && len(missing)+len(answer.Unmatched) > 0 {
		p.paragraph(fill(p.Lacking, list(quoted(append(missing, answer.Unmatched...)), p.And)))
	}
	p.problems(t.found.Problems)
}

// fill puts a text in its place in a phrase.
func fill(phrase, text string) string { return strings.Replace(phrase, "%s", text, 1) }

// lead says why these are quotes, where a model should have answered.
func (w why) lead(p *language.Phrases) string {
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

// quote writes a quote with its mark, and under it where it stands.
func (p *page) quote(c thread.Citation) {
	p.paragraph("")
	from := p.length
	p.add("> " + shown(c.Quote) + " [" + strconv.Itoa(c.N) + "]")
	p.checks = append(p.checks, thread.Check{Start: from + 2, End: p.length, State: thread.Supported})
	p.add("\n>\n> — " + p.origin(c))
}

// origin names a document and the place in it.
func (p *page) origin(c thread.Citation) string {
	out := shown(c.Title)
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

// marks are what a quote may have of its own, and would be taken for ours.
var marks = regexp.MustCompile(`\s*[\[【]\s*\d+(\s*[,;–-]\s*\d+)*\s*[\]】]`)

// shown is a text of a source on one line of a reply: without links, images and marks. The citation has it as it is.
func shown(text string) string {
	text = strings.Join(strings.Fields(marks.ReplaceAllString(text, "")), " ")
	return quote.Plain(text, nil)
}

// abstain says that nothing answers, and why.
func (t *turn) abstain(p *page, answer quote.Answer) {
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
		names[i] = shown(s.Name) + " (" + several(s.Documents, p.Document, p.Documents) + ")"
	}
	p.paragraph(fill(p.Searched, strings.Join(names, ", ")))
	p.problems(t.found.Problems)
}

// problems says what could not be searched as it should.
func (p *page) problems(all []problem) {
	if len(all) == 0 {
		return
	}
	p.paragraph(p.Incomplete)
	for _, one := range all {
		line := "\n- "
		if one.Source != "" {
			line += shown(one.Source) + ": "
		}
		p.add(line + one.Detail)
	}
}

// count writes a number of things: "1 source", "3 sources".
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "“" + shown(w) + "”"
	}
	return out
}

// list joins words: a, b and c.
func list(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}
