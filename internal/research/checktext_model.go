package research

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"carrel/internal/core"
	"carrel/internal/model"
	"carrel/internal/research/quote"
	"carrel/internal/thread"
)

// ModelPayer charges model calls to the account of an actor.
type ModelPayer interface {
	// HoldModel reserves the maximum cost of a call, and returns the function that replaces it by the actual cost. Beyond
	// a cap it returns spend_cap_reached.
	HoldModel(
		ctx context.Context, actor core.Actor, agentID, model string, micros int64,
	) (settle func(ctx context.Context, micros int64, estimated bool) error, err error)
}

const (
	// batchSentences is how many sentences the model judges in one call, and modelSentences in one text.
	batchSentences = 25
	modelSentences = 100
	// checkCalls is how many calls of a text run at a time.
	checkCalls = 2
	// sentenceQuotes is how many quotes the model is shown for a sentence.
	sentenceQuotes = 2
)

// The codes of Incomplete, in addition to the codes of refusals.
const (
	codeTooMany = "too_many_sentences"
	codeModel   = "model_failed"
)

// judgeWithModel has the model judge the claims that the rules left cited. A failure of the model or a reached cap
// leaves them cited, and ends the judging of further batches.
func (t *textCheck) judgeWithModel(ctx context.Context, name string) error {
	t.model = name
	var open []*claim
	for _, c := range t.claims {
		if c.sentence.State == thread.Cited {
			open = append(open, c)
		}
	}
	if len(open) == 0 {
		return nil
	}
	if err := t.actor.AllowModel(name); err != nil {
		e := core.AsError(err)
		t.incomplete = &Incomplete{Code: e.Code, Detail: e.Detail}
		return nil
	}
	if len(open) > modelSentences {
		t.incomplete = &Incomplete{Code: codeTooMany, Detail: fmt.Sprintf(
			"The model judged the first %d of %d open sentences.", modelSentences, len(open),
		)}
		open = open[:modelSentences]
	}
	limited, cancel := context.WithTimeoutCause(ctx, t.options.Time, outOfTime.err())
	defer cancel()
	var mu sync.Mutex // guards t
	group, limited := errgroup.WithContext(limited)
	group.SetLimit(checkCalls)
	for batch := range slices.Chunk(open, batchSentences) {
		group.Go(func() error {
			mu.Lock()
			stop := t.incomplete != nil && t.incomplete.Code != codeTooMany
			mu.Unlock()
			if stop {
				return nil
			}
			b := newBatch(batch)
			reply, err := t.ask(ctx, limited, b.request(name))
			mu.Lock()
			defer mu.Unlock()
			t.spent.add(reply.Usage)
			if f := reply.Failure; f != nil {
				t.incomplete = &Incomplete{Code: f.Code, Detail: f.Detail}
			}
			if b.apply(reply.Text) == 0 && reply.Failure == nil && err == nil {
				t.incomplete = &Incomplete{Code: codeModel, Detail: "The model gave no usable judgement."}
			}
			return err
		})
	}
	return group.Wait()
}

// judgeBatch is the input of one call of the judge.
type judgeBatch struct {
	ready  prepared
	open   []openSentence
	quotes []numbered
}

// newBatch numbers the evidence of claims. Evidence of several claims is shown once.
func newBatch(claims []*claim) *judgeBatch {
	b := &judgeBatch{ready: prepared{Nonce: rand.Text()[:16]}}
	for _, c := range claims {
		s := openSentence{Check: &c.sentence.Check, text: c.text}
		shown := c.sentence.Evidence[:min(len(c.sentence.Evidence), sentenceQuotes)]
		for i := range shown {
			s.keys = append(s.keys, b.number(shown[i].Citation, c.paragraphOf(shown[i])))
		}
		s.decided = func(key int) {
			stance := Supports
			if s.State == thread.Contradicted {
				stance = Contradicts
			}
			shown[slices.Index(s.keys, key)].Stance = stance
		}
		b.open = append(b.open, s)
	}
	return b
}

