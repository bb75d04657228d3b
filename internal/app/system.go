package app

import (
	"context"
	"errors"
	"time"

	"carrel/internal/core"
	"carrel/internal/httpapi"
)

// system tells those who administer the installation how it is doing.
type system struct {
	in      *installation
	started time.Time
}

// State looks at what runs now.
func (s system) State(ctx context.Context, actor core.Actor) (httpapi.State, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return httpapi.State{}, err
	}
	kind, bytes, sizeErr := s.in.store.Size(ctx)
	nodes, nodesErr := s.in.store.Nodes(ctx)
	tasks, tasksErr := s.in.tasks.Stats(ctx)
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
	// A server that stops answers a last request without its index.
	if i, open := s.in.search.Status(); open {
		out.Index = httpapi.IndexState{Documents: i.Documents, Segments: i.Segments, Bytes: i.Bytes, Rebuilding: i.Rebuilding}
	}
	return out, nil
}
