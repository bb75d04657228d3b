package testkit

import (
	"os"
	"os/exec"
	"testing"
)

// EnvRequireBrowser makes tests fail, instead of being skipped, if node, the browser or another program is missing.
const EnvRequireBrowser = "CARREL_TEST_REQUIRE_BROWSER"

// SkipUnless skips the test, or fails it with EnvRequireBrowser, unless all programs are installed.
func SkipUnless(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			SkipMissing(t, err.Error())
		}
	}
}

// SkipMissing skips the test, or fails it with EnvRequireBrowser, because something is not installed.
func SkipMissing(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv(EnvRequireBrowser) != "" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}
