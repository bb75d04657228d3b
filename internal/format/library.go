// Package format turns files into documents. A library is a file of records, a single document, or a folder or
// archive of such files. It is read as a stream, so that memory does not depend on its size. A record that can't be
// used is reported with its place and reason, and reading continues; the caller decides whether bad records are
// acceptable.
//
// Each format has its own file and a row in the table in formats.go.
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

// RecordError describes an unusable record. The records after it can still be read.
type RecordError struct {
	// Place locates the record for a person: "line 17", "notes/a.md".
	Place string
	// Reason completes a sentence that starts with the place: "has no id".
	Reason string
}

// Error returns the place and the reason.
func (e *RecordError) Error() string { return e.Place + " " + e.Reason }

// fault is the reason of a RecordError whose place is not known yet.
type fault string

// Error returns the reason.
func (f fault) Error() string { return string(f) }

// reader reads the documents of a library.
type reader interface {
	// size is the number of bytes that a full pass reads, stored the number on disk before unpacking.
	size() int64
	stored() int64
	// documents passes each document or *RecordError to yield until it returns false. Its error ended the pass early.
	// It may be called again.
	documents(b *budget.Budget, progress func(int64), yield func(source.Document, error) bool) error
}

// Limits bounds the cost of reading one library, with one budget for all levels of nesting.
type Limits struct {
	budget.Limits
	// Pool is the memory shared by all libraries of the process; nil means no common limit.
	Pool *budget.Pool
	// OCR reads the text of pages that are images; nil means that they stay without text.
	OCR Recognizer
}

// Exceeded is the error of a library that exceeds a limit.
type Exceeded = budget.Exceeded

// Library is a file or folder of documents. It can be read several times and keeps nothing open in between.
type Library struct {
	reader reader
	limits Limits
	// spent, if set, receives the cost of each pass.
	spent func(budget.Usage)
}

// Bytes returns the size of the library, in the unit of the progress of Documents.
func (l *Library) Bytes() int64 { return l.reader.size() }

// Documents reads the library from its start. A *RecordError concerns one record, and reading continues; any other
// error ends the sequence. Progress, unless nil, is called periodically with the number of bytes read.
func (l *Library) Documents(ctx context.Context, progress func(bytesRead int64)) iter.Seq2[source.Document, error] {
	if progress == nil {
		progress = func(int64) {}
	}
	return func(yield func(source.Document, error) bool) {
		b := budget.New(withRecognizer(ctx, l.limits.OCR), l.limits.Limits, l.reader.stored(), l.limits.Pool)
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

// Open prepares a file or folder for reading, within the default limits. It does not parse anything.
func Open(path string) (*Library, error) {
	return OpenWithin(context.Background(), path, Limits{Limits: budget.Default})
}

// OpenWithin is Open with limits. It reads the directory of an archive, which is charged to the limits.
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
	info, err := os.Stat(path) //nolint:gosec // the path comes from a command, or is the server's own copy of an upload
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

// guarded runs the parser of one record. A panic becomes the error of that record, because the input is untrusted and
// some parsers are third-party. Only a limit of the whole upload ends the reading.
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
			d, err = source.Document{}, &RecordError{place, "can't be read: the parser failed"}
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
