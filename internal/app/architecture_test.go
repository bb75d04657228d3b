package app

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// features is the list that several rules share.
var features = []string{"account", "agent", "source", "memory", "favourite", "thread", "webhook"}

// rules says for every package of the module which of our packages it may import. It is the table of
// docs/architecture.md. A package below another (store/storetest) has the rule of its own row.
var rules = map[string][]string{
	"api":                             {},
	"cmd/carrel":                      {"internal/app"},
	"web":                             {},
	"internal/core":                   {},
	"internal/core/gen":               {"api"},
	"internal/account":                internal("core", "audit"),
	"internal/agent":                  internal("core"),
	"internal/source":                 internal("core", "outbound"),
	"internal/memory":                 internal("core"),
	"internal/favourite":              internal("core", "markdown"),
	"internal/thread":                 internal("core", "agent", "source", "task", "markdown"),
	"internal/outbound":               {},
	"internal/live":                   internal("core", "outbound", "source"),
	"internal/webhook":                internal("core", "outbound", "task"),
	"internal/markdown":               internal("core"),
	"internal/seal":                   {},
	"internal/billing":                internal("core", "account", "audit"),
	"internal/credential":             internal("core", "account", "audit"),
	"internal/audit":                  internal("core"),
	"internal/search":                 internal("search/analysis", "search/disk", "search/query", "search/rank", "search/segment"),
	"internal/search/analysis":        {},
	"internal/search/disk":            {},
	"internal/search/query":           internal("search/analysis"),
	"internal/search/rank":            internal("search/analysis", "search/query", "search/segment"),
	"internal/search/segment":         internal("search/disk"),
	"internal/model":                  internal("core"),
	"internal/research":               internal("core", "agent", "memory", "source", "thread", "task", "model", "research/extract", "search/analysis", "search/query"),
	"internal/research/extract":       internal("search/analysis", "search/query"),
	"internal/research/extract/xquad": internal("research/extract", "search/analysis", "search/query"),
	"internal/embedding":              internal("core", "task", "model", "search/analysis"),
	"internal/ingest":                 internal("core", "ingest/budget", "ingest/pdf"),
	"internal/ingest/budget":          {},
	"internal/ingest/pdf":             internal("ingest/budget"),
	"internal/intake":                 internal("core", "ingest", "ingest/budget", "s3", "source", "task"),
	"internal/s3":                     {},
	"internal/leave":                  append(internal("core", "audit", "credential", "markdown", "passkey", "task"), internal(features...)...),
	"internal/task":                   internal("core"),
	"internal/store":                  append(internal("core", "oauth", "audit", "billing", "credential", "passkey", "upstream", "task", "search", "embedding", "intake", "leave"), internal(features...)...),
	"internal/store/storetest":        append(internal("core", "oauth", "audit", "billing", "credential", "passkey", "upstream", "store", "task", "search", "embedding", "intake", "leave", "testkit"), internal(features...)...),
	"internal/httpapi":                append(internal("core", "passkey", "audit", "billing", "credential", "intake", "leave", "oauth", "task", "watch", "httpapi/oas", "httpapi/docs"), append(internal(features...), "api")...),
	"internal/httpapi/docs":           {},
	"internal/httpapi/oas":            {},
	"internal/httpapi/gen":            {"api"},
	"internal/oauth":                  internal("core", "account", "audit", "credential", "outbound", "seal"),
	"internal/passkey":                internal("core", "account", "audit", "credential"),
	"internal/mcp":                    append(internal("core", "task", "httpapi", "watch"), "api"),
	"internal/watch":                  internal("core"),
	"internal/upstream":               internal("core", "account", "audit", "credential"),
	"internal/webapp":                 internal("core", "account", "audit", "credential", "oauth", "passkey", "upstream"),
	"internal/config":                 {},
	"internal/obs":                    {},
	"internal/server":                 internal("core", "config", "obs"),
	"internal/app":                    nil, // the only wiring: anything but tests' helpers
	"internal/app/demo":               {},
	"internal/testkit":                internal("core"),
	"internal/testkit/browser":        {},
	"internal/testkit/contract":       {},
	"internal/testkit/gotest":         internal("testkit"),
	"internal/testkit/hostile":        {},
	"internal/testkit/modelfake":      {},
	"internal/testkit/s3fake":         {},
	"internal/testkit/stripefake":     {},
	"internal/testkit/livefake":       {},
	"internal/testkit/echo":           internal("task", "thread"),
	"internal/testkit/indexed":        internal("search", "source", "store"),
	"e2e/chaos/server":                internal("app", "task", "thread"),                         // carrel, with turns that ask a model of the test's
	"e2e/slowserver":                  internal("app", "core", "task", "thread", "testkit/echo"), // carrel, with turns that tests script
}

// confined says which packages alone may import a package from outside.
var confined = map[string][]string{
	"database/sql": {"internal/store", "internal/store/storetest"},
	"net/http": {
		"internal/httpapi", "internal/httpapi/oas", "internal/mcp", "internal/server", "internal/obs", "internal/app", "internal/webhook", "internal/outbound", "internal/live", "internal/upstream", "internal/model", "internal/intake", "internal/s3", "internal/webapp", "internal/oauth",
		"internal/testkit", "internal/testkit/contract", "internal/testkit/modelfake", "internal/testkit/livefake", "internal/testkit/s3fake", "internal/testkit/stripefake", "e2e/chaos/server", "internal/billing",
	},
	"github.com/alecthomas/kong": {"internal/app"},
}

func internal(names ...string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = "internal/" + n
	}
	return out
}

// TestImportRule holds the arrows between packages to the table: one that is not listed fails, and so does a package
// without a row or a row without a package.
func TestImportRule(t *testing.T) {
	t.Parallel()
	unseen := maps.Clone(rules)
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, "carrel/")
		if name == "e2e" || name == "e2e/chaos" {
			continue // only tests
		}
		rule, known := rules[name]
		if !known {
			t.Errorf("%s has no row in the table of imports", name)
			continue
		}
		delete(unseen, name)
		for _, path := range p.Imports {
			ours, isOurs := strings.CutPrefix(path, "carrel/")
			switch {
			case !isOurs:
				if homes, ok := confined[path]; ok && !slices.Contains(homes, name) {
					t.Errorf("%s imports %s, which belongs to %v", name, path, homes)
				}
			case name == "internal/app" && !strings.HasPrefix(ours, "internal/testkit"):
			case !slices.Contains(rule, ours):
				t.Errorf("%s imports %s", name, ours)
			}
		}
	}
	for name := range unseen {
		t.Errorf("the table has a row for %s, which does not exist", name)
	}
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "carrel/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}
