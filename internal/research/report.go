package research

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"carrel/internal/agent"
	"carrel/internal/language"
	"carrel/internal/lazyregexp"
	"carrel/internal/model"
	"carrel/internal/research/quote"
	"carrel/internal/search/analysis"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// leastSectionTokens limits the length of a section in a report with many of them.
const leastSectionTokens = 800

// report is the state of a research turn.
type report struct {
	sections []*section
	// quotes are the quotes of all sections. The number of a quote is its index plus 1.
	quotes []numbered
	// failure is the first failure of the model, or the limit that was reached. stopped is set if the search ended early,
	// and skipped if the words of a question had to choose quotes for lack of time or tokens.
	failure              *failure
	timeShort, exhausted bool
	stopped, skipped     bool
	// cut is set if a section was truncated, and unverified if no citation of a section holds. brokeOff is set if the
	// model failed to write a section, failedBefore if that was the last one, and unwritten if no more sections are
	// written.
	cut, unverified                   bool
	brokeOff, failedBefore, unwritten bool
	// said is the text of finished sections that readers have been shown, and pending the text after it that they have
	// not.
	said, pending string
	disagreements *checked
}

// answerWithReport answers with a report: an outline, quotes for each of its sections, and a text for each section that
// is checked on its own. If the turn is cancelled or its deadline passes, it returns what there is.
func (t *turn) answerWithReport(ctx context.Context, g *gathered, what intent) (thread.Answer, error) {
	r := &report{}
	answer, err := t.tryReport(ctx, r, g, what)
	if err != nil && isInterrupted(ctx) {
		return t.reportSoFar(ctx, r), err
	}
	return answer, err
}

func (t *turn) tryReport(ctx context.Context, r *report, g *gathered, what intent) (thread.Answer, error) {
	if g.failure != nil {
		return t.answerInRounds(ctx, g, what) // the model failed to plan
	}
	lookups := t.firstLookups(g, what)
	var err error
	if r.sections, err = t.outline(ctx, g); err != nil {
		return thread.Answer{}, err
	}
	if g.failure != nil {
		return t.answerInRounds(ctx, g, what)
	}
	if err := t.announce(ctx, r); err != nil {
		return thread.Answer{}, err
	}
	if err := t.gatherSections(ctx, r, lookups); err != nil {
		return thread.Answer{}, err
	}
	for _, s := range r.sections {
		g.addPassages(s.passages)
		g.evidence = append(g.evidence, s.evidence...)
	}
	g.failure = r.failure
	if len(g.evidence) == 0 {
		return t.answerWithoutEvidence(ctx, g)
	}
	r.numberQuotes(t.limits)
	for _, s := range r.sections {
		if err := t.finishSection(ctx, r, s); err != nil {
			return thread.Answer{}, err
		}
	}
	if !slices.ContainsFunc(r.sections, func(s *section) bool { return s.written }) {
		return t.quoteReport(ctx, r, g)
	}
	if err := t.findDisagreements(ctx, r); err != nil {
		return thread.Answer{}, err
	}
	t.run.Delta(r.pending)
	r.said, r.pending = r.said+r.pending, ""
	return t.concludeReport(r, g.passages), nil
}

// announce shows the outline to clients as a step of its own, because the label of a step is fixed when it starts.
func (t *turn) announce(ctx context.Context, r *report) error {
	if len(r.sections) < 2 {
		return nil
	}
	label := "Outline: " + count(len(r.sections), "section") + ": " + r.titles()
	_, err := step(ctx, t, "sections", label, func(context.Context, *task.Step) (int, error) {
		return len(r.sections), nil
	})
	return err
}

// addPassages adds passages that are not there yet.
func (g *gathered) addPassages(passages []quote.Passage) {
	for _, p := range passages {
		if !slices.ContainsFunc(g.passages, func(o quote.Passage) bool {
			return o.DocumentID == p.DocumentID && o.Start == p.Start
		}) {
			g.passages = append(g.passages, p)
		}
	}
}

