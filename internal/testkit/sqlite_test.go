package testkit

import (
	"os"
	"sync/atomic"
	"testing"
)

func TestEveryTestGetsItsOwnCopyOfAMigratedFile(t *testing.T) {
	t.Parallel()
	var migrated atomic.Int32
	migrate := func(path string) error {
		migrated.Add(1)
		return os.WriteFile(path, []byte("migrated"), 0o600)
	}
	first, second := SQLiteTemplate(t, t.Name(), migrate), SQLiteTemplate(t, t.Name(), migrate)
	if err := os.WriteFile(first, []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(second)
	if err != nil || string(content) != "migrated" || migrated.Load() != 1 {
		t.Errorf("%q after %d migrations: %v", content, migrated.Load(), err)
	}
}

func TestATemplateThatWasNotClosedIsRefused(t *testing.T) {
	t.Parallel()
	_, err := migratedFile(func(path string) error {
		return os.WriteFile(path+"-wal", []byte("changes"), 0o600)
	})
	if err == nil {
		t.Error("the template lacks the changes in its log")
	}
}
