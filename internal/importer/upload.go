package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/internal/core"
	"carrel/internal/format"
	"carrel/internal/source"
)

const (
	prefixUpload = "upl"
	prefixFile   = "fil"
	// chunkSize is how many bytes of an upload are stored in one row.
	chunkSize = 1 << 20
	// maxName is the maximum length of a file's name in bytes.
	maxName = 400
)

// UploadTarget is a source of kind upload after an access check. Only Service.UploadTarget creates one, so a request
// is authorized once, however many files or chunks it carries. It must not outlive the request.
type UploadTarget struct {
	sourceID, userID string
}

// UserID returns the id of the user who uploads.
func (t UploadTarget) UserID() string { return t.userID }

// UploadTarget checks that the actor may carry out an upload operation on a source, and that the source takes uploads.
func (s *Service) UploadTarget(
	ctx context.Context, actor core.Actor, op core.Operation, agentID, sourceID string,
) (UploadTarget, error) {
	src, err := s.sources.For(ctx, actor, op, agentID, sourceID)
	if err != nil {
		return UploadTarget{}, err
	}
	if src.Kind != source.KindUpload {
		return UploadTarget{}, core.Conflict(
			"conflict", "This source does not take uploads. Create a source of kind upload.",
		)
	}
	return UploadTarget{sourceID: src.ID, userID: actor.UserID}, nil
}

// ValidateUpload returns an error if CreateUpload would refuse a file for its name or size.
func (s *Service) ValidateUpload(name string, size int64) error {
	_, err := s.uploadName(name, size)
	return err
}

// uploadName returns the name under which a file is stored, or an error if its name or size is refused.
func (s *Service) uploadName(name string, size int64) (string, error) {
	name, err := cleanName(name)
	if err == nil && size > s.options.MaxUpload {
		err = s.tooLarge()
	}
	return name, err
}

// CreateUpload announces a file. A size of -1 means that the size is not known yet. In a context with the seed of an
// earlier request it returns the upload of that request.
func (s *Service) CreateUpload(ctx context.Context, to UploadTarget, name string, size int64) (Upload, error) {
	name, err := s.uploadName(name, size)
	if err != nil {
		return Upload{}, err
	}
	id := core.NewIDIn(ctx, prefixUpload)
	// Looked up first, because the upload of an earlier request already counts against the storage limit.
	if earlier, err := s.store.Upload(ctx, to.sourceID, id); err == nil || !core.IsKind(err, core.KindNotFound) {
		return earlier, err
	}
	// Until an upload is imported its size counts against the storage limit, afterwards its documents do.
	storage, err := s.store.StorageOfSource(ctx, to.sourceID)
	if err != nil {
		return Upload{}, err
	}
	if !storage.Holds(max(size, 0)) {
		return Upload{}, storage.Exceeded()
	}
	now := s.clock.Now()
	u := Upload{
		ID: id, SourceID: to.sourceID, Name: name, Size: size, CreatedAt: now, UpdatedAt: now,
	}
	if err := s.store.InsertUpload(ctx, u); err != nil {
		return Upload{}, err
	}
	if size == 0 {
		return s.finishUpload(ctx, to, u)
	}
	return u, nil
}

func (s *Service) tooLarge() error {
	return &core.Error{
		Kind: core.KindTooLarge, Code: "body_too_large",
		Detail: fmt.Sprintf("The file is larger than %d MiB. Split it, or import it from a folder on the server.",
			s.options.MaxUpload>>20),
	}
}

