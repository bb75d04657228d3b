package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/app"
	"carrel/internal/config"
	"carrel/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// installation is a data folder with the commands that tests run on it.
type installation struct {
	t    *testing.T
	data string
}

const owner = "ada@example.org"

// newInstallation creates a data folder with one account.
func newInstallation(t *testing.T) installation {
	t.Helper()
	in := installation{t: t, data: t.TempDir()}
	in.admin("user", "create", "--email", owner, "--name", "Ada", "--password", "correct horse")
	return in
}

// admin runs an admin command that must succeed and returns its output.
func (in installation) admin(args ...string) string {
	in.t.Helper()
	code, out, errs := run(in.t, append([]string{"admin", "--data", in.data}, args...)...)
	if code != exitOK {
		in.t.Fatalf("%v: exit code %d, %s%s", args, code, out, errs)
	}
	return out
}

// refused runs an admin command that must fail and returns its error output.
func (in installation) refused(args ...string) string {
	in.t.Helper()
	code, out, errs := run(in.t, append([]string{"admin", "--data", in.data}, args...)...)
	if code != exitFailed {
		in.t.Fatalf("%v: exit code %d, %s%s", args, code, out, errs)
	}
	return errs
}

// json runs an admin command with --json and returns its object.
func (in installation) json(args ...string) map[string]any {
	in.t.Helper()
	out := in.admin(append(args, "--json")...)
	var object map[string]any
	if err := json.Unmarshal([]byte(out), &object); err != nil || strings.Count(out, "\n") != 1 {
		in.t.Fatalf("%v prints %q, not one line with a JSON object", args, out)
	}
	return object
}

// agent creates an agent and returns its id.
func (in installation) agent(name string) string {
	in.t.Helper()
	return in.json("agent", "create", "--user", owner, "--name", name)["agent"].(map[string]any)["id"].(string)
}

// serve runs the server on a free port until the test ends and returns its address.
func (in installation) serve(settings ...string) string {
	in.t.Helper()
	env := Env{In: strings.NewReader(""), Out: &buffer{}, Err: &buffer{}, Getenv: func(string) string { return "" }}
	for i := 0; i < len(settings); i += 2 {
		env.Environ = append(env.Environ, settings[i]+"="+settings[i+1])
	}
	addr, level := "127.0.0.1:0", "info"
	command := serveCommand{Addr: &addr, Data: &in.data, LogLevel: &level}
	ctx, stop := context.WithCancel(context.WithoutCancel(in.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- command.Run(ctx, &env) }()
	in.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			in.t.Errorf("the server ended with %v\n%s", err, env.Err)
		}
	})
	listening := regexp.MustCompile(`"listening","addr":"(127\.0\.0\.1:\d+)"`)
	for {
		if m := listening.FindStringSubmatch(env.Err.(*buffer).String()); m != nil {
			return "http://" + m[1]
		}
		select {
		case err := <-ended:
			ended <- nil
			in.t.Fatalf("the server ended with %v\n%s", err, env.Err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// buffer is a bytes.Buffer that a server and a test may use at the same time.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// mustContain fails unless text contains every part.
func mustContain(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not contain %q", text, part)
		}
	}
}

// openApp opens an installation in this process until the test ends.
func openApp(t *testing.T, cfg config.Config) *app.App {
	t.Helper()
	opened, err := app.Open(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return opened
}
