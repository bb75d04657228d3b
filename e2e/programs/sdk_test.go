package programs

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"carrel/internal/testkit"
)

const (
	typescriptFolder = "../../sdk/typescript"
	pythonFolder     = "../../sdk/python"
)

// sdkServer starts a server with the demo library and returns its address and the key of its owner.
func sdkServer(t *testing.T) (address, key string) {
	t.Helper()
	server := testkit.StartServer(t, testkit.ServerOptions{Args: []string{"--demo"}})
	text, err := os.ReadFile(filepath.Join(server.Data, "demo.key"))
	if err != nil {
		t.Fatal(err)
	}
	return server.URL, strings.TrimSpace(string(text))
}

// skipWithoutTypeScript skips a test that needs the packages of the TypeScript SDK.
func skipWithoutTypeScript(t *testing.T) {
	t.Helper()
	testkit.SkipUnless(t, "node", "npm")
	if _, err := os.Stat(filepath.Join(typescriptFolder, "node_modules", ".bin", "tsc")); err != nil {
		testkit.SkipMissing(t, "the packages of the TypeScript SDK are not installed: make setup")
	}
}

// pythonTool returns the path of a program of the environment of the Python SDK.
func pythonTool(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../.cache/sdk-python/bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		testkit.SkipMissing(t, "the packages of the Python SDK are not installed: make setup")
	}
	return path
}

// runIn runs a program in a folder and returns its output.
func runIn(t *testing.T, folder string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%.6000s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return string(out)
}

