package format

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// folder is a set of files, in a folder or an archive.
type folder struct {
	// open returns the files and a function that closes them.
	open  func(b *budget.Budget) (opener, func() error, error)
	files []file
	// archive is the size of the archive that contains the files, or 0.
	archive int64
}

// opener opens files of a folder or an archive by name.
type opener interface {
	Open(name string, b *budget.Budget) (io.ReadCloser, error)
}

type onDisk struct{ fs.FS }

// Open returns the content of a file.
func (d onDisk) Open(name string, _ *budget.Budget) (io.ReadCloser, error) { return d.FS.Open(name) }

type file struct {
	name string
	size int64
	// wrong is the reason why the file can't be read, if its name shows that.
	wrong fault
}

// openFolder lists the files of a folder, so that every pass reads the same files and the size is known.
func openFolder(dir string) (reader, error) {
	f := &folder{open: func(*budget.Budget) (opener, func() error, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, nil, err
		}
		return onDisk{root.FS()}, root.Close, nil
	}}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder: %w", err)
	}
	defer func() { _ = root.Close() }() // opened for reading only
	fsys := root.FS()
	if err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return f.list(fsys, name, entry)
	}); err != nil {
		return nil, fmt.Errorf("list the folder: %w", err)
	}
	if !f.hasReadable() {
		return nil, unsupported("The folder has no file of a supported format.")
	}
	return f, nil
}

// list adds an entry of the folder. Files of other formats are listed with the reason why they are skipped. Links to
// files are followed if they stay in the folder, which os.Root enforces; links to folders are not, because they may
// form a cycle.
func (f *folder) list(fsys fs.FS, name string, entry fs.DirEntry) error {
	switch {
	case name == ".":
		return nil
	case strings.HasPrefix(entry.Name(), "."):
		return skip(entry)
	case !utf8.ValidString(entry.Name()):
		f.files = append(f.files, file{name: name, wrong: "has a name that is not UTF-8"})
		return skip(entry)
	case entry.IsDir():
		return nil
	case !readable(name):
		if entry.Type().IsRegular() {
			f.files = append(f.files, file{name: name, wrong: unreadable(name)})
		}
		return nil
	}
	info, err := fs.Stat(fsys, name)
	if err != nil || !info.Mode().IsRegular() {
		// A broken link, a link out of the folder, a pipe or a device is skipped.
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

func (f *folder) stored() int64 {
	if f.archive > 0 {
		return f.archive
	}
	return f.size()
}

func (f *folder) sort() {
	slices.SortFunc(f.files, func(a, b file) int { return strings.Compare(a.name, b.name) })
}

func (f *folder) documents(b *budget.Budget, progress func(int64), yield func(source.Document, error) bool) error {
	files, done, err := f.open(b)
	if err != nil {
		return fmt.Errorf("open the folder: %w", err)
	}
	defer func() { _ = done() }() // opened for reading only
	if f.archive > 0 {
		defer b.Enter()()
	}
	var told int64
	for _, file := range f.files {
		if err := b.Err(); err != nil {
			return err
		}
		if more, err := file.read(b, files, yield); err != nil || !more {
			return err
		}
		told += file.size
		progress(told)
	}
	return nil
}

// readable reports whether a file in a folder is read. Archives in folders are not opened, because they may be
// nested.
func readable(name string) bool {
	_, _, known := formatOf(name)
	return known
}

// unreadable returns why a file is not readable.
func unreadable(name string) fault {
	if IsArchive(name) {
		return "is an archive inside a folder, archive or message; unpack it first"
	}
	return "is skipped, because its format is not supported"
}

// hasReadable reports whether the folder has a file of a supported format.
func (f *folder) hasReadable() bool {
	return slices.ContainsFunc(f.files, func(f file) bool { return f.wrong != unreadable(f.name) })
}

// read yields the documents of one file and reports whether to continue with the next.
func (f file) read(b *budget.Budget, files opener, yield func(source.Document, error) bool) (more bool, err error) {
	if k, packed, _ := formatOf(f.name); k.many != nil && f.wrong == "" {
		return f.readMany(b, files, k.many, packed, yield)
	}
	d, attached, err := f.readOne(b, files)
	if _, goesOn := errors.AsType[*RecordError](err); err != nil && !goesOn {
		return false, err
	}
	if more = yield(d, err); !more {
		return false, nil
	}
	if _, isAttachment := files.(attachedFiles); isAttachment {
		for i := range attached { // files of other formats are reported as such
			attached[i].wrong = cmp.Or(attached[i].wrong, "is attached to an attachment; import the attachment on its own")
		}
	}
	return readAttachments(b, f.name, attached, yield), nil
}

// readOne parses a file that is one document, and returns its attachments.
func (f file) readOne(b *budget.Budget, files opener) (d source.Document, attached []attachment, err error) {
	place := printable(f.name)
	if f.wrong != "" {
		return source.Document{}, nil, &RecordError{place, string(f.wrong)}
	}
	k, _, _ := formatOf(f.name)
	waited := b.Document(f.size*max(1, k.weight), func() {
		d, err = guarded(place, func() (source.Document, error) {
			data, err := f.content(b, files, k.limit)
			if err != nil {
				return source.Document{}, broken(err)
			}
			var d source.Document
			if k.attached != nil {
				d, attached, err = k.attached(b, f.name, data)
			} else {
				d, err = k.one(b, f.name, data)
			}
			d.ExternalID = f.name
			return d, err
		})
	})
	if waited != nil {
		return source.Document{}, nil, waited
	}
	if errors.Is(err, fs.ErrPermission) {
		return source.Document{}, nil, &RecordError{place, "can't be opened: permission denied"}
	}
	if err != nil {
		return source.Document{}, nil, err
	}
	return d, attached, nil
}

// content reads a file, which may have grown since it was listed. A file that is too large is a fault.
func (f file) content(b *budget.Budget, files opener, limit int64) ([]byte, error) {
	opened, err := files.Open(f.name, b)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }()
	data, err := b.ReadAll(opened, limit, f.size)
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fault(fmt.Sprintf("is larger than %d MiB", limit>>20))
	}
	return data, nil
}

