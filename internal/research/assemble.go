package research

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"carrel/internal/language"
	"carrel/internal/research/quote"
	"carrel/internal/search/analysis"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// assembly is the text of a report with its checks and citations.
type assembly struct {
	text      string
	checks    []thread.Check
	citations []thread.Citation
}

// add adds a text by this package, which states nothing that a source could back.
func (a *assembly) add(text string) {
	start := utf8.RuneCountInString(a.text)
	a.text += text
	if trimmed := strings.TrimLeft(text, "\n"); strings.TrimSpace(trimmed) != "" {
		start += len(text) - len(trimmed) // line ends
		end := start + utf8.RuneCountInString(strings.TrimSpace(trimmed))
		a.checks = append(a.checks, thread.Check{Start: start, End: end, State: thread.Talk})
	}
}

// addPart adds a checked text.
func (a *assembly) addPart(c checked) {
	shift := utf8.RuneCountInString(a.text)
	a.text += c.Text
	for _, check := range c.Checks {
		check.Start += shift
		check.End += shift
		a.checks = append(a.checks, check)
	}
	for _, citation := range c.Citations {
		known := func(o thread.Citation) bool { return o.N == citation.N }
		if !slices.ContainsFunc(a.citations, known) {
			a.citations = append(a.citations, citation)
		}
	}
}

// addHeading adds a heading after an empty line.
func (a *assembly) addHeading(title string) {
	if a.text != "" {
		a.text += "\n\n"
	}
	a.add("## " + title)
	a.text += "\n\n"
}

// assemble puts the finished sections of a report together, with what sources disagree about.
func (r *report) assemble(own *language.Phrases) assembly {
	var a assembly
	for _, s := range r.sections {
		if s.part == nil {
			continue
		}
		if s.title != "" {
			a.addHeading(s.title)
		}
		a.addPart(*s.part)
	}
	if r.disagreements != nil {
		a.addHeading(own.Disagreement)
		a.addPart(*r.disagreements)
	}
	slices.SortStableFunc(a.citations, func(x, y thread.Citation) int { return cmp.Compare(x.N, y.N) })
	return a
}

// concludeReport returns the report: its sections, what sources disagree about, what was not found, and why it is
// incomplete. It shows readers everything that they have not seen.
func (t *turn) concludeReport(r *report, passages []quote.Passage) thread.Answer {
	own := t.phrasesOf(r.said)
	a := r.assemble(own)
	t.addMissing(&a, r, own)
	reason := r.reason(own)
	answer := t.finishReport(&a, reason, own)
	answer.Partial = answer.Partial || r.unverified
	answer.FollowUps = t.followUps(passages)
	t.showRest(r, answer.Text)
	return answer
}

// finishReport adds the reason why a report is incomplete and the problems of its searches.
func (t *turn) finishReport(a *assembly, reason string, own *language.Phrases) thread.Answer {
	if reason != "" {
		a.add("\n\n" + fill(own.Partial, reason))
	}
	p := replyWriter{Phrases: own}
	if p.writeProblems(t.found.Problems); p.length > 0 {
		a.add("\n\n" + p.String())
	}
	return thread.Answer{Text: a.text, Citations: a.citations, Checks: a.checks, Partial: reason != ""}
}

// showRest shows readers the part of the text after the finished sections, instead of a text that was being written.
func (t *turn) showRest(r *report, text string) {
	for _, s := range r.sections {
		if s.live != nil {
			t.discard(s.mark)
		}
	}
	t.run.Delta(strings.TrimPrefix(text, r.said))
}

// reason returns why a report is incomplete, or nothing.
func (r *report) reason(own *language.Phrases) string {
	switch {
	case r.failure != nil && r.failure.Code == codeCap:
		return own.CapReached
	case r.failure != nil && r.failure.isTimeout(), r.timeShort && r.skipped:
		return own.RanOut
	case r.exhausted && r.skipped:
		return own.UsedUp
	case r.brokeOff:
		return own.BrokeOff
	case r.failure != nil:
		return own.FailedEarly
	case r.cut:
		return own.TooLong
	}
	return ""
}

