package importer

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"syscall"

	"carrel/internal/core"
	"carrel/internal/format"
	"carrel/internal/source"
)

// LocalFile is a file on the machine of the installation.
type LocalFile struct {
	// Name is its path in the source.
	Name string
	Path string
	Size int64
}

// ImportFiles imports files of this machine into a source of kind upload at once, without a task. After each file it
// calls done with the stored result and the first problems of its records. A file whose name can't be stored or whose
// format is unknown is reported without being stored.
func (s *Service) ImportFiles(
	ctx context.Context, actor core.Actor, agentID, sourceID string, files []LocalFile,
	done func(f File, problems []string),
) error {
	to, err := s.UploadTarget(ctx, actor, core.OpUploadFiles, agentID, sourceID)
	if err != nil {
		return err
	}
	src, _, err := s.store.SourceByID(ctx, to.sourceID)
	if err != nil {
		return err
	}
	for _, f := range files {
		name, err := cleanName(f.Name)
		if told, is := errors.AsType[*core.Error](err); is {
			done(File{Name: f.Name, Size: f.Size, Outcome: OutcomeFailed, Error: reasonOf(told)}, nil)
			continue
		}
		result, err := s.importFile(ctx, src, localFile{name: name, path: f.Path, size: f.Size, keepIDs: true}, nil)
		if err != nil {
			return err
		}
		stored, err := s.store.FileByName(ctx, src.ID, name)
		if err != nil {
			return err
		}
		done(stored, result.Problems)
	}
	if s.options.Imported != nil {
		s.options.Imported(ctx)
	}
	return nil
}

// reasonOf returns the detail of the first invalid field, or of the error.
func reasonOf(e *core.Error) string {
	if len(e.Fields) > 0 {
		return e.Fields[0].Detail
	}
	return e.Detail
}

// WithOriginals stores the original of each document of the library that was opened from a path: a file, an archive or
// a folder.
func (s *Service) WithOriginals(
	ctx context.Context, path string, docs iter.Seq2[source.Document, error],
) iter.Seq2[source.Document, error] {
	return func(yield func(source.Document, error) bool) {
		keeper, err := s.keeperOf(path)
		if err != nil {
			yield(source.Document{}, err)
			return
		}
		defer keeper.close()
		for d, err := range docs {
			if err == nil {
				d.Original, err = keeper.original(ctx, d.ExternalID)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// keeperOf returns the keeper for a file or folder.
func (s *Service) keeperOf(path string) (*originalKeeper, error) {
	k := &originalKeeper{service: s, file: localFile{name: filepath.Base(path), path: path}}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		k.folder, err = os.OpenRoot(path)
	case !format.IsArchive(path) && !format.HoldsRecords(path):
		k.hash, err = hashFile(path)
	}
	return k, err
}

// folderFile opens the file of a folder that the document with this id was read from. A record of a list was not read
// from a file of its own, which is fs.ErrNotExist. The folder's root refuses links that lead out of it.
func (k *originalKeeper) folderFile(id string) (fs.File, error) {
	if format.HoldsRecords(id) {
		return nil, fs.ErrNotExist
	}
	f, err := k.folder.FS().Open(id)
	if errors.Is(err, syscall.ENOTDIR) { // an attachment of a file
		return nil, fs.ErrNotExist
	}
	return f, err
}
