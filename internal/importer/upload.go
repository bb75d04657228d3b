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
	// prefixUpload and prefixFile begin the ids of uploads and files.
	prefixUpload = "upl"
	prefixFile   = "fil"
	// chunkSize is how much of an upload is stored at once.
	chunkSize = 1 << 20
	maxName   = 400
)

// allow returns nil when the actor may carry out an operation on uploads of the source.
func (s *Service) allow(ctx context.Context, actor core.Actor, op core.Operation, agentID, sourceID string) error {
	src, err := s.sources.For(ctx, actor, op, agentID, sourceID)
	if err != nil {
		return err
	}
	if src.Kind != source.KindUpload {
		return core.Conflict("conflict", "This source is not made of uploaded files. Create one of kind upload.")
	}
	return nil
}

// Begin announces a file of a size, or of -1 if that is not known yet.
func (s *Service) Begin(ctx context.Context, actor core.Actor, agentID, sourceID, name string, size int64) (Upload, error) {
	if err := s.allow(ctx, actor, core.OpCreateUpload, agentID, sourceID); err != nil {
		return Upload{}, err
	}
	name, err := cleanName(name)
	if err != nil {
		return Upload{}, err
	}
	if size > s.options.MaxUpload {
		return Upload{}, s.tooLarge()
	}
	// A file counts with its size until it was read, and then with its documents.
	room, err := s.store.StorageOfSource(ctx, sourceID)
	if err != nil {
		return Upload{}, err
	}
	if !room.Holds(max(size, 0)) {
		return Upload{}, room.Exceeded()
	}
	now := s.clock.Now()
	u := Upload{ID: core.NewID(prefixUpload), SourceID: sourceID, Name: name, Size: size, CreatedAt: now, UpdatedAt: now}
	if err := s.store.InsertUpload(ctx, u); err != nil {
		return Upload{}, err
	}
	if size == 0 {
		return s.finish(ctx, actor, u)
	}
	return u, nil
}

func (s *Service) tooLarge() error {
	return &core.Error{
		Kind: core.KindTooLarge, Code: "body_too_large",
		Detail: fmt.Sprintf("A file may have %d MiB. Part it, or put it into a folder on the server.", s.options.MaxUpload>>20),
	}
}

// cleanName makes a path in the source of the name that a client gave: it never leaves it, and never hides.
func cleanName(name string) (string, error) {
	name = strings.ReplaceAll(name, `\`, "/")
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	switch {
	case name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.IndexFunc(name, unicode.IsControl) >= 0:
		return "", core.InvalidField("filename", "Must be a file's name of at most 400 bytes.")
	case !format.Reads(name):
		return "", &core.Error{
			Kind: core.KindUnsupported, Code: "unsupported_media_type",
			Detail: "Files of this kind can't be read. The name must end in .pdf, .docx, .epub, .html, .md, .txt, .csv, .tsv, .jsonl, .bib, .ris, .json, .mbox, .eml or .zip.",
		}
	}
	return name, nil
}

// Find returns an upload that is on its way.
func (s *Service) Find(ctx context.Context, actor core.Actor, agentID, sourceID, uploadID string) (Upload, error) {
	if err := s.allow(ctx, actor, core.OpAppendUpload, agentID, sourceID); err != nil {
		return Upload{}, err
	}
	return s.store.Upload(ctx, sourceID, uploadID)
}

// Append adds what a reader gives to an upload, from the offset on, which must be where it is. What was stored before a
// failure stays: the sender asks how far it got and goes on from there.
func (s *Service) Append(ctx context.Context, actor core.Actor, agentID, sourceID, uploadID string, offset int64, body io.Reader) (Upload, error) {
	u, err := s.Find(ctx, actor, agentID, sourceID, uploadID)
	if err != nil {
		return Upload{}, err
	}
	if offset != u.Received || u.Ready {
		return u, core.Conflict("conflict", "The upload is not at this offset. Ask with HEAD where it is and go on from there.")
	}
	room, err := s.store.StorageOfSource(ctx, sourceID)
	if err != nil {
		return Upload{}, err
	}
	room.Used -= max(u.Size, u.Received) // it is counted already
	buf := make([]byte, chunkSize)
	for {
		n, readErr := io.ReadFull(body, buf)
		if n > 0 {
			if u.Size >= 0 && u.Received+int64(n) > u.Size {
				return u, core.InvalidField("Upload-Offset", "More bytes came than Upload-Length announced.")
			}
			if u.Received+int64(n) > s.options.MaxUpload {
				return u, s.tooLarge()
			}
			if !room.Holds(u.Received + int64(n)) {
				return u, room.Exceeded()
			}
			// What has arrived is kept, though the sender be gone.
			err := s.store.AppendUpload(context.WithoutCancel(ctx), u.ID, u.Received, buf[:n], s.clock.Now())
			if err != nil {
				return u, err
			}
			u.Received += int64(n)
		}
		switch {
		case errors.Is(readErr, io.EOF) || errors.Is(readErr, io.ErrUnexpectedEOF):
			if u.Received == u.Size {
				return s.finish(ctx, actor, u)
			}
			return u, nil
		case readErr != nil:
			return u, (&core.Error{Kind: core.KindInvalid, Code: "invalid_request", Detail: "The body did not arrive whole."}).Because(readErr)
		}
	}
}

// Put takes in a whole file of unknown size. One that does not arrive whole leaves nothing. It is read when Read is called,
// so that many files are one import.
func (s *Service) Put(ctx context.Context, actor core.Actor, agentID, sourceID, name string, body io.Reader) (Upload, error) {
	u, err := s.Begin(ctx, actor, agentID, sourceID, name, -1)
	if err != nil {
		return Upload{}, err
	}
	u, err = s.Append(ctx, actor, agentID, sourceID, u.ID, 0, body)
	if err != nil {
		_ = s.store.DeleteUpload(context.WithoutCancel(ctx), sourceID, u.ID) // it is pruned in the end
		return Upload{}, err
	}
	u.Size, u.Ready = u.Received, true
	return u, s.store.FinishUpload(context.WithoutCancel(ctx), u.ID, s.clock.Now())
}

// Read has the files read that have arrived.
func (s *Service) Read(ctx context.Context, actor core.Actor, agentID, sourceID string) error {
	if err := s.allow(ctx, actor, core.OpUploadFiles, agentID, sourceID); err != nil {
		return err
	}
	_, err := s.start(context.WithoutCancel(ctx), actor.UserID, sourceID)
	return err
}

// finish says that all of an upload is here, and has it read.
func (s *Service) finish(ctx context.Context, actor core.Actor, u Upload) (Upload, error) {
	ctx = context.WithoutCancel(ctx)
	if err := s.store.FinishUpload(ctx, u.ID, s.clock.Now()); err != nil {
		return u, err
	}
	u.Ready = true
	_, err := s.start(ctx, actor.UserID, u.SourceID)
	return u, err
}

// Cancel removes an upload that is on its way.
func (s *Service) Cancel(ctx context.Context, actor core.Actor, agentID, sourceID, uploadID string) error {
	if err := s.allow(ctx, actor, core.OpCancelUpload, agentID, sourceID); err != nil {
		return err
	}
	return s.store.DeleteUpload(ctx, sourceID, uploadID)
}
