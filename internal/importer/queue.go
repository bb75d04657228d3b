package importer

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/format"
	"carrel/internal/source"
)

// fileQueue holds the files of a source that an import still has to process.
type fileQueue interface {
	// size returns the known number of remaining files and bytes.
	size() (files int, bytes int64)
	// next imports the next file. The result has End set when the queue is empty.
	next(ctx context.Context, t *reporter) (fileResult, error)
	// skip drops the files that an earlier attempt of the same task has processed.
	skip(done map[string]bool)
	close()
}

// queueFor lists the files of a source that an import must process, or only the originals of these documents.
func (s *Service) queueFor(ctx context.Context, src source.Source, documentIDs []string) (fileQueue, error) {
	set, err := src.SettingsOf()
	if err != nil {
		return nil, err
	}
	switch {
	case len(documentIDs) > 0 && src.Kind == source.KindZotero:
		return s.newZoteroReread(ctx, src, set, documentIDs)
	case len(documentIDs) > 0:
		return s.newRereadQueue(ctx, src, documentIDs)
	}
	switch src.Kind {
	case source.KindUpload:
		return s.newUploadQueue(ctx, src)
	case source.KindFolder:
		return s.newFolderQueue(ctx, src, set)
	case source.KindWeb:
		return s.newWebQueue(ctx, src, set)
	case source.KindFeed:
		return &feedQueue{service: s, src: src, url: set.URL}, nil
	case source.KindS3:
		return s.newBucketQueue(ctx, src, set)
	case source.KindZotero:
		return s.newZoteroQueue(ctx, src, set, nil)
	}
	return nil, core.Conflict("conflict", "Sources of this kind have no files to import.")
}

// localFile is a file on disk that is ready to be parsed.
type localFile struct {
	name, path, version string
	size                int64
	// url is the public address of the file's documents, or empty.
	url string
	// keepIDs keeps the ids of records unchanged, which is safe if no other file of the source can contain the same
	// id.
	keepIDs bool
	// refused is the reason why the file is reported instead of read, or empty.
	refused string
}

// importFile parses a file and stores its documents, unless its content is unchanged. The file's hash is stored last,
// so that an interrupted import parses the file again.
func (s *Service) importFile(ctx context.Context, src source.Source, f localFile, t *reporter) (fileResult, error) {
	o := fileResult{Name: f.name, Size: f.size}
	old, err := s.store.FileByName(ctx, src.ID, f.name)
	if err != nil && !core.IsKind(err, core.KindNotFound) {
		return o, err
	}
	if f.refused != "" {
		o.Error = f.refused
		return o, s.recordFailure(ctx, src, old, o, f.version)
	}
	hash, err := hashFile(f.path)
	if err != nil {
		o.Error = "Can't be opened." // the next sync tries again, because no version is stored
		return o, s.recordFailure(ctx, src, old, o, "")
	}
	now := s.clock.Now()
	file := File{
		ID: core.NewID(prefixFile), SourceID: src.ID, Name: f.name, Size: f.size, Version: f.version, Hash: hash[:16],
		CreatedAt: now, UpdatedAt: now,
	}
	if old.ID != "" && string(old.Hash) == string(file.Hash) && old.Error == "" {
		o.Unchanged = true
		file.Documents, file.Skipped, file.Outcome = old.Documents, old.Skipped, OutcomeUnchanged
		_, err := s.store.PutFile(ctx, file)
		return o, err
	}
	// Stored without its hash, the file counts as changed until its last document is stored.
	unread := file
	unread.Hash, unread.Version, unread.Documents = []byte{}, "", old.Documents
	if file.ID, err = s.store.PutFile(ctx, unread); err != nil {
		return o, err
	}
	if err := s.importDocuments(ctx, src, f, file.ID, hash, &o, t); err != nil {
		return o, err
	}
	file.Documents = o.Documents.Added + o.Documents.Updated + o.Documents.Unchanged
	file.Skipped, file.Error, file.Outcome = o.Skipped, o.Error, o.outcome(old)
	if o.Error != "" {
		file.Documents = old.Documents // a file that can't be read keeps its documents
	}
	_, err = s.store.PutFile(ctx, file)
	return o, err
}

// importDocuments stores the documents of a file and deletes the ones that the file no longer contains.
func (s *Service) importDocuments(
	ctx context.Context, src source.Source, f localFile, fileID string, hash [32]byte, o *fileResult, t *reporter,
) error {
	library, err := format.OpenWithin(ctx, f.path, s.options.Limits)
	if err != nil {
		return o.refuse(err)
	}
	var bytes int64
	seen := idSet{}
	keeper := &originalKeeper{service: s, file: f, hash: hash}
	defer keeper.close()
	reader := &fileReader{
		file: f, fileID: fileID, result: o, seen: seen, originals: keeper, completer: s.options.Completer,
	}
	imported, err := s.sources.AddDocuments(ctx, src, reader.documents(
		ctx, library.Documents(ctx, func(n int64) { bytes = n }),
	), func(so source.Imported) {
		t.fileProgress(ctx, f.name, min(bytes, f.size), so)
	})
	o.setImported(imported)
	switch limit := limitDetail(reader.failed); {
	case limit != "":
		o.Error = limit
		return nil
	case reader.failed != nil && ctx.Err() == nil:
		o.Error = damaged
		return nil
	case err != nil:
		return err
	case imported.Total() == 0 && o.Skipped > 0:
		o.Error, o.Problems, o.Skipped = o.Problems[0], nil, 0
		return nil
	}
	o.Documents.Deleted, err = s.deleteMissing(ctx, src.ID, fileID, seen)
	return err
}

