package web

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"carrel/internal/testkit"
	"carrel/internal/testkit/zoterofake"
)

// webTestsEnv selects browser tests by a pattern of their names.
const webTestsEnv = "CARREL_WEB_TESTS"

// memberPassword is the password of the accounts without the admin role.
const memberPassword = "correct horse battery staple"

// TestWebApp runs the tests of web/e2e, a real browser with a real server, as subtests of two groups that run at the
// same time. Failed tests leave screenshots in .cache/web.
func TestWebApp(t *testing.T) {
	t.Parallel()
	testkit.SkipUnless(t, "node", "chromium")
	if _, err := os.Stat("../../web/node_modules/playwright-core"); err != nil {
		testkit.SkipMissing(t, "the packages of web are not installed: make setup")
	}
	for _, group := range []string{"use", "manage"} {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			runWebTests(t, group)
		})
	}
}

// runWebTests runs web/e2e/use.mjs or manage.mjs with servers of its own.
func runWebTests(t *testing.T, group string) {
	t.Helper()
	args := []string{"--test-reporter=tap"}
	if pattern := os.Getenv(webTestsEnv); pattern != "" {
		args = append(args, "--test-name-pattern="+pattern)
	}
	var failed []string
	t.Cleanup(func() { // runs last, so that the failures end the output, after the logs of the servers
		if len(failed) > 0 {
			t.Logf("failed browser tests:\n%s", strings.Join(failed, "\n"))
		}
	})
	cmd := exec.CommandContext(t.Context(), "node", append(args, "e2e/"+group+".mjs")...)
	cmd.Dir, cmd.Env = "../../web", webEnv(t)
	out, err := cmd.CombinedOutput()
	results := tapResults(out)
	for _, r := range results {
		t.Run(r.name, func(t *testing.T) {
			if r.failed {
				t.Error(r.detail.String())
			}
		})
		if r.failed {
			failed = append(failed, r.name+"\n"+firstLines(r.detail.String(), failureLines))
		}
	}
	t.Logf("the slowest tests:\n%s", slowest(results))
	none := len(results) == 0 && os.Getenv(webTestsEnv) == "" // the selected tests may be in the other group
	if none || err != nil && len(failed) == 0 {
		t.Errorf("node: %v", err)
		failed = append(failed, fmt.Sprintf("node: %v\n%s", err, lastLines(string(out), failureLines)))
	}
}

// slowest lists the ten tests that took longest, with their seconds.
func slowest(results []*tapResult) string {
	results = slices.Clone(results)
	slices.SortFunc(results, func(x, y *tapResult) int { return cmp.Compare(y.seconds, x.seconds) })
	var list strings.Builder
	for _, r := range results[:min(10, len(results))] {
		fmt.Fprintf(&list, "%6.1f %s\n", r.seconds, r.name)
	}
	return list.String()
}

// failureLines is the number of lines that the summary shows of a failed browser test.
const failureLines = 12

func firstLines(s string, n int) string {
	lines := strings.SplitAfter(s, "\n")
	return strings.Join(lines[:min(n, len(lines))], "")
}

func lastLines(s string, n int) string {
	lines := strings.SplitAfter(s, "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "")
}

// webEnv starts the servers of the browser tests, carrel and a variant whose turns follow instructions in the message.
// It returns an environment with their addresses and passwords.
func webEnv(t *testing.T) []string {
	t.Helper()
	screenshots, err := filepath.Abs("../../.cache/web")
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "CARREL_WEB_PICTURES="+screenshots)
	binaries := map[string]string{
		"CARREL_WEB":      testkit.Binary(t),
		"CARREL_WEB_SLOW": testkit.Build(t, "carrel/e2e/slowserver"),
	}
	signals := t.TempDir()
	// The tests of sources reach a fake on this machine; those of webhooks must not.
	further := map[string][]string{
		"CARREL_WEB_SLOW": {"CARREL_OUTBOUND_PRIVATE=on", "SLOWSERVER_SIGNALS=" + signals},
	}
	for prefix, binary := range binaries {
		s := testkit.StartServer(t, testkit.ServerOptions{
			Binary: binary,
			Args:   []string{"--demo"},
			Env:    append([]string{"CARREL_RATE_LIMITS=off"}, further[prefix]...),
		})
		password, err := os.ReadFile(filepath.Join(s.Data, "demo.password"))
		if err != nil {
			t.Fatal(err)
		}
		env = append(env,
			prefix+"_URL="+s.URL,
			prefix+"_PASSWORD="+strings.TrimSpace(string(password)),
			prefix+"_CONTROL="+control(t, s, signals))
		createMembers(t, s)
	}
	// The test of the first run sets this server up, on an empty folder; its set-up page is a screenshot.
	withoutAccounts := testkit.StartServer(t, testkit.ServerOptions{
		Binary: testkit.Binary(t), Data: t.TempDir(), Env: []string{"CARREL_RATE_LIMITS=off"},
	})
	env = append(env, "CARREL_WEB_NEW_URL="+withoutAccounts.URL, "CARREL_WEB_NEW_CODE="+withoutAccounts.SetupCode())
	zotero := zoterofake.New(t)
	zotero.Put(map[string]any{"key": "BOOK2345", "itemType": "book", "title": "The Art of Computer Programming"})
	return append(env, "CARREL_WEB_MEMBER_PASSWORD="+memberPassword, "CARREL_WEB_ZOTERO_URL="+zotero.URL,
		"CARREL_WEB_ZOTERO_KEY="+zoterofake.Key)
}