// number returns the number of a quote, which is added if it is new.
func (b *judgeBatch) number(c thread.Citation, paragraph string) int {
	for _, q := range b.quotes {
		if q.DocumentID == c.DocumentID && q.Start == c.Start && q.End == c.End {
			return q.n
		}
	}
	b.quotes = append(b.quotes, numbered{
		Quote: quote.Quote{
			DocumentID: c.DocumentID, SourceID: c.SourceID, Title: c.Title, Year: c.Year, Text: c.Quote, Start: c.Start,
			End: c.End,
		},
		n: len(b.quotes) + 1, paragraph: paragraph,
	})
	return len(b.quotes)
}

// paragraphOf returns the paragraph around a piece of evidence, or "".
func (c *claim) paragraphOf(e Evidence) string {
	for _, k := range c.found {
		if k.document.ID == e.DocumentID && k.start+k.sentences[k.first].Body <= e.Start &&
			e.End <= k.start+k.sentences[k.last].End {
			return k.evidence().Context
		}
	}
	return ""
}

func (b *judgeBatch) request(name string) model.Request {
	r := b.ready.judgeRequest(b.open, b.quotes)
	r.Model = name
	return r
}

// apply sets the states of the sentences and the stances of the quotes that decided.
func (b *judgeBatch) apply(reply string) (usable int) {
	return applyVerdicts(reply, b.open, b.quotes, "The model judged that the evidence does not say this.")
}

// ask reserves the maximum cost, calls the model within the limited context, and settles the actual cost. A failure of
// the model and a refusal to pay are part of the answer. The error is set if ctx ended or the cost was not recorded.
func (t *textCheck) ask(ctx, limited context.Context, r model.Request) (modelAnswer, error) {
	most := model.Estimate(r, "")
	most.Out = r.MaxTokens
	price, known := t.options.Prices.Of(r.Model)
	settle := func(context.Context, int64, bool) error { return nil }
	if t.Payer != nil {
		var err error
		if settle, err = t.Payer.HoldModel(ctx, t.actor, t.agentID, r.Model, int64(price.Cost(most))); err != nil {
			if core.IsRefusal(err) {
				f := failureOf(err)
				return modelAnswer{Failure: &f}, nil
			}
			return modelAnswer{}, err
		}
	}
	out, used := t.read(ctx, limited, r)
	cost := spent{}
	if used != (model.Usage{}) {
		cost = spent{
			In: int64(used.In), Out: int64(used.Out), Micros: int64(price.Cost(used)),
			Estimated: used.Estimated || !known, Calls: 1,
		}
		out.Usage = &cost
	}
	const settleTimeout = 5 * time.Second
	settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := settle(settling, cost.Micros, cost.Estimated); err != nil {
		return out, err
	}
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	return out, nil
}

// read reads the answer of the model and its usage.
func (t *textCheck) read(ctx, limited context.Context, r model.Request) (modelAnswer, model.Usage) {
	var out modelAnswer
	var text strings.Builder
	var used model.Usage
	counted := false
	for event, err := range t.Model.Stream(limited, r) {
		if err != nil {
			f := *modelFailed("The language model failed.")
			if limited.Err() != nil && ctx.Err() == nil {
				f = failure{Kind: core.KindTimeout, Code: codeIdle, Detail: "The language model took too long."}
			}
			t.Log.WarnContext(ctx, "model call failed", "agent", t.agentID, "model", r.Model, "error", err)
			out.Failure = &f
			break
		}
		switch e := event.(type) {
		case model.Text:
			text.WriteString(string(e))
		case model.Usage:
			used, counted = e, true
		}
		if text.Len() > longestAnswer {
			break
		}
	}
	out.Text = text.String()
	if !counted && (out.Failure == nil || ctx.Err() != nil || text.Len() > 0) {
		used = model.Estimate(r, out.Text) // the stream was left early
	}
	return out, used
}

// usage returns the usage of a model.
func (s spent) usage(model string) *thread.Usage {
	return &thread.Usage{
		Model: model, InputTokens: s.In, OutputTokens: s.Out, CostMicros: s.Micros, Estimated: s.Estimated,
	}
}
