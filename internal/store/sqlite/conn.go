// Package sqlite runs statements on SQLite without database/sql, which boxes every value of every row and locks around
// every column. A connection prepares each statement once, copies parameters into memory that it reuses, and stores
// columns in the caller's variables directly.
package sqlite

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	lib "modernc.org/sqlite/lib"
)

// Conn is a connection. It must not be used by two goroutines at once.
type Conn struct {
	tls *libc.TLS
	db  uintptr
	// out receives the two results of preparing a statement.
	out        uintptr
	statements map[string]*statement
	started    *atomic.Int64
	// tablesOf is the function that was passed to Watch. compiled are the tables of the statement that is being compiled,
	// and watched the tables of the statements that have started.
	tablesOf          func(table string, written bool) Tables
	compiled, watched Tables
}

// Error is an error of SQLite.
type Error struct {
	code int
	text string
}

func (e *Error) Error() string { return e.text + " (" + strconv.Itoa(e.code) + ")" }

// Code returns the extended result code.
func (e *Error) Code() int { return e.code }

// pointerSize is the size of an address in SQLite's memory.
const pointerSize = int(unsafe.Sizeof(uintptr(0)))

// Open opens the file of a URI (https://sqlite.org/uri.html) and creates it unless the URI forbids that. Each setting is
// the body of a PRAGMA, such as "foreign_keys = 1". Statements wait up to busy for the locks of other connections, and
// are counted in started.
func Open(uri string, busy time.Duration, started *atomic.Int64, settings ...string) (*Conn, error) {
	keepAllocatorPages()
	if strings.Contains(uri, GatherLog) {
		if err := registerLogVFS(); err != nil {
			return nil, err
		}
	}
	c := &Conn{tls: libc.NewTLS(), statements: map[string]*statement{}, started: started}
	c.out = libc.Xmalloc(c.tls, types.Size_t(2*pointerSize))
	name, err := libc.CString(uri)
	if err != nil || c.out == 0 {
		return nil, errors.Join(errMemory, c.Close())
	}
	defer libc.Xfree(c.tls, name)
	// The connection has no mutex, because only one goroutine uses it at a time.
	const flags = lib.SQLITE_OPEN_READWRITE | lib.SQLITE_OPEN_CREATE | lib.SQLITE_OPEN_URI | lib.SQLITE_OPEN_NOMUTEX |
		lib.SQLITE_OPEN_EXRESCODE
	code := lib.Xsqlite3_open_v2(c.tls, name, c.out, flags, 0)
	c.db = pointers(c.out)[0]
	if code != lib.SQLITE_OK {
		return nil, errors.Join(c.failure(code), c.Close())
	}
	lib.Xsqlite3_busy_timeout(c.tls, c.db, int32(busy.Milliseconds()))
	for _, s := range settings {
		if _, err := c.Exec("PRAGMA " + s); err != nil {
			return nil, errors.Join(fmt.Errorf("set %s: %w", s, err), c.Close())
		}
	}
	return c, nil
}

// keepAllocatorPages allocates one block of each small size for the life of the process. The allocator unmaps a page as
// soon as its last block is freed, so a temporary block without neighbours, such as the one with which SQLite splits a
// B-tree page, would cost two system calls and a page fault each time.
var keepAllocatorPages = sync.OnceFunc(func() {
	const smallest, largest = 16, 16 << 10 // larger blocks have pages of their own
	tls := libc.NewTLS()
	defer tls.Close()
	for size := smallest; size <= largest; size *= 2 {
		libc.Xmalloc(tls, types.Size_t(size)) // without memory, Open fails by itself
	}
})

// Close closes the connection.
func (c *Conn) Close() error {
	for _, s := range c.statements {
		c.finalize(s)
	}
	c.statements = nil
	var err error
	if c.db != 0 {
		watched.Delete(c.db)
		if code := lib.Xsqlite3_close_v2(c.tls, c.db); code != lib.SQLITE_OK {
			err = c.failure(code)
		}
		c.db = 0
	}
	libc.Xfree(c.tls, c.out)
	c.out = 0
	c.tls.Close()
	return err
}

// Exec runs a statement to its end and returns the number of rows that it changed.
func (c *Conn) Exec(query string, args ...any) (int64, error) {
	s, err := c.start(query, args)
	if err != nil {
		return 0, err
	}
	defer c.release(s)
	for {
		switch code := lib.Xsqlite3_step(c.tls, s.ptr); code {
		case lib.SQLITE_ROW:
		case lib.SQLITE_DONE:
			if s.readOnly {
				return 0, nil
			}
			return int64(lib.Xsqlite3_changes(c.tls, c.db)), nil
		default:
			return 0, c.failure(code)
		}
	}
}

