package programs

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"carrel/internal/testkit"
	"carrel/internal/testkit/s3fake"
)

// TestScripts runs the built program as in a terminal: testdata/script holds one script per subject.
//
// Commands in addition to those of testscript: "await" waits until $BASE serves; "api METHOD PATH [BODY]" sends a
// request with the credential in $KEY and prints the status and the body; "capture NAME REGEXP" sets a variable to the
// first match in the last output; "eventually REGEXP COMMAND …" repeats an api call or a program until its output
// matches; "flip GLOB" damages the first file that matches; "notes FILE COUNT" writes small documents;
// "approve FILE EMAIL PASSWORD allow|deny" is the browser of an OAuth sign-in: it waits for the address in the file,
// signs in and decides on the consent page.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/script", nil)
}

// TestScriptsOnBothDatabases runs the scripts of testdata/both on SQLite and on PostgreSQL. A line for one database
// only begins with [sqlite] or [postgres].
func TestScriptsOnBothDatabases(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		runScripts(t, "testdata/both", nil)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		stories, err := filepath.Glob("testdata/both/*.txtar")
		if err != nil {
			t.Fatal(err)
		}
		databases := make(chan string, len(stories))
		for range stories {
			databases <- testkit.Postgres(t)
		}
		runScripts(t, "testdata/both", databases)
	})
}

// runScripts runs the scripts of a folder, each on one of the databases, or on SQLite if there are none.
func runScripts(t *testing.T, dir string, databases <-chan string) {
	t.Helper()
	binary := testkit.Binary(t)
	store := s3fake.New(t, 2)
	store.Put("in/loom.txt", "The Jacquard loom wove flowers.")
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			addr := testkit.ReserveAddr(t)
			env.Setenv("ADDR", addr)
			env.Setenv("BASE", "http://"+addr)
			env.Setenv("STORE", store.URL) // an S3 store with one object
			env.Setenv("CARREL_DATA", filepath.Join(env.WorkDir, "data"))
			env.Setenv("PATH", filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
			if databases != nil {
				env.Setenv("CARREL_DATABASE", <-databases)
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "sqlite":
				return databases == nil, nil
			case "postgres":
				return databases != nil, nil
			}
			return false, fmt.Errorf("there is no condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"await": await, "api": api, "capture": capture, "mode": mode, "eventually": eventually, "flip": flip, "notes": notes,
			"approve": approve,
		},
	})
}

func await(ts *testscript.TestScript, _ bool, _ []string) {
	url := ts.Getenv("BASE") + "/healthz"
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(url)
		if err != nil {
			continue
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return
		}
	}
	ts.Fatalf("%s did not answer in %s", url, testkit.Patience)
}

func api(ts *testscript.TestScript, _ bool, args []string) {
	_, err := io.WriteString(ts.Stdout(), request(ts, args))
	ts.Check(err)
}

// request sends the request of an api command and returns the status and the body.
func request(ts *testscript.TestScript, args []string) string {
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
	client := http.Client{Timeout: testkit.Patience}
	resp, err := client.Do(req)
	ts.Check(err)
	b, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(resp.Body.Close())
	return fmt.Sprintf("%d\n%s\n", resp.StatusCode, b)
}

func eventually(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: eventually REGEXP api|PROGRAM …")
	}
	wanted := regexp.MustCompile("(?m)" + args[0])
	printed := ""
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if args[1] == "api" {
			printed = request(ts, args[2:])
		} else {
			_ = ts.Exec(args[1], args[2:]...) // its output decides
			printed = ts.ReadFile("stdout")
		}
		if wanted.MatchString(printed) {
			return
		}
	}
	ts.Fatalf("%v does not print %s in %s, but\n%s", args[1:], args[0], testkit.Patience, printed)
}

// flip changes one byte in the middle of a file, in place, like a failing disk.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	names, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(names) == 0 {
		ts.Fatalf("there is no file %s", args[0])
	}
	f, err := os.OpenFile(names[0], os.O_RDWR, 0)
	ts.Check(err)
	info, err := f.Stat()
	ts.Check(err)
	b := make([]byte, 1)
	_, err = f.ReadAt(b, info.Size()/2)
	ts.Check(err)
	b[0] ^= 0xff
	_, err = f.WriteAt(b, info.Size()/2)
	ts.Check(err)
	ts.Check(f.Close())
}

// notes writes small documents with some common words and one unique word each: "token17".
func notes(ts *testscript.TestScript, _ bool, args []string) {
	count, err := strconv.Atoi(args[1])
	ts.Check(err)
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, `{"id": "n%d", "title": "Note %d", "text": "An entry of the ledger, with token%d.", "year": %d}`+"\n",
			i, i, i, 1800+i%200)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o600))
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
