package research

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"carrel/internal/model"
	"carrel/internal/thread"
)

const (
	// maxExchanges is how many exchanges are shown to a model; older ones are summarized. It is small enough that all
	// exchanges since the last summary are among the messages that are read.
	maxExchanges = 30
	// longestShown limits an earlier answer in code points.
	longestShown = 4000
	// summaryTokens limits a summary.
	summaryTokens = 600
	// maxTitles is how many titles of summarized exchanges are kept.
	maxTitles = 40
)

// history sets the earlier exchanges of the thread from its messages, which are sorted newest first.
func (p *prepared) history(t *turn, messages []thread.Message) {
	var answer *thread.Message
	withCitations := 0
	for i := range messages {
		m := &messages[i]
		if m.ID == t.q.MessageID || m.TurnID == t.run.Task().ID {
			continue
		}
		if p.Summary != nil && m.ID == p.Summary.Through {
			break
		}
		if m.Role == thread.RoleAssistant {
			if p.Summary == nil {
				p.Summary = m.Answer.Summary
			}
			answer = m
			continue
		}
		e := exchange{Question: m.Text, LastMessage: m.ID}
		if answer != nil && answer.TurnID == m.TurnID {
			e.answered(answer)
			if len(e.Citations) > 0 {
				if withCitations++; withCitations > citedAnswers {
					e.Citations = nil
				}
			}
			if len(p.Talk) == 0 {
				p.Choices = choicesOf(answer.Answer.Actions)
			}
		}
		answer = nil
		p.Talk = append([]exchange{e}, p.Talk...)
	}
}

// answered adds the answer of an exchange.
func (e *exchange) answered(m *thread.Message) {
	e.Answer, e.LastMessage = clip(m.Text, longestShown), m.ID
	e.Searched, e.Citations = m.Answer.Query, m.Answer.Citations
	for _, c := range m.Answer.Citations {
		if one := (cited{c.DocumentID, c.SourceID}); !slices.Contains(e.Cited, one) {
			e.Titles, e.Cited = append(e.Titles, c.Title), append(e.Cited, one)
		}
	}
}

func choicesOf(actions []thread.Action) []thread.Action {
	return slices.DeleteFunc(slices.Clone(actions), func(a thread.Action) bool { return a.State != thread.ActionChoice })
}

// lastCitations returns the citations of the last answer that has any.
func (p prepared) lastCitations() []thread.Citation {
	for _, e := range slices.Backward(p.Talk) {
		if len(e.Citations) > 0 {
			return e.Citations
		}
	}
	return nil
}

// allCitations returns one citation for each document that recent answers cite, newest answer first.
func (p prepared) allCitations() []thread.Citation {
	var all []thread.Citation
	for _, e := range slices.Backward(p.Talk) {
		all = append(all, e.Citations...)
	}
	return distinct(all)
}

// tokensOf estimates the tokens of a text.
func tokensOf(text string) int { return model.Estimate(model.Request{}, text).Out }

func (e exchange) tokens() int { return tokensOf(e.Question) + tokensOf(e.Answer) }

// summarize replaces the older exchanges by a summary if the conversation exceeds its token budget. It leaves half of
// the budget, so that the next turns need no summary. If the model fails, the older questions are shown without their
// answers.
func (t *turn) summarize(ctx context.Context) error {
	total, kept := 0, 0
	for i, e := range slices.Backward(t.ready.Talk) {
		if total += e.tokens(); total <= t.limits.History/2 && len(t.ready.Talk)-i <= maxExchanges/2 {
			kept++
		}
	}
	if total <= t.limits.History && len(t.ready.Talk) <= maxExchanges {
		return nil
	}
	kept = max(kept, 1)
	old := t.ready.Talk[:len(t.ready.Talk)-kept]
	if len(old) == 0 {
		return nil
	}
	text := prepared{Nonce: t.ready.Nonce, Talk: old, Summary: t.ready.Summary}.conversation()
	answer, err := t.ask(ctx, "summary", "Summarizing the conversation", model.Request{
		System: t.ready.rules(summaryPrompt), MaxTokens: summaryTokens, Temperature: new(float64),
		Messages: []model.Message{{Role: model.RoleUser, Text: text + "Write the summary."}},
	}, nil)
	if err != nil {
		return err
	}
	summary := strings.TrimSpace(answer.Text)
	if answer.Failure != nil || summary == "" {
		for i := range old {
			old[i].Answer = ""
		}
		return nil
	}
	first := thread.Summary{First: old[0].Question}
	if t.ready.Summary != nil {
		first = *t.ready.Summary
	}
	for _, e := range old {
		for _, title := range e.Titles {
			if !slices.Contains(first.Titles, title) {
				first.Titles = append(first.Titles, title)
			}
		}
	}
	t.ready.Summary = &thread.Summary{
		Through: old[len(old)-1].LastMessage, Text: summary, First: clip(first.First, longestMemory),
		Titles: first.Titles[max(0, len(first.Titles)-maxTitles):],
	}
	t.ready.Talk, t.newSummary = t.ready.Talk[len(old):], true
	return nil
}

// conversation returns the earlier exchanges, numbered from 1.
func (p prepared) conversation() string {
	var b strings.Builder
	if s := p.Summary; s != nil {
		fmt.Fprintf(&b, "First question of the user: %s\nSummary of the older messages: %s\n", s.First, s.Text)
		if len(s.Titles) > 0 {
			b.WriteString("Documents cited in them: " + strings.Join(s.Titles, "; ") + "\n")
		}
		b.WriteByte('\n')
	}
	for i, e := range p.Talk {
		fmt.Fprintf(&b, "Q%d: %s\n", i+1, clip(e.Question, longestShown))
		if e.Answer != "" {
			fmt.Fprintf(&b, "A%d: %s\n", i+1, e.Answer)
		}
		if len(e.Titles) > 0 {
			fmt.Fprintf(&b, "Documents cited in A%d: %s\n", i+1, strings.Join(e.Titles, "; "))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return p.fence(`kind="conversation so far"`, b.String())
}
