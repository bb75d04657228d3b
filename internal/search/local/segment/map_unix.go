//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package segment

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"
)

// mapFile maps a file and returns its bytes and the function that unmaps it. The mapping outlives the descriptor and
// the file's name, so a merge may delete a segment that is still being searched.
func mapFile(path string) ([]byte, func() error, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	switch size := info.Size(); {
	case !info.Mode().IsRegular():
		return nil, nil, damaged("%s is not a file", path)
	case size == 0:
		return nil, nil, damaged("%s is empty", path) // an empty file cannot be mapped
	case size > math.MaxInt:
		return nil, nil, fmt.Errorf("%s: %d bytes are too many to map", path, size)
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, &os.PathError{Op: "map", Path: path, Err: err}
	}
	return data, func() error { return syscall.Munmap(data) }, nil
}
