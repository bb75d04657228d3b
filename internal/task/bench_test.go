package task_test

import (
	"context"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"carrel/internal/core"
	"carrel/internal/task"
)

// bench runs a benchmark on a node of each database with the options of a server.
func bench(b *testing.B, run func(ctx context.Context, r *task.Run) (task.Outcome, error),
	measure func(b *testing.B, c *cluster, e *task.Engine),
) {
	b.Helper()
	for _, backend := range backends {
		b.Run(backend.name, func(b *testing.B) {
			c := newCluster(b, backend.open(b))
			c.work(run)
			c.options = task.Options{SingleNode: backend.name == "sqlite", MaxRunning: 100_000}
			e := c.node()
			b.ReportAllocs()
			b.ResetTimer()
			measure(b, c, e)
		})
	}
}

// noop is a task of three steps without work.
func noop(ctx context.Context, r *task.Run) (task.Outcome, error) {
	for range 3 {
		if _, err := r.Step(ctx, "step", "", output("")); err != nil {
			return task.Outcome{}, err
		}
	}
	return task.Outcome{}, nil
}

// turn submits a task and waits for its end.
func (c *cluster) turn(e *task.Engine) {
	t, err := e.Submit(context.Background(), task.Spec{ID: core.NewID("tsk"), Kind: "work", Key: core.NewID("thr")})
	if err == nil {
		_, err = e.Wait(context.Background(), t.ID)
	}
	if err != nil {
		c.t.Error(err)
	}
}

// BenchmarkTurn measures the latency from Submit to the end of Wait for a task of three empty steps.
func BenchmarkTurn(b *testing.B) {
	bench(b, noop, func(b *testing.B, c *cluster, e *task.Engine) {
		for b.Loop() {
			c.turn(e)
		}
	})
}

// BenchmarkTurns measures the throughput of a node with many concurrent tasks of three empty steps.
func BenchmarkTurns(b *testing.B) {
	bench(b, noop, func(b *testing.B, c *cluster, e *task.Engine) {
		b.SetParallelism(64)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				c.turn(e)
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
	})
}

// BenchmarkSleeping measures the memory of a task that blocks in a step, as turns do most of the time.
func BenchmarkSleeping(b *testing.B) {
	const tasks = 10_000
	var asleep atomic.Int32
	sleep := func(ctx context.Context, r *task.Run) (task.Outcome, error) {
		_, err := r.Step(ctx, "model", "Thinking", func(ctx context.Context, _ *task.Step) ([]byte, error) {
			r.Delta("Well, ")
			asleep.Add(1)
			return nil, hang(ctx)
		})
		return task.Outcome{}, err
	}
	bench(b, sleep, func(b *testing.B, c *cluster, e *task.Engine) {
		for b.Loop() {
			asleep.Store(0)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for i := range tasks {
				c.submit(e, task.Spec{ID: core.NewID("tsk") + strconv.Itoa(i), Key: core.NewID("thr")})
			}
			c.until("sleep", func() bool { return asleep.Load() == tasks })
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&after)
			used := after.HeapInuse + after.StackInuse - before.HeapInuse - before.StackInuse
			b.ReportMetric(float64(used)/tasks, "B/task")
			b.ReportMetric(float64(1<<30)*tasks/float64(used), "tasks/GB")
			c.stop(e)
		}
	})
}
