package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// confined lists the packages that may import a package from outside the module.
var confined = map[string][]string{
	"database/sql": {"internal/store", "internal/store/sqlite"},
}

// TestImportRule compares the imports of every package with the table in docs/architecture.md.
func TestImportRule(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := parseRules(string(text))
	if err != nil {
		t.Fatal(err)
	}
	unseen := maps.Clone(rules)
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, "carrel/")
		if slices.Contains([]string{"e2e", "e2e/chaos", "e2e/programs", "e2e/web"}, name) {
			continue // only tests
		}
		rule, known := rules[name]
		if !known {
			t.Errorf("docs/architecture.md has no row for %s", name)
			continue
		}
		delete(unseen, name)
		for _, path := range p.Imports {
			ours, isOurs := strings.CutPrefix(path, "carrel/")
			switch {
			case !isOurs:
				if homes, ok := confined[path]; ok && !slices.Contains(homes, name) {
					t.Errorf("%s imports %s, which only %v may import", name, path, homes)
				}
			case slices.Contains(rule, "all") && !strings.HasPrefix(ours, "internal/testkit"):
			case !slices.Contains(rule, ours):
				t.Errorf("%s imports %s, which its row in docs/architecture.md does not list", name, ours)
			}
		}
	}
	for name := range unseen {
		t.Errorf("docs/architecture.md has a row for %s, which does not exist", name)
	}
}

// parseRules reads the table of packages: for each package, the packages of this module that it may import.
// A row whose name has braces applies to several packages, which "features" stands for in the last column;
// further rows of those packages add to it.
func parseRules(text string) (map[string][]string, error) {
	_, text, ok := strings.Cut(text, "| package | responsibility | may import |\n|---|---|---|\n")
	if !ok {
		return nil, errors.New("docs/architecture.md has no table of packages")
	}
	text, _, _ = strings.Cut(text, "\n\n")
	rules := map[string][]string{}
	var features []string
	for row := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(row), "|")
		if len(cells) != 5 {
			return nil, fmt.Errorf("not a row of three cells: %s", row)
		}
		names := []string{strings.Trim(cells[1], " `")}
		if m := regexp.MustCompile(`^internal/\{(.+)\}$`).FindStringSubmatch(names[0]); m != nil {
			names = internal(strings.Split(m[1], ","))
			features = names
		}
		var imports []string
		for word := range strings.SplitSeq(cells[3], ",") {
			switch word = strings.TrimSpace(word); word {
			case "–":
			case "features":
				imports = append(imports, features...)
			case "all", "api":
				imports = append(imports, word)
			default:
				imports = append(imports, internal([]string{word})...)
			}
		}
		for _, name := range names {
			rules[name] = append(rules[name], imports...)
		}
	}
	return rules, nil
}

func internal(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = "internal/" + n
	}
	return out
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
