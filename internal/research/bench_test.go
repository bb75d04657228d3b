package research_test

import (
	"context"
	"testing"

	"carrel/internal/search"
	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// BenchmarkTurn is what the loop takes by itself: the index has its answer ready, and the model answers at once. Beside
// it is the same number of steps that do nothing, which is the share of the task engine and its writes to the disk.
func BenchmarkTurn(b *testing.B) {
	for _, c := range []struct {
		name  string
		steps int
	}{{"quotes", 3}, {"model", 7}} {
		b.Run(c.name, func(b *testing.B) {
			w := newWorld(b).landmarks()
			ready, err := w.library(search.Query{Text: "Who described the memex?", Limit: 20})
			if err != nil {
				b.Fatal(err)
			}
			w.find = func(search.Query) (source.Found, error) { return ready, nil }
			w.counted = &search.Statistics{Passages: 64, Holders: map[string]int{"memex": 3, "describ": 9}}
			if c.name == "model" {
				w.model = instant(brain{plan: plans("memex")}.answerTo)
			}
			measure(b, w, w.start(nil), "turn")
			steps, err := w.db.TaskSteps(b.Context(), w.submitted)
			if err != nil || len(steps) != c.steps {
				b.Fatalf("%d steps, %v", len(steps), err)
			}
		})
		b.Run(c.name+" steps alone", func(b *testing.B) {
			w := newWorld(b)
			w.nothing = func(ctx context.Context, r *task.Run) (task.Outcome, error) {
				for range c.steps {
					if _, err := r.Step(ctx, "nothing", "", func(context.Context, *task.Step) ([]byte, error) { return nil, nil }); err != nil {
						return task.Outcome{}, err
					}
				}
				return task.Outcome{}, nil
			}
			measure(b, w, w.start(nil), "nothing")
		})
	}
}

func measure(b *testing.B, w *world, e *task.Engine, kind string) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Wait(b.Context(), w.submitAs(e, kind, thread.Question{Text: "Who described the memex?"})); err != nil {
			b.Fatal(err)
		}
	}
}
