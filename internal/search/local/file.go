package local

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync/atomic"

	"carrel/internal/search"
	"carrel/internal/search/local/disk"
	"carrel/internal/search/local/segment"
)

// file is an open segment, shared by all snapshots that use it. The last release unmaps it, and deletes it if it is
// obsolete.
type file struct {
	*segment.Segment
	number   uint64
	path     string
	print    uint32
	fs       disk.FS
	log      *slog.Logger
	holders  atomic.Int64
	obsolete atomic.Bool
	damaged  atomic.Bool // damage was found, and the file dropped
}

func (f *file) release() {
	if f.holders.Add(-1) > 0 {
		return
	}
	if err := f.Close(); err != nil {
		f.log.Warn("close a segment", "path", f.path, "error", err)
	}
	if !f.obsolete.Load() {
		return
	}
	if err := f.fs.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.log.Warn("remove an obsolete segment", "path", f.path, "error", err)
	}
}

// openFile opens the segment with this number. The caller releases it.
func openFile(dir string, number uint64, fsys disk.FS, log *slog.Logger) (*file, error) {
	path := segmentPath(dir, number)
	mark, err := fingerprint(path)
	if err != nil {
		return nil, fmt.Errorf("read segment %d: %w", number, err)
	}
	s, err := segment.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open segment %d: %w", number, err)
	}
	f := &file{Segment: s, number: number, path: path, print: mark, fs: fsys, log: log}
	f.holders.Store(1)
	return f, nil
}

// openPart opens a part of the manifest. The caller releases its file.
func openPart(dir string, named manifestPart, fsys disk.FS, log *slog.Logger) (*part, error) {
	span := search.Span{After: named.After, Through: named.Through}
	if named.Segment == 0 {
		return newPart(span, nil, nil), nil
	}
	f, err := openFile(dir, named.Segment, fsys, log)
	if err != nil {
		return nil, err
	}
	p, err := partOfFile(f, span, named, dir)
	if err != nil {
		f.release()
	}
	return p, err
}

// partOfFile checks an open file against the manifest and returns its part.
func partOfFile(f *file, span search.Span, named manifestPart, dir string) (*part, error) {
	if f.print != named.Print {
		return nil, fmt.Errorf("segment %d is not the file that was written: %w", f.number, errUntrusted)
	}
	var deleted *segment.Bits
	if named.Tombstones != 0 {
		var err error
		deleted, err = readTombstones(tombstonePath(dir, named.Tombstones), named.Sum, named.Segment, f.Documents())
		if err != nil {
			return nil, err
		}
	}
	p := newPart(span, f, deleted)
	p.tombstones, p.sum, p.purge = named.Tombstones, named.Sum, named.Purge
	return p, nil
}
