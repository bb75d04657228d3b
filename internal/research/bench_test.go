package research_test

import (
	"context"
	"testing"

	"carrel/internal/search"
	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// BenchmarkTurn measures the overhead of the loop: the index result is prepared and the model answers at once. For
// comparison it also runs the same number of empty steps, which is the share of the task engine and its disk writes.
func BenchmarkTurn(b *testing.B) {
	for _, c := range []struct {
		name  string
		steps int
	}{{"quotes", 3}, {"model", 7}} {
		b.Run(c.name, func(b *testing.B) {
			w := newFixture(b).landmarks()
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
			w := newFixture(b)
			w.nothing = func(ctx context.Context, r *task.Run) (task.Outcome, error) {
				for range c.steps {
					if _, err := r.Step(ctx, "nothing", "", func(context.Context, *task.Step) ([]byte, error) {
						return nil, nil
					}); err != nil {
						return task.Outcome{}, err
					}
				}
				return task.Outcome{}, nil
			}
			measure(b, w, w.start(nil), "nothing")
		})
	}
}

func measure(b *testing.B, w *fixture, e *task.Engine, kind string) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Wait(b.Context(), w.submitAs(e, kind, thread.Question{Text: "Who described the memex?"})); err != nil {
			b.Fatal(err)
		}
	}
}