const damaged = "The file is damaged and can't be read to its end."

// limitDetail returns the reason if err is an exceeded limit, else an empty string.
func limitDetail(err error) string {
	if over, is := errors.AsType[*format.Exceeded](err); is {
		return "The file " + over.Error() + "."
	}
	return ""
}

// refuse records why a file can't be opened. It returns err if the file is not the reason.
func (o *fileResult) refuse(err error) error {
	var told *core.Error
	switch limit := limitDetail(err); {
	case limit != "":
		o.Error = limit
	case errors.As(err, &told):
		o.Error = told.Detail
	default:
		return err
	}
	return nil
}

// fileReader turns the parsed documents of a file into documents of a source.
type fileReader struct {
	file   localFile
	fileID string
	result *fileResult
	seen   idSet
	// originals stores the files of the documents.
	originals *originalKeeper
	// completer fills the metadata of files that are one document, unless it is nil.
	completer Completer
	// failed is the error that ended parsing early.
	failed error
}

func (r *fileReader) documents(
	ctx context.Context, read iter.Seq2[source.Document, error],
) iter.Seq2[source.Document, error] {
	return func(yield func(source.Document, error) bool) {
		for d, err := range read {
			var record *format.RecordError
			switch {
			case errors.As(err, &record):
				r.result.skip(record.Place + ": " + record.Reason)
				continue
			case err != nil:
				r.failed = err
				return
			}
			if d.Note != "" {
				r.result.skip(d.Note)
			}
			r.complete(ctx, &d)
			if d.Original, err = r.originals.original(ctx, d.ExternalID); err != nil {
				yield(d, err)
				return
			}
			d.ExternalID, d.File = r.id(d.ExternalID), r.fileID
			if d.URL == "" {
				d.URL = r.file.url
			}
			r.seen.add(d.ExternalID)
			if !yield(d, nil) {
				return
			}
		}
	}
}

// complete fills the metadata of a document that is a file of its own. Records of lists have their metadata.
func (r *fileReader) complete(ctx context.Context, d *source.Document) {
	name := r.file.path
	if _, _, attached := format.SplitAttachment(d.ExternalID); attached || format.IsArchive(name) {
		name, _, _ = strings.Cut(d.ExternalID, "#") // a record has the name of its list before the #
	}
	if r.completer != nil && !format.HoldsRecords(name) {
		r.completer.Complete(ctx, d, strings.EqualFold(path.Ext(name), ".pdf"))
	}
}

// id returns a document's external id, which must be unique among all files of the source.
func (r *fileReader) id(own string) string {
	switch {
	case format.IsArchive(r.file.path):
		return r.file.name + "/" + own
	case !format.HoldsRecords(r.file.path):
		if _, attachment, attached := strings.Cut(own, "/"); attached {
			return r.file.name + "/" + attachment
		}
		return r.file.name
	case r.file.keepIDs:
		return own
	}
	return r.file.name + "#" + own
}

// idSet is a set of ids, stored as 128-bit hashes to bound memory.
type idSet map[[16]byte]struct{}

func (s idSet) add(id string) { s[shortHash(id)] = struct{}{} }

func (s idSet) has(id string) bool { _, ok := s[shortHash(id)]; return ok }

func shortHash(id string) [16]byte {
	sum := sha256.Sum256([]byte(id))
	return [16]byte(sum[:16])
}

// deletePage is how many documents are compared and deleted at once.
const deletePage = 500

// deleteMissing deletes the documents of a file that are not in seen.
func (s *Service) deleteMissing(ctx context.Context, sourceID, fileID string, seen idSet) (removed int, err error) {
	for after := ""; ; {
		page, err := s.store.FileDocuments(ctx, sourceID, fileID, after, deletePage)
		if err != nil || len(page) == 0 {
			return removed, err
		}
		after = page[len(page)-1]
		var gone []string
		for _, id := range page {
			if !seen.has(id) {
				gone = append(gone, id)
			}
		}
		if len(gone) > 0 {
			n, err := s.store.DeleteDocuments(ctx, sourceID, gone, s.clock.Now())
			if err != nil {
				return removed, err
			}
			removed += n
		}
		if len(page) < deletePage {
			return removed, nil
		}
	}
}

func hashFile(path string) (sum [32]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return sum, err
	}
	return [32]byte(h.Sum(nil)), nil
}

