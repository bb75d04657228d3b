// Package budget bounds the cost of reading one upload. All levels of nesting draw from the same budget: an archive,
// the packed file in it, the parts of a document in it and the streams in that document. A level with a limit of its
// own would let a small file multiply: a thousand entries that each stay below a limit cost a thousand times that
// limit.
//
// The limits are counters of work done, not seconds, so that the same file has the same outcome on a fast and on a slow
// machine. Time is the backstop for work that no counter sees.
package budget

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Limits bound one upload. Unpacked and Work grow with the size of the upload; Work also grows with the text that is
// read from it, so that a large archive of honest documents is read to its end.
type Limits struct {
	// Unpacked is the number of bytes that all decompressors together may write.
	Unpacked int64
	// Entries is the number of files in archives, the parts of Word files and books included.
	Entries int
	// Depth is the maximum nesting of compressed files.
	Depth int
	// Work is the number of work units that parsers may spend. A unit takes about two nanoseconds on a current
	// machine: a byte of JSON is one unit, a byte of XML eight.
	Work int64
	// Memory is the number of bytes that one document may hold while it is parsed.
	Memory int64
	// Time limits the wall-clock time of one document.
	Time time.Duration
}

// Default is used if no limits are set.
var Default = Limits{
	Unpacked: 256 << 20, Entries: 100_000, Depth: 4, Work: 1.5e9, Memory: 160 << 20, Time: 5 * time.Minute,
}

const (
	// unpackedPerByte lets the limit grow with the upload. Text compresses to between a third and a twentieth of its
	// size, a zip bomb to a thousandth.
	unpackedPerByte = 20
	// workPerByte is enough to read every byte of an upload. Extracted text earns workPerText units per byte (a PDF
	// needs some 220), up to earnedPerByte units for each byte of the upload.
	workPerByte   = 8
	workPerText   = 500
	earnedPerByte = 1000
	// A small document may hold baseMemory, a larger one memoryPerByte times its size, and none more than Limits.Memory.
	baseMemory    = 48 << 20
	memoryPerByte = 8
)

// Usage is the cost of reading an upload so far.
type Usage struct {
	Unpacked int64
	Entries  int
	Depth    int
	Work     int64
	// Memory is the peak of one document.
	Memory int64
}

// Exceeded is the error of an upload that exceeds a limit.
type Exceeded struct {
	// Reason names the limit and its value and completes a sentence that starts with a file name: "unpacks to more
	// than 1,024 MiB".
	Reason string
	// Setting is the setting that changes the limit.
	Setting string
	// Document is set if the limit concerns a single document, so that the rest of the upload can still be read.
	Document bool
}

// Error returns the reason and advice.
func (e *Exceeded) Error() string {
	return e.Reason + "; split it, or ask the operator to raise the setting " + e.Setting
}

// stop is the panic value that unwinds a parser to the nearest Catch. Most parsers can't return an error where they
// spend.
type stop struct{ err error }

// Catch calls f and returns the error of an exceeded limit, or the error of f.
func Catch(f func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop:
			err = r.err
		default:
			panic(r)
		}
	}()
	return f()
}

// Stopped returns the error of a recovered panic value, for functions that recover other panics as well.
func Stopped(recovered any) (error, bool) { //nolint:revive // the error is the value
	s, is := recovered.(stop)
	return s.err, is
}

// Budget tracks the remaining limits of one upload. It is not safe for concurrent use.
type Budget struct {
	ctx    context.Context
	limits Limits
	used   Usage
	depth  int
	// earnable is how many more units the extracted text may earn.
	earnable int64
	// held is the memory of the current document, most its limit.
	held, most int64
	pool       *Pool
	since      time.Time
	// checkAt is the amount of work at which the context and the clock are checked again.
	checkAt int64
}

// New returns the budget of an upload of a size in bytes. The pool may be nil.
func New(ctx context.Context, l Limits, size int64, pool *Pool) *Budget {
	l.Unpacked = max(l.Unpacked, unpackedPerByte*size)
	l.Work += workPerByte * size
	return &Budget{ctx: ctx, limits: l, earnable: earnedPerByte * size, most: l.Memory, pool: pool, since: time.Now()}
}

// Used returns the cost so far.
func (b *Budget) Used() Usage { return b.used }

func (b *Budget) exceed(setting, format string, args ...any) {
	panic(stop{&Exceeded{Reason: fmt.Sprintf(format, args...), Setting: setting}})
}

// checkEvery is the work between two checks of the context and the clock, a few milliseconds.
const checkEvery = 1 << 20

// Work spends work units.
func (b *Budget) Work(steps int) {
	b.used.Work += int64(steps)
	if b.used.Work > b.limits.Work {
		b.exceed(
			"import-work", "takes more than %s million steps to read, the limit for its size",
			number(b.limits.Work/1e6),
		)
	}
	if b.used.Work >= b.checkAt {
		b.Check()
	}
}

