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
	// taskDeadline limits the run time of an import.
	taskDeadline = 3 * 24 * time.Hour
	// maxSteps bounds the journal of a task. An import with more work submits another task.
	maxSteps = 500
	// reportInterval is the minimum time between two progress events.
	reportInterval = time.Second
	prefixImport   = "imp"
)

// Kind returns the task kind to register with the engine.
func (s *Service) Kind() task.Kind {
	return task.Kind{
		Name: kindName, Run: s.run, Deadline: taskDeadline, MaxRunning: s.options.PerNode,
		MaxPerUser: s.options.PerUser, Finish: s.store.FinishImport,
	}
}

type taskInput struct {
	SourceID string `json:"sourceId"`
	// DocumentIDs are documents to read again from their originals. Without them the task imports the source.
	DocumentIDs []string `json:"documentIds,omitempty"`
}

// start submits an import task. Imports of one source run one after the other, so a superfluous task finds nothing to
// do.
func (s *Service) start(ctx context.Context, userID, sourceID string) (Import, error) {
	// A queued task will see all files that exist when it starts, so a second one is not needed.
	if active, err := s.store.ActiveTask(ctx, sourceID); err == nil && active.State == task.StateQueued {
		var input taskInput
		if err := json.Unmarshal(active.Input, &input); err == nil && len(input.DocumentIDs) == 0 {
			return Import{
				ID: active.ID, SourceID: sourceID, State: active.State, CreatedAt: active.CreatedAt,
				UpdatedAt: active.CreatedAt,
			}, nil
		}
	}
	return s.submit(ctx, userID, taskInput{SourceID: sourceID})
}

// submit stores an import and submits its task.
func (s *Service) submit(ctx context.Context, userID string, in taskInput) (Import, error) {
	input, err := json.Marshal(in)
	if err != nil {
		return Import{}, err
	}
	now := s.clock.Now()
	i := Import{
		ID: core.NewID(prefixImport), SourceID: in.SourceID, State: task.StateQueued, CreatedAt: now, UpdatedAt: now,
	}
	if err := s.store.PutImport(ctx, i); err != nil {
		return Import{}, err
	}
	_, err = s.tasks.Submit(ctx, task.Spec{ID: i.ID, Kind: kindName, Key: in.SourceID, UserID: userID, Input: input})
	return i, err
}

// Sync starts an import of a source that can be synced.
func (s *Service) Sync(ctx context.Context, actor core.Actor, agentID, sourceID string) (Import, error) {
	src, err := s.sources.For(ctx, actor, core.OpSyncSource, agentID, sourceID)
	if err != nil {
		return Import{}, err
	}
	if !s.sources.Syncs(src) {
		return Import{}, core.Conflict(
			"conflict",
			"Sources of this kind can't be synced. Uploaded files are imported when they arrive.",
		)
	}
	return s.start(ctx, actor.UserID, sourceID)
}

// run is the body of an import task. Each step of the journal processes a batch of files.
func (s *Service) run(ctx context.Context, r *task.Run) (task.Outcome, error) {
	var j taskInput
	if err := json.Unmarshal(r.Task().Input, &j); err != nil {
		return task.Outcome{}, fmt.Errorf("decode the import's input: %w", err)
	}
	src, userID, err := s.store.SourceByID(ctx, j.SourceID)
	if err != nil {
		return task.Outcome{}, err
	}
	work, err := s.queueFor(ctx, src, j.DocumentIDs)
	if err != nil {
		return s.fail(ctx, r, src, err)
	}
	defer work.close()
	t := &reporter{service: s, run: r, sourceID: src.ID, startedAt: time.Now()}
	if r.Task().Attempt == 1 {
		if err := t.save(ctx, r.Task(), task.StateRunning, t.report); err != nil { // the import was stored as queued
			return task.Outcome{}, err
		}
	}
	earlier := map[string]bool{} // files processed by an earlier attempt, from the journal
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
				return s.complete(ctx, r, src, t, len(j.DocumentIDs) == 0)
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
	// The journal is full. Another task continues, and this one ends with its counts.
	// All documents to read again fit in one journal.
	if len(j.DocumentIDs) == 0 {
		if _, err := s.start(ctx, userID, src.ID); err != nil {
			return task.Outcome{}, err
		}
	}
	return s.finish(ctx, r, t, task.StateComplete, false)
}

