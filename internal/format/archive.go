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

// maxEntryName is how long the name of a file in an archive may be. It bounds what a report about many of them holds.
const maxEntryName = 1000

// archiveFiles are the files of an archive by name.
type archiveFiles map[string]*zip.File

// Open returns the content of a file. What it unpacks to counts.
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

// openArchive lists the texts of a zip file as if it were a folder.
func openArchive(ctx context.Context, path string, size int64, l Limits) (reader, error) {
	f := &folder{archive: size, open: func(b *budget.Budget) (opener, func() error, error) { return unzip(path, size, b) }}
	files, done, err := unzip(path, size, budget.New(ctx, l.Limits, size, nil))
	if err != nil {
		return nil, err
	}
	defer func() { _ = done() }() // nothing was written
	for name, entry := range files {
		f.listEntry(name, entry)
	}
	if len(f.files) == 0 {
		return nil, unsupported("The archive has no file of a supported format.")
	}
	f.sort()
	return f, nil
}

// unzip opens an archive. The standard library's view of it as a file system is not used: it makes a folder of every part
// of every name, which for a name of 64 KiB of slashes is 32,000 of them.
func unzip(path string, size int64, b *budget.Budget) (archiveFiles, func() error, error) {
	damaged := unsupported("This is not a zip file, or one that is damaged.")
	file, err := os.Open(path) //nolint:gosec // as in open
	if err != nil {
		return nil, nil, err
	}
	z, err := openZip(file, size, b)
	if err != nil {
		_ = file.Close() // nothing was written
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

// entryName is the path of a file inside its archive, which it can't leave.
func entryName(name string) string {
	return strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/")
}

// openZip reads the list of files of an archive and spends its entries.
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

// directoryReader ends the reading of a zip file's directory when it lists too many files: the standard library keeps
// some 300 bytes for each before it tells how many there are.
type directoryReader struct {
	r io.ReaderAt
	// left is how many more entries may be read, or -1 after the directory, when files are read.
	left int
}

// directorySlack allows for entries that are counted twice, when the end of a directory is read to find its start.
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

// listEntry adds a file of the archive, if it is one that is read.
func (f *folder) listEntry(name string, entry *zip.File) {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") {
			return
		}
	}
	switch {
	case !readable(name):
	case !utf8.ValidString(name):
		f.files = append(f.files, file{name: name, wrong: "has a name that is not UTF-8"})
	case len(name) > maxEntryName:
		f.files = append(f.files, file{name: name[:100] + "…", wrong: "has a name of more than 1,000 bytes"})
	default:
		f.files = append(f.files, file{name: name, size: int64(min(entry.UncompressedSize64, 1<<40))})
	}
}

// broken turns what a damaged archive answers into the trouble of one file.
func broken(err error) error {
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrChecksum) || errors.Is(err, zip.ErrAlgorithm) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fault("can't be unpacked: it is damaged or packed in an unknown way")
	}
	return err
}
