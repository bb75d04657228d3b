// Package echo provides an answerer without a model, for tests of everything around an answer.
package echo

import (
	"context"

	"carrel/internal/task"
	"carrel/internal/thread"
)

// Answerer repeats the question, in one step.
type Answerer struct{}

// Answer implements thread.Answerer.
func (Answerer) Answer(ctx context.Context, r *task.Run, q thread.Question) (thread.Answer, error) {
	text, err := r.Step(ctx, "answer", "Writing the reply", func(context.Context, *task.Step) ([]byte, error) {
		reply := "You wrote: " + q.Text
		r.Delta(reply)
		return []byte(reply), nil
	})
	return thread.Answer{Text: string(text)}, err
}
