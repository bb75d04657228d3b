package testkit

import (
	"cmp"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// scratchPattern matches the folders of test processes in the temporary folder.
const scratchPattern = "carrel-test-*"

// scratch is the folder of this process for files shared between tests. It is global because it outlives single tests.
var scratch scratchFolder

// memory is such a folder in memory, where files are created and deleted in far less time than on a disk.
var memory = scratchFolder{parent: "/dev/shm"}

// memoryNeeded is several times the size of the databases of all tests.
const memoryNeeded = 2 << 30

// scratchFolder is created at first use. A killed process cannot remove its folder, so each process holds a lock on a
// file inside, and later processes remove unlocked folders.
type scratchFolder struct {
	parent string // empty for the temporary folder
	mu     sync.Mutex
	dir    string
	lock   *os.File
}

// pathOrScratch returns the path of the folder, or of scratch if the file system of the parent is missing, not
// writable or too small.
func (s *scratchFolder) pathOrScratch() (string, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(s.parent, &fs); err == nil && fs.Bavail*uint64(fs.Bsize) >= memoryNeeded {
		if dir, err := s.path(); err == nil {
			return dir, nil
		}
	}
	return scratch.path()
}

// SharedFolder returns a new folder that outlives single tests. Main removes it after the last one.
func SharedFolder() (string, error) {
	parent, err := scratch.path()
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, "shared-")
}

// path returns the folder, created at the first call.
func (s *scratchFolder) path() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir != "" {
		return s.dir, nil
	}
	parent := cmp.Or(s.parent, os.TempDir())
	sweepScratch(parent)
	dir, err := os.MkdirTemp(parent, scratchPattern)
	if err != nil {
		return "", err
	}
	// PostgreSQL may run as another user, who must be able to traverse to its own folder.
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

// lockScratch locks the folder. The lock file gets its name only once the lock is held, so that a sweep in another
// process never finds a new folder unlocked.
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

// sweepScratch removes folders left behind by killed processes. It is best effort and reports no errors.
func sweepScratch(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, scratchPattern)) // the pattern is valid
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
