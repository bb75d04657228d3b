package main

import (
	"errors"
	"testing"
)

func TestSearchWithoutDataReturnsTheExitCodeOfItsProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the search engines")
	}
	for _, args := range [][]string{{"search"}, {"eval", "-data", t.TempDir()}} {
		code := exitCode(0)
		if err := run(args); !errors.As(err, &code) || code != 2 {
			t.Errorf("%q: %v, want exit status 2", args, err)
		}
	}
}
