package testkit

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeEnv makes the test binary act as carrel, to test the helper with misbehaving servers.
const fakeEnv = "TESTKIT_FAKE_CARREL"

// fakeCarrel is a program with carrel's command line that misbehaves according to mode. It does not return.
func fakeCarrel(mode string) {
	if os.Args[1] != "serve" {
		fmt.Print(strings.Join(os.Args[1:], " "))
		fmt.Fprint(os.Stderr, os.Getenv("CARREL_LEAKED"))
		os.Exit(3)
	}
	if mode == "ends" {
		fmt.Println("no such folder")
		os.Exit(1)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	addr := os.Args[slices.Index(os.Args, "--addr")+1]
	fmt.Println("serving on", addr)
	go func() {
		err := http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.URL.Path+" by "+strings.Join(os.Args[1:], " "))
		}))
		fmt.Println(err)
		os.Exit(1)
	}()
	<-stop
	if mode == "stops badly" {
		os.Exit(7)
	}
	os.Exit(0)
}

func fakeOptions(mode string) ServerOptions {
	return ServerOptions{Binary: os.Args[0], Env: []string{fakeEnv + "=" + mode}}
}

func get(t *testing.T, url string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func TestServerKeepsItsAddressAcrossRestarts(t *testing.T) {
	t.Parallel()
	opts := fakeOptions("well")
	opts.Database = "postgres:///somewhere"
	opts.Args = []string{"--demo"}
	s := StartServer(t, opts)
	url, first := s.URL, s.PID()
	body, err := get(t, url+"/hello")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"/hello", "--data " + s.Data, "--database postgres:///somewhere", "--demo"} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not in %q", want, body)
		}
	}

	s.Restart()
	if s.URL != url || s.PID() == first {
		t.Errorf("after Restart: %s as process %d; was %s as %d", s.URL, s.PID(), url, first)
	}
	s.Kill()
	if _, err := get(t, url); err == nil {
		t.Error("a killed server still answers")
	}
	if s.PID() != 0 {
		t.Error("a killed server has a process id")
	}
	s.Start()
	if _, err := get(t, url); err != nil {
		t.Error(err)
	}
	if n := strings.Count(s.Log(), "serving on"); n != 3 {
		t.Errorf("the log shows %d starts, want 3", n)
	}
}

func TestServerEndsWithItsTest(t *testing.T) {
	t.Parallel()
	var url string
	t.Run("the test", func(t *testing.T) { url = StartServer(t, fakeOptions("well")).URL })
	if _, err := get(t, url); err == nil {
		t.Error("the server outlived its test")
	}
}

func TestServerThatDoesNotStartFailsTheTestAtOnce(t *testing.T) {
	t.Parallel()
	start := time.Now()
	got := runHelper(t, func(tb testing.TB) { StartServer(tb, fakeOptions("ends")) })
	if got.outcome != "fatal" || !strings.Contains(got.message, "exited before it answered") {
		t.Errorf("got %+v, want a failure that says so", got)
	}
	if took := time.Since(start); took > serverStart/2 {
		t.Errorf("it took %v to see that the program had ended", took)
	}
}

func TestServerWithANonzeroExitFailsTheTest(t *testing.T) {
	t.Parallel()
	got := runHelper(t, func(tb testing.TB) {
		s := StartServer(tb, fakeOptions("stops badly"))
		s.Stop()
	})
	if got.outcome != "error" || !strings.Contains(got.message, "exit status 7") {
		t.Errorf("got %+v, want an error with the exit code", got)
	}
}

func TestCommandReturnsItsOutputAndCode(t *testing.T) {
	t.Setenv("CARREL_LEAKED", "a setting of the developer's")
	got := runCommand(t, os.Args[0], []string{fakeEnv + "=well"}, "version", "--json")
	if want := (Result{Stdout: "version --json", Code: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAdminCommandsUseTheServersData(t *testing.T) {
	t.Parallel()
	opts := fakeOptions("well")
	s := StartServer(t, opts)
	if got, want := s.Admin("user", "list").Stdout, "admin --data "+s.Data+" user list"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	opts.Database = "postgres:///somewhere"
	s = StartServer(t, opts)
	if got, want := s.Admin("user", "list").Stdout, "admin --database postgres:///somewhere user list"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestServerWithTheRealProgram starts the real program.
func TestServerWithTheRealProgram(t *testing.T) {
	t.Parallel()
	s := StartServer(t, ServerOptions{})
	if _, err := get(t, s.URL+"/healthz"); err != nil {
		t.Error(err)
	}
	if got := Carrel(t, "version"); got.Code != 0 || got.Stdout == "" {
		t.Errorf("carrel version: %+v", got)
	}
}
