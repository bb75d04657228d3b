package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"carrel/internal/core"
	"carrel/internal/source"
	"carrel/internal/task"
)

const (
	kindName = "import"
	// deadline is how long an import may take from its start.
	taskDeadline = 3 * 24 * time.Hour
	// maxSteps bounds the journal of a task. What is left then is another task's.
	maxSteps = 500
	// tellEvery is how often readers are told how far an import is.
	reportInterval = time.Second
	// prefixImport begins the ids of imports.
	prefixImport = "imp"
)

// Kind is the kind of task that fills sources, to be registered with the engine.
func (s *Service) Kind() task.Kind {
	return task.Kind{Name: kindName, Run: s.run, Deadline: taskDeadline, MaxRunning: s.options.PerNode, MaxPerUser: s.options.PerUser}
}

// job is the input of a task.
type taskInput struct {
	SourceID string `json:"sourceId"`
}

// start has a source filled. Imports of one source run after each other, so that one more is never wrong: it finds
// nothing to do where another was quicker.
func (s *Service) start(ctx context.Context, userID, sourceID string) (Import, error) {
	input, err := json.Marshal(taskInput{SourceID: sourceID})
	if err != nil {
		return Import{}, err
	}
	// One that waits will see what is there by then; another is not needed.
	if active, err := s.store.ActiveTask(ctx, sourceID); err == nil && active.State == task.StateQueued {
		return Import{ID: active.ID, SourceID: sourceID, State: active.State, CreatedAt: active.CreatedAt, UpdatedAt: active.CreatedAt}, nil
	}
	now := s.clock.Now()
	i := Import{ID: core.NewID(prefixImport), SourceID: sourceID, State: task.StateQueued, CreatedAt: now, UpdatedAt: now}
	if err := s.store.PutImport(ctx, i); err != nil {
		return Import{}, err
	}
	_, err = s.tasks.Submit(ctx, task.Spec{ID: i.ID, Kind: kindName, Key: sourceID, UserID: userID, Input: input})
	return i, err
}

// Sync has a source brought up to date.
func (s *Service) Sync(ctx context.Context, actor core.Actor, agentID, sourceID string) (Import, error) {
	src, err := s.sources.For(ctx, actor, core.OpSyncSource, agentID, sourceID)
	if err != nil {
		return Import{}, err
	}
	if !s.sources.Syncs(src) {
		return Import{}, core.Conflict("conflict", "This source is made of uploaded files, which are read as they come. Upload them again to change them.")
	}
	return s.start(ctx, actor.UserID, sourceID)
}

// run fills a source, one file a step, until nothing is left.
func (s *Service) run(ctx context.Context, r *task.Run) (task.Outcome, error) {
	var j taskInput
	if err := json.Unmarshal(r.Task().Input, &j); err != nil {
		return task.Outcome{}, fmt.Errorf("read an import's input: %w", err)
	}
	src, userID, err := s.store.SourceByID(ctx, j.SourceID)
	if err != nil {
		return task.Outcome{}, err
	}
	work, err := s.queueFor(ctx, src)
	if err != nil {
		return s.fail(ctx, r, src, err)
	}
	defer work.close()
	t := &reporter{service: s, run: r, sourceID: src.ID, startedAt: time.Now()}
	if r.Task().Attempt == 1 {
		if err := t.save(ctx, r.Task(), task.StateRunning, t.report); err != nil { // until now it was shown as waiting
			return task.Outcome{}, err
		}
	}
	earlier := map[string]bool{} // what an attempt before this one did
	for n := range maxSteps {
		done, err := s.step(ctx, r, n, func(ctx context.Context) ([]fileResult, error) {
			t.countWork(work, earlier)
			return runBatch(ctx, work, t)
		})
		if err != nil {
			return s.fail(ctx, r, src, err)
		}
		for _, o := range done {
			if o.End {
				return s.complete(ctx, r, src, t)
			}
			if !t.counted {
				earlier[o.Name] = true
			}
			t.fileDone(ctx, o)
			if o.QuotaDetail != "" {
				return s.stopForQuota(ctx, r, src, t, o.QuotaDetail)
			}
		}
	}
	// Another one goes on, and this one says how far it came.
	if _, err := s.start(ctx, userID, src.ID); err != nil {
		return task.Outcome{}, err
	}
	return s.finish(ctx, r, t, task.StateComplete)
}

