//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package segment

import (
	"io"
	"os"
	"path/filepath"
)

// mapFile reads the whole file on systems without memory mapping.
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
	if !info.Mode().IsRegular() {
		return nil, nil, damaged("%s is not a file", path)
	}
	// Allocated as 8-byte numbers, because sections are read in place.
	data := bytesOf(make([]uint64, (info.Size()+7)/8))[:info.Size()]
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, nil, err
	}
	return data, func() error { return nil }, nil
}
