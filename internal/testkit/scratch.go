package testkit

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// scratchPattern names the folders of test processes below the temporary folder.
const scratchPattern = "carrel-test-*"

// scratch is the one folder of this process for what tests share. It is global because a test process has no
// other owner for what outlives a single test.
var scratch scratchFolder

// scratchFolder is made at first use. A process that is killed can't remove its folder, so each holds a lock on a
// file inside, and whoever comes next removes the folders that nobody holds.
type scratchFolder struct {
	mu   sync.Mutex
	dir  string
	lock *os.File
}

// path returns the folder, making it at the first call.
func (s *scratchFolder) path() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir != "" {
		return s.dir, nil
	}
	sweepScratch(os.TempDir())
	dir, err := os.MkdirTemp("", scratchPattern)
	if err != nil {
		return "", err
	}
	// PostgreSQL may run as another user, who must be able to pass through to the folder of its own.
	if err := os.Chmod(dir, 0o711); err != nil {
		return "", err
	}
	lock, err := lockScratch(dir)
	if err != nil {
		return "", err
	}
	s.dir, s.lock = dir, lock
	return dir, nil
}

// release removes the folder.
func (s *scratchFolder) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return nil
	}
	err := os.RemoveAll(s.dir)
	_ = s.lock.Close()
	s.dir, s.lock = "", nil
	return err
}

// lockScratch takes the folder's lock. The file gets its name only once the lock is held, so that a sweep in
// another process never finds a new folder unheld.
func lockScratch(dir string) (*os.File, error) {
	unnamed := filepath.Join(dir, "lock.new")
	f, err := os.Create(unnamed)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, os.Rename(unnamed, filepath.Join(dir, "lock"))
}

// sweepScratch removes the folders below parent that processes left behind. It is a courtesy: what can't be removed
// is left, and nothing is reported.
func sweepScratch(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, scratchPattern)) // the pattern is well formed
	for _, dir := range dirs {
		f, err := os.Open(filepath.Join(dir, "lock"))
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(dir)
		}
		_ = f.Close()
	}
}
