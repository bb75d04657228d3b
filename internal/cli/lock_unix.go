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

// lockFolder makes this process the only server of a data folder until the lock is closed. The kernel lets go of it
// when the process ends, however it ends.
func lockFolder(dir string) (*os.File, error) {
	path := filepath.Join(dir, "carrel.lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
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
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0) // for people; the lock is what counts
	}
	return f, nil
}

// tryLock locks an open file for this process and reports whether it was free. The kernel ends the lock with the file
// or the process.
func tryLock(f *os.File) (free bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
