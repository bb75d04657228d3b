// Command gotest runs go test for the Makefile: it starts one PostgreSQL server for all packages, shows the output
// of what failed, names what was skipped and why, and closes with the counts. Its arguments are go test's, and its
// exit code too.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"carrel/internal/testkit"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run runs the tests with a database server beside them, and returns the exit code of go test.
func run(ctx context.Context, args []string) (code int, err error) {
	env := os.Environ()
	if os.Getenv(testkit.EnvPostgres) != "" {
		return goTest(ctx, env, args)
	}
	server, err := testkit.StartPostgres(ctx, testkit.PostgresOptions{})
	if errors.Is(err, testkit.ErrNoPostgres) {
		return goTest(ctx, env, args) // the tests that need it say that it is missing
	}
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, server.Close(), testkit.Release()) }()
	return goTest(ctx, append(env, testkit.EnvPostgres+"="+server.URL("postgres")), args)
}

// goTest runs go test and prints its summary. When it can't be run at all there is an error.
func goTest(ctx context.Context, env, args []string) (int, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Env, cmd.Stderr = env, os.Stderr
	// An interrupt lets go test end its test programs; those that don't end are killed a little later.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	events, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	s := newSummary(os.Stdout)
	readErr := s.read(events)
	waitErr := cmd.Wait()
	s.close()
	var exit *exec.ExitError
	if errors.As(waitErr, &exit) && exit.Exited() {
		waitErr = nil // its code says it all
	}
	if ctx.Err() != nil {
		waitErr = errors.New("interrupted")
	}
	code := cmd.ProcessState.ExitCode()
	if s.failed > 0 {
		code = max(code, 1)
	}
	return code, errors.Join(readErr, waitErr)
}
