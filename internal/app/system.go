package app

import (
	"context"
	"errors"
	"time"

	"carrel/internal/core"
	"carrel/internal/httpapi"
)

// system reports the state of the installation to administrators.
type system struct {
	in      *App
	started time.Time
}

// State returns the current state.
func (s system) State(ctx context.Context, actor core.Actor) (httpapi.State, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return httpapi.State{}, err
	}
	kind, bytes, sizeErr := s.in.Store.Size(ctx)
	nodes, nodesErr := s.in.Store.Nodes(ctx)
	tasks, tasksErr := s.in.Tasks.Stats(ctx)
	if err := errors.Join(sizeErr, nodesErr, tasksErr); err != nil {
		return httpapi.State{}, err
	}
	out := httpapi.State{
		Version: Version(), StartedAt: s.started, Database: kind, DatabaseBytes: bytes,
		Tasks: httpapi.TaskState{Queued: tasks.Queued, Running: tasks.Running, Oldest: tasks.Oldest},
	}
	for _, n := range nodes {
		out.Nodes = append(out.Nodes, httpapi.Node(n))
	}
	// The index is already closed when a stopping server answers its last requests.
	if i, open := s.in.search.Status(); open {
		out.Index = httpapi.IndexState{Documents: i.Documents, Segments: i.Segments, Bytes: i.Bytes, Rebuilding: i.Rebuilding}
	}
	return out, nil
}
