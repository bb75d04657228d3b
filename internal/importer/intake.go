// Package importer fills sources: it takes files in, in pieces if need be, reads folders, pages and feeds, and makes
// documents of them in tasks that survive a restart. What has not changed is passed over, what is gone is removed, and a
// file that can't be read is reported with its reason and stops nothing.
package importer

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"carrel/internal/core"
	"carrel/internal/format"
	"carrel/internal/format/budget"
	"carrel/internal/source"
	"carrel/internal/task"
)

// File is a file, page or entry that a source is made of, as it was when it was last read.
type File struct {
	ID       string
	SourceID string
	// Name is its path in the source, or its address.
	Name string
	Size int64
	// Version tells of a change without reading it: a time, an ETag; empty where there is nothing of the kind.
	Version string
	// Hash is of its bytes.
	Hash []byte
	// Documents came of it, and Skipped records of it could not be read.
	Documents, Skipped int
	// Error is why nothing could be read, or empty.
	Error     string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Upload is a file on its way in.
type Upload struct {
	ID       string
	SourceID string
	Name     string
	// Size is -1 while it is not known.
	Size     int64
	Received int64
	// Ready says that all of it is here and waits to be read.
	Ready     bool
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Import is one filling of a source.
type Import struct {
	// ID is that of its task.
	ID       string
	SourceID string
	State    task.State
	Report
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Store keeps files, uploads and imports.
type Store interface {
	Uploads
	Files
	// PutImport notes how far an import is.
	PutImport(ctx context.Context, i Import) error
	// Imports returns the imports of a source, newest first, up to n.
	Imports(ctx context.Context, sourceID string, n int) ([]Import, error)
	// StorageOfSource returns what the owner of a source keeps, files on their way in included.
	StorageOfSource(ctx context.Context, sourceID string) (core.Storage, error)
	// SourceByID returns a source with the user whose agent it belongs to.
	SourceByID(ctx context.Context, sourceID string) (s source.Source, userID string, err error)
	// DueSources returns up to n sources whose next sync is not after now.
	DueSources(ctx context.Context, now time.Time, n int) ([]source.Source, error)
	// SetSynced notes that a source was brought up to date, and when it is due again.
	SetSynced(ctx context.Context, sourceID string, at time.Time, next *time.Time) error
	// LatestTaskNumbers returns the number of the newest task of each key.
	LatestTaskNumbers(ctx context.Context, keys []string) (map[string]int64, error)
	// ActiveTask returns the task of a key that runs or, if none does, waits first.
	ActiveTask(ctx context.Context, key string) (task.Task, error)
}

// Uploads keeps files on their way in.
type Uploads interface {
	InsertUpload(ctx context.Context, u Upload) error
	Upload(ctx context.Context, sourceID, id string) (Upload, error)
	// AppendUpload adds bytes at an offset, which must be where the upload is: else it is a conflict.
	AppendUpload(ctx context.Context, id string, offset int64, data []byte, now time.Time) error
	// FinishUpload says that all of an upload is here.
	FinishUpload(ctx context.Context, id string, now time.Time) error
	DeleteUpload(ctx context.Context, sourceID, id string) error
	// ReadyUploads returns the uploads of a source that wait to be read, oldest first, up to n.
	ReadyUploads(ctx context.Context, sourceID string, n int) ([]Upload, error)
	// UploadChunk returns a piece of an upload that begins at an offset.
	UploadChunk(ctx context.Context, id string, offset int64) ([]byte, error)
	// WaitingUploads returns how many uploads of a source wait to be read, and how many bytes they have.
	WaitingUploads(ctx context.Context, sourceID string) (files int, bytes int64, err error)
	// PruneUploads removes uploads that nobody went on with.
	PruneUploads(ctx context.Context, before time.Time) error
}

// Files keeps what sources are made of.
type Files interface {
	// PutFile stores a file under its name; the one that is there keeps its id, which is returned.
	PutFile(ctx context.Context, f File) (id string, err error)
	// FileByName returns the file of a source with this name.
	FileByName(ctx context.Context, sourceID, name string) (File, error)
	// SourceFiles returns up to n files of a source, newest first: those older than the id in before, unless it is empty.
	SourceFiles(ctx context.Context, sourceID, before string, n int) ([]File, error)
	// DeleteFile removes a file with its documents, and returns how many these were.
	DeleteFile(ctx context.Context, sourceID, id string, now time.Time) (documents int, err error)
	// FileDocuments returns up to n external ids of the documents of a file, in order, after one.
	FileDocuments(ctx context.Context, sourceID, fileID, after string, n int) ([]string, error)
	DeleteDocuments(ctx context.Context, sourceID string, externalIDs []string, now time.Time) (int, error)
}

// Tasks runs durable work.
type Tasks interface {
	Submit(ctx context.Context, s task.Spec) (task.Task, error)
	Stream(ctx context.Context, key string, after task.Position) iter.Seq2[task.Event, error]
}

// Options say how files are taken in.
type Options struct {
	// Scratch is the folder in which uploads are put together to be read; empty is the system's.
	Scratch string
	// Client fetches pages and feeds.
	Client *http.Client
	// MaxUpload is how large a file may be; 0 means a gigabyte.
	MaxUpload int64
	// Limits bound what reading one file may cost; zero means the default limits.
	Limits format.Limits
	// PerUser and PerNode are how many imports of a user and of this node run at once; 0 means without limit.
	PerUser, PerNode int
	// Imported is called when documents have come in, so that whoever works on them need not wait.
	Imported func(ctx context.Context)
}

const defaultMaxUpload = 1 << 30

// Service is the door to what fills sources.
type Service struct {
	store   Store
	sources *source.Service
	tasks   Tasks
	clock   core.Clock
	log     *slog.Logger
	options Options
}

// NewService returns a service on this store.
func NewService(store Store, sources *source.Service, tasks Tasks, clock core.Clock, log *slog.Logger, o Options) *Service {
	if o.MaxUpload == 0 {
		o.MaxUpload = defaultMaxUpload
	}
	if o.Limits.Limits == (budget.Limits{}) {
		o.Limits.Limits = budget.Default
	}
	return &Service{store: store, sources: sources, tasks: tasks, clock: clock, log: log, options: o}
}

// MaxUpload is how large a file may be, in bytes.
func (s *Service) MaxUpload() int64 { return s.options.MaxUpload }

// filesList names the list in its cursors.
const filesList = "files"

// Files lists the files of a source, newest first.
func (s *Service) Files(ctx context.Context, actor core.Actor, agentID, sourceID string, p core.Page) ([]File, string, error) {
	if _, err := s.sources.For(ctx, actor, core.OpListFiles, agentID, sourceID); err != nil {
		return nil, "", err
	}
	n, err := p.Rows(core.DefaultLimit)
	if err != nil {
		return nil, "", err
	}
	before, err := core.DecodeIDCursor(filesList, p.Cursor)
	if err != nil {
		return nil, "", err
	}
	files, err := s.store.SourceFiles(ctx, sourceID, before, n+1)
	if err != nil || len(files) <= n {
		return files, "", err
	}
	return files[:n], core.EncodeCursor(filesList, files[n-1].ID), nil
}

// DeleteFile removes a file with its documents.
func (s *Service) DeleteFile(ctx context.Context, actor core.Actor, agentID, sourceID, fileID string) error {
	if _, err := s.sources.For(ctx, actor, core.OpDeleteFile, agentID, sourceID); err != nil {
		return err
	}
	_, err := s.store.DeleteFile(ctx, sourceID, fileID, s.clock.Now())
	return err
}

// shownImports is how many imports of a source are told of.
const shownImports = 20

// Imports returns the latest imports of a source, newest first.
func (s *Service) Imports(ctx context.Context, actor core.Actor, agentID, sourceID string) ([]Import, error) {
	if _, err := s.sources.For(ctx, actor, core.OpListImports, agentID, sourceID); err != nil {
		return nil, err
	}
	return s.store.Imports(ctx, sourceID, shownImports)
}

// Telling returns the import that says most of how a source is doing: the one that runs, or the latest that did something.
func Telling(imports []Import) (Import, bool) {
	for _, i := range imports {
		if i.State != task.StateComplete || i.Files.Done > 0 {
			return i, true
		}
	}
	if len(imports) == 0 {
		return Import{}, false
	}
	return imports[0], true
}
