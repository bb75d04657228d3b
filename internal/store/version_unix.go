//go:build unix

package store

import (
	"os"
	"syscall"
	"unsafe"
)

// openChanges maps the header of an open SQLite database. Where that does not work there is no version, and nothing
// else is lost.
//
// The file stays open for as long as SQLite uses it: when a process closes any descriptor of a file, POSIX takes away
// all locks that it has there, SQLite's too. Another process would then take the log's index for abandoned and start
// it anew under our feet.
func openChanges(path string) *changes {
	f, err := os.Open(path + "-shm")
	if err != nil {
		return nil
	}
	c := &changes{file: f}
	size := int(unsafe.Sizeof(walHeader{}))
	if info, err := f.Stat(); err == nil && info.Size() >= int64(size) {
		if mapped, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED); err == nil {
			c.mapped = mapped
		}
	}
	return c
}
