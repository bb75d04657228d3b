package mcp

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// clients is the folder of the programs that tests connect with.
const clients = "../../e2e/clients"

// TestConformance runs the protocol's conformance suite against the endpoint, with a bearer token. No failures are
// expected.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, requirements := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(requirements, func(t *testing.T) {
			t.Parallel()
			out := conformance(t, fixture(t), "--requirements", requirements)
			m := regexp.MustCompile(`(?m)^Total: (\d+) passed, (\d+) failed`).FindStringSubmatch(out)
			if m == nil || m[1] == "0" || m[2] != "0" {
				t.Fatalf("the output of the suite:\n%s", out)
			}
			t.Log(m[0])
		})
	}
}

// conformance runs the suite and returns its output.
func conformance(t *testing.T, address string, args ...string) string {
	t.Helper()
	folder, err := filepath.Abs(clients)
	if err != nil {
		t.Fatal(err)
	}
	node := filepath.Join(folder, "node_modules/node/bin/node")
	if _, err := os.Stat(node); err != nil {
		t.Skip("the conformance suite is not installed: make setup")
	}
	expected := filepath.Join(t.TempDir(), "none.yml")
	if err := os.WriteFile(expected, []byte("server: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args = append([]string{
		"--import", "./bearer.mjs", "node_modules/@modelcontextprotocol/conformance/dist/index.js",
		"server", "--url", address, "--expected-failures", expected,
	}, args...)
	cmd := exec.CommandContext(t.Context(), node, args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "CARREL_URL="+strings.TrimSuffix(address, path), "CARREL_TOKEN="+fixtureToken)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("the suite failed: %v", err)
	}
	return string(out)
}
