package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
)

// searchFolder contains the search comparison. It is a separate module, because Carrel's engine needs another version
// of the SQLite driver than PocketBase.
const searchFolder = "search"

// runSearch builds and runs the search comparison with this process's terminal and exit code.
func runSearch(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "carrel-bench-")
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "building the search engines…")
	binary, err := buildGo(ctx, searchFolder, filepath.Join(dir, "search"))
	if err == nil {
		cmd := exec.CommandContext(ctx, binary, args...)
		// The child removes its indexes before it exits.
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		cmd.WaitDelay = stopTimeout
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		err = cmd.Run()
	}
	err = errors.Join(err, os.RemoveAll(dir))
	// The child has printed the error; exit with its code.
	if ended := (*exec.ExitError)(nil); binary != "" && errors.As(err, &ended) && ended.ExitCode() > 0 {
		return exitCode(ended.ExitCode())
	}
	return err
}

// exitCode is the exit code of a child that replaced this program.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit status %d", int(c)) }
