package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"carrel/internal/core"
	"carrel/internal/format"
	"carrel/internal/source"
)

// maxReread is the maximum number of documents of one Reread.
const maxReread = 500

// Reread starts an import that reads documents of a source again from their original files. Fields that a person has
// set are kept.
func (s *Service) Reread(
	ctx context.Context, actor core.Actor, agentID, sourceID string, ids []string,
) (Import, error) {
	if _, err := s.sources.For(ctx, actor, core.OpRereadDocuments, agentID, sourceID); err != nil {
		return Import{}, err
	}
	if len(ids) == 0 || len(ids) > maxReread {
		return Import{}, core.InvalidField("/ids", "Must have 1 to 500 ids.")
	}
	docs, err := s.store.DocumentsWithOriginal(ctx, sourceID, ids)
	if err != nil {
		return Import{}, err
	}
	if len(docs) == 0 || s.options.Originals == nil {
		return Import{}, core.Conflict("conflict", "None of these documents has an original file. Upload the files again.")
	}
	return s.submit(ctx, actor.UserID, taskInput{SourceID: sourceID, DocumentIDs: ids})
}

// rereadQueue holds documents that are read again from their originals.
type rereadQueue struct {
	service *Service
	src     source.Source
	dir     string
	docs    []source.Document
}

func (s *Service) newRereadQueue(ctx context.Context, src source.Source, ids []string) (fileQueue, error) {
	docs, err := s.store.DocumentsWithOriginal(ctx, src.ID, ids)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(s.options.Scratch, "carrel-reread-")
	if err != nil {
		return nil, fmt.Errorf("create a folder for originals: %w", err)
	}
	return &rereadQueue{service: s, src: src, dir: dir, docs: docs}, nil
}

// newZoteroReread reads items again from their library, because their documents also have texts that are in no file.
func (s *Service) newZoteroReread(
	ctx context.Context, src source.Source, set source.Settings, ids []string,
) (fileQueue, error) {
	docs, err := s.store.DocumentsWithOriginal(ctx, src.ID, ids)
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(docs))
	for i, d := range docs {
		keys[i] = d.ExternalID
	}
	return s.newZoteroQueue(ctx, src, set, keys)
}

func (q *rereadQueue) size() (files int, bytes int64) {
	for _, d := range q.docs {
		bytes += d.Original.Size
	}
	return len(q.docs), bytes
}

func (q *rereadQueue) close() { _ = os.RemoveAll(q.dir) } // the system cleans its temporary folder

func (q *rereadQueue) skip(done map[string]bool) {
	rest := q.docs[:0]
	for _, d := range q.docs {
		if !done[d.ExternalID] {
			rest = append(rest, d)
		}
	}
	q.docs = rest
}

func (q *rereadQueue) next(ctx context.Context, _ *reporter) (fileResult, error) {
	if len(q.docs) == 0 {
		return fileResult{End: true}, nil
	}
	d := q.docs[0]
	q.docs = q.docs[1:]
	o := fileResult{Name: d.ExternalID, Size: d.Original.Size}
	path := scratchPath(q.dir, d.Original.Name)
	defer func() { _ = os.Remove(path) }()
	err := q.fetch(ctx, d.Original, path)
	if core.IsKind(err, core.KindNotFound) {
		o.Error = "The original file is missing. Upload it again."
		return o, nil
	}
	if err != nil {
		return o, err
	}
	return o, q.service.rereadDocument(ctx, q.src, d, path, &o)
}

// fetch writes an original to a file.
func (q *rereadQueue) fetch(ctx context.Context, o source.Original, path string) error {
	content, err := q.service.options.Originals.Open(ctx, o.Hash, o.Size)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // opened for reading only
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// rereadDocument parses the original of a document and stores the result under the document's external id.
func (s *Service) rereadDocument(
	ctx context.Context, src source.Source, d source.Document, path string, o *fileResult,
) error {
	library, err := format.OpenWithin(ctx, path, s.options.Limits)
	if err != nil {
		return o.refuse(err)
	}
	file := localFile{name: d.ExternalID, path: path, size: d.Original.Size, url: d.URL}
	keeper := &originalKeeper{service: s, file: file, kept: d.Original}
	reader := &fileReader{file: file, fileID: d.File, result: o, seen: idSet{}, originals: keeper}
	imported, err := s.sources.AddDocuments(ctx, src, withOriginal(d, reader.documents(
		ctx, library.Documents(ctx, func(int64) {}),
	)), nil)
	o.setImported(imported)
	switch {
	case reader.failed != nil && ctx.Err() == nil:
		o.Error = cmp.Or(limitDetail(reader.failed), damaged)
		return nil
	case err != nil:
		return err
	case imported.Total() == 0 && o.Skipped > 0:
		o.Error, o.Problems, o.Skipped = o.Problems[0], nil, 0
	}
	return nil
}

// withOriginal keeps the original of a document, also if the installation has stopped storing originals. Attachments of
// the document, which have originals of their own, are left out.
func withOriginal(d source.Document, read iter.Seq2[source.Document, error]) iter.Seq2[source.Document, error] {
	return func(yield func(source.Document, error) bool) {
		for again, err := range read {
			if err == nil && again.ExternalID != d.ExternalID {
				continue
			}
			again.Original = d.Original
			if !yield(again, err) {
				return
			}
		}
	}
}
