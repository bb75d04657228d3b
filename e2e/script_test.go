package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"carrel/internal/testkit"
)

// TestScripts drives the built program as a person at a terminal would: testdata/script holds one story a file.
//
// Beside testscript's own commands there are: "await" waits until $BASE serves; "api METHOD PATH [BODY]" sends a
// request with the credential in $KEY and prints the status and the body; "capture NAME REGEXP" puts the first match
// in what was printed last into a variable.
func TestScripts(t *testing.T) {
	binary := testkit.Binary(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			addr, err := freeAddr()
			if err != nil {
				return err
			}
			env.Setenv("ADDR", addr)
			env.Setenv("BASE", "http://"+addr)
			env.Setenv("CARREL_DATA", filepath.Join(env.WorkDir, "data"))
			env.Setenv("PATH", filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"await": await, "api": api, "capture": capture, "mode": mode,
		},
	})
}

// freeAddr returns an address that was free a moment ago.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func await(ts *testscript.TestScript, _ bool, _ []string) {
	url := ts.Getenv("BASE") + "/healthz"
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(url)
		if err != nil {
			continue
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return
		}
	}
	ts.Fatalf("%s did not answer in 30 s", url)
}

func api(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: api METHOD PATH [BODY]")
	}
	var body io.Reader
	if len(args) == 3 {
		body = strings.NewReader(args[2])
	}
	req, err := http.NewRequest(args[0], ts.Getenv("BASE")+args[1], body)
	ts.Check(err)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key := strings.TrimSpace(ts.Getenv("KEY")); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	client := http.Client{Timeout: 30 * time.Second}
	resp, err := client.Do(req)
	ts.Check(err)
	b, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(resp.Body.Close())
	_, err = fmt.Fprintf(ts.Stdout(), "%d\n%s\n", resp.StatusCode, b)
	ts.Check(err)
}

func capture(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: capture NAME REGEXP")
	}
	m := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if m == nil {
		ts.Fatalf("nothing matches %s in:\n%s", args[1], ts.ReadFile("stdout"))
	}
	ts.Setenv(args[0], m[len(m)-1])
}

// mode fails unless a file has these permissions.
func mode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("%s has mode %s, want %s", args[1], got, args[0])
	}
}
