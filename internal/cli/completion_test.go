package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/config"
)

// completionCase is a command line with the cursor at its end.
type completionCase struct {
	line string
	want []string // completions that must be offered
	not  []string
	only bool // no other completions
}

var completionCases = []completionCase{
	{line: "carrel ", want: []string{"serve", "admin", "backup", "import", "health"}, not: []string{"--help"}},
	{line: "carrel se", want: []string{"serve", "search"}, only: true},
	{line: "carrel thr", want: []string{"threads"}, only: true},
	{line: "carrel admin us", want: []string{"user", "usage"}, only: true},
	{line: "carrel admin --data serve user cr", want: []string{"create"}, only: true},
	{line: "carrel admin user create --em", want: []string{"--email"}, only: true},
	{line: "carrel serve --l", want: []string{"--log-level", "--log-format"}, only: true},
	{line: "carrel completion ", want: []string{"bash", "zsh", "fish"}, only: true},
	{line: "carrel serve --tls-cert chain", want: []string{"chain.pem"}, only: true},
	{line: "carrel serve --addr ", only: true},
}

// complete runs a shell in a folder with one file and returns the completions it prints.
func complete(t *testing.T, shell, script string, line string) []string {
	t.Helper()
	program, err := exec.LookPath(shell)
	if err != nil {
		t.Skipf("%s is not installed", shell)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "chain.pem"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, generated, errs := run(t, "completion", shell)
	if code != exitOK {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	if err := os.WriteFile(filepath.Join(dir, ".completion"), []byte(generated), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-c", script, "test", line)
	if shell == "fish" {
		cmd = exec.CommandContext(t.Context(), program, "--no-config", "-c", script, line)
	}
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", shell, err, out)
	}
	var found []string
	for l := range strings.Lines(string(out)) {
		word, _, _ := strings.Cut(strings.TrimRight(l, "\n"), "\t")
		found = append(found, word)
	}
	return found
}

// shellScripts load the completion and print the completions of the command line in their first argument.
var shellScripts = map[string]string{
	"bash": `source ./.completion
		compopt() { :; } # works only while bash completes
		read -ra COMP_WORDS <<<"$1"
		[[ $1 == *' ' ]] && COMP_WORDS+=('')
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_carrel
		printf '%s\n' "${COMPREPLY[@]}" | sed '/^$/d'`,
	// The functions of zsh's completion system are replaced: they need a terminal.
	"zsh": `compdef() { :; }
		_describe() { local w; for w in "${(@P)2}"; do w=${w%%:*}; [[ $w == "$PREFIX"* ]] && print -r -- $w; done; true }
		_files() { local f; for f in *; do [[ $f == "$PREFIX"* ]] && print -r -- $f; done; true }
		source ./.completion
		words=("${(@s: :)1}") CURRENT=${#words} PREFIX=${words[-1]}
		_carrel || true`,
	"fish": `source ./.completion; complete -C $argv[1]`,
}

func TestShellsCompleteCommands(t *testing.T) {
	t.Parallel()
	for shell, script := range shellScripts {
		for _, c := range completionCases {
			t.Run(shell+"/"+c.line, func(t *testing.T) {
				t.Parallel()
				got := complete(t, shell, script, c.line)
				for _, w := range c.want {
					if !slices.Contains(got, w) {
						t.Errorf("%q is not among %q", w, got)
					}
				}
				for _, w := range c.not {
					if slices.Contains(got, w) {
						t.Errorf("%q is among %q", w, got)
					}
				}
				if c.only && len(got) != len(c.want) {
					t.Errorf("completions are %q, want only %q", got, c.want)
				}
			})
		}
	}
}

func TestManualPagesAreValidAndComplete(t *testing.T) {
	t.Parallel()
	_, commands, _ := run(t, "man")
	mustContain(t, commands, ".TH CARREL 1", ".SS serve", ".SS admin user create", `\-\-base\-url`)
	_, settings, _ := run(t, "man", "carrel.conf")
	for _, s := range config.Defaults() {
		if !strings.Contains(settings, fmt.Sprintf("\\fB%s\\fR (%s)", strings.ReplaceAll(s.Name, "-", `\-`), s.Env)) {
			t.Errorf("carrel.conf(5) lacks %s", s.Name)
		}
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed")
	}
	for name, page := range map[string]string{"carrel.1": commands, "carrel.conf.5": settings} {
		cmd := exec.CommandContext(t.Context(), groff, "-ww", "-man", "-Tutf8", "-Kutf8")
		cmd.Stdin = strings.NewReader(page)
		warnings := &buffer{}
		cmd.Stderr = warnings
		if out, err := cmd.Output(); err != nil || len(out) == 0 || warnings.String() != "" {
			t.Errorf("%s: groff prints %d bytes, %v, %s", name, len(out), err, warnings)
		}
	}
}