// createMembers creates the accounts without the admin role that browser tests use.
func createMembers(t *testing.T, s *testkit.Server) {
	t.Helper()
	for user, name := range map[string]string{"grace": "Grace Hopper", "eve": "Eve", "ida": "Ida"} {
		run := s.Admin("user", "create",
			"--email", user+"@example.org", "--name", name, "--password", memberPassword)
		if run.Code != 0 {
			t.Fatalf("create %s: %s%s", user, run.Stdout, run.Stderr)
		}
	}
}

// control returns the URL of an HTTP server that controls s: POST /kill kills it like a crash, POST /start starts it
// again, and POST /release/go ends the command "until go" of slowserver.
func control(t *testing.T, s *testkit.Server, signals string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /kill", func(http.ResponseWriter, *http.Request) { s.Kill() })
	mux.HandleFunc("POST /start", func(http.ResponseWriter, *http.Request) { s.Start() })
	mux.HandleFunc("POST /release/{name}", func(w http.ResponseWriter, r *http.Request) {
		name := filepath.Join(signals, filepath.Base(r.PathValue("name")))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// TestScreenshots takes the screenshots of the documentation. Only make screenshots runs it.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	if os.Getenv("CARREL_WEB_SCREENSHOTS") == "" {
		t.Skip("run by make screenshots")
	}
	testkit.SkipUnless(t, "node", "chromium")
	cmd := exec.CommandContext(t.Context(), "node", "e2e/screenshots.mjs")
	cmd.Dir, cmd.Env = "../../web", webEnv(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestWebLogic runs the unit tests of the web app, without a browser.
func TestWebLogic(t *testing.T) {
	t.Parallel()
	testkit.SkipUnless(t, "node")
	if _, err := os.Stat("../../web/node_modules/vitest"); err != nil {
		testkit.SkipMissing(t, "the packages of web are not installed: make setup")
	}
	cmd := exec.CommandContext(t.Context(), "node", "node_modules/vitest/vitest.mjs", "run", "--no-color")
	cmd.Dir = "../../web"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// tapLine matches the result of one test in TAP, for example "not ok 3 - its name".
var tapLine = regexp.MustCompile(`^(not )?ok \d+ - (.*?)( # SKIP.*)?$`)

// tapResult is the result of one browser test. Its details are the indented lines after the result.
type tapResult struct {
	name    string
	failed  bool
	seconds float64
	detail  strings.Builder
}

// tapDuration matches the line of a test's details with its duration.
var tapDuration = regexp.MustCompile(`^  duration_ms: ([\d.]+)$`)

// tapResults reads results in TAP format. Skipped tests are left out.
func tapResults(tap []byte) []*tapResult {
	var results []*tapResult
	var current *tapResult
	lines := bufio.NewScanner(bytes.NewReader(tap))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if m := tapLine.FindStringSubmatch(line); m != nil {
			current = &tapResult{name: m[2], failed: m[1] != ""}
			if m[3] == "" {
				results = append(results, current)
			}
			continue
		}
		if current == nil || !strings.HasPrefix(line, " ") {
			continue
		}
		current.detail.WriteString(line + "\n")
		if m := tapDuration.FindStringSubmatch(line); m != nil {
			milliseconds, _ := strconv.ParseFloat(m[1], 64) // digits
			current.seconds = milliseconds / 1000
		}
	}
	return results
}
