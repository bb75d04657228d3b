package httpapi

import (
	"context"
	"time"

	"carrel/internal/httpapi/oas"
)

// State is how an installation is doing, as the server that answers sees it.
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

// Node is a server that runs.
type Node struct {
	ID, Version string
	JoinedAt    time.Time
}

// IndexState is the search index of this server.
type IndexState struct {
	Documents, Segments int
	Bytes               int64
	Rebuilding          bool
}

// TaskState counts the tasks that have not ended.
type TaskState struct {
	Queued, Running int64
	// Oldest is how long the longest waiting one has been kept waiting.
	Oldest time.Duration
}

// GetSystem answers GET /api/admin/system.
func (h handlers) GetSystem(ctx context.Context) (*oas.SystemReply, error) {
	s, err := h.Machinery.State(ctx, actor(ctx))
	if err != nil {
		return nil, err
	}
	out := &oas.SystemReply{
		Version: s.Version, StartedAt: timestamp(s.StartedAt),
		Database: oas.SystemDatabase{Kind: s.Database, Bytes: s.DatabaseBytes},
		Nodes:    make([]oas.SystemNode, len(s.Nodes)),
		Index:    oas.SystemIndex{Documents: s.Index.Documents, Segments: s.Index.Segments, Bytes: s.Index.Bytes, Rebuilding: s.Index.Rebuilding},
		Tasks:    oas.SystemTasks{Queued: s.Tasks.Queued, Running: s.Tasks.Running, OldestSeconds: int64(s.Tasks.Oldest.Seconds())},
	}
	for i, n := range s.Nodes {
		out.Nodes[i] = oas.SystemNode{ID: n.ID, Version: n.Version, JoinedAt: timestamp(n.JoinedAt)}
	}
	return out, nil
}
