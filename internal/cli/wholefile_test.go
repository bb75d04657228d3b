package cli

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// namesIn returns the names in a folder.
func namesIn(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func words(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

const envKilledWriter = "CARREL_TEST_KILLED_WRITER"

// TestInterruptedWriteNeverCreatesTheFile kills a real process in the middle of a file.
func TestInterruptedWriteNeverCreatesTheFile(t *testing.T) {
	t.Parallel()
	if os.Getenv(envKilledWriter) != "" {
		_, _ = writeWhole("out.zip", false, func(w io.Writer) error {
			_, err := io.WriteString(w, "half of it")
			_, _ = os.Stdout.WriteString("written\n")
			_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
			return err
		})
		return
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "out.zip")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.parallel=1")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), envKilledWriter+"=yes")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close() }()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stdout); lines.Scan() && lines.Text() != "written"; { // up to that line
	}
	if got := namesIn(t, dir); got != "out.zip.partial" {
		t.Errorf("while it is written there are %q", got)
	}
	// A second process does not replace the file of a running one.
	if _, err := writeWhole(path, false, words("another")); err == nil ||
		!strings.Contains(err.Error(), "another process") {
		t.Errorf("a second writer: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if got := namesIn(t, dir); got != "out.zip.partial" {
		t.Errorf("after the kill there are %q", got)
	}
	if n, err := writeWhole(path, false, words("all of it")); err != nil || n != 9 {
		t.Errorf("the next time: %d, %v", n, err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "all of it" || namesIn(t, dir) != "out.zip" {
		t.Errorf("there is %q (%v) and %q", b, err, namesIn(t, dir))
	}
}

func TestFailedWriteLeavesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "out.zip")
	full := errors.New("no space left")
	if _, err := writeWhole(path, false, func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, full)
	}); !errors.Is(err, full) || namesIn(t, dir) != "" {
		t.Errorf("%v, and there are %q", err, namesIn(t, dir))
	}
	if _, err := writeWhole(path, false, words("one")); err != nil {
		t.Fatal(err)
	}
	if _, err := writeWhole(path, false, words("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file that is there: %v", err)
	}
	// One that takes the name while this one is written is not replaced.
	late := filepath.Join(dir, "late.zip")
	if _, err := writeWhole(late, false,
		func(io.Writer) error { return os.WriteFile(late, []byte("first"), 0o600) }); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file that came meanwhile: %v", err)
	}
	if b, err := os.ReadFile(late); err != nil || string(b) != "first" {
		t.Errorf("it is %q, %v", b, err)
	}
	if _, err := writeWhole(path, true, words("three")); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(path)
	info, statErr := os.Stat(path)
	if err != nil || statErr != nil || string(b) != "three" || info.Mode().Perm() != 0o600 ||
		namesIn(t, dir) != "late.zip out.zip" {
		t.Errorf("%q %v, %v, %q", b, info.Mode(), err, namesIn(t, dir))
	}
}

// TestPartialFileOfAnotherUserIsNotWritten covers folders that others can write to, such as /tmp.
func TestPartialFileOfAnotherUserIsNotWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	victim, path := filepath.Join(dir, "victim"), filepath.Join(dir, "out.zip")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, path+partialSuffix); err != nil {
		t.Fatal(err)
	}
	if _, err := writeWhole(path, false, words("export")); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "precious" {
		t.Errorf("the link was followed: %q, %v", b, err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "export" {
		t.Errorf("there is %q, %v", b, err)
	}
}

// TestFilesAreWrittenCompletely fails for a command that makes files in another way than with writeWhole.
func TestFilesAreWrittenCompletely(t *testing.T) {
	t.Parallel()
	allowed := map[string]string{
		"wholefile.go": "is the way", "lock_unix.go": "the lock of the data folder holds a number for people to read",
		"admin_doctor_local.go": "writes an empty file to check the permissions, and removes it",
	}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	makes := regexp.MustCompile(`\bos\.(Create|CreateTemp|OpenFile|WriteFile)\(`)
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if makes.Match(b) && allowed[file] == "" && !strings.HasSuffix(file, "_test.go") {
			t.Errorf("%s makes a file by itself; use writeWhole", file)
		}
	}
}
