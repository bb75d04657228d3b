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

// searchFolder is the program that compares search, a module of its own: it holds
// Carrel's engine and so Carrel's SQLite driver, which is not PocketBase's.
const searchFolder = "search"

// runSearch builds the program that compares search and has it do the rest, with
// the terminal and the exit code as its own.
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
		// It has indexes to remove before it ends.
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		cmd.WaitDelay = stopTimeout
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		err = cmd.Run()
	}
	err = errors.Join(err, os.RemoveAll(dir))
	// It has said what was wrong; all that is left is to end as it did.
	if ended := (*exec.ExitError)(nil); binary != "" && errors.As(err, &ended) && ended.ExitCode() > 0 {
		return exitCode(ended.ExitCode())
	}
	return err
}

// exitCode is how a program ended that this one ran in its own place.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit status %d", int(c)) }