// addMissing lists the questions that no source answers, the words that no source contains, and the sections that were
// not finished.
func (t *turn) addMissing(a *assembly, r *report, own *language.Phrases) {
	var missing, unfinished []string
	words := t.unknownWords(r, nil)
	for _, s := range r.sections {
		switch {
		case s.title == "" || s.part != nil:
		case !s.missing():
			unfinished = append(unfinished, "- "+s.title)
		default:
			missing = append(missing, "- "+s.title+": "+s.question)
			words = append(words, t.unknownWords(r, s)...)
		}
	}
	if len(missing)+len(words) > 0 {
		a.addHeading(own.NotFound)
	}
	if len(missing) > 0 {
		a.add(own.NoAnswers)
		a.text += "\n\n"
		a.addLines(missing)
	}
	if len(words) > 0 {
		slices.Sort(words)
		if len(missing) > 0 {
			a.text += "\n\n"
		}
		a.add(fill(own.NoSource, list(quoted(slices.Compact(words)), own.Or)))
	}
	if len(unfinished) > 0 {
		a.addHeading(own.Unfinished)
		a.addLines(unfinished)
	}
}

// addLines adds the items of a list.
func (a *assembly) addLines(lines []string) {
	for i, line := range lines {
		if i > 0 {
			a.text += "\n"
		}
		a.add(line)
	}
}

// unknownWords returns the words of the question, or of a section's question, that no source contains. Only names,
// numbers and words that the outline searches for count: a source need not contain the verb of a question.
func (t *turn) unknownWords(r *report, of *section) []string {
	if t.statistics() == nil {
		return nil
	}
	t.section = of
	defer func() { t.section = nil }()
	var unmatched []string
	t.withExtractor(func(x *quote.Extractor, q quote.Query) {
		unmatched = x.Answer(q, nil, t.statistics()).Unmatched
	})
	var subjects []string
	for _, s := range r.sections {
		subjects = append(subjects, analysis.Stems(s.title)...)
		for _, l := range s.lookups[min(1, len(s.lookups)):] { // the first one is the question
			subjects = append(subjects, analysis.Stems(l.Text)...)
		}
	}
	return slices.DeleteFunc(unmatched, func(word string) bool {
		searched := slices.ContainsFunc(analysis.Stems(word), func(s string) bool { return slices.Contains(subjects, s) })
		first, _ := utf8.DecodeRuneInString(word)
		return !searched && !unicode.IsUpper(first) && !strings.ContainsFunc(word, unicode.IsDigit)
	})
}

// isInterrupted reports whether a turn was cancelled or passed its deadline. A turn that was interrupted otherwise is
// resumed.
func isInterrupted(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, task.ErrCancelled) || errors.Is(cause, task.ErrDeadline)
}

// partialTimeout limits the reads for the report of an interrupted turn. The engine abandons a turn that does not stop.
const partialTimeout = 2 * time.Second

// reportSoFar returns the report of an interrupted turn: the finished sections, the text that was being written, and
// the quotes of the other sections. It makes no model calls and no steps. Without anything, the answer is empty.
func (t *turn) reportSoFar(ctx context.Context, r *report) thread.Answer {
	own := t.phrasesOf(r.said)
	reason := own.WasCancelled
	if errors.Is(context.Cause(ctx), task.ErrDeadline) {
		reason = own.RanOut
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), partialTimeout)
	defer cancel()
	if len(r.quotes) == 0 {
		t.chooseForUnfinished(r)
		r.numberQuotes(t.limits)
	}
	t.section = nil
	for _, s := range r.sections {
		if s.part != nil || s.declined {
			continue
		}
		if err := t.finishNow(ctx, r, s); err != nil {
			t.Log.WarnContext(ctx, "finish an interrupted report", "turn", t.run.Task().ID, "error", err)
			return thread.Answer{}
		}
	}
	a := r.assemble(own)
	if len(a.citations) == 0 {
		return thread.Answer{}
	}
	t.addMissing(&a, r, own)
	answer := t.finishReport(&a, reason, own)
	t.showRest(r, answer.Text)
	return answer
}

// chooseForUnfinished chooses quotes by words for the sections whose passages were read, but not shown to the model.
func (t *turn) chooseForUnfinished(r *report) {
	for _, s := range r.sections {
		if t.section = s; !s.searched && len(s.evidence) == 0 && len(s.passages) > 0 {
			s.add(t.chooseByWords(s.passages))
		}
	}
}

// finishNow ends a section of an interrupted turn: with the text so far, checked by rules, or with its quotes.
func (t *turn) finishNow(ctx context.Context, r *report, s *section) error {
	text := s.draft
	if s.live != nil {
		text = cmp.Or(text, s.live.shown)
	}
	if strings.TrimSpace(text) != "" {
		c, err := t.checkByRules(ctx, text, s.quotes)
		if err != nil {
			return err
		}
		if c.backed() > 0 {
			s.part = &c
			return nil
		}
	}
	if len(s.quotes) == 0 {
		return nil
	}
	part, err := t.quoteSection(ctx, r, s)
	if err == nil && part.Text != "" {
		s.part = &part
	}
	return err
}
