package research

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"carrel/internal/agent"
	"carrel/internal/model"
	"carrel/internal/research/quote"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// compose has the model write the answer from the quotes, checks it and has it corrected once. If no sentence of it has
// a citation that holds, the quotes themselves are the answer.
func (t *turn) compose(ctx context.Context, g *gathered) (thread.Answer, error) {
	chosen := g.best(t.limits.Quotes)
	quotes := number(chosen)
	for i := range quotes {
		quotes[i].paragraph = g.paragraphOf(quotes[i].Quote)
	}
	live := &answerStream{say: t.run.Delta, quotes: quotesByNumber(quotes)}
	draft, err := t.ask(ctx, "answer", "Writing the answer", t.answerRequest(g, quotes), live)
	if err != nil {
		return thread.Answer{}, err
	}
	text := draft.whole()
	switch {
	case text == "" && draft.Failure == nil:
		draft.Failure = modelFailed("The model returned an empty answer. Try again.")
		fallthrough
	case text == "":
		return t.quote(ctx, g.passages, chosen, quoteReason{Failure: draft.Failure, Shown: draft.Shown})
	case declinesToAnswer(text):
		t.memoriesShown = true
		return t.quote(ctx, g.passages, nil, quoteReason{Unanswered: true, Shown: draft.Shown})
	}
	t.memoriesShown = true
	result, err := t.verify(ctx, g, text, quotes)
	if err != nil {
		return thread.Answer{}, err
	}
	before := result.Text
	if draft.Failure == nil && t.needsRepair(result) {
		if result, err = t.repair(ctx, g, result, quotes); err != nil {
			return thread.Answer{}, err
		}
	}
	if result, err = t.strictly(ctx, g, result, quotes); err != nil {
		return thread.Answer{}, err
	}
	if (result.Text != before || draft.Unseen) && result.backed() > 0 {
		t.discard(draft.Shown)
		t.run.Delta(result.Text)
	}
	if result.backed() == 0 && t.ready.Settings.Policy != agent.PolicyOpen {
		f := cmp.Or(draft.Failure, modelFailed("The model's answer could not be verified against your sources."))
		return t.quote(ctx, g.passages, chosen, quoteReason{Failure: f, Shown: draft.Shown})
	}
	return t.reply(g, draft, result), nil
}

// needsRepair reports whether the model should correct an answer: a citation does not hold, or there is none. With the
// policy strict, a fact without a citation is corrected as well; with the policy open, nothing is.
func (t *turn) needsRepair(c checked) bool {
	return t.ready.Settings.Policy != agent.PolicyOpen && (t.faults(c) > 0 || c.backed() == 0)
}

// faults counts the sentences of an answer that the policy of the agent objects to.
func (t *turn) faults(c checked) int {
	if t.ready.Settings.Policy == agent.PolicyStrict {
		return c.refuted() + c.uncited()
	}
	return c.refuted()
}

// strictly removes the sentences of an answer that the sources do not support, if the policy is strict.
func (t *turn) strictly(ctx context.Context, g *gathered, c checked, quotes []numbered) (checked, error) {
	if t.ready.Settings.Policy != agent.PolicyStrict || c.refuted()+c.uncited() == 0 {
		return c, nil
	}
	text := []rune(c.Text)
	for _, check := range slices.Backward(c.Checks) {
		if check.Refuted() || check.State == thread.Uncited {
			text = slices.Delete(text, check.Start, check.End)
		}
	}
	return t.check(ctx, g, strings.TrimSpace(string(text)), quotes)
}

// longestParagraph limits the text around a quote in code points.
const longestParagraph = 1200

