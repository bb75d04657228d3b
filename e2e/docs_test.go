package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/testkit"
)

// documentPassword answers the password prompt of the documented commands.
const documentPassword = "correct horse battery staple"

// noTest marks a shell block that the test does not run: ```sh no-test: reason.
const noTest = "no-test: "

// shellBlock is a fenced sh block of a Markdown page.
type shellBlock struct {
	line   int    // line of the opening fence
	text   string // content without the fences
	skip   bool
	reason string // why it is skipped
}

// TestDocumentedShellBlocksRun runs the sh blocks of the README and of the first steps, in order and in one shell, as a
// reader pastes them. The documented address and folders stand for those of servers that the test starts.
func TestDocumentedShellBlocksRun(t *testing.T) {
	t.Parallel()
	skipUnless(t, "sh", "curl")
	pages := map[string]struct {
		servers map[string]testkit.ServerOptions // by the documented data folder
		address string                           // data folder of the server at 127.0.0.1:8080
	}{
		"README.md": {
			servers: map[string]testkit.ServerOptions{"data/demo": {Args: []string{"--demo"}}, "/srv/carrel": {}},
			address: "data/demo",
		},
		"docs/getting-started.md": {
			servers: map[string]testkit.ServerOptions{"/srv/carrel": {}},
			address: "/srv/carrel",
		},
	}
	for page, setup := range pages {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			var replacements []string
			for folder, opts := range setup.servers {
				s := testkit.StartServer(t, opts)
				replacements = append(replacements, folder, s.Data)
				if folder == setup.address {
					replacements = append(replacements, "http://127.0.0.1:8080", s.URL)
				}
			}
			runShellBlocks(t, page, strings.NewReplacer(replacements...))
		})
	}
}

func runShellBlocks(t *testing.T, page string, replace *strings.Replacer) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", page))
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	script.WriteString("set -eu\n")
	tested := 0
	for _, b := range shellBlocks(string(text)) {
		if b.skip {
			if b.reason == "" {
				t.Errorf("%s:%d: a block without a test needs a reason: ```sh %sreason", page, b.line, noTest)
			}
			t.Logf("%s:%d: not run: %s", page, b.line, b.reason)
			continue
		}
		tested++
		fmt.Fprintf(&script, "echo '--- %s:%d' >&2\n%s\n", page, b.line, replace.Replace(b.text))
	}
	if tested == 0 {
		t.Fatalf("%s has no shell block to run", page)
	}

	dir := t.TempDir()
	failures := filepath.Join(dir, "failed-requests")
	writeScript(t, filepath.Join(dir, "bin", "carrel"), `exec "`+testkit.Binary(t)+`" "$@"`)
	writeScript(t, filepath.Join(dir, "shims", "curl"), curlShim(t, failures))
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script.String())
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "shims")+":"+os.Getenv("PATH"))
	cmd.Stdin = strings.NewReader(documentPassword + "\n")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Errorf("%s: %v\n%s", page, err, out.String())
	}
	if failed, err := os.ReadFile(failures); err == nil {
		t.Errorf("%s: a request failed:\n%s\n%s", page, failed, out.String())
	}
}

// curlShim records requests with an error status, which curl itself reports as success, and which a pipeline hides.
func curlShim(t *testing.T, failures string) string {
	t.Helper()
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Fatal(err)
	}
	return `"` + curl + `" --fail-with-body "$@" || { code=$?; echo "curl $*" >> "` + failures + `"; exit $code; }`
}

func writeScript(t *testing.T, path, body string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// shellBlocks returns the blocks of a page that are fenced as sh.
func shellBlocks(page string) []shellBlock {
	var blocks []shellBlock
	var open *shellBlock
	for i, line := range strings.Split(page, "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case open != nil && fence:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		case fence && (info == "sh" || strings.HasPrefix(info, "sh ")):
			options := strings.TrimSpace(strings.TrimPrefix(info, "sh"))
			reason, skip := strings.CutPrefix(options, noTest)
			open = &shellBlock{line: i + 1, skip: skip, reason: strings.TrimSpace(reason)}
		}
	}
	return blocks
}

func TestShellBlocksOfAPage(t *testing.T) {
	t.Parallel()
	page := "# Title\n```sh\none\ntwo\n```\n```json\n{}\n```\n```sh no-test: needs root\nthree\n```\n"
	blocks := shellBlocks(page)
	want := []shellBlock{{line: 2, text: "one\ntwo\n"}, {line: 9, text: "three\n", skip: true, reason: "needs root"}}
	if fmt.Sprint(blocks) != fmt.Sprint(want) {
		t.Errorf("blocks are %v, want %v", blocks, want)
	}
}
