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

// failure is why something did not work, in the form of the journal.
type failure struct {
	Kind   core.Kind `json:"kind"`
	Code   string    `json:"code"`
	Detail string    `json:"detail"`
}

// The codes of what ends a turn early and is no failure of the model.
const (
	codeCap  = "spend_cap_reached"
	codeTime = task.CodeTimeout
)

// failureOf keeps of an error what a reader may see.
func failureOf(err error) failure {
	e := core.AsError(err)
	return failure{Kind: e.Kind, Code: e.Code, Detail: e.Detail}
}

// err is the failure as an error.
func (f failure) err() error { return &core.Error{Kind: f.Kind, Code: f.Code, Detail: f.Detail} }

// early reports whether it is a limit that was reached, and not a model that failed.
func (f failure) early() bool { return f.Code == codeCap || f.Code == codeTime }

// outOfTime is a turn that must come to its end.
var outOfTime = failure{Kind: core.KindTimeout, Code: codeTime, Detail: "The turn ran out of time."}

// said is what a model answered, as it is journaled.
type said struct {
	Text string `json:"text,omitempty"`
	// Cut says that the answer is longer than it may be, or broke off.
	Cut     bool     `json:"cut,omitempty"`
	Failure *failure `json:"failure,omitempty"`
	Usage   *spent   `json:"usage,omitempty"`
	// Shown is where the stream stood before readers saw some of it; empty means that they did not.
	Shown string `json:"shown,omitempty"`
	// Late says that the time that is left is needed for the answer. It is journaled, as all that decides the way is.
	Late bool `json:"late,omitempty"`
}

// spent is what calls took.
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

// usage is what the turn took of a model, or nil.
func (t *turn) usage() *thread.Usage {
	if t.spent.Calls == 0 {
		return nil
	}
	return &thread.Usage{
		Model: t.ready.Model, InputTokens: t.spent.In, OutputTokens: t.spent.Out, CostMicros: t.spent.Micros, Estimated: t.spent.Estimated,
	}
}

// longestAnswer bounds what is kept of an answer, in bytes: a provider may not know of MaxTokens.
const longestAnswer = 64 << 10

// ask asks the model once, within what the turn may still take, and journals what came of it: a failure is an outcome
// too, for it has its price. hear shows the text as it comes, and may be nil.
func (t *turn) ask(ctx context.Context, kind, label string, r model.Request, hear *live) (said, error) {
	out, err := step(ctx, t, kind, label, func(ctx context.Context, _ *task.Step) (said, error) {
		return t.call(ctx, r, hear)
	})
	t.spent.add(out.Usage)
	return out, err
}

// call reserves, asks and settles.
func (t *turn) call(ctx context.Context, r model.Request, hear *live) (said, error) {
	left := t.left()
	if left <= 0 {
		return said{Failure: &outOfTime}, nil
	}
	r.Model = t.ready.Model
	most := model.Estimate(r, "")
	most.Out = r.MaxTokens
	price, known := t.options.Prices.Of(r.Model)
	if err := t.reserve(ctx, int64(price.Cost(most))); err != nil {
		if core.AsError(err).Code == codeCap {
			f := failureOf(err)
			return said{Failure: &f}, nil
		}
		return said{}, err
	}
	out, used := t.stream(ctx, left, r, hear)
	if used != (model.Usage{}) {
		out.Usage = &spent{
			In: int64(used.In), Out: int64(used.Out), Micros: int64(price.Cost(used)), Estimated: used.Estimated || !known, Calls: 1,
		}
	}
	if ctx.Err() != nil {
		t.spent.add(out.Usage) // the step will not be journaled, but has cost
	}
	out.Late = t.late()
	return out, t.settle(ctx, out.Usage)
}

// stream reads the answer of the model, and what it took.
func (t *turn) stream(ctx context.Context, left time.Duration, r model.Request, hear *live) (said, model.Usage) {
	limited, cancel := context.WithTimeoutCause(ctx, left, outOfTime.err())
	defer cancel()
	var out said
	mark := ""
	if hear != nil {
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
				t.Log.WarnContext(ctx, "a model failed", "turn", t.run.Task().ID, "model", r.Model, "error", err)
			}
			out.Failure, out.Cut = &f, text.Len() > 0
			break
		}
		switch e := event.(type) {
		case model.Text:
			text.WriteString(string(e))
			if hear != nil {
				hear.hear(string(e))
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
	if hear != nil {
		hear.end(out.Failure == nil)
		if hear.shown != "" {
			out.Shown = mark
		}
	}
	if !counted && (out.Failure == nil || ctx.Err() != nil || text.Len() > 0) {
		// Left in the midst: what was said until then has its price.
		used = model.Estimate(r, out.Text)
	}
	return out, used
}

// reserve puts money aside for a call.
func (t *turn) reserve(ctx context.Context, micros int64) error {
	if t.Spend == nil {
		return nil
	}
	return t.Spend.Reserve(ctx, t.q.UserID, t.run.Task().ID, t.ready.Model, micros)
}

// settle counts what a call has cost, also when the turn was stopped meanwhile.
func (t *turn) settle(ctx context.Context, used *spent) error {
	if t.Spend == nil {
		return nil
	}
	if used == nil {
		used = &spent{}
	}
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return t.Spend.Settle(ctx, t.q.UserID, t.run.Task().ID, used.Micros, used.Estimated)
}

// exhausted reports whether four fifths of the turn's tokens are gone: the rest is for the answer.
func (t *turn) exhausted() bool { return (t.spent.In+t.spent.Out)*5 >= int64(t.limits.Tokens)*4 }
