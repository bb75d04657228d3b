package format

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

// recordFile is a file of many documents.
type recordFile struct {
	path   string
	bytes  int64
	packed bool
	read   recordReader
}

func (f *recordFile) size() int64 { return f.bytes }

func (f *recordFile) stored() int64 { return f.bytes }

func (f *recordFile) documents(b *budget.Budget, progress func(int64), yield func(source.Document, error) bool) error {
	more := true
	err := f.readAll(b, progress, func(d source.Document, err error) bool {
		more = yield(d, err)
		return more
	})
	record, about := errors.AsType[*RecordError](err)
	_, over := errors.AsType[*Exceeded](err)
	switch {
	case err == nil || !more || over:
		return err
	case about: // an error about the whole file
		yield(source.Document{}, record)
		return nil
	}
	return fmt.Errorf("read %s: %w", filepath.Base(f.path), err)
}

func (f *recordFile) readAll(b *budget.Budget, progress func(int64), yield func(source.Document, error) bool) error {
	opened, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }()
	counted := &countingReader{r: opened}
	content, leave, err := unpacked(counted, f.packed, b)
	if err != nil {
		return err
	}
	defer leave()
	var told int64
	tell := func() {
		if told < counted.n {
			told = counted.n
			progress(told)
		}
	}
	return f.read(b, content, tell, yield)
}

// unpacked returns the content of a reader that may be compressed with gzip.
func unpacked(r io.Reader, packed bool, b *budget.Budget) (content io.Reader, leave func(), err error) {
	if !packed {
		return r, func() {}, nil
	}
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, nil, err
	}
	return b.Reader(unzipped), b.Enter(), nil
}

// countingReader counts the bytes read from a file, before decompression.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
