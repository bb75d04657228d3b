package thread_test

import (
	"context"
	"errors"
	"testing"

	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// TestMessageKeepsTheStepsOfItsTurn reads the steps of a turn that completed and of one that failed.
func TestMessageKeepsTheStepsOfItsTurn(t *testing.T) {
	t.Parallel()
	w := newServiceWith(t, answers(func(ctx context.Context, r *task.Run, q thread.Question) (string, error) {
		_, err := r.Step(ctx, "search", "Searching", func(context.Context, *task.Step) ([]byte, error) {
			return []byte("a result that is not part of the message"), nil
		})
		if err != nil {
			return "", err
		}
		_, err = r.Step(ctx, "answer", "Writing", func(context.Context, *task.Step) ([]byte, error) {
			if q.Text == "fail" {
				return nil, errors.New("broken")
			}
			return nil, nil
		})
		return "", err
	}))
	made := w.start(t, "T")
	w.say(t, made.ID, "hello")
	_, err := w.Send(t.Context(), w.Ada, w.Agent, made.ID, thread.NewMessage{Text: "fail"}, t.Context())
	if err == nil {
		t.Error("the second turn did not fail")
	}
	read, err := w.Messages(t.Context(), w.Ada, w.Agent, made.ID, core.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for i, last := range map[int]task.StepState{1: task.StepFinished, 3: task.StepFailed} {
		steps := read.Messages[i].Answer.Steps
		if len(steps) != 2 || steps[0].Kind != "search" || steps[0].State != task.StepFinished ||
			steps[1].Label != "Writing" || steps[1].State != last || steps[1].N != 2 || steps[1].EndedAt == nil {
			t.Errorf("message %d has the steps %+v", i, steps)
		}
	}
}