// cleanName turns the name that a client sent into a relative path without "..", and rejects names that can't be
// stored or whose format is unknown.
func cleanName(name string) (string, error) {
	name = strings.ReplaceAll(name, `\`, "/")
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	switch {
	case name == "" || len(name) > maxName || !utf8.ValidString(name) ||
		strings.IndexFunc(name, unicode.IsControl) >= 0:
		return "", core.InvalidField("filename", "Must be a file name of at most 400 bytes.")
	case !format.Reads(name):
		return "", &core.Error{
			Kind: core.KindUnsupported, Code: "unsupported_media_type",
			Detail: "This file format is not supported. Supported formats: " + format.ExtensionList() + ".",
		}
	}
	return name, nil
}

// maxUploadIDs is the maximum number of uploads in one request for their results.
const maxUploadIDs = 100

// Uploads returns the uploads of a source with these ids, oldest first. Unknown ids are ignored.
func (s *Service) Uploads(
	ctx context.Context, actor core.Actor, agentID, sourceID string, ids []string,
) ([]Upload, error) {
	src, err := s.sources.For(ctx, actor, core.OpListUploads, agentID, sourceID)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 || len(ids) > maxUploadIDs {
		return nil, core.InvalidField("ids", "Must be 1 to 100 ids, separated by commas.")
	}
	return s.store.UploadsByID(ctx, src.ID, ids)
}

// FindUpload returns an upload. It may have been imported.
func (s *Service) FindUpload(ctx context.Context, to UploadTarget, uploadID string) (Upload, error) {
	return s.store.Upload(ctx, to.sourceID, uploadID)
}

// AppendUpload stores the bytes of body at an offset, which must be the upload's current length. Bytes stored before a
// failure are kept: the client reads the new offset and resumes there.
func (s *Service) AppendUpload(
	ctx context.Context, to UploadTarget, uploadID string, offset int64, body io.Reader,
) (Upload, error) {
	u, err := s.FindUpload(ctx, to, uploadID)
	if err != nil {
		return Upload{}, err
	}
	if offset != u.Received || u.Ready {
		return u, core.Conflict(
			"conflict",
			"Upload-Offset does not match the bytes received. Send HEAD to read the offset, then resume there.",
		)
	}
	storage, err := s.store.StorageOfSource(ctx, to.sourceID)
	if err != nil {
		return Upload{}, err
	}
	storage.Used -= max(u.Size, u.Received) // StorageOfSource includes this upload
	buf := make([]byte, chunkSize)
	for {
		n, readErr := io.ReadFull(body, buf)
		if n > 0 {
			if err := s.checkChunk(u, int64(n), storage); err != nil {
				return u, err
			}
			// The chunk is stored even if the client has disconnected, so that it can resume after it.
			err := s.store.AppendUpload(context.WithoutCancel(ctx), u.ID, u.Received, buf[:n], s.clock.Now())
			if err != nil {
				return u, err
			}
			u.Received += int64(n)
		}
		switch {
		case errors.Is(readErr, io.EOF) || errors.Is(readErr, io.ErrUnexpectedEOF):
			if u.Received == u.Size {
				return s.finishUpload(ctx, to, u)
			}
			return u, nil
		case readErr != nil:
			return u, (&core.Error{
				Kind: core.KindInvalid, Code: "invalid_request", Detail: "The request body ended early.",
			}).Because(readErr)
		}
	}
}

// checkChunk returns an error if n more bytes exceed the announced size, the maximum file size or the storage limit.
func (s *Service) checkChunk(u Upload, n int64, storage core.Storage) error {
	switch received := u.Received + n; {
	case u.Size >= 0 && received > u.Size:
		return core.InvalidField("Upload-Offset", "The body is longer than Upload-Length announced.")
	case received > s.options.MaxUpload:
		return s.tooLarge()
	case !storage.Holds(received):
		return storage.Exceeded()
	}
	return nil
}

// UploadFile stores a whole file of unknown size, or nothing if the body ends early. The file waits until
// ImportUploads is called, so that the files of one request are one import.
func (s *Service) UploadFile(ctx context.Context, to UploadTarget, name string, body io.Reader) (Upload, error) {
	u, err := s.CreateUpload(ctx, to, name, -1)
	if err != nil {
		return Upload{}, err
	}
	u, err = s.AppendUpload(ctx, to, u.ID, 0, body)
	if err != nil {
		_ = s.store.DeleteUpload(context.WithoutCancel(ctx), to.sourceID, u.ID) // else PruneUploads deletes it
		return Upload{}, err
	}
	u.Size, u.Ready = u.Received, true
	return u, s.store.FinishUpload(context.WithoutCancel(ctx), u.ID, s.clock.Now())
}

// ImportUploads starts an import of the uploads that are complete, and returns it.
func (s *Service) ImportUploads(ctx context.Context, to UploadTarget) (Import, error) {
	return s.start(context.WithoutCancel(ctx), to.userID, to.sourceID)
}

// finishUpload marks an upload as complete and starts its import.
func (s *Service) finishUpload(ctx context.Context, to UploadTarget, u Upload) (Upload, error) {
	ctx = context.WithoutCancel(ctx)
	if err := s.store.FinishUpload(ctx, u.ID, s.clock.Now()); err != nil {
		return u, err
	}
	u.Ready = true
	_, err := s.ImportUploads(ctx, to)
	return u, err
}

// CancelUpload deletes an upload that is not imported yet, or the result of one that is.
func (s *Service) CancelUpload(ctx context.Context, to UploadTarget, uploadID string) error {
	return s.store.DeleteUpload(ctx, to.sourceID, uploadID)
}
