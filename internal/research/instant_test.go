package research_test

import (
	"context"
	"iter"

	"carrel/internal/model"
	"carrel/internal/testkit/modelfake"
)

// instant is a model without a network, for tests with many calls.
type instant func(modelfake.Request) modelfake.Reply

// Models implements model.Provider.
func (instant) Models() []string { return []string{"fake-1"} }

// Close implements model.Provider.
func (instant) Close() {}

// Stream implements model.Provider.
func (f instant) Stream(_ context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		asked := modelfake.Request{Model: r.Model, System: r.System, MaxTokens: r.MaxTokens}
		if r.Schema != nil {
			asked.Schema = r.Schema.JSON
		}
		for _, m := range r.Messages {
			asked.Messages = append(asked.Messages, modelfake.Message{Role: string(m.Role), Text: m.Text})
		}
		for _, piece := range f(asked).Text {
			if !yield(model.Text(piece), nil) {
				return
			}
		}
		_ = yield(model.Usage{In: 100, Out: 10}, nil) && yield(model.Done{Finish: model.FinishStop}, nil)
	}
}
