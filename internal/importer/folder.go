package importer

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"carrel/internal/core"
	"carrel/internal/format"
	"carrel/internal/source"
)

// listed is the work of a source that can be compared with what is stored of it: files that are new or have changed, and
// files that are gone.
type listed struct {
	service *Service
	src     source.Source
	todo    []found
	gone    []File
	bytes   int64
	same    int
	done    func()
}

func (l *listed) size() (int, int64) { return len(l.todo) + len(l.gone), l.bytes }

func (l *listed) skip(done map[string]bool) {
	l.gone = slices.DeleteFunc(l.gone, func(f File) bool { return done[f.Name] })
	l.todo = slices.DeleteFunc(l.todo, func(f found) bool {
		if done[f.name] {
			l.bytes -= f.size
		}
		return done[f.name]
	})
}

func (l *listed) close() {
	if l.done != nil {
		l.done()
	}
}

func (l *listed) next(ctx context.Context, actor core.Actor, t *teller) (outcome, error) {
	if len(l.gone) > 0 {
		f := l.gone[0]
		n, err := l.service.store.DeleteFile(ctx, l.src.ID, f.ID, l.service.clock.Now())
		if err != nil && !core.IsKind(err, core.KindNotFound) {
			return outcome{}, err
		}
		l.gone = l.gone[1:]
		return outcome{Name: f.Name, Removed: true, Documents: DocumentCounts{Deleted: n}}, nil
	}
	if len(l.todo) == 0 {
		return outcome{End: true}, nil
	}
	f := l.todo[0]
	o, err := l.service.read(ctx, actor, l.src, f, t)
	if err == nil {
		l.todo = l.todo[1:]
	}
	return o, err
}

// stored returns the files of a source by their names.
func (s *Service) stored(ctx context.Context, sourceID string) (map[string]File, error) {
	out := map[string]File{}
	for before := ""; ; {
		page, err := s.store.SourceFiles(ctx, sourceID, before, core.MaxLimit)
		if err != nil {
			return nil, err
		}
		for _, f := range page {
			out[f.Name] = f
			before = f.ID
		}
		if len(page) < core.MaxLimit {
			return out, nil
		}
	}
}

// folderWork compares a folder with what is stored of it.
func (s *Service) folderWork(ctx context.Context, src source.Source, set source.Settings) (work, error) {
	known, err := s.stored(ctx, src.ID)
	if err != nil {
		return nil, err
	}
	l := &listed{service: s, src: src}
	if info, err := os.Stat(set.Path); err != nil || !info.IsDir() {
		// Gone for good, or a disk that is not mounted: nothing is removed on a guess.
		return nil, core.Conflict("folder_unreadable", "The folder is not there or can't be opened. Check its path and permissions on the server.")
	}
	err = filepath.WalkDir(set.Path, func(path string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		name, inside := relative(set.Path, path)
		switch {
		case err != nil && path == set.Path:
			return err
		case err != nil || !inside:
			return nil //nolint:nilerr // what can't be listed is left as it was
		case strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular() || !format.Reads(name) || len(name) > maxName || !utf8.ValidString(name):
			return nil // links are not followed: they may lead out of the folder
		}
		info, err := entry.Info()
		if err != nil {
			return nil //nolint:nilerr // it went meanwhile
		}
		l.compare(known, found{
			name: name, path: path, size: info.Size(), version: strconv.FormatInt(info.ModTime().UnixNano(), 36),
		})
		return nil
	})
	if err != nil {
		return nil, core.Conflict("folder_unreadable", "The folder can't be read. Check its permissions on the server.").Because(err)
	}
	for _, f := range known {
		l.gone = append(l.gone, f)
	}
	return l, nil
}

// relative returns the path of a file in its folder, with slashes.
func relative(root, path string) (string, bool) {
	name, err := filepath.Rel(root, path)
	if err != nil || name == "." {
		return "", false
	}
	return filepath.ToSlash(name), true
}

// compare takes a file that is there: one that has changed is to be read, and none of them is gone.
func (l *listed) compare(known map[string]File, f found) {
	old, is := known[f.name]
	delete(known, f.name)
	if is && old.Version == f.version && old.Size == f.size && f.version != "" {
		l.same++
		return
	}
	l.todo = append(l.todo, f)
	l.bytes += f.size
}