// paragraphOf returns the heading and the paragraph around a quote, if they say more than the quote.
func (g *gathered) paragraphOf(q quote.Quote) string {
	for _, p := range g.passages {
		from, to := q.Start-p.Start, q.End-p.Start
		if p.DocumentID != q.DocumentID || from < 0 || to > utf8.RuneCountInString(p.Text) {
			continue
		}
		text := []rune(p.Text)
		start, end := from, to
		for start > 0 && to-start < longestParagraph && !isBreak(text, start-1) {
			start--
		}
		for end < len(text) && end-start < longestParagraph && !isBreak(text, end) {
			end++
		}
		paragraph := strings.TrimSpace(string(text[start:end]))
		if p.Heading != "" {
			return "heading: " + p.Heading + "\n\n" + paragraph
		}
		if paragraph == strings.TrimSpace(q.Text) {
			return ""
		}
		return paragraph
	}
	return ""
}

// isBreak reports whether an empty line or a new page is at a position.
func isBreak(text []rune, at int) bool {
	return text[at] == '\f' || text[at] == '\n' && at+1 < len(text) && text[at+1] == '\n'
}

// reply returns the answer, with the reason if it is partial.
func (t *turn) reply(g *gathered, draft modelAnswer, c checked) thread.Answer {
	answer := thread.Answer{Text: c.Text, Citations: c.Citations, Checks: c.Checks, FollowUps: c.FollowUps}
	own, reason := t.phrases(), ""
	switch {
	case draft.Failure != nil && draft.Failure.Code == codeTime:
		reason = own.RanOut
	case draft.Failure != nil:
		reason = own.BrokeOff
	case draft.Cut:
		reason = own.TooLong
	case g.failure != nil && g.failure.Code == codeCap:
		reason = own.CapReached
	case g.timeShort || g.failure != nil && g.failure.Code == codeTime:
		reason = own.RanOut
	case g.failure != nil:
		reason = own.FailedEarly
	case g.exhausted:
		reason = own.UsedUp
	}
	if reason != "" {
		answer.Partial = true
		answer.Text += "\n\n" + fill(own.Partial, reason)
	}
	p := replyWriter{Phrases: own}
	if p.writeProblems(t.found.Problems); p.length > 0 {
		answer.Text += "\n\n" + p.String()
	}
	return answer
}

// quotesByNumber maps the numbers of quotes to their texts.
func quotesByNumber(quotes []numbered) map[int][]string {
	out := make(map[int][]string, len(quotes))
	for _, q := range quotes {
		out[q.n] = []string{q.Text}
	}
	return out
}

// answerRequest returns the request for the answer. Of the sources it contains only the numbered quotes and the
// paragraphs around them.
func (t *turn) answerRequest(g *gathered, quotes []numbered) model.Request {
	text := t.ready.conversation() + t.ready.notes() + t.quotesText(quotes) + t.questionText(g)
	return model.Request{
		System: t.ready.system(answerPrompt), MaxTokens: t.limits.AnswerTokens,
		Messages: []model.Message{{Role: model.RoleUser, Text: text}},
	}
}

func (t *turn) quotesText(quotes []numbered) string { return t.ready.quotesText(quotes) }

// quotesText returns quotes and the paragraphs around them in fences.
func (p prepared) quotesText(quotes []numbered) string {
	var b strings.Builder
	for _, q := range quotes {
		title := q.Title
		if q.Year != 0 {
			title += fmt.Sprintf(" (%d)", q.Year)
		}
		b.WriteString(p.fence(fmt.Sprintf(`kind="quote" number="%d"`, q.n), "from: "+title+"\n\n"+q.Text))
		if q.paragraph != "" {
			b.WriteString(p.fence(fmt.Sprintf(`kind="paragraph around the quote" number="%d"`, q.n), q.paragraph))
		}
	}
	return b.String()
}

// checked is an answer after the check against its quotes.
type checked struct {
	Text      string            `json:"text"`
	Citations []thread.Citation `json:"citations,omitempty"`
	Checks    []thread.Check    `json:"checks,omitempty"`
	FollowUps []string          `json:"followUps,omitempty"`
}

// backed counts the sentences with a citation that no check refuted, and refuted the others with a citation.
func (c checked) backed() int  { return countChecks(c.Checks, thread.Check.Backed) }
func (c checked) refuted() int { return countChecks(c.Checks, thread.Check.Refuted) }

