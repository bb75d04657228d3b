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
	// exportDeadline is how long an export may take, waiting included.
	exportDeadline = 24 * time.Hour
	// partSize is the length of every part but the last. One is held in memory for every export and every download.
	partSize = 1 << 20
	// spare is how much room an export leaves on the disk: others write there too.
	spare = 512 << 20
)

// Recorder writes down what happens to accounts. What has happened can't be undone, so it has no error.
type Recorder interface {
	Note(ctx context.Context, r audit.Record)
}

// ExportOptions is how exports are made and kept.
type ExportOptions struct {
	// Keep is how long one that has ended is kept.
	Keep time.Duration
	// Free tells how many bytes the disk still takes; nil where that can't be known, as with a database elsewhere.
	Free func() (uint64, error)
}

// Exports makes archives of accounts and hands them out.
type Exports struct {
	store    ExportStore
	archives *Archives
	tasks    Tasks
	clock    core.Clock
	recorder Recorder
	o        ExportOptions
}

// NewExports returns exports that archives write.
func NewExports(store ExportStore, archives *Archives, tasks Tasks, clock core.Clock, recorder Recorder, o ExportOptions) *Exports {
	return &Exports{store: store, archives: archives, tasks: tasks, clock: clock, recorder: recorder, o: o}
}

// Kind is the kind of task that exports are, to be registered with the engine.
func (x *Exports) Kind() task.Kind {
	return task.Kind{Name: exportKind, Run: x.run, Finish: x.finish, Deadline: exportDeadline}
}

// Create begins an export of the actor's account, or returns the one that is being made.
func (x *Exports) Create(ctx context.Context, actor core.Actor) (Export, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return Export{}, err
	}
	t, err := x.tasks.Prepare(task.Spec{
		ID: core.NewID(exportPrefix), Kind: exportKind, UserID: actor.UserID, CredentialID: actor.CredentialID,
	})
	if err != nil {
		return Export{}, err
	}
	parts := partsFor(actor)
	e, t, err := x.store.BeginExport(ctx, Export{
		ID: t.ID, UserID: actor.UserID, Status: StatusWorking, Parts: parts, CreatedAt: t.CreatedAt,
	}, t)
	if err != nil {
		return Export{}, err
	}
	if parts.Agents && !e.Parts.Agents {
		return Export{}, core.Conflict("conflict", "An export of the account without its agents is being made. "+
			"Wait until it is complete, or delete it, and export again.")
	}
	if t.New {
		x.recorder.Note(ctx, audit.Record{Event: audit.AccountExported, UserID: actor.UserID, Actor: actor.CredentialID})
		x.tasks.Adopt(t)
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

// Delete removes the export of the actor's account; one that is being made stops.
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

// Open returns the bytes of a complete export. They are read part by part, as they are asked for.
func (x *Exports) Open(ctx context.Context, actor core.Actor) (Export, io.ReadSeeker, error) {
	e, err := x.Get(ctx, actor)
	if err != nil {
		return Export{}, nil, err
	}
	if e.Parts.Agents && !partsFor(actor).Agents {
		return Export{}, nil, &core.Error{
			Kind: core.KindForbidden, Code: "insufficient_scope", Scope: core.ScopeAgents,
			Detail: "This export holds the contents of agents. " +
				"Use a credential with the scope agents, or export again with this one.",
		}
	}
	switch e.Status {
	case StatusWorking:
		return Export{}, nil, core.Conflict("conflict", "The export is still being made. Ask for its status, and download it when it is complete.")
	case StatusFailed:
		return Export{}, nil, core.Conflict("conflict", "The export could not be made. Its status says why; export again.")
	}
	return e, &partReader{ctx: ctx, store: x.store, export: e, loaded: -1}, nil
}

// Prune removes exports that have expired.
func (x *Exports) Prune(ctx context.Context) error { return x.store.PruneExports(ctx, x.clock.Now()) }

// run writes the archive, from its beginning in every attempt: half a zip file can't be gone on with, and what it is made
// of may have changed.
func (x *Exports) run(ctx context.Context, r *task.Run) (task.Outcome, error) {
	t := r.Task()
	e, err := x.store.Export(ctx, t.UserID)
	if core.IsKind(err, core.KindNotFound) || err == nil && e.ID != t.ID {
		return task.Outcome{}, task.ErrLost // it was deleted meanwhile
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

// finish ends the export with its task.
func (x *Exports) finish(ctx context.Context, f task.Fence, o task.Outcome) error {
	switch {
	case o.State == task.StateCancelled:
		o.Code, o.Detail = "cancelled", "The export was stopped."
	case o.Code == task.CodeInternal || o.Code == task.CodeCrashLoop || o.Code == task.CodeTimeout:
		o.Detail = "Something went wrong on our side. Export again."
	}
	return x.store.FinishExport(ctx, f, o, o.At.Add(x.o.Keep))
}

// roomLeft refuses to fill the disk.
func (x *Exports) roomLeft() error {
	if x.o.Free == nil {
		return nil
	}
	free, err := x.o.Free()
	if err != nil {
		return fmt.Errorf("ask how much room there is: %w", err)
	}
	if free < spare {
		return &core.Error{
			Kind: core.KindConflict, Code: "no_space",
			Detail: "There is not enough room for the archive. Ask whoever runs this installation, then export again.",
		}
	}
	return nil
}

// partWriter cuts what is written into parts and stores them.
type partWriter struct {
	ctx     context.Context //nolint:containedctx // a zip.Writer hands none over
	exports *Exports
	fence   task.Fence
	buf     []byte
	n       int64
	// done counts what was written so far.
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

// flush stores what is there as a part. All but the last are full.
func (w *partWriter) flush() error {
	if err := w.exports.roomLeft(); err != nil {
		return err
	}
	if err := w.exports.store.AppendExport(w.ctx, w.fence, w.n, w.buf, w.done); err != nil {
		return err
	}
	w.buf = w.buf[:0]
	w.n++
	return nil
}

// partReader reads an export from any place on. It holds one part at a time.
type partReader struct {
	ctx    context.Context //nolint:containedctx // of the request that it belongs to
	store  ExportStore
	export Export
	at     int64
	part   []byte
	loaded int64 // the number of part, or -1
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
		return 0, errors.New("leave: a place before the beginning")
	}
	r.at = offset
	return offset, nil
}