// quoteReport answers with quotes, because the model wrote no section.
func (t *turn) quoteReport(ctx context.Context, r *report, g *gathered) (thread.Answer, error) {
	if r.unverified {
		r.failure = cmp.Or(r.failure, modelFailed("The model's answer could not be verified against your sources."))
	}
	if r.failure == nil {
		return t.quote(ctx, g.passages, nil, quoteReason{Unanswered: true})
	}
	return t.quote(ctx, g.passages, plainQuotes(r.quotes), quoteReason{Failure: r.failure})
}

// finishSection writes a section, or quotes its evidence if the model cannot.
func (t *turn) finishSection(ctx context.Context, r *report, s *section) error {
	t.section = s
	defer func() { t.section = nil }()
	if len(s.quotes) == 0 {
		return nil
	}
	if !r.unwritten {
		if err := t.writeSection(ctx, r, s); err != nil || s.written || s.declined {
			return err
		}
	}
	part, err := step(ctx, t, "quote", "Choosing quotes", func(ctx context.Context, _ *task.Step) (checked, error) {
		return t.quoteSection(ctx, r, s)
	})
	if err == nil && part.Text != "" {
		s.part = &part
		r.pending += r.lead(s) + part.Text
	}
	return err
}

// quoteSection returns the quotes of a section as its text.
func (t *turn) quoteSection(ctx context.Context, r *report, s *section) (checked, error) {
	citations, err := t.cite(ctx, s.quotes)
	if err != nil || len(citations) == 0 {
		return checked{}, err
	}
	p := replyWriter{Phrases: t.phrasesOf(r.said)}
	p.paragraph(p.QuotesOnly)
	p.checks = append(p.checks, wholeText(p.QuotesOnly)...)
	for _, c := range citations {
		p.quote(c)
	}
	return checked{Text: p.String(), Checks: p.checks, Citations: citations}, nil
}

// lead returns what precedes the text of a section: its heading.
func (r *report) lead(s *section) string {
	lead := ""
	if r.said+r.pending != "" {
		lead = "\n\n"
	}
	if s.title != "" {
		lead += "## " + s.title + "\n\n"
	}
	return lead
}

// writeSection has the model write a section, checks it and has it corrected once.
func (t *turn) writeSection(ctx context.Context, r *report, s *section) error {
	request := t.sectionRequest(r, s)
	spent := t.spent.In + t.spent.Out + int64(model.Estimate(request, "").In+request.MaxTokens)
	if r.said != "" && spent > int64(t.limits.Tokens) {
		r.exhausted, r.skipped, r.unwritten = true, true, true
		return nil
	}
	// The text is shown after its heading. The mark of the stream is before both.
	lead, first := r.pending+r.lead(s), true
	s.live = &answerStream{quotes: quotesByNumber(s.quotes), say: func(text string) {
		if first {
			t.run.Delta(lead)
		}
		first = false
		t.run.Delta(text)
	}}
	label := "Writing"
	if s.title == "" {
		label = "Writing the answer"
	}
	s.mark = t.run.Mark().String()
	draft, err := t.askWithin(ctx, "answer", label, request, s.live, t.shareOf(s))
	if err != nil {
		return err
	}
	s.mark = draft.Shown
	text := draft.whole()
	s.draft = withoutHeadings(text)
	t.memoriesShown = t.memoriesShown || draft.Failure == nil
	f := draft.Failure
	switch {
	case s.draft == "" && draft.Expired:
		f = &outOfTime
	case s.draft == "" && f == nil:
		f = modelFailed("The model returned an empty answer. Try again.")
	case s.draft != "" && declinesToAnswer(text):
		s.declined, s.live = true, nil
		t.discard(draft.Shown)
		return nil
	}
	if r.noteWriting(f); s.draft == "" {
		s.live = nil
		t.discard(draft.Shown)
		return nil
	}
	r.cut = r.cut || draft.Cut && f == nil && !draft.Expired
	r.timeShort, r.skipped = r.timeShort || draft.Expired, r.skipped || draft.Expired
	return t.checkSection(ctx, r, s, draft, lead)
}

