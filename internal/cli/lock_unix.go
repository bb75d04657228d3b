//go:build unix

package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// lockFolder takes the lock of a data folder, which one process can hold. Closing the file releases it, and so does the
// kernel when the process ends.
func lockFolder(dir string) (*os.File, error) {
	path := filepath.Join(dir, "carrel.lock")
	f, err := openLock(path)
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			holder, _ := os.ReadFile(path)
			return nil, lockedError{dir: dir, holder: strings.TrimSpace(string(holder))}
		}
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0) // informational; only the lock excludes others
	}
	return f, nil
}

// openLock opens a file that is only used for its lock, and creates it if it is missing.
func openLock(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) }

// tryLock locks an open file and reports whether it was free. Closing the file or ending the process releases the lock.
func tryLock(f *os.File) (free bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
