package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/testkit"
)

// TestCommandsOnAFullDisk makes a backup, an export and a restore on a disk without space for them. Each says so,
// leaves nothing behind that looks complete, and succeeds when it is repeated with more space.
func TestCommandsOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := testkit.NewDisk(t, 64)
	data := newDataFolder(t)
	elsewhere := filepath.Join(t.TempDir(), "backups")
	if r := testkit.Carrel(t, "backup", "--data", data, "create", "--to", elsewhere); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	for _, c := range []struct {
		name string
		env  []string
		args []string
		// absent are the files that exist only after success.
		absent string
	}{
		{
			"backup", nil,
			[]string{"backup", "--data", data, "create", "--to", filepath.Join(disk.Dir, "backups")},
			"backups/backups/*/manifest.json",
		},
		{"export", nil, []string{
			"admin", "--data", data, "user", "export", "--user", "ada@example.org",
			"--out", filepath.Join(disk.Dir, "ada.zip"),
		}, "ada.zip*"},
		{
			"restore", nil,
			[]string{"backup", "--data", filepath.Join(disk.Dir, "restored"), "restore", "--from", elsewhere},
			"restored/carrel.db",
		},
		{
			"verify",
			[]string{"TMPDIR=" + disk.Dir},
			[]string{"backup", "--data", data, "verify", "--from", elsewhere},
			"carrel-verify-*",
		},
		{"start", nil, []string{
			"admin", "--data", filepath.Join(disk.Dir, "new"), "user", "create",
			"--email", "b@example.org", "--name", "B", "--password", "correct horse battery",
		}, ""},
	} {
		disk.FillBut(200 << 10)
		r := testkit.CarrelWith(t, c.env, c.args...)
		if r.Code != 1 || !saysDiskFull(r.Stderr) {
			t.Errorf("%s on a full disk: exit code %d, %s", c.name, r.Code, r.Stderr)
		}
		t.Logf("%-8s exit code %d, %s", c.name, r.Code, strings.TrimSpace(r.Stderr))
		if left, err := filepath.Glob(filepath.Join(disk.Dir, c.absent)); c.absent != "" && (err != nil || len(left) > 0) {
			t.Errorf("%s left %v, %v", c.name, left, err)
		}
		disk.Free()
		if r := testkit.CarrelWith(t, c.env, c.args...); r.Code != 0 {
			t.Errorf("%s with space: exit code %d, %s", c.name, r.Code, r.Stderr)
		}
	}
}

// saysDiskFull reports whether a message names the full disk, in the words of Carrel, SQLite or the system.
func saysDiskFull(message string) bool {
	return strings.Contains(message, "disk is full") || strings.Contains(message, "no space left on device")
}

// newDataFolder returns a data folder with an account and two megabytes of documents.
func newDataFolder(t *testing.T) string {
	t.Helper()
	data, lines := t.TempDir(), filepath.Join(t.TempDir(), "documents.jsonl")
	run := func(args ...string) string {
		t.Helper()
		r := testkit.Carrel(t, args...)
		if r.Code != 0 {
			t.Fatalf("%q: %s", args, r.Stderr)
		}
		return r.Stdout
	}
	run("admin", "--data", data, "user", "create", "--email", "ada@example.org", "--name", "Ada",
		"--password", "correct horse battery")
	var made struct{ Agent struct{ ID string } }
	agent := run("admin", "--data", data, "agent", "create", "--user", "ada@example.org", "--name", "Looms", "--json")
	parse(t, agent, &made)
	var documents strings.Builder
	for i := range 400 {
		fmt.Fprintf(&documents, `{"id": "%d", "title": "Document", "text": %q}`+"\n", i, text(i))
	}
	if err := os.WriteFile(lines, []byte(documents.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	run("import", "--data", data, "--agent", made.Agent.ID, lines)
	return data
}

// text returns 5 kB of different words, which do not compress well.
func text(seed int) string {
	var b strings.Builder
	for n, state := 0, uint64(seed)+1; n < 400; n++ {
		state = state*6364136223846793005 + 1442695040888963407
		fmt.Fprintf(&b, "w%x ", state>>24)
	}
	return b.String()
}
