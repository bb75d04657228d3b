package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/testkit"
)

// TestRealMCPClientsWorkWithAKey drives common clients: both TypeScript SDKs, mcp-remote, and the inspector in both
// eras of the protocol.
func TestRealMCPClientsWorkWithAKey(t *testing.T) {
	t.Parallel()
	node := nodeProgram(t)
	w := newMCPInstallation(t, testkit.ServerOptions{})
	inspector := "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
	for name, args := range map[string][]string{
		"typescript 1": {"mcp-key.mjs", w.server.URL, "sdk", w.key},
		"typescript 2": {"mcp-key.mjs", w.server.URL, "client", w.key},
		"mcp-remote": {
			"mcp-key.mjs", w.server.URL, "sdk", w.key,
			"node_modules/mcp-remote/dist/proxy.js", w.server.URL + "/mcp", "--header", "Authorization:${CARREL_AUTH}",
		},
		"inspector, legacy": {
			inspector, "--cli", w.server.URL + "/mcp", "--transport", "http", "--protocol-era", "legacy", "--strict", "--method",
			"tools/list", "--header", "Authorization: Bearer " + w.key,
		},
		"inspector, modern": {
			inspector, "--cli", w.server.URL + "/mcp", "--transport", "http", "--protocol-era", "modern", "--strict", "--method",
			"tools/list", "--header", "Authorization: Bearer " + w.key,
		},
		"inspector calls": {
			inspector, "--cli", w.server.URL + "/mcp", "--transport", "http", "--method", "tools/call",
			"--tool-name", "list_agents", "--header", "Authorization: Bearer " + w.key,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), node, args...)
			cmd.Dir = clientsFolder
			cmd.Env = append(cmd.Environ(), "MCP_REMOTE_CONFIG_DIR="+t.TempDir(), "HOME="+t.TempDir(),
				"PATH="+filepath.Dir(node)+":/usr/bin:/bin")
			out, err := cmd.CombinedOutput()
			if err != nil || strings.HasPrefix(name,
				"inspector") && !strings.Contains(string(out), "list_agents") && !strings.Contains(string(out), w.agent) {
				t.Errorf("%v: %.3000s", err, out)
			}
		})
	}
}

// TestRealMCPClientsWorkThroughOAuth lets programs register, send their user through the real pages, and use the
// granted access: mcp-remote, and the inspector in both eras. TestRealClientsConnect tests the SDKs.
func TestRealMCPClientsWorkThroughOAuth(t *testing.T) {
	t.Parallel()
	node := nodeProgram(t)
	f := newOwner(t, testkit.ServerOptions{Env: []string{"CARREL_RATE_LIMITS=off"}})
	for name, args := range map[string][]string{
		"mcp-remote":        {"mcp-remote.mjs", f.server.URL},
		"inspector, legacy": {"inspector.mjs", f.server.URL, "legacy"},
		"inspector, modern": {"inspector.mjs", f.server.URL, "modern"},
	} {
		t.Run(name, func(t *testing.T) {
			mine := newFlow(t, f.server)
			mine.run(node, args...)
			mine.wantNoSecretsIn(f.server.Log())
		})
	}
}

// TestClientsRequestAWiderScopeWhenNeeded checks that the TypeScript clients request a wider scope when a tool needs
// it.
func TestClientsRequestAWiderScopeWhenNeeded(t *testing.T) {
	t.Parallel()
	node := nodeProgram(t)
	f := newOwner(t, testkit.ServerOptions{Env: []string{"CARREL_RATE_LIMITS=off"}})
	for _, sdk := range []string{"sdk", "client"} {
		t.Run(sdk, func(t *testing.T) { newFlow(t, f.server).run(node, "mcp-stepup.mjs", f.server.URL, sdk) })
	}
}
