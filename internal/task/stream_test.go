package task_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/testkit"
)

// talk is a task that emits many deltas.
func talk(ctx context.Context, r *task.Run) (task.Outcome, error) {
	for range 3 {
		_, err := r.Step(ctx, "talk", "", func(ctx context.Context, _ *task.Step) ([]byte, error) {
			for i := range 30 {
				r.Delta(fmt.Sprintf("word %d ", i))
				if i%7 == 0 {
					select {
					case <-time.After(time.Millisecond):
					case <-ctx.Done():
						return nil, context.Cause(ctx)
					}
				}
			}
			return nil, nil
		})
		if err != nil {
			return task.Outcome{}, err
		}
	}
	return task.Outcome{}, nil
}

// streamContext limits the duration of a stream in a test.
func streamContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	t.Cleanup(cancel)
	return ctx
}

func TestReconnectingReaderSeesEveryEvent(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		c.work(talk)
		nodes := []*task.Engine{c.node(), c.node()}
		const turns = 3
		ctx := streamContext(t)
		var wg sync.WaitGroup
		seen := make([][]string, 5)
		for i := range seen {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(1, uint64(i)))
				var after task.Position
				for dones := 0; dones < turns; {
					// The first reader stays; the others leave after a few events and reconnect to any node.
					leave := 1 << 30
					if i > 0 {
						leave = 1 + random.IntN(5)
					}
					for ev, err := range nodes[random.IntN(2)].Stream(ctx, "thr", after) {
						if err != nil {
							t.Error(err)
							return
						}
						if p := ev.Position(); p.Number < after.Number || p.Number == after.Number &&
							p.Seq <= after.Seq {
							t.Errorf("%s came after %s", p, after)
						}
						after = ev.Position()
						seen[i] = append(seen[i], format([]task.Event{ev})...)
						if ev.Kind == task.EventDone {
							dones++
						}
						if leave--; leave == 0 || dones == turns {
							break
						}
					}
				}
			})
		}
		for i := range turns {
			c.submit(nodes[i%2], task.Spec{Key: "thr"})
		}
		wg.Wait()
		for i := range seen {
			same(t, fmt.Sprintf("what reader %d saw", i), strings.Join(seen[i], "\n"), strings.Join(seen[0], "\n"))
		}
		if len(seen[0]) < turns*8 {
			t.Errorf("only %d events were received: %v", len(seen[0]), seen[0])
		}
	})
}

func TestSubscriptionEndsWithItsTask(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		c.work(talk)
		here, elsewhere := c.node(), c.node()
		ctx := streamContext(t)
		id := c.submit(here, task.Spec{}).ID
		var all []task.Event
		for ev, err := range elsewhere.Subscribe(ctx, id, 0) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, ev)
		}
		same(t, "events", format(all), format(c.events(id)))
		last := all[len(all)-1]
		same(t, "last", last.Kind, task.EventDone)
		for ev := range here.Subscribe(ctx, id, last.Seq) {
			t.Errorf("%v came after the last", ev)
		}
		for _, err := range here.Subscribe(ctx, "none", 0) {
			if !core.IsKind(err, core.KindNotFound) {
				t.Errorf("none: %v", err)
			}
		}
	})
}

func TestStreamEndsWithItsContext(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		c.work(talk)
		e := c.node()
		ctx, cancel := context.WithCancelCause(t.Context())
		revoked := errors.New("revoked")
		time.AfterFunc(20*time.Millisecond, func() { cancel(revoked) })
		for _, err := range e.Stream(ctx, "nothing here", task.Position{}) {
			if !errors.Is(err, revoked) {
				t.Errorf("got %v", err)
			}
		}
		// The context may also end during a query.
		for _, err := range e.Stream(ctx, "nothing here", task.Position{}) {
			same(t, "the end of a stream", err, revoked)
		}
		for _, err := range e.Subscribe(ctx, "nothing here", 0) {
			same(t, "the end of a task's events", err, revoked)
		}
	})
}

func TestDeltasAreBatchedIntoFewRows(t *testing.T) {
	onBoth(t, func(t *testing.T, c *cluster) {
		c.options.EventBatchDelay = 200 * time.Millisecond
		text := strings.Repeat("All happy families are alike. ", 200)
		c.work(func(_ context.Context, r *task.Run) (task.Outcome, error) {
			for word := range strings.SplitAfterSeq(text, " ") {
				r.Delta(word)
			}
			return task.Outcome{}, nil
		})
		e := c.node()
		id := c.submit(e, task.Spec{}).ID
		c.wait(e, id)
		events := c.events(id)
		// The first word is written at once; after that each row holds a kilobyte.
		if most := 3 + len(text)/1024; len(events) > most {
			t.Errorf("%d rows for %d bytes, want at most %d", len(events), len(text), most)
		}
		var got strings.Builder
		for _, ev := range events[:len(events)-1] {
			got.WriteString(strings.TrimSuffix(strings.TrimPrefix(string(ev.Payload), `{"text":"`), `"}`))
		}
		same(t, "text", got.String(), text)
	})
}

func TestPositionRoundTrips(t *testing.T) {
	t.Parallel()
	for _, p := range []task.Position{{}, {Number: 3, Seq: 17}, {Number: 1 << 40, Seq: 1 << 50}} {
		got, err := task.ParsePosition(p.String())
		same(t, "position", fmt.Sprint(got, err), fmt.Sprint(p, nil))
	}
	for _, bad := range []string{
		"", "1", "1.", ".1", "-1.2", "1.2.3", "+1.2", "01.2", "1.2 ",
		"99999999999999999999.1",
	} {
		if _, err := task.ParsePosition(bad); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
