package ingest

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
)

// maxUnpacked is how much a packed file may hold.
const maxUnpacked = 16 << 30

// recordFile is a file of many documents.
type recordFile struct {
	path   string
	bytes  int64
	packed bool
	read   records
}

func (f *recordFile) size() int64 { return f.bytes }

func (f *recordFile) documents(ctx context.Context, progress func(int64)) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		err := f.readAll(ctx, progress, yield)
		if record, is := errors.AsType[*RecordError](err); is {
			yield(Document{}, record) // about the file as a whole
		} else if err != nil {
			yield(Document{}, fmt.Errorf("read %s: %w", filepath.Base(f.path), err))
		}
	}
}

func (f *recordFile) readAll(ctx context.Context, progress func(int64), yield func(Document, error) bool) error {
	opened, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }()
	counted := &countingReader{r: opened}
	content, err := unpacked(counted, f.packed)
	if err != nil {
		return err
	}
	var told int64
	tell := func() {
		if told < counted.n {
			told = counted.n
			progress(told)
		}
	}
	return f.read(ctx, content, tell, yield)
}

// unpacked returns what is in a reader, which may be packed with gzip.
func unpacked(r io.Reader, packed bool) (io.Reader, error) {
	if !packed {
		return r, nil
	}
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	return &cappedReader{r: unzipped, left: maxUnpacked}, nil
}

// cappedReader ends the reading of what unpacks to more than anybody means to import.
type cappedReader struct {
	r    io.Reader
	left int64
}

func (c *cappedReader) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, &RecordError{"the file", "unpacks to more than can be read"}
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

// countingReader knows how far a file has been read, beneath whatever unpacks it.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
