package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// folder is a set of texts in files of their own.
type folder struct {
	// open returns the files, and what to call when they are no longer needed.
	open  func() (fs.FS, func() error, error)
	files []file
}

// file is one text of a folder.
type file struct {
	name string
	size int64
	// wrong is why the file can't be read at all, known from its name.
	wrong fault
}

// openFolder lists the texts of a folder, so that every reading sees the same ones and the size is known.
func openFolder(dir string) (*Library, error) {
	f := &folder{open: func() (fs.FS, func() error, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, nil, err
		}
		return root.FS(), root.Close, nil
	}}
	fsys, done, err := f.open()
	if err != nil {
		return nil, fmt.Errorf("open the folder: %w", err)
	}
	defer func() { _ = done() }() // nothing was written
	if err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return f.list(fsys, name, entry)
	}); err != nil {
		return nil, fmt.Errorf("list the folder: %w", err)
	}
	if len(f.files) == 0 {
		return nil, unsupported("This folder holds nothing that can be read.")
	}
	return &Library{f}, nil
}

// list adds an entry of the folder, if it is a text. A link to a file is followed while it stays in the folder,
// which os.Root sees to; a link to a folder never is, for it may lead back to where it came from.
func (f *folder) list(fsys fs.FS, name string, entry fs.DirEntry) error {
	switch {
	case name == ".":
		return nil
	case strings.HasPrefix(entry.Name(), "."):
		return skip(entry)
	case !utf8.ValidString(entry.Name()):
		if entry.IsDir() || readable(name) {
			f.files = append(f.files, file{name: name, wrong: "has a name that is not UTF-8"})
		}
		return skip(entry)
	case entry.IsDir() || !readable(name):
		return nil
	}
	info, err := fs.Stat(fsys, name)
	if err != nil || !info.Mode().IsRegular() {
		// A link that leads nowhere or outside, a pipe, a device: no text of this folder.
		return nil //nolint:nilerr // see above
	}
	f.files = append(f.files, file{name: name, size: info.Size()})
	return nil
}

func skip(entry fs.DirEntry) error {
	if entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func (f *folder) size() int64 {
	var n int64
	for _, file := range f.files {
		n += file.size
	}
	return n
}

func (f *folder) documents(ctx context.Context, progress func(int64)) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		fsys, done, err := f.open()
		if err != nil {
			yield(Document{}, fmt.Errorf("open the folder: %w", err))
			return
		}
		defer func() { _ = done() }() // nothing was written
		var told int64
		for _, file := range f.files {
			if err := ctx.Err(); err != nil {
				yield(Document{}, err)
				return
			}
			if !file.read(ctx, fsys, yield) {
				return
			}
			told += file.size
			progress(told)
		}
	}
}

// readable reports whether a file in a folder is read. An archive in a folder is not opened: it may hold another.
func readable(name string) bool {
	_, _, known := kindOf(name)
	return known
}

// read gives the documents of one file to yield, and reports whether reading goes on with the next.
func (f file) read(ctx context.Context, fsys fs.FS, yield func(Document, error) bool) bool {
	if k, packed, _ := kindOf(f.name); k.many != nil && f.wrong == "" {
		return f.readMany(ctx, fsys, k.many, packed, yield)
	}
	d, err := f.readOne(ctx, fsys)
	_, goesOn := errors.AsType[*RecordError](err)
	return yield(d, err) && (err == nil || goesOn)
}

// readOne makes the document of a file that holds one.
func (f file) readOne(ctx context.Context, fsys fs.FS) (Document, error) {
	place := printable(f.name)
	if f.wrong != "" {
		return Document{}, &RecordError{place, string(f.wrong)}
	}
	k, _, _ := kindOf(f.name)
	data, err := readAtMost(fsys, f.name, k.limit)
	if errors.Is(err, fs.ErrPermission) {
		return Document{}, &RecordError{place, "can't be opened: permission denied"}
	}
	return guarded(place, func() (Document, error) {
		if err != nil {
			return Document{}, broken(err)
		}
		d, err := k.one(ctx, f.name, data)
		d.ExternalID = f.name
		return d, err
	})
}

// readMany gives the records of a file. Their ids are made those of the file's: other files may have the same.
func (f file) readMany(ctx context.Context, fsys fs.FS, read records, packed bool, yield func(Document, error) bool) bool {
	place := printable(f.name)
	enough := false
	err := func() error {
		opened, err := fsys.Open(f.name)
		if err != nil {
			return err
		}
		defer func() { _ = opened.Close() }()
		content, err := unpacked(&cappedReader{r: opened, left: maxUnpacked}, packed)
		if err != nil {
			return err
		}
		return read(ctx, content, func() {}, func(d Document, err error) bool {
			if record, is := errors.AsType[*RecordError](err); is {
				err = &RecordError{place + ", " + record.Place, record.Reason}
			} else {
				d.ExternalID = f.name + "#" + d.ExternalID
			}
			enough = !yield(d, err)
			return !enough
		})
	}()
	switch {
	case enough:
		return false
	case err == nil:
		return true
	case ctx.Err() != nil || errors.Is(err, fs.ErrNotExist):
		yield(Document{}, err)
		return false
	case errors.Is(err, fs.ErrPermission):
		return yield(Document{}, &RecordError{place, "can't be opened: permission denied"})
	}
	reason := "can't be read to its end: it is damaged"
	if record, is := errors.AsType[*RecordError](err); is {
		reason = record.Reason
	}
	return yield(Document{}, &RecordError{place, reason})
}

// readAtMost reads a file, which may have grown since its size was seen. One that is too large is a fault.
func readAtMost(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fault(fmt.Sprintf("is larger than %d MiB", limit>>20))
	}
	return data, nil
}

// stem is a file's name as a title of last resort.
func stem(name string) string {
	base := path.Base(name)
	return strings.TrimSuffix(base, path.Ext(base))
}

// printable makes a name safe to show: one that could drive a terminal is quoted.
func printable(name string) string {
	if utf8.ValidString(name) && strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return name
	}
	return strconv.QuoteToGraphic(name)
}