// shareOf returns the time for writing a section: twice its equal share of the time that is left, so that a slow
// section does not take the time of all others.
func (t *turn) shareOf(s *section) time.Duration {
	return min(t.limits.Time, 2*t.left()/time.Duration(s.of-s.n+2))
}

// noteWriting records a failure to write a section. A limit that was reached, and a second failure in a row, end the
// writing.
func (r *report) noteWriting(f *failure) {
	if f == nil {
		r.failedBefore = false
		return
	}
	r.failure, r.brokeOff = cmp.Or(r.failure, f), true
	r.unwritten = r.unwritten || r.failedBefore || f.isLimit() || f.isTimeout()
	r.failedBefore = true
}

// checkSection checks the text of a section and has it corrected once. If no sentence has a citation that holds, the
// section is not written.
func (t *turn) checkSection(ctx context.Context, r *report, s *section, draft modelAnswer, lead string) error {
	g := &gathered{question: s.question, part: s.title != ""}
	result, err := t.verify(ctx, g, s.draft, s.quotes)
	if err != nil {
		return err
	}
	if draft.Failure == nil && !r.unwritten && t.needsRepair(result) {
		if result, err = t.repair(ctx, g, result, s.quotes); err != nil {
			return err
		}
	}
	if result, err = t.strictly(ctx, g, result, s.quotes); err != nil {
		return err
	}
	s.live = nil
	if result.backed() == 0 && t.ready.Settings.Policy != agent.PolicyOpen || result.Text == "" {
		t.discard(draft.Shown)
		r.unverified = true
		return nil
	}
	if draft.Unseen || result.Text != strings.TrimSpace(sanitize(draft.whole(), quotesByNumber(s.quotes)).Text) {
		t.discard(draft.Shown)
		t.run.Delta(lead + result.Text)
	}
	s.part, s.written = &result, true
	r.said, r.pending = r.said+lead+result.Text, ""
	return nil
}

// headingLine matches the marks of a heading that the model wrote within a section.
var headingLine = lazyregexp.New(`(?m)^[ \t]*#{1,6}[ \t]+`)

// withoutHeadings turns headings within a section into text, so that only the outline has headings.
func withoutHeadings(text string) string { return headingLine.ReplaceAllString(text, "") }

// sectionRequest returns the request for the text of a section. Of the sources it contains only the numbered quotes and
// the paragraphs around them.
func (t *turn) sectionRequest(r *report, s *section) model.Request {
	if s.title == "" {
		return t.answerRequest(&s.gathered, s.quotes)
	}
	var outline strings.Builder
	for _, o := range r.sections {
		fmt.Fprintf(&outline, "%d. %s\n", o.n, o.title)
	}
	text := t.ready.notes() + t.ready.fence(`kind="outline of the report"`, outline.String()) + t.quotesText(s.quotes) +
		t.ready.fence(fmt.Sprintf(`kind="section to write" number="%d"`, s.n), s.title+"\n\n"+s.question) +
		"Question of the whole report: " + t.ready.defuse(t.q.Text)
	return model.Request{
		System:    t.ready.system(sectionPrompt),
		MaxTokens: max(t.limits.AnswerTokens/s.of, min(leastSectionTokens, t.limits.AnswerTokens)),
		Messages:  []model.Message{{Role: model.RoleUser, Text: text}},
	}
}

// phrasesOf returns the phrases in the language of a text, or of the question if the text is too short to tell.
func (t *turn) phrasesOf(text string) *language.Phrases {
	if code := analysis.Guess(text); code != "" {
		if p := language.LookupOrDefault(code).Phrases; p != nil {
			return p
		}
	}
	return t.phrases()
}
