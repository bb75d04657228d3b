package backup

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
)

const (
	// kindName is the kind of task; taskKey is shared by all tasks, so that one runs at a time on all nodes.
	kindName = "backup"
	taskKey  = "backup"
	// checkEvery is how often a node checks whether a backup is due.
	checkEvery = 30 * time.Second
	// retryPause is the pause after a failed backup.
	retryPause = 15 * time.Minute
	// deadline limits one attempt.
	deadline = 24 * time.Hour
)

// Tasks submits tasks. task.Engine implements it.
type Tasks interface {
	Submit(ctx context.Context, s task.Spec) (task.Task, error)
}

// Scheduler makes backups at regular intervals, on one node at a time.
type Scheduler struct {
	service *Service
	tasks   Tasks
	latest  func(ctx context.Context, key string) (task.Task, error)
}

// NewScheduler returns a scheduler. latest returns the newest task of a key or a not_found error.
func NewScheduler(
	s *Service, tasks Tasks, latest func(ctx context.Context, key string) (task.Task, error),
) *Scheduler {
	return &Scheduler{service: s, tasks: tasks, latest: latest}
}

// Kind returns the kind of task to register with the engine.
func (s *Scheduler) Kind() task.Kind {
	return task.Kind{Name: kindName, Run: s.run, Deadline: deadline}
}

// Run submits a task whenever a backup is due, until the context ends.
func (s *Scheduler) Run(ctx context.Context) error {
	tick := time.NewTicker(min(checkEvery, s.service.options.Every))
	defer tick.Stop()
	for {
		if err := s.Check(ctx); err != nil && ctx.Err() == nil {
			s.service.Log.WarnContext(ctx, "checking whether a backup is due failed; retrying", slog.Any("error", err))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Check submits a task if the current interval has none. Intervals are counted from the year 1970, so that those of a
// day begin at midnight UTC, and a task is named by its interval, so that several nodes submit the same one.
func (s *Scheduler) Check(ctx context.Context) error {
	start := s.interval(s.service.Clock.Now())
	last, err := s.latest(ctx, taskKey)
	if err != nil && !core.IsKind(err, core.KindNotFound) {
		return err
	}
	if err == nil && !last.CreatedAt.Before(start) {
		return nil
	}
	if err == nil && !last.State.Ended() {
		return nil // a late backup is still being made
	}
	_, err = s.tasks.Submit(ctx, task.Spec{
		ID: "bak_" + strconv.FormatInt(start.Unix(), 36), Kind: kindName, Key: taskKey,
	})
	return err
}

// interval returns the start of the interval of a time.
func (s *Scheduler) interval(now time.Time) time.Time {
	every := s.service.options.Every
	return time.Unix(0, now.UnixNano()/int64(every)*int64(every))
}

// run makes a backup. A failure is retried until the next interval.
func (s *Scheduler) run(ctx context.Context, r *task.Run) (task.Outcome, error) {
	service := s.service
	started := time.Now()
	made, err := service.Create(ctx, service.options.Keep, func(string, int64, int64) {})
	if err != nil && ctx.Err() != nil {
		return task.Outcome{}, context.Cause(ctx)
	}
	if err != nil {
		service.Log.ErrorContext(ctx, "backup failed", slog.Any("error", err))
		at := service.Clock.Now().Add(min(retryPause, service.options.Every/4))
		if s.interval(at).Equal(s.interval(r.Task().CreatedAt)) {
			return task.RetryAt(at), nil
		}
		return task.Outcome{}, &core.Error{
			Kind: core.KindInternal, Code: "backup_failed", Detail: "The backup failed; see the log of the server.",
		}
	}
	log := service.Log.InfoContext
	if made.Lost > 0 {
		log = service.Log.WarnContext
	}
	log(ctx, "backup made", slog.String("id", made.Manifest.ID), slog.Int64("bytes", made.Manifest.Bytes()),
		slog.Int("originals", made.Manifest.Originals.Count), slog.Int("copied", made.Copied),
		slog.Int("lost", made.Lost), slog.Int("removed", len(made.Removed)),
		slog.Duration("took", time.Since(started).Round(time.Millisecond)))
	result, err := json.Marshal(map[string]any{"id": made.Manifest.ID})
	if err != nil {
		return task.Outcome{}, fmt.Errorf("encode a backup: %w", err)
	}
	return task.Outcome{Result: result}, nil
}

// stats counts the backups of this process.
type stats struct {
	mu      sync.Mutex
	current Stats
}

// Stats are the backups of this process since its start.
type Stats struct {
	Made, Failed int64
	// LastAt, LastBytes and LastDuration describe the last one made: its end, the size of the database copy and the
	// time it took.
	LastAt       time.Time
	LastBytes    int64
	LastDuration time.Duration
}

// Stats returns the counters.
func (s *Service) Stats() Stats {
	s.stats.mu.Lock()
	defer s.stats.mu.Unlock()
	return s.stats.current
}

func (s *stats) fail() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current.Failed++
}

func (s *stats) succeed(r Result, at time.Time, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current.Made++
	s.current.LastAt, s.current.LastBytes, s.current.LastDuration = at, r.Manifest.Bytes(), took
}
