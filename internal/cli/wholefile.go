package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// partialSuffix ends the name of a file while it is being written.
const partialSuffix = ".partial"

// writeWhole writes a file for people: an export, a key. The file gets its name when all of it is on the disk, so
// that a process that is killed leaves nothing under that name, only a file with partialSuffix, which the next call
// for the same name removes. Without replace it fails with fs.ErrExist when the name is taken. It returns the size.
func writeWhole(path string, replace bool, write func(io.Writer) error) (size int64, err error) {
	if _, err := os.Lstat(path); err == nil && !replace {
		return 0, fmt.Errorf("%s: %w", path, fs.ErrExist)
	}
	partial := path + partialSuffix
	f, err := createPartial(partial)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreMissing(os.Remove(partial)))
		}
		err = errors.Join(err, f.Close()) // closing ends the lock, so it comes last
	}()
	if err := write(f); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	if err := publish(partial, path, replace); err != nil {
		return 0, err
	}
	return info.Size(), syncFolder(filepath.Dir(path))
}

// createPartial creates a new file that only its owner can read, and locks it. One that is there is removed unless a
// process has it locked: it is left of one that was killed. It is never written to, because it may belong to somebody
// else.
func createPartial(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		if err := removeAbandoned(path); err != nil {
			return nil, err
		}
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		return nil, err
	}
	if _, err := tryLock(f); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return f, nil
}

func removeAbandoned(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only locked
	free, err := tryLock(f)
	if err != nil {
		return err
	}
	if !free {
		return fmt.Errorf("%s is being written by another process; wait for it, or choose another name", path)
	}
	return os.Remove(path)
}

// publish gives a complete file its name. A hard link fails when the name was taken meanwhile, and a rename would
// not; on file systems without links a rename has to do.
func publish(partial, path string, replace bool) error {
	if replace {
		return os.Rename(partial, path)
	}
	err := os.Link(partial, path)
	switch {
	case err == nil:
		return os.Remove(partial)
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s: %w", path, fs.ErrExist)
	}
	return os.Rename(partial, path)
}

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
