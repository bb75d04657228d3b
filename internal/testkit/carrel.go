package testkit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// EnvBinary names a carrel binary to test, such as a release, instead of one built from the source.
const EnvBinary = "CARREL_TEST_BINARY"

// EnvBuilds names a folder in which test processes share the programs that they build. The process that creates the
// folder deletes it after one run, because a program in it is not built again.
const EnvBuilds = "CARREL_TEST_BUILDS"

// commandTimeout is the time limit of one command.
const commandTimeout = 2 * time.Minute

// Result is the exit code and the output of a command.
type Result struct {
	Stdout, Stderr string
	Code           int
}

// Carrel runs the program with these arguments and returns its result; the caller checks the exit code. CARREL_
// settings of the current environment are not passed on.
func Carrel(t testing.TB, args ...string) Result {
	t.Helper()
	return CarrelWith(t, nil, args...)
}

// CarrelWith is Carrel with further environment variables.
func CarrelWith(t testing.TB, env []string, args ...string) Result {
	t.Helper()
	return runCommand(t, Binary(t), env, args...)
}

// Binary returns the path of the program under test, built once per process. With GOCOVERDIR set it is built to write
// coverage data there.
func Binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(EnvBinary); path != "" {
		path, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	return Build(t, "carrel/cmd/carrel")
}

// Build returns the path of another program of this module, such as a server with a part replaced for a test.
func Build(t testing.TB, importPath string) string {
	t.Helper()
	once, _ := builds.LoadOrStore(importPath, sync.OnceValues(func() (string, error) { return build(importPath) }))
	path, err := once.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// builds maps import paths to functions that build the program once.
var builds sync.Map

func build(importPath string) (string, error) {
	if dir := os.Getenv(EnvBuilds); dir != "" {
		return buildShared(importPath, dir)
	}
	dir, err := scratch.path()
	if err != nil {
		return "", err
	}
	return buildIn(importPath, filepath.Join(dir, path.Base(importPath)))
}

// buildShared builds the program in a folder of several processes, unless one of them has built it.
func buildShared(importPath, dir string) (string, error) {
	// The file has the name of the program, because tests put its folder into PATH.
	folder := filepath.Join(dir, strings.ReplaceAll(importPath, "/", "-"))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	file := filepath.Join(folder, path.Base(importPath))
	lock, err := os.OpenFile(file+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	unfinished, err := buildIn(importPath, file+".new")
	if err != nil {
		return "", err
	}
	return file, os.Rename(unfinished, file)
}

func buildIn(importPath, file string) (string, error) {
	// Stamping the version needs a repository that git trusts, which a checkout on CI may not be. Like a release, the
	// program has no symbols for debuggers, which would take a third of the time of the linker.
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", file}
	if os.Getenv("GOCOVERDIR") != "" {
		args = append(args, "-cover", "-coverpkg=carrel/...")
	}
	cmd := exec.CommandContext(context.Background(), "go", append(args, importPath)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", importPath, err, out)
	}
	return file, nil
}

// runCommand runs the program until it exits or the timeout passes.
func runCommand(t testing.TB, binary string, env []string, args ...string) Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := carrelCommand(binary, env, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	p, err := startProcess(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatalf("carrel %s: %v", strings.Join(args, " "), err)
	}
	select {
	case <-p.done:
	case <-time.After(commandTimeout):
		_ = p.end(syscall.SIGKILL, time.Second)
		t.Fatalf("carrel %s did not end within %v\nstdout: %s\nstderr: %s",
			strings.Join(args, " "), commandTimeout, &stdout, &stderr)
	}
	var exit *exec.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		t.Fatalf("carrel %s: %v", strings.Join(args, " "), p.err)
	}
	return Result{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
}

// carrelCommand returns a command with the current environment except CARREL_ settings.
func carrelCommand(binary string, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), binary, args...)
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "CARREL_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	// A grandchild that keeps the output open must not block Wait.
	cmd.WaitDelay = 5 * time.Second
	return cmd
}
