package programs

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"carrel/internal/testkit"
)

var update = flag.Bool("update", false, "write the transcripts of docs/cli.md instead of comparing them")

// consoleBlock matches a transcript: commands after a prompt, each followed by its output.
var consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```\n")

// Ids and times differ in every run.
var (
	transcriptID   = regexp.MustCompile(`\b(agt|thr|mem|card|msg|doc|src)_[0-9a-z]{26}\b`)
	transcriptTime = regexp.MustCompile(`\b\d{4}-\d\d-\d\d \d\d:\d\d\b`)
)

// TestTranscriptIsCurrent runs the commands of the transcript in docs/cli.md on the demo and compares the output.
// Update it with: go test ./e2e/programs -run TestTranscriptIsCurrent -args -update
func TestTranscriptIsCurrent(t *testing.T) {
	t.Parallel()
	const page = "../../docs/cli.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	server := testkit.StartServer(t, testkit.ServerOptions{Args: []string{"--demo"}})
	home := t.TempDir()
	ids := map[string]string{}
	run := func(command string) string {
		pasted := strings.NewReplacer("http://127.0.0.1:8080", server.URL, "data/demo", server.Data).Replace(command)
		cmd := exec.CommandContext(t.Context(), "sh", "-c", pasted)
		for _, entry := range os.Environ() {
			if !strings.HasPrefix(entry, "CARREL_") {
				cmd.Env = append(cmd.Env, entry)
			}
		}
		cmd.Env = append(cmd.Env, "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "TZ=UTC",
			"PATH="+filepath.Dir(testkit.Binary(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
		shown := strings.ReplaceAll(string(out), server.URL, "http://127.0.0.1:8080")
		shown = transcriptID.ReplaceAllStringFunc(shown, func(id string) string {
			if ids[id] == "" {
				prefix, _, _ := strings.Cut(id, "_")
				ids[id] = fmt.Sprintf("%s_01jexample%016d", prefix, len(ids)+1)
			}
			return ids[id]
		})
		return transcriptTime.ReplaceAllString(shown, "2026-11-17 10:00")
	}
	current := consoleBlock.ReplaceAllStringFunc(string(text), func(block string) string {
		var b strings.Builder
		b.WriteString("```console\n")
		for line := range strings.Lines(block) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				b.WriteString(line + run(strings.TrimSpace(command)))
			}
		}
		return b.String() + "```\n"
	})
	switch {
	case strings.Count(current, "\n$ ") < 5:
		t.Errorf("%s has no transcript", page)
	case *update:
		if err := os.WriteFile(page, []byte(current), 0o600); err != nil {
			t.Fatal(err)
		}
	case current != string(text):
		t.Errorf("the transcript of %s is not current; run this test with -args -update. It is\n%s", page, current)
	}
}
