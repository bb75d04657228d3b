//go:build unix

package store

import (
	"os"
	"syscall"
	"unsafe"
)

// openChanges maps the header of an open SQLite database. Where that does not work there is no version, and nothing
// else is lost.
func openChanges(path string) *changes {
	f, err := os.Open(path + "-shm")
	if err != nil {
		return nil
	}
	defer f.Close()
	size := int(unsafe.Sizeof(walHeader{}))
	if info, err := f.Stat(); err != nil || info.Size() < int64(size) {
		return nil
	}
	mapped, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	return &changes{mapped: mapped}
}

func (c *changes) close() error {
	if c == nil {
		return nil
	}
	return syscall.Munmap(c.mapped)
}
