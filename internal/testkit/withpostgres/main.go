// Command withpostgres runs a command with one PostgreSQL server for all its tests: it starts the server, passes its
// address in CARREL_TEST_POSTGRES, and stops it when the command ends. Without it, every test package would start a
// server of its own. It exits with the code of the command.
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
		fmt.Fprintln(os.Stderr, "withpostgres:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run runs the command and returns its exit code.
func run(ctx context.Context, command []string) (code int, err error) {
	if len(command) == 0 {
		return 2, errors.New("usage: withpostgres command [argument...]")
	}
	if os.Getenv(testkit.EnvPostgres) != "" {
		return runCommand(ctx, os.Environ(), command)
	}
	server, err := testkit.StartPostgres(ctx, testkit.PostgresOptions{})
	if errors.Is(err, testkit.ErrNoPostgres) {
		return runCommand(ctx, os.Environ(), command) // the tests that need it skip, with the reason
	}
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, server.Close(), testkit.Release()) }()
	return runCommand(ctx, append(os.Environ(), testkit.EnvPostgres+"="+server.URL("postgres")), command)
}

func runCommand(ctx context.Context, env, command []string) (int, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, os.Stdout, os.Stderr
	// go test stops its test binaries on an interrupt; processes that are left are killed after the delay.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 1, errors.New("interrupted")
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode(), nil
	}
	return 0, err
}
