package task

import "context"

// Tracer traces the work of an Engine. Its methods are called while tasks are submitted and run, so they must not wait.
type Tracer interface {
	// Submitted is called with the context of the request that submitted a task on this node, before the task runs here.
	Submitted(ctx context.Context, t Task)
	// StartRun returns the context of a run and a function that ends its trace. ends is false if the run stopped before
	// the task ended.
	StartRun(ctx context.Context, t Task) (context.Context, func(o Outcome, ends bool))
	// StartStep returns the context of a step and a function that ends its trace. Steps that are read from the journal
	// are not traced.
	StartStep(ctx context.Context, n int, kind string) (context.Context, func(err error))
}