// readMany yields the records of a file. Their ids are prefixed with the file's name, because other files may use the
// same ids.
func (f file) readMany(
	b *budget.Budget, files opener, read recordReader, packed bool, yield func(source.Document, error) bool,
) (more bool, err error) {
	place := printable(f.name)
	more = true
	err = func() error {
		opened, err := files.Open(f.name, b)
		if err != nil {
			return err
		}
		defer func() { _ = opened.Close() }()
		content, leave, err := unpacked(opened, packed, b)
		if err != nil {
			return err
		}
		defer leave()
		return read(b, content, func() {}, func(d source.Document, err error) bool {
			if record, is := errors.AsType[*RecordError](err); is {
				err = &RecordError{place + ", " + record.Place, record.Reason}
			} else {
				d.ExternalID = f.name + "#" + d.ExternalID
			}
			more = yield(d, err)
			return more
		})
	}()
	_, over := errors.AsType[*Exceeded](err)
	switch {
	case !more || err == nil:
		return more, nil
	case b.Err() != nil || over || errors.Is(err, fs.ErrNotExist):
		return false, err
	case errors.Is(err, fs.ErrPermission):
		return yield(source.Document{}, &RecordError{place, "can't be opened: permission denied"}), nil
	}
	reason := "can't be read to its end: it is damaged"
	if record, is := errors.AsType[*RecordError](err); is {
		reason = record.Reason
	}
	return yield(source.Document{}, &RecordError{place, reason}), nil
}

// stem returns a file's base name as a fallback title.
func stem(name string) string {
	base := path.Base(name)
	return strings.TrimSuffix(base, path.Ext(base))
}

// printable quotes a name with control characters, which could drive a terminal.
func printable(name string) string {
	if utf8.ValidString(name) && strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return name
	}
	return strconv.QuoteToGraphic(name)
}
