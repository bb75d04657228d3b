package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// partialSuffix marks a file that is still being written.
const partialSuffix = ".partial"

// writeWhole writes an export or a secret to a file and returns its size. The file gets its final name after it is
// complete and synced, so a killed process leaves only a file with partialSuffix, which the next call for the same
// name removes. Without replace it fails with fs.ErrExist if the name is taken.
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
		err = errors.Join(err, f.Close()) // closing releases the lock, so it comes last
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

// createPartial creates a file of mode 0600 and locks it. An existing file is removed unless a process has locked it.
// It is never reused, because in a shared folder it may belong to another user.
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
	defer func() { _ = f.Close() }() // opened only for its lock
	free, err := tryLock(f)
	if err != nil {
		return err
	}
	if !free {
		return fmt.Errorf("%s is being written by another process; wait for it, or choose another name", path)
	}
	return os.Remove(path)
}

// publish gives a complete file its final name. A hard link fails if the name has been taken since, a rename does not;
// file systems without hard links fall back to the rename.
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

// syncFolder syncs a folder, which makes new names in it durable.
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