// step does some files in a step of the task.
func (s *Service) step(ctx context.Context, r *task.Run, n int, do func(context.Context) ([]fileResult, error)) ([]fileResult, error) {
	out, err := r.Step(ctx, "files", "Files, part "+strconv.Itoa(n+1), func(ctx context.Context, _ *task.Step) ([]byte, error) {
		done, err := do(ctx)
		if err != nil {
			return nil, err
		}
		return json.Marshal(done)
	})
	if err != nil {
		return nil, err
	}
	var done []fileResult
	if err := json.Unmarshal(out, &done); err != nil {
		return nil, fmt.Errorf("read a step of an import: %w", err)
	}
	return done, nil
}

// What one step does: enough that the journal stays short, little enough that a crash costs little.
const (
	batchFiles = 200
	batchTime  = 5 * time.Second
)

// batch reads files until it is time for the next step.
func runBatch(ctx context.Context, w fileQueue, t *reporter) ([]fileResult, error) {
	var done []fileResult
	for began := time.Now(); len(done) < batchFiles && time.Since(began) < batchTime; {
		o, err := w.next(ctx, t)
		switch refusal := quotaError(err); {
		case refusal != nil:
			o.Error, o.QuotaDetail = refusal.Detail, refusal.Detail // what was read before it is told, and stays
		case err != nil:
			return nil, err
		}
		if done = append(done, o); o.End || o.QuotaDetail != "" {
			break
		}
		t.fileProgress(ctx, o.Name, 0, source.Imported{})
	}
	return done, nil
}

// codeFull is the code of documents that the plan of their owner has no room for.
const codeQuotaExceeded = "quota_exceeded"

// noRoom returns the error that says so, or nil.
func quotaError(err error) *core.Error {
	var told *core.Error
	if errors.As(err, &told) && told.Code == codeQuotaExceeded {
		return told
	}
	return nil
}

// full ends an import that there is no room for the rest of.
func (s *Service) stopForQuota(ctx context.Context, r *task.Run, src source.Source, t *reporter, why string) (task.Outcome, error) {
	if err := s.scheduleNext(ctx, src); err != nil {
		return task.Outcome{}, err
	}
	out, err := s.finish(ctx, r, t, task.StateFailed)
	out.State, out.Code, out.Detail = task.StateFailed, codeQuotaExceeded, why
	return out, err
}

// postpone has a source that syncs by itself tried again when it is due next.
func (s *Service) scheduleNext(ctx context.Context, src source.Source) error {
	set, err := src.SettingsOf()
	if err != nil || set.SyncMinutes == 0 {
		return nil //nolint:nilerr // settings that can't be read are why it failed
	}
	now := s.clock.Now()
	due := now.Add(time.Duration(set.SyncMinutes) * time.Minute)
	return s.store.SetSynced(ctx, src.ID, now, &due)
}

func (s *Service) complete(ctx context.Context, r *task.Run, src source.Source, t *reporter) (task.Outcome, error) {
	if s.sources.Syncs(src) {
		now := s.clock.Now()
		var next *time.Time
		if set, err := src.SettingsOf(); err == nil && set.SyncMinutes > 0 {
			due := now.Add(time.Duration(set.SyncMinutes) * time.Minute)
			next = &due
		}
		if err := s.store.SetSynced(ctx, src.ID, now, next); err != nil {
			return task.Outcome{}, err
		}
	}
	if s.options.Imported != nil {
		s.options.Imported(ctx)
	}
	return s.finish(ctx, r, t, task.StateComplete)
}

// outcome stores the last report and ends the task with it.
func (s *Service) finish(ctx context.Context, r *task.Run, t *reporter, state task.State) (task.Outcome, error) {
	t.mu.Lock()
	t.report.Current, t.report.ETASeconds = "", 0
	result, err := json.Marshal(t.report)
	t.mu.Unlock()
	if err != nil {
		return task.Outcome{}, err
	}
	return task.Outcome{Result: result}, t.sendFinal(ctx, r.Task(), state)
}