// Query runs a statement, stores each row in the destinations, and calls row after each. It returns the number of rows.
// row may run other statements on the connection.
func (c *Conn) Query(query string, args, dest []any, row func() error) (n int, err error) {
	s, err := c.start(query, args)
	if err != nil {
		return 0, err
	}
	defer c.release(s)
	if len(dest) != s.columns {
		return 0, fmt.Errorf("sqlite: %d destinations for %d columns", len(dest), s.columns)
	}
	for {
		switch code := lib.Xsqlite3_step(c.tls, s.ptr); code {
		case lib.SQLITE_ROW:
			n++
			for i, d := range dest {
				if err := s.column(c.tls, i, d); err != nil {
					return n, fmt.Errorf("sqlite: column %d: %w", i+1, err)
				}
			}
			if err := row(); err != nil {
				return n, err
			}
		case lib.SQLITE_DONE:
			return n, nil
		default:
			return n, c.failure(code)
		}
	}
}

// start returns a statement with its parameters, ready to run. The caller releases it.
func (c *Conn) start(query string, args []any) (*statement, error) {
	if c.db == 0 {
		return nil, errClosed
	}
	s := c.statements[query]
	if s == nil || s.running {
		prepared, err := c.prepare(query)
		if err != nil {
			return nil, err
		}
		if s == nil {
			c.statements[query] = prepared
			prepared.cached = true
		}
		s = prepared
	}
	s.running = true
	if err := c.bind(s, args); err != nil {
		c.release(s)
		return nil, err
	}
	c.started.Add(1)
	c.watched |= s.tables
	return s, nil
}

// prepare compiles a single statement.
func (c *Conn) prepare(query string) (*statement, error) {
	text, err := libc.CString(query)
	if err != nil {
		return nil, errMemory
	}
	defer libc.Xfree(c.tls, text)
	c.compiled = 0
	code := lib.Xsqlite3_prepare_v3(c.tls, c.db, text, int32(len(query)+1), lib.SQLITE_PREPARE_PERSISTENT, c.out,
		c.out+uintptr(pointerSize))
	if code != lib.SQLITE_OK {
		return nil, c.failure(code)
	}
	s := &statement{ptr: pointers(c.out)[0], tables: c.compiled}
	rest := query[int(pointers(c.out)[1]-text):]
	if s.ptr == 0 || strings.Trim(rest, "; \t\n") != "" {
		c.finalize(s)
		return nil, fmt.Errorf("sqlite: not a single statement: %.100q", query)
	}
	s.columns = int(lib.Xsqlite3_column_count(c.tls, s.ptr))
	for place := range lib.Xsqlite3_bind_parameter_count(c.tls, s.ptr) {
		name := libc.GoString(lib.Xsqlite3_bind_parameter_name(c.tls, s.ptr, place+1))
		n, err := strconv.Atoi(strings.TrimPrefix(name, "$"))
		if err != nil || n < 1 {
			c.finalize(s)
			return nil, fmt.Errorf("sqlite: a parameter that is not written $1, $2, …: %q", name)
		}
		s.params = append(s.params, n-1)
	}
	s.readOnly = lib.Xsqlite3_stmt_readonly(c.tls, s.ptr) != 0
	return s, nil
}

// release ends a run of a statement.
func (c *Conn) release(s *statement) {
	s.running = false
	if !s.cached {
		c.finalize(s)
		return
	}
	lib.Xsqlite3_reset(c.tls, s.ptr) // its result repeats that of the last step
	if s.size > keptMemory {
		lib.Xsqlite3_clear_bindings(c.tls, s.ptr)
		libc.Xfree(c.tls, s.memory)
		s.memory, s.size = 0, 0
	}
}

func (c *Conn) finalize(s *statement) {
	lib.Xsqlite3_finalize(c.tls, s.ptr) // its result repeats that of the last step
	libc.Xfree(c.tls, s.memory)
	s.ptr, s.memory, s.size = 0, 0, 0
}

// failure returns the error of a result code.
func (c *Conn) failure(code int32) error {
	if c.db == 0 {
		return &Error{int(code), libc.GoString(lib.Xsqlite3_errstr(c.tls, code))}
	}
	return &Error{int(code), libc.GoString(lib.Xsqlite3_errmsg(c.tls, c.db))}
}

var (
	errClosed = errors.New("sqlite: the connection is closed")
	errMemory = errors.New("sqlite: out of memory")
)

// bytesAt returns memory of SQLite as a slice. The garbage collector neither moves nor frees it.
func bytesAt(address uintptr, n int) []byte {
	//nolint:gosec // n bytes at the address belong to SQLite or to the parameters of a statement
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(nil), address)), n)
}

// pointers returns the two addresses at an address.
func pointers(address uintptr) *[2]uintptr {
	//nolint:gosec // the address is that of out, which has room for two
	return (*[2]uintptr)(unsafe.Add(unsafe.Pointer(nil), address))
}
