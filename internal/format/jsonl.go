package format

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"iter"
	"strconv"

	"carrel/internal/format/budget"
	"carrel/internal/source"
)

const (
	// maxLine limits the memory of one record.
	maxLine = 16 << 20
	// readBuffer is the read size, and the interval of progress calls.
	readBuffer = 256 << 10
)

// JSONL reads JSON Lines from a reader, such as a library embedded in the program.
func JSONL(ctx context.Context, r io.Reader) iter.Seq2[source.Document, error] {
	return func(yield func(source.Document, error) bool) {
		b := budget.New(ctx, budget.Default, 0, nil)
		err := budget.Catch(func() error {
			return readLines(b, r, func() {}, func(d source.Document, err error) bool {
				more := yield(d, err)
				b.Progress(len(d.Text))
				return more
			})
		})
		if err != nil {
			yield(source.Document{}, err)
		}
	}
}

// readLines yields every record and calls tell after each line.
func readLines(b *budget.Budget, r io.Reader, tell func(), yield func(source.Document, error) bool) error {
	lines := lineReader{r: bufio.NewReaderSize(r, readBuffer)}
	seen := make(idSet)
	for {
		if err := b.Err(); err != nil {
			return err
		}
		line, err := lines.nextFilled()
		tell()
		b.Work(workRecord + workJSON*len(line))
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err == nil && len(line) == 0:
			continue
		case err != nil && !errors.Is(err, errLongLine):
			return err
		}
		if !yield(record(lines.n, line, err, seen)) {
			return nil
		}
	}
}

// record parses one line.
func record(n int, line []byte, tooLong error, seen idSet) (source.Document, error) {
	place := "line " + strconv.Itoa(n)
	d, err := guarded(place, func() (source.Document, error) {
		if tooLong != nil {
			return source.Document{}, tooLong
		}
		return parseJSONLine(line)
	})
	if err != nil {
		return source.Document{}, err
	}
	if first, again := seen.add(d.ExternalID, n); again {
		return source.Document{}, &RecordError{place, "repeats the id of line " + strconv.Itoa(first)}
	}
	return d, nil
}

// idSet maps the hash of each id to its line. The 128-bit hashes save memory and do not collide in practice.
type idSet map[[16]byte]int

// add stores an id, or returns the line of its first occurrence.
func (s idSet) add(id string, line int) (first int, again bool) {
	sum := sha256.Sum256([]byte(id))
	key := [16]byte(sum[:16])
	if first, again = s[key]; again {
		return first, true
	}
	s[key] = line
	return 0, false
}

// errLongLine is the fault of a line that exceeds maxLine.
const errLongLine = fault("is longer than 16 MiB")

// lineReader reads lines and skips those that are too long.
type lineReader struct {
	r    *bufio.Reader
	long []byte
	// n is the number of the last line, from 1.
	n int
}

// keptLine limits the buffer that is kept for the next line.
const keptLine = 1 << 20

// nextFilled returns the next line that is not blank. Blank lines are skipped a buffer at a time, so that a file of
// blank lines is cheap.
func (l *lineReader) nextFilled() ([]byte, error) {
	for {
		if _, err := l.r.Peek(1); err != nil {
			return l.next()
		}
		ready, _ := l.r.Peek(l.r.Buffered()) // already buffered
		blank := len(ready) - len(bytes.TrimLeft(ready, " \t\r\n"))
		if blank == 0 {
			return l.next()
		}
		l.n += bytes.Count(ready[:blank], []byte("\n"))
		_, _ = l.r.Discard(blank) // already buffered
	}
}

// next returns the next line without surrounding white space, valid until the next call; errLongLine for a skipped
// line; or io.EOF.
func (l *lineReader) next() ([]byte, error) {
	if cap(l.long) > keptLine {
		l.long = nil
	}
	l.long = l.long[:0]
	size := 0
	for {
		part, err := l.r.ReadSlice('\n')
		size += len(part)
		tooLong := size > maxLine
		if errors.Is(err, bufio.ErrBufferFull) {
			if !tooLong {
				l.long = append(l.long, part...)
			}
			continue
		}
		if err != nil && (!errors.Is(err, io.EOF) || size == 0) {
			return nil, err
		}
		l.n++
		if tooLong {
			return nil, errLongLine
		}
		line := part
		if size > len(part) {
			l.long = append(l.long, part...)
			line = l.long
		}
		if l.n == 1 {
			line = bytes.TrimPrefix(line, utf8BOM)
		}
		return bytes.Trim(line, " \t\r\n"), nil
	}
}
