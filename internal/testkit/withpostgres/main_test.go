package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"carrel/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestExitCodeOfTheCommandIsReturned(t *testing.T) {
	t.Setenv(testkit.EnvPostgres, "postgres://127.0.0.1:1/postgres") // no server is started
	for script, want := range map[string]int{
		"exit 0": 0,
		"exit 3": 3,
		`test "$CARREL_TEST_POSTGRES" = postgres://127.0.0.1:1/postgres`: 0,
	} {
		if code, err := run(t.Context(), []string{"sh", "-c", script}); err != nil || code != want {
			t.Errorf("%s: code %d, %v", script, code, err)
		}
	}
}

func TestCommandThatCannotRunIsAnError(t *testing.T) {
	t.Setenv(testkit.EnvPostgres, "postgres://127.0.0.1:1/postgres")
	for _, command := range [][]string{nil, {"/no/such/command"}} {
		if _, err := run(t.Context(), command); err == nil {
			t.Errorf("%q: no error", command)
		}
	}
}

func TestInterruptEndsTheCommand(t *testing.T) {
	t.Setenv(testkit.EnvPostgres, "postgres://127.0.0.1:1/postgres")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, err := run(ctx, []string{"sleep", "600"})
	if code == 0 || err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("code %d, %v", code, err)
	}
}

func TestServerIsStartedForTheCommand(t *testing.T) {
	t.Setenv(testkit.EnvPostgres, "")
	code, err := run(t.Context(), []string{"sh", "-c", `case "$CARREL_TEST_POSTGRES" in postgres://*) exit 7;; esac`})
	switch {
	case err == nil && code == 0 && os.Getenv("CARREL_TEST_REQUIRE_POSTGRES") == "":
		t.Skip("PostgreSQL is not installed")
	case err != nil || code != 7:
		t.Errorf("code %d, %v", code, err)
	}
}
