package programs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestDeployedSettingsExist checks all CARREL_ variables in the files of deploy.
func TestDeployedSettingsExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"CARREL_CONFIG": true}
	for line := range strings.Lines(runCarrel(t, "config", "--data", t.TempDir())) {
		fields := strings.Fields(line)
		known[fields[len(fields)-1]] = true
	}
	found := 0
	forDeployFiles(t, func(path, text string) {
		for _, name := range regexp.MustCompile(`\bCARREL_[A-Z_]+\b`).FindAllString(text, -1) {
			found++
			if !known[name] && !known[strings.TrimSuffix(name, "_FILE")] {
				t.Errorf("%s: %s is not a setting", path, name)
			}
		}
	})
	if found < 20 {
		t.Errorf("only %d variables were found", found)
	}
}

// TestDeployedYAMLIsValid parses all YAML files of deploy, with aliases and merge keys.
func TestDeployedYAMLIsValid(t *testing.T) {
	t.Parallel()
	forDeployFiles(t, func(path, text string) {
		if ext := filepath.Ext(path); ext != ".yaml" && ext != ".yml" {
			return
		}
		for part := range strings.SplitSeq(text, "\n---\n") {
			var value map[string]any
			if err := yaml.Unmarshal([]byte(part), &value); err != nil || len(value) == 0 {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
}

// TestImageAndUnitRunCommandsThatExist compares the commands in the Dockerfile and the unit with the help.
func TestImageAndUnitRunCommandsThatExist(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var commands []string
	for _, m := range regexp.MustCompile(`CMD \["(?:/usr/bin/carrel", ")?([a-z]+)"\]`).
		FindAllStringSubmatch(read("../../deploy/Dockerfile"), -1) {
		commands = append(commands, m[1])
	}
	for _, m := range regexp.MustCompile(`(?m)^ExecStart=/usr/bin/carrel (.*)$`).
		FindAllStringSubmatch(read("../../deploy/systemd/carrel.service"), -1) {
		commands = append(commands, m[1])
	}
	if got := strings.Join(commands, " "); got != "health serve serve" {
		t.Errorf("the image and the unit run %q", got)
	}
	for _, c := range commands {
		runCarrel(t, append(strings.Fields(c), "--help")...)
	}
}

func forDeployFiles(t *testing.T, f func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir("../../deploy", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		f(path, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
