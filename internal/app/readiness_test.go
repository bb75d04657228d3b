package app

import (
	"strings"
	"testing"

	"carrel/internal/core"
)

// detail returns the text of a readiness error, or "" if the node is ready.
func detail(err error) string {
	if err == nil {
		return ""
	}
	return core.AsError(err).Detail
}

func TestNodeIsNotReadyWithoutIndexOrDatabase(t *testing.T) {
	t.Parallel()
	in, index := openTestApp(t, nil)
	r := &readiness{in: in}
	if got := detail(r.check(t.Context())); !strings.Contains(got, "index is not open") {
		t.Errorf("without an index: %q", got)
	}
	r.index.Store(&index)
	if err := r.check(t.Context()); err != nil { // there is no document
		t.Errorf("with a complete index: %v", err)
	}
	if err := in.Store.Close(); err != nil {
		t.Fatal(err)
	}
	if got := detail(r.check(t.Context())); !strings.Contains(got, "can't be read") {
		t.Errorf("with a closed database: %q", got)
	}
}

func TestNodeMayServeWhileItIndexes(t *testing.T) {
	t.Parallel()
	in, _ := openTestApp(t, map[string]string{"CARREL_READY_WHILE_INDEXING": "on"})
	if err := (&readiness{in: in}).check(t.Context()); err != nil {
		t.Error(err)
	}
}
