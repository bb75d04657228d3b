package intake

import (
	"context"
	"iter"

	"carrel/internal/core"
	"carrel/internal/task"
)

// Events follows the imports of a source: the events after a position, then what happens, until the context ends. Without
// a position it starts with the import that runs, or with the next one.
func (s *Service) Events(ctx context.Context, actor core.Actor, agentID, sourceID string, after *task.Position) (iter.Seq2[task.Event, error], error) {
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

// position is where the stream of a source's imports is: at the start of the one that runs, or at the end of the last.
func (s *Service) position(ctx context.Context, sourceID string) (task.Position, error) {
	active, err := s.store.ActiveTask(ctx, sourceID)
	if err == nil {
		return task.Position{Number: active.Number}, nil
	}
	if !core.IsKind(err, core.KindNotFound) {
		return task.Position{}, err
	}
	marks, err := s.store.KeyMarks(ctx, []string{sourceID})
	last := marks[sourceID]
	if err != nil || last == 0 {
		return task.Position{}, err
	}
	newest, err := s.store.NextTask(ctx, sourceID, last-1)
	if err != nil {
		return task.Position{}, err
	}
	seq, err := s.store.LastTaskEvent(ctx, newest.ID)
	return task.Position{Number: newest.Number, Seq: seq}, err
}
