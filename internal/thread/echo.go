package thread

import (
	"context"

	"carrel/internal/task"
)

// Echo answers before agents can read: all that it can honestly do is to say so.
type Echo struct{}

// Answer repeats the question.
func (Echo) Answer(ctx context.Context, r *task.Run, q Question) (Answer, error) {
	text, err := r.Step(ctx, "answer", "Writing the reply", func(context.Context, *task.Step) ([]byte, error) {
		reply := "No source is connected to this conversation yet, so I cannot answer. You wrote: " + q.Text
		r.Delta(reply)
		return []byte(reply), nil
	})
	return Answer{Text: string(text)}, err
}
