package store

import (
	"encoding/binary"
	"errors"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

// walHeader is the header of the WAL index (the -shm file), in words: change counter, frames, checksums, salts. Every
// commit of any process changes it; SQLite's own readers compare it to detect changes (SQLite's walformat, section
// 2.1).
type walHeader [6]uint64

// walIndex detects writes to a SQLite database by any process without a query. A nil walIndex detects none.
type walIndex struct {
	file *os.File
	// mapped is never unmapped, because Version may be called while the database is being closed.
	mapped []byte
	// latest is the state after the latest commit of this process; see DB.contentState.
	latest atomic.Pointer[contentState]
}

// close must be called after SQLite has closed the database; see openWALIndex.
func (c *walIndex) close() error {
	if c == nil {
		return nil
	}
	if err := c.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// Version returns a hash of the database's current state. While it is unchanged, no process has committed a write, and
// rows read since are current. It is not known on PostgreSQL.
func (db *DB) Version() (version uint64, known bool) {
	if db.wal == nil || db.wal.mapped == nil {
		return 0, false
	}
	// Other processes write here concurrently. A mixture of two headers is harmless: a process that has been notified of
	// a commit sees the header of that commit, so an old version cannot outlive it.
	header := db.wal.read()
	return header.hash(), true
}

func (c *walIndex) read() (h walHeader) {
	mapped := (*walHeader)(unsafe.Pointer(unsafe.SliceData(c.mapped))) //nolint:gosec // mapped with this size
	for i := range mapped {
		h[i] = atomic.LoadUint64(&mapped[i])
	}
	return h
}

func (h *walHeader) hash() uint64 {
	var b [unsafe.Sizeof(walHeader{})]byte
	for i, word := range h {
		binary.LittleEndian.PutUint64(b[8*i:], word)
	}
	return xxhash.Sum64(b[:])
}

// frames returns the number of pages in the log, or -1 if it is not known.
func (c *walIndex) frames() int {
	if c == nil || c.mapped == nil {
		return -1
	}
	h := c.read()
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], h[2])
	return int(binary.NativeEndian.Uint32(b[:])) // mxFrame
}

// commits returns the number of commits to the database modulo 2³², from SQLite's iChange.
func (h *walHeader) commits() uint32 {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], h[1])
	return binary.NativeEndian.Uint32(b[:])
}