// step runs do as a step of the task and returns its journaled results.
func (s *Service) step(
	ctx context.Context, r *task.Run, n int, do func(context.Context) ([]fileResult, error),
) ([]fileResult, error) {
	out, err := r.Step(ctx, "files", "Files, part "+strconv.Itoa(
		n+1,
	), func(ctx context.Context, _ *task.Step) ([]byte, error) {
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
		return nil, fmt.Errorf("decode a step of the import: %w", err)
	}
	return done, nil
}

// Limits of one step: large enough to keep the journal short, small enough that a crash repeats little work.
const (
	batchFiles = 200
	batchTime  = 5 * time.Second
)

// runBatch imports files until the batch is full.
func runBatch(ctx context.Context, w fileQueue, t *reporter) ([]fileResult, error) {
	var done []fileResult
	for began := time.Now(); len(done) < batchFiles && time.Since(began) < batchTime; {
		o, err := w.next(ctx, t)
		switch refusal := quotaError(err); {
		case refusal != nil:
			o.Error, o.QuotaDetail = refusal.Detail, refusal.Detail // the files before this one are kept and reported
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

// codeQuotaExceeded is the error code for documents beyond the storage limit of their owner's plan.
const codeQuotaExceeded = "quota_exceeded"

// quotaError returns err if it is a storage limit error, else nil.
func quotaError(err error) *core.Error {
	var told *core.Error
	if errors.As(err, &told) && told.Code == codeQuotaExceeded {
		return told
	}
	return nil
}

// stopForQuota ends an import that exceeds the storage limit.
func (s *Service) stopForQuota(
	ctx context.Context, r *task.Run, src source.Source, t *reporter, why string,
) (task.Outcome, error) {
	if err := s.scheduleNext(ctx, src); err != nil {
		return task.Outcome{}, err
	}
	out, err := s.finish(ctx, r, t, task.StateFailed, false)
	out.State, out.Code, out.Detail = task.StateFailed, codeQuotaExceeded, why
	return out, err
}

// scheduleNext sets the next sync of a source that has an interval.
func (s *Service) scheduleNext(ctx context.Context, src source.Source) error {
	set, err := src.SettingsOf()
	if err != nil || set.SyncMinutes == 0 {
		return nil //nolint:nilerr // unreadable settings are the reason of the failure that is being handled
	}
	now := s.clock.Now()
	due := now.Add(time.Duration(set.SyncMinutes) * time.Minute)
	return s.store.SetSynced(ctx, src.ID, now, &due)
}

// complete ends an import. synced is false if only some documents were read again.
func (s *Service) complete(
	ctx context.Context, r *task.Run, src source.Source, t *reporter, synced bool,
) (task.Outcome, error) {
	synced = synced && s.sources.Syncs(src)
	if synced {
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
	return s.finish(ctx, r, t, task.StateComplete, synced)
}

// result is the result of an import's task.
type result struct {
	Report
	// Synced is set if the import has synced the whole source.
	Synced bool `json:"synced,omitempty"`
}

// finish stores the final report and returns it as the result of the task.
func (s *Service) finish(
	ctx context.Context, r *task.Run, t *reporter, state task.State, synced bool,
) (task.Outcome, error) {
	t.mu.Lock()
	t.report.Current, t.report.ETASeconds = "", 0
	result, err := json.Marshal(result{t.report, synced})
	t.mu.Unlock()
	if err != nil {
		return task.Outcome{}, err
	}
	return task.Outcome{Result: result}, t.sendFinal(ctx, r.Task(), state)
}

// fail ends an import that can't continue, such as for a missing folder or an unreachable server.
func (s *Service) fail(ctx context.Context, r *task.Run, src source.Source, err error) (task.Outcome, error) {
	if core.IsDiskFull(err) {
		err = core.AsError(err) // also for files that are written by the importer itself
	}
	var told *core.Error
	if ctx.Err() != nil || !errors.As(err, &told) {
		if ctx.Err() == nil {
			s.log.ErrorContext(ctx, "import failed", "source", src.ID, "error", err)
		} else if errors.Is(context.Cause(ctx), task.ErrCancelled) {
			s.recordEnd(ctx, r, src, task.StateCancelled, "The import was cancelled.")
		}
		if ctx.Err() == nil {
			s.recordEnd(ctx, r, src, task.StateFailed, "An internal error occurred.")
		}
		return task.Outcome{}, err
	}
	s.recordEnd(ctx, r, src, task.StateFailed, told.Detail)
	if err := s.scheduleNext(ctx, src); err != nil {
		return task.Outcome{}, err
	}
	return task.Outcome{State: task.StateFailed, Code: told.Code, Detail: told.Detail}, nil
}

// End is how an import ended, as far as webhooks report it.
type End struct {
	Report Report
	// Sync is set if the import synced its source, or failed to.
	Sync bool
}

// EndOf returns the end of an import from the input and the outcome of its task. The source has this kind.
func EndOf(kind string, input []byte, o task.Outcome) (End, error) {
	var in taskInput
	if err := json.Unmarshal(input, &in); err != nil {
		return End{}, fmt.Errorf("decode the import's input: %w", err)
	}
	var out result
	if o.Result != nil {
		if err := json.Unmarshal(o.Result, &out); err != nil {
			return End{}, fmt.Errorf("decode the import's result: %w", err)
		}
	}
	failed := o.State == task.StateFailed && kind != source.KindUpload && len(in.DocumentIDs) == 0
	return End{Report: out.Report, Sync: out.Synced || failed}, nil
}

// recordEnd stores why an import ended early. An error is only logged, because the task has its own state.
func (s *Service) recordEnd(ctx context.Context, r *task.Run, src source.Source, state task.State, reason string) {
	t := r.Task()
	i := Import{ID: t.ID, SourceID: src.ID, State: state, CreatedAt: t.CreatedAt, UpdatedAt: s.clock.Now()}
	i.problem(src.Name, reason)
	if err := s.store.PutImport(context.WithoutCancel(ctx), i); err != nil {
		s.log.WarnContext(ctx, "storing the end of an import failed", "import", t.ID, "error", err)
	}
}

// reporter collects the results of an import and publishes its progress at most once per reportInterval.
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

// countWork computes the totals once: files that earlier attempts processed according to the journal, plus the queue.
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

// fileProgress publishes the progress within a file. A nil reporter discards it.
func (t *reporter) fileProgress(ctx context.Context, name string, bytes int64, docs source.Imported) {
	if t == nil {
		return
	}
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

// fileDone adds the result of a file.
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

// send publishes a report. A failure is logged and does not stop the import.
func (t *reporter) send(ctx context.Context, now Report) {
	payload, err := json.Marshal(now)
	if err != nil {
		return
	}
	t.run.Emit("progress", payload)
	own := t.run.Task()
	err = t.save(ctx, own, task.StateRunning, now)
	if err != nil && ctx.Err() == nil {
		t.service.log.WarnContext(ctx, "storing the progress of an import failed", "import", own.ID, "error", err)
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

func (t *reporter) save(ctx context.Context, own task.Task, state task.State, now Report) error {
	return t.service.store.PutImport(ctx, Import{
		ID: own.ID, SourceID: t.sourceID, State: state, Report: now, CreatedAt: own.CreatedAt,
		UpdatedAt: t.service.clock.Now(),
	})
}
