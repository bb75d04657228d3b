package accountdata

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/task"
)

const (
	exportKind = "account_export"
	// exportDeadline is the time limit of an export, including the time in the queue.
	exportDeadline = 24 * time.Hour
	// partSize is the size of all parts but the last. One part is held in memory per export and download.
	partSize = 1 << 20
	// minFreeSpace is the disk space that an export must leave free for other writes.
	minFreeSpace = 512 << 20
)

// Recorder writes audit entries. It returns no error, because the recorded event cannot be undone.
type Recorder interface {
	Note(ctx context.Context, r audit.Record)
}

// ExportOptions configure exports.
type ExportOptions struct {
	// Keep is how long an ended export is kept.
	Keep time.Duration
	// Free returns the free disk space in bytes. It is nil if unknown, such as for a remote database.
	Free func() (uint64, error)
}

// Exports creates archives of accounts and serves downloads.
type Exports struct {
	store    ExportStore
	archives *Archives
	tasks    Tasks
	clock    core.Clock
	recorder Recorder
	options  ExportOptions
}

// ExportDeps are the dependencies of Exports. All are required.
type ExportDeps struct {
	Store    ExportStore
	Archives *Archives
	Tasks    Tasks
	Clock    core.Clock
	Audit    Recorder
}

// NewExports panics if a dependency is missing.
func NewExports(d ExportDeps, o ExportOptions) *Exports {
	core.RequireDeps(d)
	return &Exports{store: d.Store, archives: d.Archives, tasks: d.Tasks, clock: d.Clock, recorder: d.Audit, options: o}
}

// Kind returns the task kind of exports, to be registered with the engine.
func (x *Exports) Kind() task.Kind {
	return task.Kind{Name: exportKind, Run: x.run, Finish: x.finish, Deadline: exportDeadline}
}

// Create starts an export of the actor's account, or returns the export in progress.
func (x *Exports) Create(ctx context.Context, actor core.Actor) (Export, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return Export{}, err
	}
	parts := partsFor(actor)
	var e Export
	_, err := x.tasks.SubmitWith(ctx, task.Spec{
		ID: core.NewID(exportPrefix), Kind: exportKind, UserID: actor.UserID, CredentialID: actor.CredentialID,
	}, func(ctx context.Context, t task.Task) (_ task.Task, err error) {
		e, t, err = x.store.BeginExport(ctx, Export{
			ID: t.ID, UserID: actor.UserID, Status: StatusWorking, Parts: parts, CreatedAt: t.CreatedAt,
		}, t)
		if err == nil && t.New { // before the export starts, so that it contains the entry
			x.recorder.Note(ctx, audit.Record{
				Event: audit.AccountExported, UserID: actor.UserID,
				Actor: actor.CredentialID,
			})
		}
		return t, err
	})
	if err != nil {
		return Export{}, err
	}
	if parts.Agents && !e.Parts.Agents {
		return Export{}, core.Conflict("conflict", "An export without the agents is in progress. "+
			"Wait until it is complete, or delete it, and export again.")
	}
	return e, nil
}

// Get returns the latest export of the actor's account.
func (x *Exports) Get(ctx context.Context, actor core.Actor) (Export, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return Export{}, err
	}
	e, err := x.store.Export(ctx, actor.UserID)
	if err == nil && e.ExpiresAt != nil && !x.clock.Now().Before(*e.ExpiresAt) {
		return Export{}, core.NotFound("export")
	}
	return e, err
}

// Delete deletes the export of the actor's account and stops one in progress.
func (x *Exports) Delete(ctx context.Context, actor core.Actor) error {
	e, err := x.Get(ctx, actor)
	if err != nil {
		return err
	}
	if e.Status == StatusWorking {
		if _, err := x.tasks.Cancel(ctx, e.ID); err != nil && !core.IsKind(err, core.KindNotFound) {
			return err
		}
	}
	return x.store.DeleteExport(ctx, actor.UserID)
}

// Open returns a reader of a complete export, which loads the parts on demand.
func (x *Exports) Open(ctx context.Context, actor core.Actor) (Export, io.ReadSeeker, error) {
	e, err := x.Get(ctx, actor)
	if err != nil {
		return Export{}, nil, err
	}
	if e.Parts.Agents && !partsFor(actor).Agents {
		return Export{}, nil, &core.Error{
			Kind: core.KindForbidden, Code: "insufficient_scope", Scope: core.ScopeAgents,
			Detail: "This export includes the contents of agents. " +
				"Use a credential with the scope agents, or export again with this one.",
		}
	}
	switch e.Status {
	case StatusWorking:
		return Export{}, nil, core.Conflict("conflict",
			"The export is in progress. Poll its status and download it when it is complete.")
	case StatusFailed:
		return Export{}, nil, core.Conflict("conflict",
			"The export failed. See its status for the reason and export again.")
	}
	return e, &partReader{ctx: ctx, store: x.store, export: e, loaded: -1}, nil
}

