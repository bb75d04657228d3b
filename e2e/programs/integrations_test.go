package programs

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"carrel/internal/testkit"
)

const integrationsPage = "../../docs/integrations.md"

// integrationBlock returns the first block in a language below a heading of the page about integrations.
func integrationBlock(t *testing.T, heading, language string) string {
	t.Helper()
	text, err := os.ReadFile(integrationsPage)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, rest, opened := strings.Cut(section, "\n```"+language+"\n")
	block, _, closed := strings.Cut(rest, "\n```\n")
	if !found || !opened || !closed {
		t.Fatalf("the section %s has no block in %s", heading, language)
	}
	return block + "\n"
}

// commandFolder returns a folder with the program carrel, for PATH.
func commandFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Symlink(testkit.Binary(t), filepath.Join(folder, "carrel")); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestEditorsAnswerASelection runs the script of the page by itself and as a filter of Vim.
func TestEditorsAnswerASelection(t *testing.T) {
	t.Parallel()
	testkit.SkipUnless(t, "sh")
	address, key := sdkServer(t)
	folder := commandFolder(t)
	script := filepath.Join(folder, "carrel-answer")
	if err := os.WriteFile(script, []byte(integrationBlock(t, "Editors", "sh")), 0o700); err != nil {
		t.Fatal(err)
	}
	const selection = "Who proposed the relational model?"
	env := append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "HOME="+t.TempDir(), "XDG_CONFIG_HOME=",
		"CARREL_SERVER="+address)
	answer := func(key string, args ...string) (stdout, stderr string, err error) {
		cmd := exec.CommandContext(t.Context(), script, args...)
		cmd.Env = append(env, "CARREL_KEY="+key)
		cmd.Stdin = strings.NewReader(selection + "\n")
		var out, problems strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &problems
		err = cmd.Run()
		return out.String(), problems.String(), err
	}
	wantAnswer := func(text string) {
		t.Helper()
		if !strings.HasPrefix(text, selection+"\n\n") || !strings.Contains(text, "\nSources\n[1] A Relational Model") ||
			strings.Contains(text, "· ") || strings.Contains(text, "Continue: ") {
			t.Errorf("the answer is:\n%s", text)
		}
	}
	out, problems, err := answer(key)
	if err != nil || problems != "" {
		t.Errorf("%v: %s", err, problems)
	}
	wantAnswer(out)
	if out, problems, err := answer(key, "Answer in one sentence."); err != nil || !strings.Contains(out, "Codd") {
		t.Errorf("with an instruction: %v %s\n%s", err, problems, out)
	}
	out, problems, err = answer("crl_wrong")
	if err == nil || out != selection+"\n" || problems == "" {
		t.Errorf("with a wrong key: %v\n%s\n%s", err, out, problems)
	}

	t.Run("Vim", func(t *testing.T) {
		vim, err := exec.LookPath("vim")
		if err != nil {
			t.Skip("vim is not installed")
		}
		note := filepath.Join(folder, "note.md")
		writeTestFile(t, folder, "note.md", "# Notes\n"+selection+"\nThe last line.\n")
		cmd := exec.CommandContext(t.Context(), vim, "-Nu", "NONE", "-i", "NONE", "-es", "-c", "2,2!carrel-answer",
			"-c", "wq", note)
		cmd.Env = append(env, "CARREL_KEY="+key)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		text, err := os.ReadFile(note)
		if err != nil {
			t.Fatal(err)
		}
		body, found := strings.CutPrefix(string(text), "# Notes\n")
		if !found || !strings.HasSuffix(body, "\nThe last line.\n") {
			t.Errorf("other lines have changed:\n%s", text)
		}
		wantAnswer(body)
	})
}

// importInstallation starts a server with an agent Papers and returns its address and a key for imports.
func importInstallation(t *testing.T) (address, key string) {
	t.Helper()
	server := testkit.StartServer(t, testkit.ServerOptions{})
	server.MustAdmin("user", "create", "--email", "ada@example.org", "--name", "Ada", "--password", documentPassword)
	server.MustAdmin("agent", "create", "--user", "ada@example.org", "--name", "Papers")
	return server.URL, newKey(t, server, "ada@example.org", "agents,manage")
}

// newKey creates a key with scopes.
func newKey(t *testing.T, server *testkit.Server, user, scopes string) string {
	t.Helper()
	var reply struct{ Secret string }
	text := server.MustAdmin("key", "create", "--user", user, "--name", "test", "--scopes", scopes, "--json")
	if err := json.Unmarshal([]byte(text), &reply); err != nil || reply.Secret == "" {
		t.Fatalf("%v: no secret", err)
	}
	return reply.Secret
}

