package e2e

import (
	"bufio"
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"carrel/internal/testkit"
)

// requireBrowserEnv makes it a failure that the tests of the web app can't run.
const requireBrowserEnv = "CARREL_TEST_REQUIRE_BROWSER"

// webTestsEnv picks browser tests by a pattern of their names.
const webTestsEnv = "CARREL_WEB_TESTS"

// webDoneEnv says that the web app was tested just before, by itself: a browser beside all other tests waits for its turn
// longer than people do, and what it finds then is the load.
const webDoneEnv = "CARREL_WEB_TESTED"

// memberPassword is that of the member whom browser tests know beside the owner.
const memberPassword = "correct horse battery staple"

// TestWebApp runs the tests of web/e2e: a real browser at the real program. Each of them is a subtest here. Those that fail
// leave a picture in .cache/web.
func TestWebApp(t *testing.T) {
	t.Parallel()
	if os.Getenv(webDoneEnv) != "" {
		t.Skip("it was tested just before, by itself: make web-test")
	}
	skipUnless(t, "node", "chromium")
	if _, err := os.Stat("../web/node_modules/playwright-core"); err != nil {
		missing(t, "the packages of web are not installed: make setup")
	}
	args := []string{"--test-reporter=tap"}
	if pattern := os.Getenv(webTestsEnv); pattern != "" {
		args = append(args, "--test-name-pattern="+pattern)
	}
	cmd := exec.CommandContext(t.Context(), "node", append(args, "e2e/all.mjs")...)
	cmd.Dir, cmd.Env = "../web", webEnv(t)
	out, err := cmd.CombinedOutput()
	if n := report(t, out); n == 0 || err != nil && !t.Failed() {
		t.Errorf("node: %v\n%s", err, out)
	}
}

// webEnv starts the servers of the browser tests, the program's own and one whose turns are scripted, and tells where
// they are.
func webEnv(t *testing.T) []string {
	t.Helper()
	pictures, err := filepath.Abs("../.cache/web")
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "CARREL_WEB_PICTURES="+pictures)
	for prefix, binary := range map[string]string{"CARREL_WEB": testkit.Binary(t), "CARREL_WEB_SLOW": testkit.Build(t, "carrel/e2e/slowserver")} {
		s := testkit.StartServer(t, testkit.ServerOptions{Binary: binary, Args: []string{"--demo"}, Env: []string{"CARREL_RATE_LIMITS=off"}})
		password, err := os.ReadFile(filepath.Join(s.Data, "demo.password"))
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, prefix+"_URL="+s.URL, prefix+"_PASSWORD="+strings.TrimSpace(string(password)), prefix+"_POWER="+power(t, s))
		// People who do not run the installation.
		for email, name := range map[string]string{"grace": "Grace Hopper", "eve": "Eve", "ida": "Ida"} {
			made := s.Admin("user", "create", "--email", email+"@example.org", "--name", name, "--password", memberPassword)
			if made.Code != 0 {
				t.Fatalf("make a member: %s%s", made.Stdout, made.Stderr)
			}
		}
	}
	return append(env, "CARREL_WEB_MEMBER_PASSWORD="+memberPassword)
}

// power returns the address of a switch: POST …/kill ends a server as a crash would, and POST …/start starts it again.
func power(t *testing.T, s *testkit.Server) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /kill", func(http.ResponseWriter, *http.Request) { s.Kill() })
	mux.HandleFunc("POST /start", func(http.ResponseWriter, *http.Request) { s.Start() })
	sw := httptest.NewServer(mux)
	t.Cleanup(sw.Close)
	return sw.URL
}

// TestScreenshots takes the pictures of the documentation when make screenshots asks for it.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	if os.Getenv("CARREL_WEB_SCREENSHOTS") == "" {
		t.Skip("pictures are taken by make screenshots")
	}
	skipUnless(t, "node", "chromium")
	cmd := exec.CommandContext(t.Context(), "node", "e2e/screenshots.mjs")
	untouched := testkit.StartServer(t, testkit.ServerOptions{Binary: testkit.Binary(t)}) // for the page that sets it up
	cmd.Dir, cmd.Env = "../web", append(webEnv(t), "CARREL_WEB_NEW_URL="+untouched.URL)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestWebLogic runs the tests of what the web app computes, without a browser.
func TestWebLogic(t *testing.T) {
	t.Parallel()
	skipUnless(t, "node")
	if _, err := os.Stat("../web/node_modules/vitest"); err != nil {
		missing(t, "the packages of web are not installed: make setup")
	}
	cmd := exec.CommandContext(t.Context(), "node", "node_modules/vitest/vitest.mjs", "run", "--no-color")
	cmd.Dir = "../web"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// tapLine is the verdict on one test: "not ok 3 - its name".
var tapLine = regexp.MustCompile(`^(not )?ok \d+ - (.*?)( # SKIP.*)?$`)

// report makes a subtest of each test that node ran, and returns how many there were. What follows a verdict is about it.
func report(t *testing.T, tap []byte) int {
	t.Helper()
	type verdict struct {
		name   string
		failed bool
		detail strings.Builder
	}
	var all []*verdict
	lines := bufio.NewScanner(bytes.NewReader(tap))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if m := tapLine.FindStringSubmatch(lines.Text()); m != nil {
			if m[3] == "" {
				all = append(all, &verdict{name: m[2], failed: m[1] != ""})
			}
			continue
		}
		if len(all) > 0 && strings.HasPrefix(lines.Text(), " ") {
			all[len(all)-1].detail.WriteString(lines.Text() + "\n")
		}
	}
	for _, v := range all {
		t.Run(v.name, func(t *testing.T) {
			if v.failed {
				t.Error(v.detail.String())
			}
		})
	}
	return len(all)
}

func skipUnless(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			missing(t, err.Error())
		}
	}
}

func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv(requireBrowserEnv) != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}
