package programs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	contract "carrel/api"
)

// pathParameters returns the names of the parameters in the paths of the contract, which samples use as variables.
func pathParameters() []string {
	var names []string
	seen := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^  /\S*:$`).FindAllString(string(contract.Document), -1) {
		for _, parameter := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(match, -1) {
			if !seen[parameter[1]] {
				seen[parameter[1]] = true
				names = append(names, parameter[1])
			}
		}
	}
	return names
}

// sampleServer starts the server of the samples and returns the samples of a language: the first steps for that server,
// and those of all operations.
func sampleServer(t *testing.T, language string) (key, steps string, requests []string) {
	t.Helper()
	address, key := sdkServer(t)
	steps = strings.Join(samples(t, address+"/docs", language, "First steps"), "\n")
	// Operations without a method have the sample of curl.
	requests = slices.DeleteFunc(samples(t, address+"/docs", language, "Request: "), func(sample string) bool {
		return strings.HasPrefix(sample, "curl ")
	})
	if !strings.Contains(steps, address) || len(requests) < 100 {
		t.Fatalf("%d samples, and the first steps are:\n%s", len(requests), steps)
	}
	return key, steps, requests
}

// TestTypeScriptSamples checks the types of every TypeScript sample of the API reference, and runs the first steps.
func TestTypeScriptSamples(t *testing.T) {
	t.Parallel()
	skipWithoutTypeScript(t)
	key, steps, requests := sampleServer(t, "typescript")
	folder := t.TempDir()
	installTypeScript(t, folder)
	var program strings.Builder
	program.WriteString("import { Carrel } from \"carrel\";\ndeclare const carrel: Carrel;\n")
	for _, name := range pathParameters() {
		fmt.Fprintf(&program, "declare const %s: string;\n", name)
	}
	for i, sample := range requests {
		fmt.Fprintf(&program, "export async function sample%d() {\n%s\n}\n", i, sample)
	}
	compileTypeScript(t, folder, map[string]string{"samples.ts": program.String(), "steps.ts": steps})
	if out := runIn(t, folder, []string{"CARREL_KEY=" + key}, "node", "steps.js"); !strings.Contains(out, "Codd") {
		t.Errorf("the first steps print:\n%s", out)
	}
}

// TestPythonSamples checks the types of every Python sample of the API reference, and runs the first steps.
func TestPythonSamples(t *testing.T) {
	t.Parallel()
	python, mypy := pythonTool(t, "python"), pythonTool(t, "mypy")
	key, steps, requests := sampleServer(t, "python")
	var parameters, program strings.Builder
	capital := regexp.MustCompile(`[A-Z]`)
	for _, name := range pathParameters() {
		name = capital.ReplaceAllStringFunc(name, func(letter string) string { return "_" + strings.ToLower(letter) })
		fmt.Fprintf(&parameters, ", %s: str", name)
	}
	program.WriteString("from carrel import Client\n")
	for i, sample := range requests {
		fmt.Fprintf(&program, "\n\ndef sample%d(carrel: Client%s) -> None:\n    %s\n", i, parameters.String(),
			strings.ReplaceAll(sample, "\n", "\n    "))
	}
	source, err := filepath.Abs(filepath.Join(pythonFolder, "src"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	writeTestFile(t, folder, "samples.py", program.String())
	writeTestFile(t, folder, "steps.py", steps)
	runIn(t, folder, []string{"MYPYPATH=" + source}, mypy, "--strict", "--cache-dir="+folder, "samples.py")
	out := runIn(t, folder, []string{
		"CARREL_KEY=" + key, "PYTHONPATH=" + source, "PYTHONDONTWRITEBYTECODE=1",
	}, python, "steps.py")
	if !strings.Contains(out, "Codd") {
		t.Errorf("the first steps print:\n%s", out)
	}
}
