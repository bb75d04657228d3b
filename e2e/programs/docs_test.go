package programs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
	testkit.SkipUnless(t, "sh", "curl")
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
	text, err := os.ReadFile(filepath.Join("../..", page))
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
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "shims")+":"+os.Getenv("PATH"),
		"HOME="+dir, "XDG_CONFIG_HOME="+filepath.Join(dir, "config"))
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

// TestEverySettingIsDocumented compares the output of carrel config with the pages.
func TestEverySettingIsDocumented(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, text := range readPages(t) {
		all.WriteString(text)
	}
	settings := runCarrel(t, "config", "--data", t.TempDir())
	for line := range strings.Lines(settings) {
		fields := strings.Fields(line)
		name, variable := fields[0], fields[len(fields)-1]
		if !strings.Contains(all.String(), "`"+name+"`") && !strings.Contains(all.String(), variable) {
			t.Errorf("no page mentions the setting %s or %s", name, variable)
		}
	}
}

// documentedCommand matches a command of the binary with its arguments, up to the end of the line or code span.
var documentedCommand = regexp.MustCompile("\\bcarrel (admin|source|serve|login|logout|whoami|profiles|ask|search|" +
	"agents|threads|memories|favourites|import|export|open|mcp)\\b([^`|#\n]*)")

// TestDocumentedCommandsExist checks the names and flags of all commands in the pages against their help.
func TestDocumentedCommandsExist(t *testing.T) {
	t.Parallel()
	help := map[string]string{}
	for page, text := range readPages(t) {
		for _, m := range documentedCommand.FindAllStringSubmatch(text, -1) {
			command, flags := splitCommand(m[1], m[2])
			key := strings.Join(command, " ")
			if _, known := help[key]; !known {
				help[key] = runCarrel(t, append(command, "--help")...)
			}
			for _, f := range flags {
				if !strings.Contains(help[key], f) {
					t.Errorf("%s: carrel %s has no flag %s", page, key, f)
				}
			}
		}
	}
	if len(help) < 20 {
		t.Errorf("only %d commands were found in the pages", len(help))
	}
}

// splitCommand returns the command and its flags. Global flags may precede the names of subcommands.
func splitCommand(first, rest string) (command, flags []string) {
	command = []string{first}
	words := strings.Fields(rest)
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case strings.HasPrefix(w, "--"):
			name, _, _ := strings.Cut(w, "=")
			flags = append(flags, strings.TrimRight(name, ",.;:)]"))
			if name == "--data" || name == "--database" {
				i++ // its value
			}
		case len(flags) == len(globalFlags(flags)) && len(command) < 3 && subcommand.MatchString(w):
			command = append(command, strings.TrimRight(w, ",.;:"))
		}
	}
	return command, flags
}

var subcommand = regexp.MustCompile(`^[a-z][a-z-]+[,.;:]?$`)

func globalFlags(flags []string) []string {
	return slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return f != "--data" && f != "--database" })
}

func readPages(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, name := range append(names, "../../README.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		pages[strings.TrimPrefix(name, "../../")] = string(text)
	}
	return pages
}

func runCarrel(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), testkit.Binary(t), args...).Output()
	if err != nil {
		t.Errorf("carrel %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}
