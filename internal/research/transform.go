package research

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/model"
	"carrel/internal/research/quote"
	"carrel/internal/thread"
)

// numbered is a quote with the number that marks refer to, and the paragraph around it.
type numbered struct {
	quote.Quote
	n         int
	paragraph string
}

// number numbers quotes from 1.
func number(quotes []quote.Quote) []numbered {
	out := make([]numbered, len(quotes))
	for i, q := range quotes {
		out[i] = numbered{Quote: q, n: i + 1}
	}
	return out
}

// earlierAnswer is the input of a transformation. Its marks refer to the numbers of the material.
type earlierAnswer struct {
	text      string
	citations []thread.Citation
}

// earlierAnswers returns the answers with these numbers, or the last answer. Their citations get distinct numbers, and
// keep their own ones where they can. Replies of the conversation count only if there is nothing else.
func (t *turn) earlierAnswers(numbers []int) []earlierAnswer {
	var at []int
	for _, n := range numbers {
		if n >= 1 && n <= len(t.ready.Talk) && t.ready.Talk[n-1].Answer != "" && !slices.Contains(at, n-1) {
			at = append(at, n-1)
		}
	}
	if len(at) == 0 {
		at = lastAnswered(t.ready.Talk, 1)
	}
	slices.Sort(at)
	used := map[int]string{}
	var out []earlierAnswer
	for _, i := range at {
		e := t.ready.Talk[i]
		renumbered := map[int]int{}
		one := earlierAnswer{}
		for _, c := range e.Citations {
			key := c.DocumentID + ":" + strconv.Itoa(c.Start) + "-" + strconv.Itoa(c.End)
			n := c.N
			for used[n] != "" && used[n] != key {
				n++
			}
			known := used[n] == key
			used[n], renumbered[c.N] = key, n
			if c.N = n; !known {
				one.citations = append(one.citations, c)
			}
		}
		one.text = renumber(e.Answer, renumbered)
		out = append(out, one)
	}
	return out
}

// renumber replaces the marks of a text, and removes the marks without a citation.
func renumber(text string, numbers map[int]int) string {
	return markNumber.ReplaceAllStringFunc(text, func(mark string) string {
		n, _ := strconv.Atoi(strings.Trim(mark, "[]")) // digits only
		if numbers[n] == 0 {
			return ""
		}
		return "[" + strconv.Itoa(numbers[n]) + "]"
	})
}

// lastAnswered returns the indexes of the last n answers with different citations, or of the last answers if there are
// none with citations.
func lastAnswered(talk []exchange, n int) []int {
	var withCitations, all []int
	for i, e := range slices.Backward(talk) {
		if e.Answer == "" {
			continue
		}
		all = append(all, i)
		// A transformation has the citations of the answer that it was written from.
		known := slices.ContainsFunc(withCitations, func(o int) bool { return sameCitations(talk[o], e) })
		if len(e.Citations) > 0 && !known {
			withCitations = append(withCitations, i)
		}
	}
	if len(withCitations) > 0 {
		all = withCitations
	}
	all = all[:min(n, len(all))]
	slices.Reverse(all)
	return all
}

// sameCitations reports whether one exchange cites a subset of the quotes of the other.
func sameCitations(a, b exchange) bool {
	if len(a.Citations) > len(b.Citations) {
		a, b = b, a
	}
	for _, c := range a.Citations {
		if !slices.ContainsFunc(b.Citations, func(o thread.Citation) bool {
			return o.DocumentID == c.DocumentID && o.Start == c.Start && o.End == c.End
		}) {
			return false
		}
	}
	return true
}

// material returns the quotes of earlier answers.
func material(earlier []earlierAnswer) []numbered {
	var out []numbered
	for _, e := range earlier {
		for _, c := range e.citations {
			out = append(out, numbered{Quote: quoteOfCitation(c), n: c.N})
		}
	}
	return out
}

// transform has the model write earlier answers in another form. Marks keep referring to the same quotes, which are
// compared with their documents again, and every sentence is checked again.
func (t *turn) transform(ctx context.Context, earlier []earlierAnswer) (thread.Answer, error) {
	quotes := material(earlier)
	live := &answerStream{say: t.run.Delta, quotes: quotesByNumber(quotes)}
	var answers strings.Builder
	for i, e := range earlier {
		answers.WriteString(t.ready.fence(fmt.Sprintf(`kind="answer" number="%d"`, i+1), e.text))
	}
	text := t.ready.notes() + t.quotesText(quotes) + answers.String() + "Request: " + t.ready.defuse(t.q.Text)
	draft, err := t.ask(ctx, "transform", "Rewriting the answer", model.Request{
		System: t.ready.system(transformPrompt), MaxTokens: t.limits.AnswerTokens,
		Messages: []model.Message{{Role: model.RoleUser, Text: text}},
	}, live)
	if err != nil {
		return thread.Answer{}, err
	}
	written := strings.TrimSpace(draft.Text)
	if draft.Cut {
		written = wholeSentences(written)
	}
	if written == "" && draft.Failure == nil {
		draft.Failure = modelFailed("The model returned an empty answer. Try again.")
	}
	if written == "" {
		if len(quotes) == 0 {
			return t.withoutReply(draft.Failure)
		}
		return t.quote(ctx, nil, plainQuotes(quotes), quoteReason{Failure: draft.Failure, Shown: draft.Shown})
	}
	t.memoriesShown = true
	g := &gathered{}
	result, err := t.verify(ctx, g, written, quotes)
	if err != nil {
		return thread.Answer{}, err
	}
	before := result.Text
	if draft.Failure == nil && t.needsRepair(result) && len(quotes) > 0 {
		if result, err = t.repair(ctx, g, result, quotes); err != nil {
			return thread.Answer{}, err
		}
	}
	if len(quotes) > 0 && result.backed() > 0 {
		if result, err = t.strictly(ctx, g, result, quotes); err != nil {
			return thread.Answer{}, err
		}
	}
	if result.Text != before || draft.Unseen {
		t.discard(draft.Shown)
		t.run.Delta(result.Text)
	}
	return t.reply(g, draft, result), nil
}

func plainQuotes(list []numbered) []quote.Quote {
	out := make([]quote.Quote, len(list))
	for i, q := range list {
		out[i] = q.Quote
	}
	return out
}
