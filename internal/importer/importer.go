// Package importer imports uploads, folders, web pages, feeds, S3 buckets and Zotero libraries into sources. Imports
// are durable tasks: they survive a restart and resume. Unchanged files are skipped, documents of deleted files are
// deleted, and a file that can't be read is reported with the reason without stopping the import.
//
// Feeds and robots.txt are parsed here rather than with gofeed and temoto/robotstxt. gofeed v1.4.2 (0.4 MB of binary)
// has no limit on entries or on the size of an entry: a feed of 15 MB of empty entries allocates 4 GB in it and 0.2
// GB here. robotstxt v1.1.2 does not normalize percent-encoding and lets a Disallow rule win over an equally long
// Allow rule, both against RFC 9309, section 2.2.2, and compiles hostile patterns to regular expressions.
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

// File is a file, web page or feed of a source, in the state of its last import.
type File struct {
	ID       string
	SourceID string
	// Name is the path in the source, or the URL.
	Name string
	// Title is the title of the document of a file with a single one. Only SourceFiles sets it.
	Title string
	Size  int64
	// Version detects a change without reading the file: a modification time or an ETag. Empty if neither is known.
	Version string
	// Hash is the SHA-256 of the content, cut to 16 bytes.
	Hash []byte
	// Documents counts the imported documents, Skipped the records that could not be read.
	Documents, Skipped int
	// Error is the reason why nothing could be read, or empty.
	Error string
	// Outcome is the result of the last import: one of the Outcome constants, or empty if an earlier version stored
	// the file.
	Outcome string
	// Parts describes the attachments in the text of the file's document; see attachmentPart. It may be empty.
	Parts     string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// The results of importing a file. Only a failed file has an error; the documents of its last import are kept.
const (
	OutcomeAdded     = "added"
	OutcomeUpdated   = "updated"
	OutcomeUnchanged = "unchanged"
	OutcomeFailed    = "failed"
)

// Upload is a file that a client is sending, that waits to be imported, or whose import has ended.
type Upload struct {
	ID       string
	SourceID string
	Name     string
	// Size is -1 while it is unknown.
	Size     int64
	Received int64
	// Ready is set when all bytes have arrived.
	Ready bool
	// UploadResult is the zero value until the upload is imported. Then its bytes are deleted.
	UploadResult
	CreatedAt time.Time
	UpdatedAt time.Time
}

// UploadResult is the result of importing an upload.
type UploadResult struct {
	// Outcome is one of the Outcome constants.
	Outcome string
	// Reason says why the file could not be read, or why its first record was skipped.
	Reason             string
	Documents, Skipped int
}

// Import is one run of importing a source.
type Import struct {
	// ID is the id of the task.
	ID       string
	SourceID string
	State    task.State
	Report
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Store persists files, uploads and imports.
type Store interface {
	Uploads
	Files
	// PutImport inserts or updates the progress of an import.
	PutImport(ctx context.Context, i Import) error
	// FinishImport ends the task of an import and stores the webhook deliveries that report it; see task.Kind.Finish.
	FinishImport(ctx context.Context, f task.Fence, o task.Outcome) error
	// Imports returns the imports of a source, newest first, up to n.
	Imports(ctx context.Context, sourceID string, n int) ([]Import, error)
	// StorageOfSource returns the storage that the owner of a source uses, uploads included.
	StorageOfSource(ctx context.Context, sourceID string) (core.Storage, error)
	// SourceByID returns a source and the user who owns its agent.
	SourceByID(ctx context.Context, sourceID string) (s source.Source, userID string, err error)
	// DueSources returns up to n sources whose next sync is not after now.
	DueSources(ctx context.Context, now time.Time, n int) ([]source.Source, error)
	// SyncState returns the state that the last complete import of a source has stored with SetSyncState, or "".
	SyncState(ctx context.Context, sourceID string) (string, error)
	SetSyncState(ctx context.Context, sourceID, state string) error
	// SetSynced stores the time of the last sync and of the next one; nil means that none is scheduled.
	SetSynced(ctx context.Context, sourceID string, at time.Time, next *time.Time) error
	// LatestTaskNumbers returns the number of the newest task of each key.
	LatestTaskNumbers(ctx context.Context, keys []string) (map[string]int64, error)
	// ActiveTask returns the running task of a key, or the first queued one.
	ActiveTask(ctx context.Context, key string) (task.Task, error)
}

// Uploads persists uploads.
type Uploads interface {
	// InsertUpload stores a new upload. An upload with the same id stays unchanged.
	InsertUpload(ctx context.Context, u Upload) error
	Upload(ctx context.Context, sourceID, id string) (Upload, error)
	// UploadsByID returns the uploads of a source with these ids, oldest first.
	UploadsByID(ctx context.Context, sourceID string, ids []string) ([]Upload, error)
	// AppendUpload adds bytes at an offset. It returns a conflict if the upload has another length.
	AppendUpload(ctx context.Context, id string, offset int64, data []byte, now time.Time) error
	// FinishUpload marks an upload as complete.
	FinishUpload(ctx context.Context, id string, now time.Time) error
	// RecordUpload stores the result of an upload and deletes its bytes. A cancelled upload is ignored.
	RecordUpload(ctx context.Context, id string, r UploadResult, now time.Time) error
	DeleteUpload(ctx context.Context, sourceID, id string) error
	// ReadyUploads returns up to n complete uploads of a source that are not imported yet, oldest first.
	ReadyUploads(ctx context.Context, sourceID string, n int) ([]Upload, error)
	// UploadChunk returns the chunk of an upload that begins at an offset.
	UploadChunk(ctx context.Context, id string, offset int64) ([]byte, error)
	// WaitingUploads returns the number and the bytes of the uploads that ReadyUploads lists.
	WaitingUploads(ctx context.Context, sourceID string) (files int, bytes int64, err error)
	// PruneUploads deletes the incomplete and the imported uploads that were last written before a time.
	PruneUploads(ctx context.Context, before time.Time) error
}

// Files persists the files of sources.
type Files interface {
	// PutFile inserts or updates a file by its name and returns its id.
	PutFile(ctx context.Context, f File) (id string, err error)
	// FileByName returns the file of a source with this name.
	FileByName(ctx context.Context, sourceID, name string) (File, error)
	// SourceFiles returns up to n files of a source, newest first, starting after the file with the id before, if
	// set.
	SourceFiles(ctx context.Context, sourceID, before string, n int) ([]File, error)
	// FileText returns the text of the first document of a file.
	FileText(ctx context.Context, sourceID, fileID string) (string, error)
	// DeleteFile deletes a file with its documents and returns the number of documents.
	DeleteFile(ctx context.Context, sourceID, id string, now time.Time) (documents int, err error)
	// FileDocuments returns up to n external ids of a file's documents, in order, starting after an id.
	FileDocuments(ctx context.Context, sourceID, fileID, after string, n int) ([]string, error)
	DeleteDocuments(ctx context.Context, sourceID string, externalIDs []string, now time.Time) (int, error)
	// DocumentsWithOriginal returns the documents of a source with these ids that have an original file, without their
	// texts.
	DocumentsWithOriginal(ctx context.Context, sourceID string, ids []string) ([]source.Document, error)
}

// Tasks submits durable tasks and streams their events.
type Tasks interface {
	Submit(ctx context.Context, s task.Spec) (task.Task, error)
	Stream(ctx context.Context, key string, after task.Position) iter.Seq2[task.Event, error]
}

// Options configures a Service.
type Options struct {
	// Scratch is the folder for temporary files; empty means the system's.
	Scratch string
	// Client fetches pages, feeds and objects.
	Client *http.Client
	// MaxUpload is the maximum size of a file in bytes; 0 means 1 GiB.
	MaxUpload int64
	// Limits bounds the cost of parsing one file; zero means the default limits.
	Limits format.Limits
	// Originals stores the files of documents; nil means that they are not kept.
	Originals Originals
	// Completer fills metadata; nil means that documents keep the metadata of their files.
	Completer Completer
	// ZoteroStorage is the folder of files that the local API of a Zotero program may name; empty means none.
	ZoteroStorage string
	// PerUser and PerNode limit concurrent imports of a user and of this node; 0 means no limit.
	PerUser, PerNode int
	// Imported is called after an import has stored documents, to start follow-up work at once.
	Imported func(ctx context.Context)
}

// Completer fills the metadata of a document from public catalogues; see package completion. Guessed fields, such as
// those of PDF files, are replaced.
type Completer interface {
	Complete(ctx context.Context, d *source.Document, guessed bool)
}

const defaultMaxUpload = 1 << 30

// Deps are the dependencies of a Service. All are required.
type Deps struct {
	Store   Store
	Sources *source.Service
	Tasks   Tasks
	Clock   core.Clock
	Log     *slog.Logger
}

// Service imports files, pages, feeds and buckets into sources.
type Service struct {
	store   Store
	sources *source.Service
	tasks   Tasks
	clock   core.Clock
	log     *slog.Logger
	options Options
}

// NewService returns a Service. It panics when a dependency is missing.
func NewService(d Deps, o Options) *Service {
	core.RequireDeps(d)
	if o.MaxUpload == 0 {
		o.MaxUpload = defaultMaxUpload
	}
	if o.Limits.Limits == (budget.Limits{}) {
		o.Limits.Limits = budget.Default
	}
	return &Service{store: d.Store, sources: d.Sources, tasks: d.Tasks, clock: d.Clock, log: d.Log, options: o}
}

// MaxUpload returns the maximum size of a file in bytes.
func (s *Service) MaxUpload() int64 { return s.options.MaxUpload }

// filesCursor is the list name in page cursors.
const filesCursor = "files"

// Files lists the files of a source, newest first.
func (s *Service) Files(
	ctx context.Context, actor core.Actor, agentID, sourceID string, p core.Page,
) ([]File, string, error) {
	if _, err := s.sources.For(ctx, actor, core.OpListFiles, agentID, sourceID); err != nil {
		return nil, "", err
	}
	n, err := p.Rows(core.DefaultLimit)
	if err != nil {
		return nil, "", err
	}
	before, err := core.DecodeIDCursor(filesCursor, p.Cursor)
	if err != nil {
		return nil, "", err
	}
	files, err := s.store.SourceFiles(ctx, sourceID, before, n+1)
	if err != nil || len(files) <= n {
		return files, "", err
	}
	return files[:n], core.EncodeCursor(filesCursor, files[n-1].ID), nil
}

// DeleteFile deletes a file with its documents.
func (s *Service) DeleteFile(ctx context.Context, actor core.Actor, agentID, sourceID, fileID string) error {
	if _, err := s.sources.For(ctx, actor, core.OpDeleteFile, agentID, sourceID); err != nil {
		return err
	}
	_, err := s.store.DeleteFile(ctx, sourceID, fileID, s.clock.Now())
	return err
}

const maxShownImports = 20

// Imports returns the latest imports of a source, newest first.
func (s *Service) Imports(ctx context.Context, actor core.Actor, agentID, sourceID string) ([]Import, error) {
	if _, err := s.sources.For(ctx, actor, core.OpListImports, agentID, sourceID); err != nil {
		return nil, err
	}
	return s.store.Imports(ctx, sourceID, maxShownImports)
}

// MostRelevant returns the import that shows the state of a source: the running one, or the latest that processed a
// file.
func MostRelevant(imports []Import) (Import, bool) {
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
