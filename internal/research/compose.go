package research

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"carrel/internal/model"
	"carrel/internal/research/quote"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// compose has the model write the answer from the quotes, checks it and has it corrected once. If nothing of it is
// supported, the quotes themselves are the answer.
func (t *turn) compose(ctx context.Context, g *gathered) (thread.Answer, error) {
	quotes := g.best(t.limits.Quotes)
	live := &answerStream{say: t.run.Delta, quotes: quotesByNumber(quotes)}
	draft, err := t.ask(ctx, "answer", "Writing the answer", t.answerRequest(g, quotes), live)
	if err != nil {
		return thread.Answer{}, err
	}
	text := strings.TrimSpace(draft.Text)
	if draft.Cut {
		text = wholeSentences(text)
	}
	switch {
	case text == "" && draft.Failure == nil:
		draft.Failure = modelFailed("The model returned an empty answer. Try again.")
		fallthrough
	case text == "":
		return t.quote(ctx, g.passages, quotes, quoteReason{Failure: draft.Failure, Shown: draft.Shown})
	case declinesToAnswer(text):
		t.memoriesShown = true
		return t.quote(ctx, g.passages, nil, quoteReason{Unanswered: true, Shown: draft.Shown})
	}
	t.memoriesShown = true
	checked, err := t.check(ctx, g, text, quotes)
	if err != nil {
		return thread.Answer{}, err
	}
	if (checked.Unsupported > 0 || checked.Supported == 0) && draft.Failure == nil {
		before := checked.Text
		if checked, err = t.repair(ctx, g, checked, quotes); err != nil {
			return thread.Answer{}, err
		}
		if checked.Text != before && checked.Supported > 0 {
			t.discard(draft.Shown)
			t.run.Delta(checked.Text)
		}
	}
	if checked.Supported == 0 {
		f := cmp.Or(draft.Failure, modelFailed("The model's answer could not be verified against your sources."))
		return t.quote(ctx, g.passages, quotes, quoteReason{Failure: f, Shown: draft.Shown})
	}
	return t.reply(g, draft, checked), nil
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

// quotesByNumber maps the numbers of quotes, from 1, to their texts.
func quotesByNumber(quotes []quote.Quote) map[int][]string {
	out := make(map[int][]string, len(quotes))
	for i, q := range quotes {
		out[i+1] = []string{q.Text}
	}
	return out
}

// answerRequest returns the request for the answer. Of the sources it contains only the numbered quotes.
func (t *turn) answerRequest(g *gathered, quotes []quote.Quote) model.Request {
	text := t.ready.conversation() + t.ready.notes() + t.quotesText(quotes) + t.questionText(g)
	return model.Request{
		System: t.ready.system(answerPrompt), MaxTokens: t.limits.AnswerTokens,
		Messages: []model.Message{{Role: model.RoleUser, Text: text}},
	}
}

func (t *turn) quotesText(quotes []quote.Quote) string {
	var b strings.Builder
	for i, q := range quotes {
		title := q.Title
		if q.Year != 0 {
			title += fmt.Sprintf(" (%d)", q.Year)
		}
		b.WriteString(t.ready.fence(fmt.Sprintf(`kind="quote" number="%d"`, i+1), "from: "+title+"\n\n"+q.Text))
	}
	return b.String()
}

// checked is an answer after the check against its quotes.
type checked struct {
	Text      string            `json:"text"`
	Citations []thread.Citation `json:"citations,omitempty"`
	Checks    []thread.Check    `json:"checks,omitempty"`
	FollowUps []string          `json:"followUps,omitempty"`
	// Supported and Unsupported count the sentences with citations.
	Supported   int `json:"supported"`
	Unsupported int `json:"unsupported"`
}

// check checks an answer against its quotes, and the quotes against their documents.
func (t *turn) check(ctx context.Context, g *gathered, text string, quotes []quote.Quote) (checked, error) {
	return step(ctx, t, "check", "Checking citations", func(ctx context.Context, _ *task.Step) (checked, error) {
		citations, err := t.cite(ctx, quotes)
		if err != nil {
			return checked{}, err
		}
		known := make(map[int][]string, len(citations))
		for _, c := range citations {
			known[c.N] = []string{c.Quote}
		}
		checks := sanitize(strings.TrimSpace(text), known)
		out := checked{Text: strings.TrimRight(checks.Text, " \n\t")}
		used := map[int]bool{}
		for _, s := range checks.Sentences {
			for _, key := range s.Keys {
				used[key] = true
			}
			switch s.State {
			case quote.Supported:
				out.Supported++
				out.Checks = append(out.Checks, thread.Check{Start: s.Start, End: s.End, State: thread.Supported})
			case quote.Unsupported:
				out.Unsupported++
				out.Checks = append(out.Checks, thread.Check{
					Start: s.Start, End: s.End, State: thread.Unsupported, Reason: reasonOf(s),
				})
			}
		}
		out.Citations = slices.DeleteFunc(citations, func(c thread.Citation) bool { return !used[c.N] })
		t.withExtractor(func(x *quote.Extractor, q quote.Query) {
			out.FollowUps = x.Answer(q, g.passages, t.statistics()).FollowUps
		})
		return out, nil
	})
}

// reasonOf explains to the user why a sentence is not supported.
func reasonOf(s quote.Checked) string {
	switch s.Reason {
	case quote.NumberAbsent:
		return "The quotes it cites do not contain " + list(s.Absent, "or") + "."
	case quote.WordsAbsent:
		return "It quotes words that are not in the quotes it cites."
	case quote.NoSuchSource:
		return "It cites a source that does not exist."
	}
	return "It is not backed by a quote."
}

// repair has the model correct an answer once, and returns the better one.
func (t *turn) repair(ctx context.Context, g *gathered, first checked, quotes []quote.Quote) (checked, error) {
	var wrong strings.Builder
	for _, c := range first.Checks {
		if c.State == thread.Unsupported {
			wrong.WriteString("- " + strings.TrimSpace(slice(first.Text, c.Start, c.End)) + " (" + c.Reason + ")\n")
		}
	}
	if first.Supported+first.Unsupported == 0 {
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
	second, err := t.check(ctx, g, draft.Text, quotes)
	if err != nil {
		return first, err
	}
	if second.Supported > 0 && (first.Supported == 0 || second.Unsupported < first.Unsupported) {
		return second, nil
	}
	return first, nil
}

// wholeSentences removes an incomplete last sentence.
func wholeSentences(text string) string {
	end := lastSentenceEnd(text + " ")
	return strings.TrimSpace(text[:min(end, len(text))])
}