// TestWorkflowImportsAFolder runs the commands of the workflow of GitHub Actions on a checked-out repository.
func TestWorkflowImportsAFolder(t *testing.T) {
	t.Parallel()
	testkit.SkipUnless(t, "bash", "curl", "tar")
	address, key := importInstallation(t)
	archive := serveArchive(t)
	var workflow struct {
		Jobs map[string]struct {
			Env   map[string]string
			Steps []struct {
				Uses, Name, Run string
				Env             map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(integrationBlock(t, "GitHub Actions", "yaml")), &workflow); err != nil {
		t.Fatal(err)
	}
	// values stand for the expressions of the workflow.
	values := map[string]string{
		"vars.CARREL_SERVER": address, "vars.CARREL_ARCHIVE": archive, "secrets.CARREL_KEY": key,
	}
	expand := func(env map[string]string) (out []string) {
		for name, value := range env {
			expression := strings.TrimSuffix(strings.TrimPrefix(value, "${{ "), " }}")
			if values[expression] == "" {
				t.Fatalf("%s has the value %s", name, value)
			}
			out = append(out, name+"="+values[expression])
		}
		return out
	}
	repository, temporary := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(repository, "docs", "guides"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeTestFile(t, repository, "docs/guides/start.md", "# Start\n\nThe first steps.\n")
	job := workflow.Jobs["import"]
	// run executes the steps as a runner does: each in its own shell, with the folders of earlier steps in PATH.
	run := func() (out string, err error) {
		paths := filepath.Join(temporary, "paths")
		for _, step := range job.Steps {
			if step.Run == "" {
				continue
			}
			added, _ := os.ReadFile(paths) // the first step has added none
			cmd := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", step.Run)
			cmd.Dir = repository
			cmd.Env = append(os.Environ(), "HOME="+temporary, "RUNNER_TEMP="+temporary, "GITHUB_PATH="+paths,
				"PATH="+strings.ReplaceAll(string(added), "\n", ":")+os.Getenv("PATH"))
			cmd.Env = append(append(cmd.Env, expand(job.Env)...), expand(step.Env)...)
			text, err := cmd.CombinedOutput()
			if out += string(text); err != nil {
				return out, fmt.Errorf("%s: %w", step.Name, err)
			}
		}
		return out, nil
	}
	if out, err := run(); err != nil || !strings.Contains(out, "1 added") {
		t.Errorf("the first run: %v\n%s", err, out)
	}
	if out, err := run(); err != nil || !strings.Contains(out, "1 unchanged") {
		t.Errorf("the second run: %v\n%s", err, out)
	}
	writeTestFile(t, repository, "docs/broken.pdf", "no PDF")
	if out, err := run(); err == nil || !strings.Contains(out, "broken.pdf") {
		t.Errorf("a refused file: %v\n%s", err, out)
	}
}

// serveArchive serves the program in an archive with the layout of make package and returns the address.
func serveArchive(t *testing.T) string {
	t.Helper()
	program, err := os.ReadFile(testkit.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		compressed, _ := gzip.NewWriterLevel(w, gzip.NoCompression) // the level is valid
		archive := tar.NewWriter(compressed)
		entry := &tar.Header{Name: "carrel_1.0.0_linux_amd64/carrel", Mode: 0o755, Size: int64(len(program))}
		if err := archive.WriteHeader(entry); err != nil {
			return // the client has disconnected, and the step fails
		}
		_, _ = archive.Write(program)
		_ = archive.Close()
		_ = compressed.Close()
	}))
	t.Cleanup(server.Close)
	return server.URL + "/carrel.tar.gz"
}

// TestCrontabImportsAFolder signs in and runs the command of the crontab as cron does, with sh and few variables.
func TestCrontabImportsAFolder(t *testing.T) {
	t.Parallel()
	testkit.SkipUnless(t, "sh")
	address, key := importInstallation(t)
	home, commands := t.TempDir(), commandFolder(t)
	writeTestFile(t, home, "import.key", key+"\n")
	if err := os.Mkdir(filepath.Join(home, "papers"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeTestFile(t, home, "papers/note.md", "# A note\n\nText.\n")
	path, line, found := strings.Cut(integrationBlock(t, "Cron", "crontab"), "\n")
	entry := regexp.MustCompile(`^(?:[0-9*,/-]+ ){5}([^%\n]+)\n$`).FindStringSubmatch(line)
	if !found || entry == nil || !strings.HasPrefix(path, "PATH=") {
		t.Fatalf("the crontab is %s\n%s", path, line)
	}
	for _, c := range []struct{ command, want string }{
		{strings.ReplaceAll(integrationBlock(t, "Cron", "sh"), "http://127.0.0.1:8080", address), "Signed in"},
		{entry[1], "1 added"},
		{entry[1], "1 unchanged"},
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", c.command)
		cmd.Dir = home
		cmd.Env = []string{"HOME=" + home, strings.Replace(path, "PATH=", "PATH="+commands+":", 1)}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v\n%s", c.command, err, out)
		}
	}
}

// TestWebhookReceiversReadTheReply starts each receiver of the page, registers it and ends a turn.
func TestWebhookReceiversReadTheReply(t *testing.T) {
	t.Parallel()
	server := testkit.StartServer(t, testkit.ServerOptions{
		Args: []string{"--demo"}, Env: []string{"CARREL_OUTBOUND_PRIVATE=on"},
	})
	const owner = "demo@example.org"
	key, accountKey := newKey(t, server, owner, "agents"), newKey(t, server, owner, "account")
	for language, build := range map[string]func(t *testing.T, program string) *exec.Cmd{
		"go": buildGoReceiver, "ts": buildTypeScriptReceiver, "python": buildPythonReceiver,
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			cmd := build(t, integrationBlock(t, "A webhook receiver", language))
			listen := testkit.ReserveAddr(t)
			host, port, err := net.SplitHostPort(listen)
			if err != nil {
				t.Fatal(err)
			}
			secret := registerReceiver(t, server.URL, accountKey, "http://"+listen+"/carrel")
			cmd.Env = append(cmd.Environ(), "CARREL_SERVER="+server.URL, "CARREL_KEY="+key,
				"CARREL_WEBHOOK_SECRET="+secret, "ADDR="+host, "PORT="+port)
			lines := startReceiver(t, cmd, listen)

			// A request that is not signed with the secret is refused.
			if status := postForged(t, "http://"+listen+"/carrel"); status != http.StatusUnauthorized {
				t.Errorf("a forged request gets %d", status)
			}
			runIn(t, t.TempDir(), []string{
				"CARREL_SERVER=" + server.URL, "CARREL_KEY=" + key, "HOME=" + t.TempDir(), "XDG_CONFIG_HOME=",
			}, testkit.Binary(t), "ask", "Who proposed the relational model?")
			waitForLine(t, lines, "Edgar Codd")
		})
	}
}

