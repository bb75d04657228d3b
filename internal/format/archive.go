package format

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"carrel/internal/format/budget"
)

// maxEntryName limits the name of a file in an archive, and so the size of a report about many of them.
const maxEntryName = 1000

type archiveFiles map[string]*zip.File

// Open returns the content of a file. Its unpacked bytes are charged to the budget.
func (a archiveFiles) Open(name string, b *budget.Budget) (io.ReadCloser, error) {
	f := a[name]
	if f == nil {
		return nil, fs.ErrNotExist
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{b.Reader(r), r}, nil
}

// openArchive lists the files of a zip archive as a folder.
func openArchive(ctx context.Context, path string, size int64, l Limits) (reader, error) {
	f := &folder{
		archive: size, open: func(b *budget.Budget) (opener, func() error, error) { return unzip(path, size, b) },
	}
	files, done, err := unzip(path, size, budget.New(ctx, l.Limits, size, nil))
	if err != nil {
		return nil, err
	}
	defer func() { _ = done() }() // opened for reading only
	for name, entry := range files {
		f.listEntry(name, entry)
	}
	if !f.hasReadable() {
		return nil, unsupported("The archive has no file of a supported format.")
	}
	f.sort()
	return f, nil
}

// unzip opens an archive. It does not use zip.Reader as an fs.FS, which creates a directory for every part of every
// name: 32,000 for a name of 64 KiB of slashes.
func unzip(path string, size int64, b *budget.Budget) (archiveFiles, func() error, error) {
	damaged := unsupported("This is not a zip file, or one that is damaged.")
	file, err := os.Open(path) //nolint:gosec // as in open
	if err != nil {
		return nil, nil, err
	}
	z, err := openZip(file, size, b)
	if err != nil {
		_ = file.Close() // opened for reading only
		if over, is := errors.AsType[*Exceeded](err); is {
			return nil, nil, over
		}
		return nil, nil, damaged
	}
	out := make(archiveFiles, len(z.File))
	for _, entry := range z.File {
		if strings.HasSuffix(entry.Name, "/") || !entry.Mode().IsRegular() {
			continue
		}
		name := entryName(entry.Name)
		if _, again := out[name]; again {
			_ = file.Close()
			return nil, nil, damaged
		}
		out[name] = entry
	}
	return out, file.Close, nil
}

// entryName returns the path of a file inside its archive, without "..".
func entryName(name string) string {
	return strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/")
}

// openZip reads the directory of an archive and charges its entries.
func openZip(r io.ReaderAt, size int64, b *budget.Budget) (*zip.Reader, error) {
	d := &directoryReader{r: r, left: b.EntriesLeft() + directorySlack}
	z, err := zip.NewReader(d, size)
	d.left = -1
	if errors.Is(err, errManyEntries) {
		b.Entries(b.EntriesLeft() + 1)
	}
	if err != nil {
		return nil, err
	}
	b.Entries(len(z.File))
	return z, nil
}

// directoryReader stops reading a zip directory with too many entries, because archive/zip allocates some 300 bytes
// for each before it returns.
type directoryReader struct {
	r io.ReaderAt
	// left is the number of entries that may still be read, or -1 once the directory is read.
	left int
}

// directorySlack allows for entries that are counted twice, because archive/zip reads the end of the directory to
// find its start.
const directorySlack = 2000

var (
	directoryEntry = []byte("PK\x01\x02")
	errManyEntries = errors.New("too many entries")
)

func (d *directoryReader) ReadAt(p []byte, at int64) (int, error) {
	n, err := d.r.ReadAt(p, at)
	if d.left >= 0 {
		d.left -= bytes.Count(p[:n], directoryEntry)
		if d.left < 0 {
			d.left = 0
			return 0, errManyEntries
		}
	}
	return n, err
}

// listEntry adds a file of the archive. Files of other formats are listed with the reason why they are skipped. Hidden
// files and those that macOS adds are no content.
func (f *folder) listEntry(name string, entry *zip.File) {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || part == "__MACOSX" {
			return
		}
	}
	switch {
	case !utf8.ValidString(name) && readable(name):
		f.files = append(f.files, file{name: name, wrong: "has a name that is not UTF-8"})
	case len(name) > maxEntryName && readable(name):
		f.files = append(f.files, file{name: name[:100] + "…", wrong: "has a name of more than 1,000 bytes"})
	case !readable(name):
		name = strings.ToValidUTF8(name[:min(len(name), maxEntryName)], "�")
		f.files = append(f.files, file{name: name, wrong: unreadable(name)})
	default:
		f.files = append(f.files, file{name: name, size: int64(min(entry.UncompressedSize64, 1<<40))})
	}
}

// broken turns an error of a damaged archive into a fault of one file.
func broken(err error) error {
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrChecksum) || errors.Is(err, zip.ErrAlgorithm) ||
		errors.Is(err, io.ErrUnexpectedEOF) {
		return fault("can't be unpacked: it is damaged or packed in an unknown way")
	}
	return err
}