// Prune deletes expired exports.
func (x *Exports) Prune(ctx context.Context) error { return x.store.PruneExports(ctx, x.clock.Now()) }

// run writes the archive. Every attempt starts over, because a zip file cannot be resumed and the data may have
// changed.
func (x *Exports) run(ctx context.Context, r *task.Run) (task.Outcome, error) {
	t := r.Task()
	e, err := x.store.Export(ctx, t.UserID)
	if core.IsKind(err, core.KindNotFound) || err == nil && e.ID != t.ID {
		return task.Outcome{}, task.ErrLost // deleted meanwhile
	}
	if err != nil {
		return task.Outcome{}, err
	}
	total := int64(0)
	if e.Parts.Agents {
		if total, err = x.store.CountOwned(ctx, t.UserID); err != nil {
			return task.Outcome{}, err
		}
	}
	if err := x.store.RestartExport(ctx, t.Fence(), total); err != nil {
		return task.Outcome{}, err
	}
	w := &partWriter{ctx: ctx, exports: x, fence: t.Fence()}
	if err := x.archives.Write(ctx, t.UserID, e.Parts, w, func() { w.done++ }); err != nil {
		return task.Outcome{}, err
	}
	return task.Outcome{}, w.flush()
}

// finish ends the export together with its task.
func (x *Exports) finish(ctx context.Context, f task.Fence, o task.Outcome) error {
	switch {
	case o.State == task.StateCancelled:
		o.Code, o.Detail = "cancelled", "The export was stopped."
	case o.Code == task.CodeInternal || o.Code == task.CodeCrashLoop || o.Code == task.CodeTimeout:
		o.Detail = "Something went wrong on our side. Export again."
	}
	return x.store.FinishExport(ctx, f, o, o.At.Add(x.options.Keep))
}

// checkFreeSpace returns an error if the disk is nearly full.
func (x *Exports) checkFreeSpace() error {
	if x.options.Free == nil {
		return nil
	}
	free, err := x.options.Free()
	if err != nil {
		return fmt.Errorf("read the free disk space: %w", err)
	}
	if free < minFreeSpace {
		return &core.Error{
			Kind: core.KindConflict, Code: "no_space",
			Detail: "There is not enough disk space for the archive. Contact the operator of this installation, " +
				"then export again.",
		}
	}
	return nil
}

// partWriter stores the archive in parts of partSize.
type partWriter struct {
	ctx     context.Context //nolint:containedctx // io.Writer passes no context
	exports *Exports
	fence   task.Fence
	buf     []byte
	n       int64
	// done counts the items written so far.
	done int64
}

// Write implements io.Writer.
func (w *partWriter) Write(p []byte) (int, error) {
	written := len(p)
	for len(w.buf)+len(p) >= partSize {
		fits := partSize - len(w.buf)
		w.buf = append(w.buf, p[:fits]...)
		if err := w.flush(); err != nil {
			return 0, err
		}
		p = p[fits:]
	}
	w.buf = append(w.buf, p...)
	return written, nil
}

// flush stores the buffer as a part. Only the last part may be shorter.
func (w *partWriter) flush() error {
	if err := w.exports.checkFreeSpace(); err != nil {
		return err
	}
	if err := w.exports.store.AppendExport(w.ctx, w.fence, w.n, w.buf, w.done); err != nil {
		return err
	}
	w.buf = w.buf[:0]
	w.n++
	return nil
}

// partReader reads an export at any offset. It holds one part at a time.
type partReader struct {
	ctx    context.Context //nolint:containedctx // the context of the request
	store  ExportStore
	export Export
	at     int64
	part   []byte
	loaded int64 // index of part, or -1
}

// Read implements io.Reader.
func (r *partReader) Read(p []byte) (int, error) {
	if r.at >= r.export.Bytes {
		return 0, io.EOF
	}
	if n := r.at / partSize; n != r.loaded {
		part, err := r.store.ExportPart(r.ctx, r.export, n)
		if err != nil {
			return 0, err
		}
		r.part, r.loaded = part, n
	}
	offset := r.at % partSize
	if offset >= int64(len(r.part)) {
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(p, r.part[offset:])
	r.at += int64(n)
	return n, nil
}

// Seek implements io.Seeker.
func (r *partReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.export.Bytes
	}
	if offset < 0 {
		return 0, errors.New("accountdata: negative position")
	}
	r.at = offset
	return offset, nil
}