// Check ends the reading if the context has ended or the document takes too long.
func (b *Budget) Check() {
	b.checkAt = b.used.Work + checkEvery
	if err := b.ctx.Err(); err != nil {
		panic(stop{err})
	}
	if time.Since(b.since) > b.limits.Time {
		b.exceed("import-time", "takes longer than %s to read", b.limits.Time)
	}
}

// Unpack spends bytes that a decompressor has written.
func (b *Budget) Unpack(n int) {
	b.used.Unpacked += int64(n)
	if b.used.Unpacked > b.limits.Unpacked {
		b.exceed(
			"import-unpacked-mib", "unpacks to more than %s MiB, the limit for its size", number(b.limits.Unpacked>>20),
		)
	}
}

// Entries spends archive entries.
func (b *Budget) Entries(n int) {
	b.used.Entries += n
	if b.used.Entries > b.limits.Entries {
		b.exceed("import-entries", "holds more than %s files", number(int64(b.limits.Entries)))
	}
}

// EntriesLeft returns the number of archive entries that remain.
func (b *Budget) EntriesLeft() int { return b.limits.Entries - b.used.Entries }

// Enter descends one level of compression; the returned function leaves it.
func (b *Budget) Enter() (leave func()) {
	b.depth++
	b.used.Depth = max(b.used.Depth, b.depth)
	if b.depth > b.limits.Depth {
		b.exceed("import-depth", "holds packed files nested deeper than %d levels", b.limits.Depth)
	}
	return func() { b.depth-- }
}

// Hold reserves memory for the current document, before it is allocated.
func (b *Budget) Hold(n int) {
	b.held += int64(n)
	b.used.Memory = max(b.used.Memory, b.held)
	if b.held > b.most {
		panic(stop{&Exceeded{
			Reason:  "needs more than " + number(b.most>>20) + " MiB of memory to read, the limit for its size",
			Setting: "import-memory-mib", Document: true,
		}})
	}
}

// Release returns reserved memory.
func (b *Budget) Release(n int) { b.held -= int64(n) }

// Room returns how much memory the current document may still reserve.
func (b *Budget) Room() int64 { return b.most - b.held }

// Document parses one document of a size in bytes. It waits until the pool has the memory that the document may
// reserve.
func (b *Budget) Document(size int64, read func()) error {
	most := min(b.limits.Memory, max(baseMemory, memoryPerByte*size))
	release, err := b.pool.acquire(b.ctx, most)
	if err != nil {
		return err
	}
	defer release()
	before := b.most
	b.held, b.most, b.since = 0, most, time.Now()
	defer func() { b.held, b.most = 0, before }()
	read()
	return nil
}

// Progress records that a record with this many bytes of text was stored, and resets the per-document limits.
func (b *Budget) Progress(text int) {
	b.since = time.Now()
	earned := min(workPerText*int64(text), b.earnable)
	b.earnable -= earned
	b.limits.Work += earned
}

// Outside calls f, whose time does not count, because another limit bounds it.
func (b *Budget) Outside(f func()) {
	began := time.Now()
	f()
	b.since = b.since.Add(time.Since(began))
}

// Context returns the context of the reading.
func (b *Budget) Context() context.Context { return b.ctx }

// Err returns the error of an ended context.
func (b *Budget) Err() error { return b.ctx.Err() }

// Reader charges what is read from a decompressor.
func (b *Budget) Reader(r io.Reader) io.Reader { return &reader{r, b} }

type reader struct {
	r io.Reader
	b *Budget
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.b.Unpack(n)
	r.b.Work(n / 2)
	return n, err
}

// ReadAll reads up to limit+1 bytes, so that the caller can detect a longer input. It reserves the returned bytes and
// grows its buffer by half, so that little more than the result is reserved at any time. The hint is the expected
// size.
func (b *Budget) ReadAll(r io.Reader, limit, hint int64) ([]byte, error) {
	size := int(min(max(hint+1, 512), limit+1, 1<<20))
	b.Hold(size)
	out := make([]byte, 0, size)
	for {
		n, err := r.Read(out[len(out):min(cap(out), int(limit)+1)])
		out = out[:len(out)+n]
		switch {
		case errors.Is(err, io.EOF) || int64(len(out)) > limit:
			return out, nil
		case err != nil:
			return out, err
		case len(out) == cap(out):
			grown := int(min(int64(cap(out))+max(int64(cap(out))/2, hint-int64(cap(out))+1), limit+1))
			b.Hold(grown)
			next := make([]byte, len(out), grown)
			copy(next, out)
			b.Release(cap(out))
			out = next
		}
	}
}

// number formats a number with thousands separators.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
