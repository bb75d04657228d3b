//go:build unix

package format_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestAFolderPassesOverWhatIsNoRegularFile(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"a.md": "x"})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o600); err != nil {
		t.Skip("no pipes here")
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	if docs, _ := read(t, open(t, dir)); ids(docs) != "a.md" {
		t.Errorf("got %s", ids(docs))
	}
}
