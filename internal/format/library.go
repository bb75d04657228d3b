// Package format turns bytes into documents. A library is a file of records, a text, or a folder or archive of such files;
// it is read as a stream, so that its size does not matter. A record that can't be used is reported with its place
// and a reason, and reading goes on: whether one bad record spoils the rest is for the caller to say.
//
// There is one file per format, and a row for each in the table of formats.go.
package format

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"carrel/internal/core"
	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// RecordError is what is wrong with a single record. The records after it can still be read.
type RecordError struct {
	// Place is where a person finds the record: "line 17", "notes/a.md".
	Place string
	// Reason says what is wrong, to follow the place in a sentence: "has no id".
	Reason string
}

// Error renders the place and the reason as one sentence.
func (e *RecordError) Error() string { return e.Place + " " + e.Reason }

// fault is the reason of a RecordError before its place is known.
type fault string

// Error returns the reason.
func (f fault) Error() string { return string(f) }

// reader is one way in which documents are kept.
type reader interface {
	// size is how many bytes a full reading takes, and stored how many they are on disk, before anything is unpacked.
	size() int64
	stored() int64
	// documents reads all from the start and gives each document, or a *RecordError, to yield until that has enough. It
	// returns what ended the reading too early. It may be called again.
	documents(b *budget.Budget, progress func(int64), yield func(source.Document, error) bool) error
}

// Limits bound what reading one library may cost: one budget, whatever is packed inside what.
type Limits struct {
	budget.Limits
	// Pool is the memory that all libraries of this process are read in; nil means that there is no common limit.
	Pool *budget.Pool
}

// Exceeded is the error of a library that goes over its limits.
type Exceeded = budget.Exceeded

// Library is a file or folder whose documents can be read, as often as wanted. It holds nothing open in between.
type Library struct {
	reader reader
	limits Limits
	// spent, unless nil, is told what a reading cost.
	spent func(budget.Usage)
}

// Bytes is the size of all that will be read, in the measure that Documents reports its progress in.
func (l *Library) Bytes() int64 { return l.reader.size() }

// Documents reads the library from its start. An error that is a *RecordError concerns one record and reading can
// go on; any other error is the last thing the sequence gives. Progress, unless nil, is told now and then how many
// bytes have been read.
func (l *Library) Documents(ctx context.Context, progress func(bytesRead int64)) iter.Seq2[source.Document, error] {
	if progress == nil {
		progress = func(int64) {}
	}
	return func(yield func(source.Document, error) bool) {
		b := budget.New(ctx, l.limits.Limits, l.reader.stored(), l.limits.Pool)
		if l.spent != nil {
			defer func() { l.spent(b.Used()) }()
		}
		err := budget.Catch(func() error {
			return l.reader.documents(b, progress, func(d source.Document, err error) bool {
				more := yield(d, err)
				b.Progress(len(d.Text) + len(d.Title))
				return more
			})
		})
		if err != nil {
			yield(source.Document{}, err)
		}
	}
}

// Open looks at a file or folder and says how its documents are read. Nothing is parsed yet. Reading is held to the
// default limits, those of a file on disk without a server around it.
func Open(path string) (*Library, error) {
	return OpenWithin(context.Background(), path, Limits{Limits: budget.Default})
}

// OpenWithin is Open with limits. Of an archive the list of files is read already, within the same limits.
func OpenWithin(ctx context.Context, path string, l Limits) (library *Library, err error) {
	err = budget.Catch(func() error {
		r, err := open(ctx, path, l)
		library = &Library{reader: r, limits: l}
		return err
	})
	if err != nil {
		return nil, err
	}
	return library, nil
}

func open(ctx context.Context, path string, l Limits) (reader, error) {
	info, err := os.Stat(path) //nolint:gosec // the caller names the file: a command, or the server its own copy of an upload
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, (&core.Error{
				Kind: core.KindNotFound, Code: "not_found", Detail: "There is no such file or folder.",
			}).Because(err)
		}
		return nil, fmt.Errorf("open the library: %w", err)
	}
	name := filepath.Base(path)
	k, packed, known := formatOf(name)
	switch {
	case info.IsDir():
		return openFolder(path)
	case !info.Mode().IsRegular():
		return nil, unsupported("This is neither a regular file nor a folder.")
	case IsArchive(name):
		return openArchive(ctx, path, info.Size(), l)
	case known && k.many != nil:
		return &recordFile{path: path, bytes: info.Size(), packed: packed, read: k.many}, nil
	case known:
		return &folder{
			open: func(*budget.Budget) (opener, func() error, error) {
				return onDisk{os.DirFS(filepath.Dir(path))}, noClose, nil
			},
			files: []file{{name: name, size: info.Size()}},
		}, nil
	}
	return nil, unsupported("This file format is not supported.")
}

// unsupported is the error for a file or folder without a readable document.
func unsupported(detail string) error {
	return &core.Error{
		Kind: core.KindUnsupported, Code: "unsupported_format",
		Detail: detail + " Supported are a folder or a file of these formats: " + ExtensionList() +
			"; lists of records may be compressed (.gz).",
	}
}

func noClose() error { return nil }

// guarded runs the parser of one record. Whatever the parser meets, a panic included, stays the trouble of that
// one record: the bytes come from anywhere, and the parsers are partly not ours. Only a limit of the whole upload ends the
// reading.
func guarded(place string, parse func() (source.Document, error)) (d source.Document, err error) {
	defer func() {
		r := recover()
		stopped, isStop := budget.Stopped(r)
		over, isOver := errors.AsType[*Exceeded](cmp.Or(stopped, err))
		switch {
		case isOver && over.Document:
			d, err = source.Document{}, &RecordError{place, over.Error()}
		case isStop:
			panic(r)
		case r != nil:
			d, err = source.Document{}, &RecordError{place, "can't be read: it upsets the parser"}
		}
	}()
	d, err = parse()
	if err == nil {
		err = check(d)
	}
	if reason, is := errors.AsType[fault](err); is {
		return source.Document{}, &RecordError{place, string(reason)}
	}
	if err != nil {
		return source.Document{}, err
	}
	return d, nil
}
