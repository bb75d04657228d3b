package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/testkit"
	"carrel/internal/testkit/modelfake"
)

// terminal runs client commands as one user with an own folder for credentials.
type terminal struct {
	t   *testing.T
	env []string
}

// newTerminal signs in to the server with a key.
func newTerminal(t *testing.T, w *installation) *terminal {
	t.Helper()
	term := &terminal{t: t, env: []string{"XDG_CONFIG_HOME=" + t.TempDir(), "HOME=" + t.TempDir()}}
	login := term.command("login", "--server", w.server.URL, "--key")
	login.Stdin = strings.NewReader(w.key + "\n")
	if out, err := login.CombinedOutput(); err != nil {
		t.Fatalf("login: %v\n%s", err, out)
	}
	return term
}

func (term *terminal) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(term.t.Context(), testkit.Binary(term.t), args...)
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "CARREL_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, term.env...)
	return cmd
}

// output is what a command has printed so far.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// start runs a command in the background until its output matches.
func (term *terminal) start(until string, args ...string) (*exec.Cmd, *output) {
	term.t.Helper()
	cmd, out := term.command(args...), &output{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		term.t.Fatal(err)
	}
	wanted := regexp.MustCompile(until)
	for deadline := time.Now().Add(testkit.Patience); !wanted.MatchString(out.String()); {
		if time.Now().After(deadline) {
			term.t.Fatalf("carrel %v does not print %s, but\n%s", args, until, out)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return cmd, out
}

// TestAskContinuesAfterAnInterruption interrupts a command that prints an answer, kills a second one, and reads the
// answer with a third.
func TestAskContinuesAfterAnInterruption(t *testing.T) {
	t.Parallel()
	m := newScriptedModel(t, modelfake.OpenAI)
	release := make(chan struct{})
	var once sync.Once
	unblock := func() { once.Do(func() { close(release) }) }
	t.Cleanup(unblock)
	m.hold(func(string) bool {
		<-release
		return true
	})
	w := newLibraryWithModel(t, m)
	term := newTerminal(t, w)

	first, out := term.start(`· \S`, "ask", "What does the engine weave?")
	if err := first.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // its exit code is checked
	found := regexp.MustCompile(`carrel ask --resume (thr_\w+)\nCancel it: carrel threads cancel thr_`).
		FindStringSubmatch(out.String())
	if code := first.ProcessState.ExitCode(); code != 130 || found == nil {
		t.Fatalf("the interrupted command ends with %d and prints\n%s", code, out)
	}
	second, _ := term.start(`· \S`, "ask", "--resume", "last")
	if err := second.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = second.Wait() // killed
	third, out := term.start(`· \S`, "ask", "--resume", found[1])
	unblock()
	if err := third.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if answer := out.String(); !strings.Contains(answer, "The engine weaves patterns") ||
		!strings.Contains(answer, "\nSources\n[1] ") {
		t.Errorf("the answer is\n%s", out)
	}
	shown, err := term.command("threads", "show", found[1]).CombinedOutput()
	if err != nil || strings.Count(string(shown), "What does the engine weave?") != 1 {
		t.Errorf("%v: the thread is\n%s", err, shown)
	}
}

// TestAskContinuesAfterACrashOfTheServer kills the server during a turn. The command names the one that follows the
// answer after the restart.
func TestAskContinuesAfterACrashOfTheServer(t *testing.T) {
	t.Parallel()
	m := newScriptedModel(t, modelfake.OpenAI)
	release := make(chan struct{})
	var once sync.Once
	unblock := func() { once.Do(func() { close(release) }) }
	t.Cleanup(unblock)
	m.hold(func(string) bool {
		<-release
		return true
	})
	w := newLibraryWithModel(t, m)
	term := newTerminal(t, w)
	ask, out := term.start(`· \S`, "ask", "What does the engine weave?")
	w.server.Kill()
	_ = ask.Wait() // its exit code is checked
	if code := ask.ProcessState.ExitCode(); code != 7 ||
		!strings.Contains(out.String(), "when the server is back: carrel ask --resume thr_") {
		t.Errorf("the command ends with %d and prints\n%s", code, out)
	}
	unblock()
	w.server.Start()
	answer, err := term.command("ask", "--resume", "last").CombinedOutput()
	if err != nil || !strings.Contains(string(answer), "The engine weaves patterns") {
		t.Errorf("%v: the answer is\n%s", err, answer)
	}
}

func TestAskEndsWhenItsTurnIsCancelled(t *testing.T) {
	t.Parallel()
	m := newScriptedModel(t, modelfake.OpenAI)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	m.hold(func(string) bool {
		<-release
		return true
	})
	term := newTerminal(t, newLibraryWithModel(t, m))
	ask, out := term.start(`· \S`, "ask", "What does the engine weave?")
	cancelled, err := term.command("threads", "cancel", "last").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(cancelled), "Cancelled the turn in thr_") {
		t.Errorf("%v: %s", err, cancelled)
	}
	_ = ask.Wait() // its exit code is checked
	if code := ask.ProcessState.ExitCode(); code != 1 || !strings.Contains(out.String(), "the turn was cancelled") {
		t.Errorf("the command ends with %d and prints\n%s", code, out)
	}
}

// TestMCPBridge connects a client of the SDK over standard input and output, in both eras of the protocol.
func TestMCPBridge(t *testing.T) {
	t.Parallel()
	w := newLibrary(t, testkit.ServerOptions{})
	w.add(t, "Works", englishWorks, "--default", "--language", "en")
	inBothEras(t, func(t *testing.T, version string) {
		term := newTerminal(t, w)
		bridge := term.command("mcp")
		log := &output{}
		bridge.Stderr = log
		session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
			&mcp.CommandTransport{Command: bridge}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
		tools, err := session.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) < 10 {
			t.Fatalf("%+v, %v", tools, err)
		}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				result, err := session.CallTool(t.Context(), &mcp.CallToolParams{
					Name: "search", Arguments: map[string]any{"agentId": w.agent, "query": "analytical engine"},
				})
				if err != nil || result.IsError {
					t.Errorf("%+v, %v", result, err)
				}
			})
		}
		group.Wait()
		if err := session.Close(); err != nil {
			t.Errorf("%v\n%s", err, log)
		}
		if log.String() != "" {
			t.Errorf("the bridge prints %s", log)
		}
	})
}

func TestMCPBridgeSurvivesARestartOfTheServer(t *testing.T) {
	t.Parallel()
	w := newLibrary(t, testkit.ServerOptions{})
	term := newTerminal(t, w)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.CommandTransport{Command: term.command("mcp")}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the test may have ended the bridge
	w.server.Restart()
	if tools, err := session.ListTools(t.Context(), nil); err != nil || len(tools.Tools) < 10 {
		t.Errorf("%+v, %v", tools, err)
	}
	w.admin(t, "key", "revoke", "--user", "ada@example.org", "--name", "test")
	if _, err := session.ListTools(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "Run: carrel login") {
		t.Errorf("after the key was revoked: %v", err)
	}
}
