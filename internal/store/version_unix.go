//go:build unix

package store

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// openWALIndex maps the WAL index header of an open SQLite database. If that fails, Version is not known and rows are
// not cached; nothing else changes.
//
// The file stays open as long as SQLite uses it: when a process closes any descriptor of a file, POSIX releases all its
// locks on the file, including SQLite's. Another process would then consider the WAL index abandoned and reset it.
func openWALIndex(path string) *walIndex {
	f, err := os.Open(path + "-shm")
	if err != nil {
		return nil
	}
	c := &walIndex{file: f}
	size := int(unsafe.Sizeof(walHeader{}))
	if info, err := f.Stat(); err == nil && info.Size() >= int64(size) {
		if mapped, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED); err == nil {
			c.mapped = mapped
		}
	}
	return c
}

// writable reports whether this process may write to a file or folder.
func writable(path string) bool { return unix.Access(path, unix.W_OK) == nil }
