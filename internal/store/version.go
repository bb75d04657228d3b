package store

import (
	"encoding/binary"
	"errors"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

// walHeader is the header of SQLite's shared index of its log (the file -shm), in words: change counter, frames,
// checksums, salts. Every commit changes it, that of another process too; SQLite's own readers compare it to learn
// whether what they hold is still true (SQLite's walformat, section 2.1).
type walHeader [6]uint64

// changes tells whether a SQLite database was written to, by any process, without asking it. Nil can't tell.
type changes struct {
	file *os.File
	// mapped is never unmapped: somebody may still look while the database is being closed.
	mapped []byte
}

// close must come after SQLite has closed the database; see openChanges.
func (c *changes) close() error {
	if c == nil {
		return nil
	}
	if err := c.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// Version names the present state of the database. As long as it stays the same nothing was committed, here or by
// another process, and what was read since is still true. It is not known on PostgreSQL.
func (db *DB) Version() (version uint64, known bool) {
	if db.changes == nil || db.changes.mapped == nil {
		return 0, false
	}
	header := (*walHeader)(unsafe.Pointer(unsafe.SliceData(db.changes.mapped))) //nolint:gosec // mapped with this size
	var b [unsafe.Sizeof(walHeader{})]byte
	for i := range header {
		// Other processes write here. A mixture of two headers is harmless: whoever was told of a commit sees all of
		// what it wrote, so an old version can't outlive it.
		binary.LittleEndian.PutUint64(b[8*i:], atomic.LoadUint64(&header[i]))
	}
	return xxhash.Sum64(b[:]), true
}
