// Package budget bounds the cost of reading one upload. All levels of nesting draw from the same budget: an archive, the
// packed file in it, the parts of a document in it and the streams in that document. A level with a limit of its own
// would let a small file multiply: a thousand entries that each stay below a limit cost a thousand times that limit.
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

// Limits bound one upload. Unpacked and Work grow with the size of the upload; Work also grows with the text that is read
// from it, so that a large archive of honest documents is read to its end.
type Limits struct {
	// Unpacked is the number of bytes that all decompressors together may write.
	Unpacked int64
	// Entries is the number of files in archives, the parts of Word files and books included.
	Entries int
	// Depth is how deep packed files may be nested.
	Depth int
	// Work is the number of steps that parsers may take. A step takes about two nanoseconds on a current machine: a byte
	// of JSON is one step, a byte of XML eight.
	Work int64
	// Memory is the number of bytes that one document may hold while it is read.
	Memory int64
	// Time is how long one document may take by the clock.
	Time time.Duration
}

// Default is used where nothing else is set.
var Default = Limits{Unpacked: 256 << 20, Entries: 100_000, Depth: 4, Work: 1.5e9, Memory: 160 << 20, Time: 5 * time.Minute}

const (
	// unpackedPerByte lets the limit grow with the upload. Text packs to between a third and a twentieth; a bomb packs to a
	// thousandth.
	unpackedPerByte = 20
	// workPerByte is enough to look at every byte of an upload. Text that was read earns workPerText steps a byte (a PDF
	// takes some 220), up to earnedPerByte steps for each byte of the upload.
	workPerByte   = 8
	workPerText   = 500
	earnedPerByte = 1000
	// A small document may hold baseMemory, a larger one memoryPerByte times its size, and none more than Limits.Memory.
	baseMemory    = 48 << 20
	memoryPerByte = 8
)

// Usage is what reading an upload has cost so far.
type Usage struct {
	Unpacked int64
	Entries  int
	Depth    int
	Work     int64
	// Memory is the most that one document held.
	Memory int64
}

// Exceeded is the error of an upload that goes over a limit.
type Exceeded struct {
	// Reason names the limit and its value, to follow a name in a sentence: "unpacks to more than 1,024 MiB".
	Reason string
	// Setting is the setting that changes the limit.
	Setting string
	// Document reports that the limit is one of a single document: the rest of the upload can still be read.
	Document bool
}

// Error returns the reason and what to do about it.
func (e *Exceeded) Error() string {
	return e.Reason + "; split it, or ask the operator to raise the setting " + e.Setting
}

// stop unwinds a parser to the nearest Catch. Most parsers can't return an error from where they spend.
type stop struct{ err error }

// Catch calls a function and returns the error of a limit that it went over, or its own.
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

// Stopped returns the error that a recovered panic carries, for functions that recover other panics as well.
func Stopped(recovered any) (error, bool) { //nolint:revive // the error is the value
	s, is := recovered.(stop)
	return s.err, is
}

// Budget is what is left of the limits of one upload. It is not safe for use by several goroutines.
type Budget struct {
	ctx    context.Context
	limits Limits
	used   Usage
	depth  int
	// earnable is how many more steps the texts of the upload may earn.
	earnable int64
	// held is the memory that the current document holds, and most the limit for it.
	held, most int64
	pool       *Pool
	since      time.Time
	// checkAt is the amount of work at which context and clock are looked at again.
	checkAt int64
}

// New returns the budget of an upload of a size. The pool may be nil.
func New(ctx context.Context, l Limits, size int64, pool *Pool) *Budget {
	l.Unpacked = max(l.Unpacked, unpackedPerByte*size)
	l.Work += workPerByte * size
	return &Budget{ctx: ctx, limits: l, earnable: earnedPerByte * size, most: l.Memory, pool: pool, since: time.Now()}
}

// Used returns what was spent.
func (b *Budget) Used() Usage { return b.used }

func (b *Budget) exceed(setting, format string, args ...any) {
	panic(stop{&Exceeded{Reason: fmt.Sprintf(format, args...), Setting: setting}})
}

// checkEvery is how much work passes between two looks at the context and the clock: some milliseconds.
const checkEvery = 1 << 20

// Work spends steps.
func (b *Budget) Work(steps int) {
	b.used.Work += int64(steps)
	if b.used.Work > b.limits.Work {
		b.exceed("import-work", "takes more than %s million steps to read, the limit for its size", number(b.limits.Work/1e6))
	}
	if b.used.Work >= b.checkAt {
		b.Check()
	}
}

// Check ends the reading when its caller has given up or a document takes too long.
func (b *Budget) Check() {
	b.checkAt = b.used.Work + checkEvery
	if err := b.ctx.Err(); err != nil {
		panic(stop{err})
	}
	if time.Since(b.since) > b.limits.Time {
		b.exceed("import-time", "takes longer than %s to read", b.limits.Time)
	}
}

// Unpack spends bytes that came out of a decompressor.
func (b *Budget) Unpack(n int) {
	b.used.Unpacked += int64(n)
	if b.used.Unpacked > b.limits.Unpacked {
		b.exceed("import-unpacked-mib", "unpacks to more than %s MiB, the limit for its size", number(b.limits.Unpacked>>20))
	}
}

// Entries spends files of an archive.
func (b *Budget) Entries(n int) {
	b.used.Entries += n
	if b.used.Entries > b.limits.Entries {
		b.exceed("import-entries", "holds more than %s files", number(int64(b.limits.Entries)))
	}
}

// EntriesLeft returns how many more files archives may hold.
func (b *Budget) EntriesLeft() int { return b.limits.Entries - b.used.Entries }

// Enter goes one level of packing down; the returned function comes back up.
func (b *Budget) Enter() (leave func()) {
	b.depth++
	b.used.Depth = max(b.used.Depth, b.depth)
	if b.depth > b.limits.Depth {
		b.exceed("import-depth", "holds packed files nested deeper than %d levels", b.limits.Depth)
	}
	return func() { b.depth-- }
}

// Hold notes that the current document keeps bytes in memory, before they are allocated.
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

// Release notes that bytes are no longer kept.
func (b *Budget) Release(n int) { b.held -= int64(n) }

// Room returns how many more bytes the current document may hold.
func (b *Budget) Room() int64 { return b.most - b.held }

// Document reads one document of a size. It waits until the memory that the document may hold is free on this node.
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

// Progress notes that a record was read and stored, with this many bytes of text, and that the next one begins.
func (b *Budget) Progress(text int) {
	b.since = time.Now()
	earned := min(workPerText*int64(text), b.earnable)
	b.earnable -= earned
	b.limits.Work += earned
}

// Err returns the error of a context that has ended.
func (b *Budget) Err() error { return b.ctx.Err() }

// Reader counts what is read from a decompressor.
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

// ReadAll reads up to a limit, and one byte more of what is longer. It holds the bytes that it returns, and grows its
// buffer by halves, so that little more than the result is held at any time. The hint is the expected size.
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

// number writes a number with commas between thousands.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
