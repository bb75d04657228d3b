package testkit

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeEnv); mode != "" {
		fakeCarrel(mode)
	}
	Main(m)
}

func TestFilesAreOnTheDiskWithoutAFileSystemInMemory(t *testing.T) {
	t.Parallel()
	want, err := scratch.path()
	if err != nil {
		t.Fatal(err)
	}
	missing := scratchFolder{parent: filepath.Join(t.TempDir(), "missing")}
	if got, err := missing.pathOrScratch(); got != want || err != nil {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
}

func TestSweepRemovesOnlyUnlockedFolders(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	folder := func(name string) string {
		dir := filepath.Join(parent, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	held, left, starting, foreign := folder("carrel-test-1"), folder("carrel-test-2"), folder("carrel-test-3"),
		folder("other")
	for _, dir := range []string{held, left, foreign} {
		lock, err := lockScratch(dir)
		if err != nil {
			t.Fatal(err)
		}
		if dir == held {
			t.Cleanup(func() { _ = lock.Close() })
			continue
		}
		_ = lock.Close() // like when its process dies
	}

	sweepScratch(parent)

	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the folder of a dead process is still there (%v)", err)
	}
	for _, dir := range []string{held, starting, foreign} {
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("%s was swept: %v", filepath.Base(dir), err)
		}
	}
}
