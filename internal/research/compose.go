package research

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"carrel/internal/core"
	"carrel/internal/model"
	"carrel/internal/research/quote"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// compose has the model write the answer from quotes, checks it, has it corrected once, and falls back on the quotes
// themselves where nothing of it can be held to them.
func (t *turn) compose(ctx context.Context, g *gathered) (thread.Answer, error) {
	quotes := g.best(t.limits.Quotes)
	draft, err := t.ask(ctx, "answer", "Writing the answer", t.answerRequest(g, quotes), &live{say: t.run.Delta, quotes: keyed(quotes)})
	if err != nil {
		return thread.Answer{}, err
	}
	text := strings.TrimSpace(draft.Text)
	if draft.Cut {
		text = wholeSentences(text)
	}
	switch {
	case text == "" && draft.Failure == nil:
		draft.Failure = &failure{Kind: core.KindUpstream, Code: "model_failed", Detail: "The model answered with nothing. Try again."}
		fallthrough
	case text == "":
		return t.quote(ctx, g.passages, quotes, why{Failure: draft.Failure, Shown: draft.Shown})
	case declines(text):
		t.told = true
		return t.quote(ctx, g.passages, nil, why{Unanswered: true, Shown: draft.Shown})
	}
	t.told = true
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
		f := cmpFailure(draft.Failure, &failure{
			Kind: core.KindUpstream, Code: "model_failed", Detail: "What the model wrote could not be held to your sources.",
		})
		return t.quote(ctx, g.passages, quotes, why{Failure: f, Shown: draft.Shown})
	}
	return t.reply(g, draft, checked), nil
}

func cmpFailure(f, or *failure) *failure {
	if f != nil {
		return f
	}
	return or
}

// reply is the answer, and why it is not all that it could be.
func (t *turn) reply(g *gathered, draft said, c checked) thread.Answer {
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
	case g.late || g.failure != nil && g.failure.Code == codeTime:
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
	p := page{Phrases: own}
	if p.problems(t.found.Problems); p.length > 0 {
		answer.Text += "\n\n" + p.String()
	}
	return answer
}

// keyed are the quotes by their keys, which count from 1.
func keyed(quotes []quote.Quote) map[int][]string {
	out := make(map[int][]string, len(quotes))
	for i, q := range quotes {
		out[i+1] = []string{q.Text}
	}
	return out
}

// answerRequest is what the model answers from: quotes with their keys, and nothing else of the sources.
func (t *turn) answerRequest(g *gathered, quotes []quote.Quote) model.Request {
	text := t.ready.conversation() + t.ready.notes() + t.quotesText(quotes) + t.asked(g)
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

// checked is an answer that was held to its quotes.
type checked struct {
	Text      string            `json:"text"`
	Citations []thread.Citation `json:"citations,omitempty"`
	Checks    []thread.Check    `json:"checks,omitempty"`
	FollowUps []string          `json:"followUps,omitempty"`
	// Supported and Unsupported count the sentences that cite.
	Supported   int `json:"supported"`
	Unsupported int `json:"unsupported"`
}

// check holds an answer to its quotes, and the quotes once more to their documents.
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
		checks := tidy(strings.TrimSpace(text), known)
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
				out.Checks = append(out.Checks, thread.Check{Start: s.Start, End: s.End, State: thread.Unsupported, Reason: reasonOf(s)})
			}
		}
		out.Citations = slices.DeleteFunc(citations, func(c thread.Citation) bool { return !used[c.N] })
		t.extract(func(x *quote.Extractor, q quote.Query) {
			out.FollowUps = x.Answer(q, g.passages, t.statistics()).FollowUps
		})
		return out, nil
	})
}

// reasonOf says to a person why a sentence is not supported.
func reasonOf(s quote.Checked) string {
	switch s.Reason {
	case quote.NumberAbsent:
		return "No quote that it cites has " + list(s.Absent, "or") + "."
	case quote.WordsAbsent:
		return "It puts words in quotation marks that no quote that it cites has."
	case quote.NoSuchSource:
		return "It cited a source that is not there."
	}
	return "There is no quote behind it."
}

// repair has the model correct an answer once, and returns the better of the two.
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
	text := t.quotesText(quotes) + t.ready.fence(`kind="answer"`, first.Text) + t.ready.fence(`kind="sentences to correct"`, wrong.String()) + t.asked(g)
	draft, err := t.ask(ctx, "repair", "Correcting the answer", model.Request{
		System: t.ready.system(repairPrompt), MaxTokens: t.limits.AnswerTokens, Temperature: new(float64),
		Messages: []model.Message{{Role: model.RoleUser, Text: text}},
	}, nil)
	if err != nil || draft.Failure != nil || draft.Cut || strings.TrimSpace(draft.Text) == "" || declines(draft.Text) {
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

// wholeSentences cuts a text that broke off after its last whole sentence.
func wholeSentences(text string) string {
	end := wholeUpTo(text + " ")
	return strings.TrimSpace(text[:min(end, len(text))])
}
