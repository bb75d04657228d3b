// Package disk abstracts the disk writes of the search index. All writes go through FS, so that a test can stop the
// process after any single step and restart from the result.
package disk

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// FS creates, renames and removes files. Files are read directly.
type FS interface {
	// Create creates or truncates a file.
	Create(path string) (File, error)
	// Rename atomically replaces a file by another.
	Rename(from, to string) error
	// Remove deletes a file or an empty folder.
	Remove(path string) error
	// SyncDir makes the names in a folder durable: files created, renamed or removed before survive a power failure in
	// that state.
	SyncDir(path string) error
	// MkdirAll creates a folder and its parents.
	MkdirAll(path string) error
}

// File is a file that is being written.
type File interface {
	io.Writer
	io.WriterAt
	// Sync makes the content durable, but not the name; see FS.SyncDir.
	Sync() error
	Close() error
}

// OS is the file system of the operating system.
var OS FS = osFS{}

type osFS struct{}

func (osFS) Create(path string) (File, error) {
	// The index holds the words of documents, so only the owner may read it.
	f, err := os.OpenFile(filepath.Clean(path), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (osFS) Rename(from, to string) error { return os.Rename(from, to) }

func (osFS) Remove(path string) error { return os.Remove(path) }

func (osFS) MkdirAll(path string) error { return os.MkdirAll(path, 0o700) }

func (osFS) SyncDir(path string) error {
	dir, err := os.Open(filepath.Clean(path))
	if err != nil {
		return err
	}
	if err := syncDir(dir); err != nil {
		_ = dir.Close()
		return fmt.Errorf("sync folder: %w", err)
	}
	return dir.Close()
}