// postForged sends a message without a signature and returns the status of the reply.
func postForged(t *testing.T, address string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address,
		strings.NewReader(`{"type":"turn.completed"}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// waitForLine waits for a line with a text.
func waitForLine(t *testing.T, lines <-chan string, text string) {
	t.Helper()
	for limit := time.After(5 * time.Minute); ; {
		select {
		case line, open := <-lines:
			if !open {
				t.Fatal("the program has ended")
			}
			if strings.Contains(line, text) {
				return
			}
		case <-limit:
			t.Fatalf("the program did not print %s", text)
		}
	}
}

// registerReceiver registers a webhook with the command of the page and returns its secret.
func registerReceiver(t *testing.T, server, accountKey, receiver string) string {
	t.Helper()
	testkit.SkipUnless(t, "curl", "sh")
	command := strings.ReplaceAll(integrationBlock(t, "A webhook receiver", "sh"), "https://hooks.example.org/carrel",
		receiver)
	var reply struct{ Secret string }
	out := runIn(t, t.TempDir(), []string{"CARREL_SERVER=" + server, "CARREL_ACCOUNT_KEY=" + accountKey}, "sh", "-c",
		command)
	if err := json.Unmarshal([]byte(out), &reply); err != nil || reply.Secret == "" {
		t.Fatalf("%v: the reply has no secret", err)
	}
	return reply.Secret
}

// startReceiver starts a receiver and returns the lines of its output once it accepts connections.
func startReceiver(t *testing.T, cmd *exec.Cmd, address string) <-chan string {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = io.Discard // it may repeat the forged request
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		for range lines { // until the end of the output, which Wait requires
		}
		_ = cmd.Wait() // it was killed
	})
	for deadline := time.Now().Add(testkit.Patience); ; time.Sleep(20 * time.Millisecond) {
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = connection.Close()
			return lines
		}
		if time.Now().After(deadline) {
			t.Fatalf("the receiver does not listen: %v", err)
		}
	}
}

// buildGoReceiver compiles a program in the module of the repository.
func buildGoReceiver(t *testing.T, program string) *exec.Cmd {
	t.Helper()
	folder := t.TempDir()
	writeTestFile(t, folder, "main.go", program)
	binary := filepath.Join(folder, "receiver")
	runIn(t, "..", nil, "go", "build", "-o", binary, filepath.Join(folder, "main.go"))
	return exec.CommandContext(t.Context(), binary)
}

// buildTypeScriptReceiver compiles a program that imports the installed SDK.
func buildTypeScriptReceiver(t *testing.T, program string) *exec.Cmd {
	t.Helper()
	skipWithoutTypeScript(t)
	folder := t.TempDir()
	installTypeScript(t, folder)
	compileTypeScript(t, folder, map[string]string{"receiver.ts": program})
	cmd := exec.CommandContext(t.Context(), "node", "receiver.js")
	cmd.Dir = folder
	return cmd
}

// buildPythonReceiver checks the types of a program that imports the SDK.
func buildPythonReceiver(t *testing.T, program string) *exec.Cmd {
	t.Helper()
	python, mypy := pythonTool(t, "python"), pythonTool(t, "mypy")
	source, err := filepath.Abs(filepath.Join(pythonFolder, "src"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	writeTestFile(t, folder, "receiver.py", program)
	runIn(t, folder, []string{"MYPYPATH=" + source}, mypy, "--strict", "--cache-dir", filepath.Join(folder, "mypy"),
		"receiver.py")
	cmd := exec.CommandContext(t.Context(), python, "receiver.py")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "PYTHONPATH="+source, "PYTHONDONTWRITEBYTECODE=1")
	return cmd
}
