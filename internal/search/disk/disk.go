// Package disk is the search index's way of changing the disk.
//
// Everything the index writes goes through FS, so that a test can stop a process
// after any single step and see what a restart makes of the rest.
package disk

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// FS changes files and folders. Reading is not its business.
type FS interface {
	// Create makes a file, or empties the one that is there.
	Create(path string) (File, error)
	// Rename moves a file over another in one step.
	Rename(from, to string) error
	// Remove deletes a file or an empty folder.
	Remove(path string) error
	// SyncDir makes the names in a folder durable: what was created, renamed or
	// removed there before survives a power cut.
	SyncDir(path string) error
	// MkdirAll makes a folder and those above it.
	MkdirAll(path string) error
}

// File is one that is being written.
type File interface {
	io.Writer
	io.WriterAt
	// Sync makes the file's content durable, not its name: see FS.SyncDir.
	Sync() error
	Close() error
}

// OS is the real disk.
var OS FS = osFS{}

type osFS struct{}

func (osFS) Create(path string) (File, error) {
	// An index repeats what documents say: it is nobody else's to read.
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
