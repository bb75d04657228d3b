package importer

import (
	"context"
	"iter"

	"carrel/internal/core"
	"carrel/internal/task"
)

// Events streams the import events of a source after a position until the context ends. Without a position it starts
// with the running import, or else the latest one, so that a client that connects late still sees how it ended. It
// waits if the source has no import yet.
func (s *Service) Events(
	ctx context.Context, actor core.Actor, agentID, sourceID string, after *task.Position,
) (iter.Seq2[task.Event, error], error) {
	if _, err := s.sources.For(ctx, actor, core.OpStreamImports, agentID, sourceID); err != nil {
		return nil, err
	}
	if after == nil {
		now, err := s.position(ctx, sourceID)
		if err != nil {
			return nil, err
		}
		after = &now
	}
	return s.tasks.Stream(ctx, sourceID, *after), nil
}

// position returns the start of the running import, or else of the latest one.
func (s *Service) position(ctx context.Context, sourceID string) (task.Position, error) {
	active, err := s.store.ActiveTask(ctx, sourceID)
	if err == nil {
		return task.Position{Number: active.Number}, nil
	}
	if !core.IsKind(err, core.KindNotFound) {
		return task.Position{}, err
	}
	marks, err := s.store.LatestTaskNumbers(ctx, []string{sourceID})
	return task.Position{Number: marks[sourceID]}, err
}