// uploadQueue holds the complete uploads of a source.
type uploadQueue struct {
	service *Service
	src     source.Source
	dir     string
	files   int
	bytes   int64
}

func (s *Service) newUploadQueue(ctx context.Context, src source.Source) (fileQueue, error) {
	files, bytes, err := s.store.WaitingUploads(ctx, src.ID)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(s.options.Scratch, "carrel-upload-")
	if err != nil {
		return nil, fmt.Errorf("create a folder for uploads: %w", err)
	}
	return &uploadQueue{service: s, src: src, dir: dir, files: files, bytes: bytes}, nil
}

func (u *uploadQueue) size() (int, int64) { return u.files, u.bytes }

func (u *uploadQueue) close() { _ = os.RemoveAll(u.dir) } // the system cleans its temporary folder

// skip does nothing: an imported upload is never returned again.
func (u *uploadQueue) skip(map[string]bool) {}

// next imports the next upload. While the database, the disk or the place of originals is not available, it waits: the
// client was told that the file was received, and nobody would start the import again.
func (u *uploadQueue) next(ctx context.Context, t *reporter) (fileResult, error) {
	for pause := firstWait; ; pause = min(2*pause, lastWait) {
		o, err := u.importNext(ctx, t)
		if !isTemporary(err) || ctx.Err() != nil {
			return o, err
		}
		if pause == firstWait {
			u.service.log.WarnContext(ctx, "an import waits", "source", u.src.ID, "error", err)
		}
		t.fileProgress(ctx, waitReason(err), 0, source.Imported{})
		select {
		case <-ctx.Done():
			return o, err
		case <-time.After(pause):
		}
	}
}

// firstWait and lastWait bound the pause between two attempts to import an upload.
const (
	firstWait = 200 * time.Millisecond
	lastWait  = 10 * time.Second
)

// isTemporary reports whether an attempt failed for a reason outside of the file that is expected to end.
func isTemporary(err error) bool {
	var network net.Error
	return core.IsKind(err, core.KindUnavailable) || core.IsDiskFull(err) || errors.As(err, &network)
}

// waitReason is shown in place of the name of the current file.
func waitReason(err error) string {
	if e := core.AsError(err); e.Kind == core.KindUnavailable {
		return e.Detail
	}
	return "The storage of original files can't be reached."
}

func (u *uploadQueue) importNext(ctx context.Context, t *reporter) (fileResult, error) {
	ready, err := u.service.store.ReadyUploads(ctx, u.src.ID, 1)
	if err != nil || len(ready) == 0 {
		return fileResult{End: true}, err
	}
	up := ready[0]
	path := scratchPath(u.dir, up.Name)
	if err := u.assemble(ctx, up, path); err != nil {
		return fileResult{}, err
	}
	defer func() { _ = os.Remove(path) }()
	o, err := u.service.importFile(ctx, u.src, localFile{name: up.Name, path: path, size: up.Size, keepIDs: true}, t)
	if refusal := quotaError(err); refusal != nil {
		// The other uploads are still imported, because a smaller one may fit.
		o.Error = refusal.Detail
	} else if err != nil {
		return o, err
	}
	return o, u.record(ctx, up, o)
}

// record stores the result of an upload whose file has been imported, or was refused for the storage limit.
func (u *uploadQueue) record(ctx context.Context, up Upload, o fileResult) error {
	f, err := u.service.store.FileByName(ctx, u.src.ID, up.Name)
	if err != nil {
		return err
	}
	if o.Error != "" && f.Error != o.Error {
		if err := u.service.recordFailure(ctx, u.src, f, o, ""); err != nil {
			return err
		}
		f.Error, f.Outcome = o.Error, OutcomeFailed
	}
	r := UploadResult{Outcome: f.Outcome, Reason: f.Error, Documents: f.Documents, Skipped: f.Skipped}
	if r.Reason == "" && len(o.Problems) > 0 {
		r.Reason = o.Problems[0]
	}
	return u.service.store.RecordUpload(ctx, up.ID, r, u.service.clock.Now())
}

// maxScratchName is below the 255 bytes that file systems allow for a name.
const maxScratchName = 200

// scratchPath returns where a file is stored for parsing. The base name is kept, because its extension selects the
// parser and it may become the document's title.
func scratchPath(dir, name string) string {
	base := path.Base(name)
	base = base[max(0, len(base)-maxScratchName):]
	return filepath.Join(dir, strings.ToValidUTF8(base, ""))
}

// assemble writes the chunks of an upload to a file.
func (u *uploadQueue) assemble(ctx context.Context, up Upload, path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	for offset := int64(0); offset < up.Size && err == nil; {
		var chunk []byte
		chunk, err = u.service.store.UploadChunk(ctx, up.ID, offset)
		if err == nil {
			_, err = f.Write(chunk)
			offset += int64(len(chunk))
		}
	}
	return errors.Join(err, f.Close())
}