// writeTestFile writes a file into a folder.
func writeTestFile(t *testing.T, folder, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// readmeBlocks returns the quick start of a README and its second block in a language, which streams a turn.
func readmeBlocks(t *testing.T, page, language string) (quickStart, streaming string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, rest := range strings.Split(string(text), "\n```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(rest, "\n```\n")
		blocks = append(blocks, block+"\n")
	}
	if len(blocks) != 2 {
		t.Fatalf("%s has %d blocks in %s, want 2", page, len(blocks), language)
	}
	return blocks[0], blocks[1]
}

// wantStreamed checks the output of the block that streams a turn: its steps and its text.
func wantStreamed(t *testing.T, out string) {
	t.Helper()
	if !strings.Contains(out, "Searching 1 source\n") || !strings.Contains(out, "[1]") {
		t.Errorf("the streamed turn prints:\n%s", out)
	}
}

// packedTypeScript builds the npm package of the SDK once for all tests and returns its path. Builds at the same time
// would delete each other's files, because each begins with an empty dist.
var packedTypeScript = sync.OnceValues(func() (string, error) {
	folder, err := testkit.SharedFolder()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(context.Background(), "npm", "pack", "--silent", "--pack-destination", folder)
	cmd.Dir = typescriptFolder
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm pack: %w\n%.6000s", err, out)
	}
	return filepath.Join(folder, "carrel-0.1.0.tgz"), nil
})

// installTypeScript installs the npm package of the SDK into a folder without a registry and returns the package.
func installTypeScript(t *testing.T, folder string) (archive string) {
	t.Helper()
	archive, err := packedTypeScript()
	if err != nil {
		t.Fatal(err)
	}
	runIn(t, folder, nil, "npm", "install", "--offline", "--no-audit", "--no-fund", "--loglevel=error", archive)
	return archive
}

// TestTypeScriptSDK runs the tests of the SDK, also with a real server.
func TestTypeScriptSDK(t *testing.T) {
	t.Parallel()
	skipWithoutTypeScript(t)
	address, key := sdkServer(t)
	built := t.TempDir()
	runIn(t, typescriptFolder, nil, "node_modules/.bin/tsc", "--outDir", built)
	writeTestFile(t, built, "package.json", `{"type": "module"}`)
	tests, err := filepath.Glob(filepath.Join(built, "test", "*.test.js"))
	if err != nil || len(tests) == 0 {
		t.Fatal("there are no tests", err)
	}
	out := runIn(t, typescriptFolder, []string{"CARREL_TEST_SERVER=" + address, "CARREL_TEST_KEY=" + key}, "node",
		append([]string{"--test", "--test-reporter=tap"}, tests...)...)
	if !strings.Contains(out, "\n# skipped 0\n") {
		t.Errorf("tests were skipped:\n%s", out)
	}
}

// TestPythonSDK runs the tests of the SDK, also with a real server.
func TestPythonSDK(t *testing.T) {
	t.Parallel()
	python := pythonTool(t, "python")
	address, key := sdkServer(t)
	out := runIn(t, pythonFolder, []string{
		"CARREL_TEST_SERVER=" + address, "CARREL_TEST_KEY=" + key, "PYTHONPATH=src", "PYTHONDONTWRITEBYTECODE=1",
	}, python, "-W", "error", "-m", "unittest", "-v")
	if strings.Contains(out, "skipped=") || !strings.Contains(out, "\nOK\n") {
		t.Errorf("tests were skipped:\n%s", out)
	}
}

// TestTypeScriptPackage packs the SDK, installs it without a registry and runs the quick start of its README.
func TestTypeScriptPackage(t *testing.T) {
	t.Parallel()
	skipWithoutTypeScript(t)
	address, key := sdkServer(t)
	folder := t.TempDir()
	archive := installTypeScript(t, folder)
	want := []string{"package/LICENSE", "package/README.md", "package/package.json"}
	for _, module := range []string{"client", "errors", "events", "index", "operations", "request", "schema", "webhook"} {
		want = append(want, "package/dist/"+module+".d.ts", "package/dist/"+module+".js")
	}
	wantFiles(t, tarFiles(t, archive), want)

	program, streaming := readmeBlocks(t, filepath.Join(typescriptFolder, "README.md"), "ts")
	compileTypeScript(t, folder, map[string]string{
		"quick.ts": strings.ReplaceAll(program, "http://127.0.0.1:8080", address),
		"stream.ts": `import { Carrel, TurnText } from "carrel";
const carrel = new Carrel("` + address + `", { token: process.env.CARREL_KEY });
const agentId = (await carrel.listAgents()).agents[0]!.id;
` + streaming,
	})
	wantQuickStart(t, program, runIn(t, folder, []string{"CARREL_KEY=" + key}, "node", "quick.js"))
	wantStreamed(t, runIn(t, folder, []string{"CARREL_KEY=" + key}, "node", "stream.js"))

	cmd := exec.CommandContext(t.Context(), "node", "quick.js")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "CARREL_KEY=crl_wrong")
	out, err := cmd.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); !failed || !strings.Contains(string(out), "invalid_credential") {
		t.Errorf("with a wrong key: %v\n%s", err, out)
	}
}

// compileTypeScript compiles programs of a folder whose node_modules has the SDK. They are compiled at once, without a
// check of the declarations of the compiler itself, because most of the time goes to declarations.
func compileTypeScript(t *testing.T, folder string, programs map[string]string) {
	t.Helper()
	modules, err := filepath.Abs(filepath.Join(typescriptFolder, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	writeTestFile(t, folder, "package.json", `{"private": true, "type": "module"}`)
	for name, program := range programs {
		writeTestFile(t, folder, name, program)
	}
	args := []string{
		"--strict", "--skipDefaultLibCheck", "--module", "nodenext", "--target", "es2022", "--lib",
		"es2023,dom,dom.asynciterable", "--typeRoots", filepath.Join(modules, "@types"), "--types", "node",
	}
	runIn(t, folder, nil, filepath.Join(modules, ".bin", "tsc"), slices.AppendSeq(args, maps.Keys(programs))...)
}

// TestPythonPackage builds the wheel of the SDK, installs it without an index and runs the quick start of its README.
func TestPythonPackage(t *testing.T) {
	t.Parallel()
	pip, python := pythonTool(t, "pip"), pythonTool(t, "python")
	address, key := sdkServer(t)
	folder := t.TempDir()
	runIn(t, pythonFolder, nil, pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
		"--wheel-dir", folder, ".")
	wheel := filepath.Join(folder, "carrel-0.1.0-py3-none-any.whl")
	var want []string
	for _, module := range []string{
		"__init__", "_client", "_errors", "_events", "_file", "_operations", "_request", "_webhook", "types",
	} {
		want = append(want, "carrel/"+module+".py")
	}
	for _, name := range []string{"METADATA", "RECORD", "WHEEL", "licenses/LICENSE"} {
		want = append(want, "carrel-0.1.0.dist-info/"+name)
	}
	wantFiles(t, zipFiles(t, wheel), append(want, "carrel/py.typed"))

	installed := filepath.Join(folder, "installed")
	runIn(t, folder, nil, pip, "install", "--quiet", "--no-deps", "--no-index", "--target", installed, wheel)
	program, streaming := readmeBlocks(t, filepath.Join(pythonFolder, "README.md"), "python")
	writeTestFile(t, folder, "quick.py", strings.ReplaceAll(program, "http://127.0.0.1:8080", address))
	env := []string{"PYTHONPATH=" + installed, "MYPYPATH=" + installed, "CARREL_KEY=" + key}
	writeTestFile(t, folder, "stream.py", "import os\nimport sys\n\nimport carrel\n\nclient = carrel.Client(\""+address+
		"\", os.environ[\"CARREL_KEY\"])\nagent_id = client.list_agents()[\"agents\"][0][\"id\"]\n"+streaming)
	runIn(t, folder, env, pythonTool(t, "mypy"), "--strict", "--cache-dir", filepath.Join(folder, "mypy"), "quick.py",
		"stream.py")
	wantQuickStart(t, program, runIn(t, folder, env, python, "quick.py"))
	wantStreamed(t, runIn(t, folder, env, python, "stream.py"))

	cmd := exec.CommandContext(t.Context(), python, "quick.py")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "PYTHONPATH="+installed, "CARREL_KEY=crl_wrong")
	out, err := cmd.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); !failed || !strings.Contains(string(out), "invalid_credential") ||
		strings.Contains(string(out), "Traceback") {
		t.Errorf("with a wrong key: %v\n%s", err, out)
	}
}

// wantQuickStart checks the length of a quick start and the answer that it prints.
func wantQuickStart(t *testing.T, program, out string) {
	t.Helper()
	if n := strings.Count(program, "\n"); n > 15 {
		t.Errorf("the quick start has %d lines", n)
	}
	if !strings.Contains(out, "Landmarks: ") || !strings.Contains(out, "[1] A Relational Model of Data") {
		t.Errorf("the quick start prints:\n%s", out)
	}
}

// TestSDKVersionsFollowTheContract compares the versions of the packages with the version of the contract.
func TestSDKVersionsFollowTheContract(t *testing.T) {
	t.Parallel()
	version := regexp.MustCompile(`(?m)^\s*"?version"?\s*[:=]\s*"?([0-9]+\.[0-9]+)\.[0-9]+"?,?$`)
	find := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		match := version.FindSubmatch(text)
		if match == nil {
			t.Fatalf("%s has no version", name)
		}
		return string(match[1])
	}
	want := find("../../api/openapi.yaml")
	for _, name := range []string{typescriptFolder + "/package.json", pythonFolder + "/pyproject.toml"} {
		if got := find(name); got != want {
			t.Errorf("%s has the version %s, the contract %s", name, got, want)
		}
	}
}

// wantFiles compares the files of a package with the expected ones and its license with ours.
func wantFiles(t *testing.T, files map[string][]byte, want []string) {
	t.Helper()
	license, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for name, content := range files {
		got = append(got, name)
		if filepath.Base(name) == "LICENSE" && !bytes.Equal(content, license) {
			t.Errorf("%s is not the license of the repository", name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the package has the files %q, want %q", got, want)
	}
}

// tarFiles returns the files of a compressed archive.
func tarFiles(t *testing.T, path string) map[string][]byte {
	t.Helper()
	archive, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	plain, err := gzip.NewReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for entries := tar.NewReader(plain); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[entry.Name], err = io.ReadAll(entries); err != nil {
			t.Fatal(err)
		}
	}
}

// zipFiles returns the files of a zip archive.
func zipFiles(t *testing.T, path string) map[string][]byte {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	files := map[string][]byte{}
	for _, entry := range archive.File {
		content, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[entry.Name], err = io.ReadAll(content); err != nil {
			t.Fatal(err)
		}
	}
	return files
}