// failed ends an import that can't go on: a folder that is gone, an address that does not answer.
func (s *Service) fail(ctx context.Context, r *task.Run, src source.Source, err error) (task.Outcome, error) {
	var told *core.Error
	if ctx.Err() != nil || !errors.As(err, &told) {
		if ctx.Err() == nil {
			s.log.ErrorContext(ctx, "an import failed", "source", src.ID, "error", err)
		} else if errors.Is(context.Cause(ctx), task.ErrCancelled) {
			s.recordEnd(ctx, r, src, task.StateCancelled, "It was cancelled.")
		}
		if ctx.Err() == nil {
			s.recordEnd(ctx, r, src, task.StateFailed, "Something went wrong on our side.")
		}
		return task.Outcome{}, err
	}
	s.recordEnd(ctx, r, src, task.StateFailed, told.Detail)
	if err := s.scheduleNext(ctx, src); err != nil {
		return task.Outcome{}, err
	}
	return task.Outcome{State: task.StateFailed, Code: told.Code, Detail: told.Detail}, nil
}

// note writes down why an import ended early. That it ended is known by its task, too.
func (s *Service) recordEnd(ctx context.Context, r *task.Run, src source.Source, state task.State, reason string) {
	t := r.Task()
	i := Import{ID: t.ID, SourceID: src.ID, State: state, CreatedAt: t.CreatedAt, UpdatedAt: s.clock.Now()}
	i.problem(src.Name, reason)
	if err := s.store.PutImport(context.WithoutCancel(ctx), i); err != nil {
		s.log.WarnContext(ctx, "could not note how an import ended", "import", t.ID, "error", err)
	}
}

// teller gathers what an import does and tells it to those who follow it, now and then.
type reporter struct {
	service   *Service
	run       *task.Run
	sourceID  string
	startedAt time.Time

	mu       sync.Mutex
	report   Report
	lastSent time.Time
	counted  bool
}

// begin counts what there is to do, once: what earlier attempts did, as the journal has it, and what is left.
func (t *reporter) countWork(w fileQueue, earlier map[string]bool) {
	if t.counted {
		return
	}
	t.counted = true
	w.skip(earlier)
	files, bytes := w.size()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Files.Total, t.report.Bytes.Total = t.report.Files.Done+files, t.report.Bytes.Done+bytes
}

// reading tells that a file is being read, and how far.
func (t *reporter) fileProgress(ctx context.Context, name string, bytes int64, docs source.Imported) {
	t.mu.Lock()
	if time.Since(t.lastSent) < reportInterval {
		t.mu.Unlock()
		return
	}
	t.lastSent = time.Now()
	now := t.report
	now.Current = name
	now.estimate(time.Since(t.startedAt), bytes)
	now.Bytes.Done += bytes
	now.Documents.Added += docs.Added
	now.Documents.Updated += docs.Updated
	now.Documents.Unchanged += docs.Unchanged
	t.mu.Unlock()
	t.send(ctx, now)
}

// finished takes what became of a file.
func (t *reporter) fileDone(ctx context.Context, o fileResult) {
	t.mu.Lock()
	t.report.add(o)
	t.report.Files.Total = max(t.report.Files.Total, t.report.Files.Done)
	t.report.Bytes.Total = max(t.report.Bytes.Total, t.report.Bytes.Done)
	due := time.Since(t.lastSent) >= reportInterval
	if due {
		t.lastSent = time.Now()
		t.report.estimate(time.Since(t.startedAt), 0)
	}
	now := t.report
	t.mu.Unlock()
	if due {
		t.send(ctx, now)
	}
}

// tell writes down how far the import is. An import goes on though nobody can be told.
func (t *reporter) send(ctx context.Context, now Report) {
	payload, err := json.Marshal(now)
	if err != nil {
		return
	}
	t.run.Emit("progress", payload)
	own := t.run.Task()
	err = t.save(ctx, own, task.StateRunning, now)
	if err != nil && ctx.Err() == nil {
		t.service.log.WarnContext(ctx, "could not note how far an import is", "import", own.ID, "error", err)
	}
}

func (t *reporter) sendFinal(ctx context.Context, own task.Task, state task.State) error {
	t.mu.Lock()
	now := t.report
	t.mu.Unlock()
	payload, err := json.Marshal(now)
	if err != nil {
		return err
	}
	t.run.Emit("progress", payload)
	return t.save(ctx, own, state, now)
}

// put stores where the import stands.
func (t *reporter) save(ctx context.Context, own task.Task, state task.State, now Report) error {
	return t.service.store.PutImport(ctx, Import{
		ID: own.ID, SourceID: t.sourceID, State: state, Report: now, CreatedAt: own.CreatedAt, UpdatedAt: t.service.clock.Now(),
	})
}
