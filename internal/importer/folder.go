package importer

import (
	"context"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/internal/core"
	"carrel/internal/format"
	"carrel/internal/source"
)

// syncQueue holds the difference between a listing and the stored files: new or changed files, and files that are
// missing from the listing.
type syncQueue struct {
	service   *Service
	src       source.Source
	changed   []localFile
	missing   []File
	bytes     int64
	unchanged int
	// refused counts the listed files that can't be read.
	refused int
	cleanup func()
}

func (l *syncQueue) size() (int, int64) { return len(l.changed) + len(l.missing), l.bytes }

func (l *syncQueue) skip(done map[string]bool) {
	l.missing = slices.DeleteFunc(l.missing, func(f File) bool { return done[f.Name] })
	l.changed = slices.DeleteFunc(l.changed, func(f localFile) bool {
		if done[f.name] {
			l.bytes -= f.size
		}
		return done[f.name]
	})
}

func (l *syncQueue) close() {
	if l.cleanup != nil {
		l.cleanup()
	}
}

func (l *syncQueue) next(ctx context.Context, t *reporter) (fileResult, error) {
	if len(l.missing) > 0 {
		f := l.missing[0]
		n, err := l.service.store.DeleteFile(ctx, l.src.ID, f.ID, l.service.clock.Now())
		if err != nil && !core.IsKind(err, core.KindNotFound) {
			return fileResult{}, err
		}
		l.missing = l.missing[1:]
		return fileResult{Name: f.Name, Removed: true, Documents: DocumentCounts{Deleted: n}}, nil
	}
	if len(l.changed) == 0 {
		return l.moreRefused(), nil
	}
	f := l.changed[0]
	o, err := l.service.importFile(ctx, l.src, f, t)
	if err == nil {
		l.changed = l.changed[1:]
	}
	return o, err
}

// filesByName returns the stored files of a source.
func (s *Service) filesByName(ctx context.Context, sourceID string) (map[string]File, error) {
	out := map[string]File{}
	for before := ""; ; {
		page, err := s.store.SourceFiles(ctx, sourceID, before, core.MaxLimit)
		if err != nil {
			return nil, err
		}
		for _, f := range page {
			f.Parts = "" // is read with the file, and would take the memory of the whole source
			out[f.Name] = f
			before = f.ID
		}
		if len(page) < core.MaxLimit {
			return out, nil
		}
	}
}

// newFolderQueue compares a folder on the server with the stored files.
func (s *Service) newFolderQueue(ctx context.Context, src source.Source, set source.Settings) (fileQueue, error) {
	known, err := s.filesByName(ctx, src.ID)
	if err != nil {
		return nil, err
	}
	l := &folderListing{root: set.Path, known: known, queue: &syncQueue{service: s, src: src}}
	if info, err := os.Stat(set.Path); err != nil || !info.IsDir() {
		// The folder may be on a disk that is not mounted, so its documents are kept.
		return nil, core.Conflict(
			"folder_unreadable",
			"The folder does not exist or can't be opened. Check its path and permissions on the server.",
		)
	}
	err = filepath.WalkDir(set.Path, func(path string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return l.visit(path, entry, err)
	})
	if err != nil {
		return nil, core.Conflict(
			"folder_unreadable", "The folder can't be read. Check its permissions on the server.",
		).Because(err)
	}
	l.queue.missing = l.missing()
	return l.queue, nil
}

// folderListing compares the files below a folder with the stored ones.
type folderListing struct {
	root  string
	known map[string]File // stored files that were not listed yet
	queue *syncQueue
	// unreadable are the subfolders that can't be listed, such as one whose disk has an error. Their files are not
	// missing.
	unreadable []string
}

// visit is the function of filepath.WalkDir.
func (l *folderListing) visit(path string, entry fs.DirEntry, err error) error {
	name, inside := relative(l.root, path)
	switch {
	case err != nil && path == l.root:
		return err
	case err != nil && inside:
		l.unreadable = append(l.unreadable, name)
		l.queue.refuse(l.known, localFile{name: name + "/"}, "The folder can't be opened. Its documents are kept.")
		return nil
	case !inside:
		return nil
	case strings.HasPrefix(entry.Name(), "."):
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	case entry.IsDir():
		return nil
	}
	info, err := entry.Info()
	if err != nil {
		return nil //nolint:nilerr // the file was deleted since it was listed
	}
	f := localFile{
		name: name, path: path, size: info.Size(), version: strconv.FormatInt(info.ModTime().UnixNano(), 36),
	}
	reason := nameRefusal(name)
	if !entry.Type().IsRegular() {
		// A symbolic link may lead out of the folder, and a pipe may block.
		reason = "Only regular files are read. Symbolic links are not followed."
	}
	l.queue.listed(l.known, f, reason)
	return nil
}

// nameRefusal returns why a file with this name can't be imported, or "".
func nameRefusal(name string) string {
	switch {
	case !utf8.ValidString(name) || strings.IndexFunc(name, unicode.IsControl) >= 0:
		return "The name has control characters or is not UTF-8. Rename the file."
	case len(name) > maxName:
		return "The name is longer than 400 bytes. Rename the file."
	case !format.Reads(name):
		return "This file format is not supported."
	}
	return ""
}

// missing returns the stored files that the listing lacks.
func (l *folderListing) missing() []File {
	var out []File
	for name, f := range l.known {
		if !slices.ContainsFunc(l.unreadable, func(dir string) bool { return strings.HasPrefix(name, dir+"/") }) {
			out = append(out, f)
		}
	}
	return out
}

// relative returns the path of a file relative to root, with slashes.
func relative(root, path string) (string, bool) {
	name, err := filepath.Rel(root, path)
	if err != nil || name == "." {
		return "", false
	}
	return filepath.ToSlash(name), true
}

// listed adds a listed file to the queue: to be read, or to be reported with a reason.
func (l *syncQueue) listed(known map[string]File, f localFile, reason string) {
	if reason != "" {
		l.refuse(known, f, reason)
		return
	}
	l.compare(known, f)
}

// maxRefused limits the files that a source lists with the reason why they can't be read. The others are only counted.
const maxRefused = 1000

// refuse adds a file that can't be read to the queue, which reports it once: the reason is part of its version.
func (l *syncQueue) refuse(known map[string]File, f localFile, reason string) {
	if l.refused++; l.refused > maxRefused {
		return
	}
	f.name, f.refused, f.version = storableName(f.name), reason, reason+" "+f.version
	l.compare(known, f)
}

// moreRefused ends the queue. Before that it reports the number of files beyond maxRefused.
func (l *syncQueue) moreRefused() fileResult {
	if l.refused <= maxRefused {
		return fileResult{End: true}
	}
	more := l.refused - maxRefused
	l.refused = 0
	return fileResult{Name: l.src.Name, Error: fmt.Sprintf("%d more files can't be read.", more)}
}

// storableName returns a name that can be stored. The hash distinguishes names that are equal after the change.
func storableName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(name, string(utf8.RuneError)))
	if clean == name && len(name) <= maxName {
		return name
	}
	id := shortHash(name)
	return strings.ToValidUTF8(clean[:min(len(clean), maxName-10)], "") + "~" + hex.EncodeToString(id[:4])
}

// compare adds a listed file to the queue if it is new or changed, and removes it from known.
func (l *syncQueue) compare(known map[string]File, f localFile) {
	old, is := known[f.name]
	delete(known, f.name)
	if is && old.Version == f.version && old.Size == f.size && f.version != "" {
		l.unchanged++
		return
	}
	l.changed = append(l.changed, f)
	l.bytes += f.size
}