// uncited counts the facts without a citation.
func (c checked) uncited() int {
	return countChecks(c.Checks, func(c thread.Check) bool { return c.State == thread.Uncited })
}

func countChecks(checks []thread.Check, is func(thread.Check) bool) int {
	n := 0
	for _, c := range checks {
		if is(c) {
			n++
		}
	}
	return n
}

// check checks an answer against its quotes by rules, and the quotes against their documents.
func (t *turn) check(ctx context.Context, g *gathered, text string, quotes []numbered) (checked, error) {
	return step(ctx, t, "check", "Checking citations", func(ctx context.Context, _ *task.Step) (checked, error) {
		out, err := t.checkByRules(ctx, text, quotes)
		if err == nil && len(g.passages) > 0 {
			out.FollowUps = t.followUps(g.passages)
		}
		return out, err
	})
}

// checkByRules is check without a step.
func (t *turn) checkByRules(ctx context.Context, text string, quotes []numbered) (checked, error) {
	citations, err := t.cite(ctx, quotes)
	if err != nil {
		return checked{}, err
	}
	held := slices.DeleteFunc(slices.Clone(quotes), func(q numbered) bool {
		return !slices.ContainsFunc(citations, func(c thread.Citation) bool { return c.N == q.n })
	})
	checks := sanitize(strings.TrimSpace(text), quotesByNumber(held))
	out := checked{Text: strings.TrimRight(checks.Text, " \n\t")}
	out.Checks = t.judgeSentences(checks, held)
	used := map[string]bool{}
	for _, mark := range markNumber.FindAllStringSubmatch(out.Text, -1) {
		used[mark[1]] = true
	}
	out.Citations = slices.DeleteFunc(citations, func(c thread.Citation) bool { return !used[strconv.Itoa(c.N)] })
	return out, nil
}

// followUps returns suggested next questions.
func (t *turn) followUps(passages []quote.Passage) (out []string) {
	t.withExtractor(func(x *quote.Extractor, q quote.Query) {
		out = x.Answer(q, passages, t.statistics()).FollowUps
	})
	return out
}

// repair has the model correct an answer once, and returns the better one.
func (t *turn) repair(ctx context.Context, g *gathered, first checked, quotes []numbered) (checked, error) {
	var wrong strings.Builder
	for _, c := range first.Checks {
		sentence := "- " + strings.TrimSpace(slice(first.Text, c.Start, c.End))
		switch {
		case c.Refuted():
			wrong.WriteString(sentence + " (" + c.Detail + ")\n")
		case c.State == thread.Uncited && t.ready.Settings.Policy == agent.PolicyStrict:
			wrong.WriteString(sentence + " (It has no citation.)\n")
		}
	}
	if first.backed()+first.refuted() == 0 {
		wrong.WriteString("- Nothing in it cites a quote.\n")
	}
	text := t.quotesText(quotes) + t.ready.fence(`kind="answer"`, first.Text) +
		t.ready.fence(`kind="sentences to correct"`, wrong.String()) + t.questionText(g)
	draft, err := t.ask(ctx, "repair", "Correcting the answer", model.Request{
		System: t.ready.system(repairPrompt), MaxTokens: t.limits.AnswerTokens, Temperature: new(float64),
		Messages: []model.Message{{Role: model.RoleUser, Text: text}},
	}, nil)
	if err != nil || draft.Failure != nil || draft.Cut ||
		strings.TrimSpace(draft.Text) == "" || declinesToAnswer(draft.Text) {
		return first, err
	}
	second, err := t.verify(ctx, g, draft.Text, quotes)
	if err != nil {
		return first, err
	}
	if second.backed() > 0 && (first.backed() == 0 || t.faults(second) < t.faults(first)) {
		return second, nil
	}
	return first, nil
}

// wholeSentences removes an incomplete last sentence.
func wholeSentences(text string) string {
	end := lastSentenceEnd(text + " ")
	return strings.TrimSpace(text[:min(end, len(text))])
}
