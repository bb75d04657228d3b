package testkit

import (
	"os"
	"testing"
)

func TestProcessesShareBuiltPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const program = "carrel/internal/testkit/withpostgres"
	first, err := buildShared(program, dir)
	if err != nil {
		t.Fatal(err)
	}
	built, err := os.Stat(first)
	if err != nil || built.Mode()&0o100 == 0 || built.Name() != "withpostgres" {
		t.Fatalf("%v, %v", built, err)
	}
	again, err := buildShared(program, dir)
	if err != nil || again != first {
		t.Fatalf("%s, %v, want %s", again, err, first)
	}
	if now, err := os.Stat(again); err != nil || !os.SameFile(now, built) {
		t.Errorf("the program was built again: %v", err)
	}
}

func TestProgramsThatDoNotCompileAreNotShared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		if file, err := buildShared("carrel/no/such/program", dir); err == nil {
			t.Errorf("%s was built", file)
		}
	}
}
