package research

import (
	"context"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/model"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// failure is an error in the form of the journal.
type failure struct {
	Kind   core.Kind `json:"kind"`
	Code   string    `json:"code"`
	Detail string    `json:"detail"`
}

// The codes of limits that end a turn early. They are not failures of the model.
const (
	codeCap  = "spend_cap_reached"
	codeTime = task.CodeTimeout
)

// failureOf keeps the parts of an error that users may see.
func failureOf(err error) failure {
	e := core.AsError(err)
	return failure{Kind: e.Kind, Code: e.Code, Detail: e.Detail}
}

func (f failure) err() error { return &core.Error{Kind: f.Kind, Code: f.Code, Detail: f.Detail} }

// isLimit reports whether a limit was reached, rather than that the model failed.
func (f failure) isLimit() bool { return f.Code == codeCap || f.Code == codeTime }

// codeIdle is the code of a model that sent nothing for too long.
const codeIdle = "model_timeout"

// isTimeout reports whether the model was too slow.
func (f failure) isTimeout() bool { return f.Code == codeTime || f.Code == codeIdle }

func modelFailed(detail string) *failure {
	return &failure{Kind: core.KindUpstream, Code: "model_failed", Detail: detail}
}

// outOfTime is the failure of a turn whose time is used up.
var outOfTime = failure{Kind: core.KindTimeout, Code: codeTime, Detail: "The turn ran out of time."}

// modelAnswer is the journaled answer of a model call.
type modelAnswer struct {
	Text string `json:"text,omitempty"`
	// Cut is set if the answer was truncated or broke off.
	Cut bool `json:"cut,omitempty"`
	// Expired is set if the answer broke off because the call had used its share of the time.
	Expired bool     `json:"expired,omitempty"`
	Failure *failure `json:"failure,omitempty"`
	Usage   *spent   `json:"usage,omitempty"`
	// Shown is the stream position before parts of the answer were shown to readers; empty if none were.
	Shown string `json:"shown,omitempty"`
	// Unseen is set if readers were not shown all whole sentences of the answer.
	Unseen bool `json:"unseen,omitempty"`
	// MustAnswerNow is set if the remaining time is needed to write the answer. It is journaled because it decides the
	// next step.
	MustAnswerNow bool `json:"late,omitempty"`
}

// whole returns the text without an incomplete last sentence.
func (a modelAnswer) whole() string {
	if a.Cut {
		return wholeSentences(strings.TrimSpace(a.Text))
	}
	return strings.TrimSpace(a.Text)
}

// spent is the usage and cost of model calls.
type spent struct {
	In        int64 `json:"in"`
	Out       int64 `json:"out"`
	Micros    int64 `json:"micros"`
	Estimated bool  `json:"estimated,omitempty"`
	Calls     int   `json:"calls"`
}

func (s *spent) add(other *spent) {
	if other == nil {
		return
	}
	s.In += other.In
	s.Out += other.Out
	s.Micros += other.Micros
	s.Estimated = s.Estimated || other.Estimated
	s.Calls += other.Calls
}

// usage returns the model usage of the turn, or nil.
func (t *turn) usage() *thread.Usage {
	if t.spent.Calls == 0 {
		return nil
	}
	return &thread.Usage{
		Model: t.ready.Model, InputTokens: t.spent.In, OutputTokens: t.spent.Out,
		CostMicros: t.spent.Micros, Estimated: t.spent.Estimated,
	}
}

// longestAnswer limits an answer in bytes, in case a provider ignores MaxTokens.
const longestAnswer = 64 << 10

// ask calls the model once, within the limits of the turn, and journals the outcome. A failure is an outcome too,
// because it may have cost money. live shows the text while it arrives, and may be nil.
func (t *turn) ask(ctx context.Context, kind, label string, r model.Request, live *answerStream) (modelAnswer, error) {
	return t.askWithin(ctx, kind, label, r, live, t.limits.Time)
}

// askWithin is ask with a limit on the time of the call. A call that exceeds it is not a failure: its answer is the
// text so far, and the turn goes on with what it has.
func (t *turn) askWithin(
	ctx context.Context, kind, label string, r model.Request, live *answerStream, limit time.Duration,
) (modelAnswer, error) {
	out, err := step(ctx, t, kind, label, func(ctx context.Context, s *task.Step) (modelAnswer, error) {
		p := t.reportProgress(s.N(), kind, t.section.label(label))
		defer p.stop()
		return t.call(ctx, r, live, p, limit)
	})
	t.spent.add(out.Usage)
	t.late = out.MustAnswerNow
	return out, err
}

// call reserves the maximum cost, calls the model and settles the actual cost.
func (t *turn) call(
	ctx context.Context, r model.Request, live *answerStream, p *progress, limit time.Duration,
) (modelAnswer, error) {
	left := t.left()
	if left <= 0 {
		return modelAnswer{Failure: &outOfTime}, nil
	}
	r.Model = t.ready.Model
	most := model.Estimate(r, "")
	most.Out = r.MaxTokens
	price, known := t.options.Prices.Of(r.Model)
	if err := t.reserve(ctx, int64(price.Cost(most))); err != nil {
		if core.AsError(err).Code == codeCap {
			f := failureOf(err)
			return modelAnswer{Failure: &f}, nil
		}
		return modelAnswer{}, err
	}
	out, used := t.stream(ctx, min(left, limit), r, live, p)
	if out.Failure != nil && out.Failure.Code == codeTime && limit < left {
		out.Failure, out.Expired = nil, true
	}
	if used != (model.Usage{}) {
		out.Usage = &spent{
			In: int64(used.In), Out: int64(used.Out), Micros: int64(price.Cost(used)),
			Estimated: used.Estimated || !known, Calls: 1,
		}
	}
	if ctx.Err() != nil {
		t.spent.add(out.Usage) // the step is not journaled, but has cost
	}
	out.MustAnswerNow = t.mustAnswerNow()
	return out, t.settle(ctx, out.Usage)
}

// stream reads the answer of the model and its usage.
func (t *turn) stream(
	ctx context.Context, left time.Duration, r model.Request, live *answerStream, p *progress,
) (modelAnswer, model.Usage) {
	limited, cancel := context.WithTimeoutCause(ctx, left, outOfTime.err())
	defer cancel()
	var out modelAnswer
	mark := ""
	if live != nil {
		mark = t.run.Mark().String()
	}
	var text strings.Builder
	var used model.Usage
	counted := false
	for event, err := range t.Model.Stream(limited, r) {
		if err != nil {
			f := failureOf(err)
			if limited.Err() != nil && ctx.Err() == nil {
				f = outOfTime
			} else {
				t.Log.WarnContext(ctx, "model call failed", "turn", t.run.Task().ID, "model", r.Model, "error", err)
			}
			out.Failure, out.Cut = &f, text.Len() > 0
			break
		}
		switch e := event.(type) {
		case model.Text:
			text.WriteString(string(e))
			p.words.Add(int64(strings.Count(string(e), " ")))
			if live != nil {
				live.write(string(e))
			}
		case model.Usage:
			used, counted = e, true
		case model.Done:
			out.Cut = e.Finish == model.FinishLength
		}
		if text.Len() > longestAnswer {
			out.Cut = true
			break
		}
	}
	out.Text = text.String()
	if live != nil {
		live.end(out.Failure == nil)
		if live.shown != "" {
			out.Shown = mark
		}
		out.Unseen = strings.TrimSpace(live.shown) != strings.TrimSpace(sanitize(out.whole(), live.quotes).Text)
	}
	if !counted && (out.Failure == nil || ctx.Err() != nil || text.Len() > 0) {
		// The stream was left early; estimate the usage until then.
		used = model.Estimate(r, out.Text)
	}
	return out, used
}

func (t *turn) reserve(ctx context.Context, micros int64) error {
	if t.Spend == nil {
		return nil
	}
	return t.Spend.Reserve(ctx, t.q.UserID, t.run.Task().ID, t.ready.Model, micros)
}

// settle records the cost of a call, even if the turn has been cancelled.
func (t *turn) settle(ctx context.Context, used *spent) error {
	if t.Spend == nil {
		return nil
	}
	if used == nil {
		used = &spent{}
	}
	const settleTimeout = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	return t.Spend.Settle(ctx, t.q.UserID, t.run.Task().ID, used.Micros, used.Estimated)
}

// exhausted reports whether four fifths of the turn's tokens are used. The rest is reserved for the answer.
func (t *turn) exhausted() bool { return (t.spent.In+t.spent.Out)*5 >= int64(t.limits.Tokens)*4 }
