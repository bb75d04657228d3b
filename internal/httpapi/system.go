package httpapi

import (
	"context"
	"time"

	"carrel/internal/httpapi/oas"
)

// State is the state of the installation, as seen by this node.
type State struct {
	Version   string
	StartedAt time.Time
	// Database is "sqlite" or "postgres".
	Database      string
	DatabaseBytes int64
	Nodes         []Node
	Index         IndexState
	Tasks         TaskState
}

// Node is a running server.
type Node struct {
	ID, Version string
	JoinedAt    time.Time
}

// IndexState is the state of this node's search index.
type IndexState struct {
	Documents, Segments int
	Bytes               int64
	Rebuilding          bool
}

// TaskState counts the unfinished tasks.
type TaskState struct {
	Queued, Running int64
	// Oldest is how long the oldest queued task has waited.
	Oldest time.Duration
}

// GetSystem answers GET /api/admin/system.
func (h handlers) GetSystem(ctx context.Context) (*oas.SystemReply, error) {
	s, err := h.System.State(ctx, actor(ctx))
	if err != nil {
		return nil, err
	}
	out := &oas.SystemReply{
		Version: s.Version, StartedAt: timestamp(s.StartedAt),
		Database: oas.SystemDatabase{Kind: s.Database, Bytes: s.DatabaseBytes},
		Nodes:    make([]oas.SystemNode, len(s.Nodes)),
		Index: oas.SystemIndex{
			Documents: int64(s.Index.Documents), Segments: s.Index.Segments, Bytes: s.Index.Bytes,
			Rebuilding: s.Index.Rebuilding,
		},
		Tasks: oas.SystemTasks{
			Queued: s.Tasks.Queued, Running: s.Tasks.Running, OldestSeconds: int64(s.Tasks.Oldest.Seconds()),
		},
	}
	for i, n := range s.Nodes {
		out.Nodes[i] = oas.SystemNode{ID: n.ID, Version: n.Version, JoinedAt: timestamp(n.JoinedAt)}
	}
	return out, nil
}
