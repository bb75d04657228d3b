package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// module is a small module whose tests pass, fail, skip, panic, leak through TestMain and do not build.
var module = map[string]string{
	"go.mod": "module example\n\ngo 1.26\n",
	"good/good_test.go": `package good

import "testing"

func TestPasses(t *testing.T) {
	t.Log("a word that nobody wants to read")
	t.Run("sub", func(t *testing.T) {})
}
func TestSkipsA(t *testing.T) { t.Skip("there is no moon: wait") }
func TestSkipsB(t *testing.T) { t.Log("before"); t.Skip("there is no moon: wait") }
func TestSkipsSilently(t *testing.T) { t.SkipNow() }
`,
	"bad/bad_test.go": `package bad

import "testing"

func TestFails(t *testing.T) { t.Error("two and two are five") }
`,
	"panics/panics_test.go": `package panics

import "testing"

func TestPanics(t *testing.T) { panic("out of cheese") }
`,
	"main/main_test.go": `package main

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) { m.Run(); fmt.Println("goroutines are left"); os.Exit(1) }
func TestFine(t *testing.T) {}
`,
	"broken/broken_test.go": "package broken\n\nvar x int = \"text\"\n",
	"none/none.go":          "package none\n",
}

// summarise runs go test on packages of the module and returns what a person sees, and the exit code.
func summarise(t *testing.T, packages ...string) (string, int) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range module {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"test", "-json"}, packages...)...)
	cmd.Dir = dir
	events, _ := cmd.Output() // it fails where tests fail
	var out strings.Builder
	s := newSummary(&out)
	if err := s.read(strings.NewReader(string(events))); err != nil {
		t.Fatal(err)
	}
	s.close()
	return out.String(), cmd.ProcessState.ExitCode()
}

func TestASummaryCountsAndNamesWhatWasSkipped(t *testing.T) {
	t.Parallel()
	got, code := summarise(t, "./good", "./none")
	wantEnd := `
skipped: no reason given
    example/good.TestSkipsSilently

skipped: there is no moon: wait
    example/good.TestSkipsA
    example/good.TestSkipsB

2 passed, 0 failed, 3 skipped
`
	if code != 0 || !strings.HasPrefix(got, "ok  \texample/good") || !strings.HasSuffix(got, wantEnd) {
		t.Errorf("code %d, summary:\n%s\nwant it to end in:\n%s", code, got, wantEnd)
	}
	if strings.Contains(got, "nobody wants to read") {
		t.Error("the output of a test that passed is shown")
	}
}

func TestASummaryShowsWhatFailed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ pkg, want, counts string }{
		{"./bad", "bad_test.go:5: two and two are five", "0 passed, 1 failed, 0 skipped"},
		{"./panics", "out of cheese", "0 passed, 1 failed, 0 skipped"},
		{"./main", "goroutines are left", "1 passed, 1 failed, 0 skipped"},
		{"./broken", "cannot use \"text\"", "0 passed, 1 failed, 0 skipped"},
	} {
		t.Run(tt.pkg, func(t *testing.T) {
			t.Parallel()
			got, code := summarise(t, tt.pkg)
			if code == 0 || !strings.Contains(got, tt.want) || !strings.HasSuffix(got, "\n"+tt.counts+"\n") {
				t.Errorf("code %d, summary:\n%s\nwant %q in it, and %q at its end", code, got, tt.want, tt.counts)
			}
		})
	}
}

func TestLinesThatAreNoEventsArePassedOn(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := newSummary(&out)
	event, err := json.Marshal(event{Action: "pass", Package: "p", Test: "TestX"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.read(strings.NewReader("go: no network\n" + string(event) + "\nno newline")); err != nil {
		t.Fatal(err)
	}
	s.close()
	if got, want := out.String(), "go: no network\nno newline\n1 passed, 0 failed, 0 skipped\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
