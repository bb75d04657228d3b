package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documentedMembers returns, for every admin command with --json, the members that the help of the flag promises.
func documentedMembers(t *testing.T) map[string][]string {
	t.Helper()
	member := regexp.MustCompile(`[{,]"([a-z]+)":`)
	out := map[string][]string{}
	var walk func(path string, c reflect.Type)
	walk = func(path string, c reflect.Type) {
		for field := range fields(c) {
			if field.Name == "JSON" {
				out[path] = []string{}
				_, example, _ := strings.Cut(field.Tag.Get("help"), "object: ")
				for _, m := range member.FindAllStringSubmatchIndex(example, -1) {
					depth := strings.Count(example[:m[0]+1], "{") - strings.Count(example[:m[0]+1], "}")
					if depth == 1 {
						out[path] = append(out[path], example[m[2]:m[3]])
					}
				}
			}
			if _, is := field.Tag.Lookup("cmd"); is {
				name := field.Tag.Get("name")
				if name == "" {
					name = strings.ToLower(field.Name)
				}
				walk(strings.TrimSpace(path+" "+name), field.Type)
			}
		}
	}
	walk("", reflect.TypeFor[adminCommand]())
	return out
}

// TestJSONOutputHasTheDocumentedMembers runs every admin command with --json. Each prints one line with the members
// that its help promises, and nothing to standard error.
func TestJSONOutputHasTheDocumentedMembers(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	want := documentedMembers(t)
	seen := map[string]bool{}
	do := func(command string, args ...string) map[string]any {
		t.Helper()
		members, known := want[command]
		if !known {
			t.Fatalf("%q is not a command with --json", command)
		}
		seen[command] = true
		line := slices.Concat([]string{"admin", "--data", in.data}, strings.Fields(command), args, []string{"--json"})
		code, out, errs := run(t, line...)
		var got map[string]any
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK ||
			strings.Count(out, "\n") != 1 || errs != "" {
			t.Fatalf("%s %v: exit code %d, output %q, errors %q", command, args, code, out, errs)
		}
		for _, m := range members {
			if _, ok := got[m]; !ok {
				t.Errorf("%s prints %s without %q", command, out, m)
			}
		}
		return got
	}
	user := []string{"--user", owner}
	jsonOfUsers(t, do)
	key := do("key create", append(user, "--name", "k")...)
	do("key list", user...)
	do("spend set", append(user, "--cap", "5", "--credential", key["id"].(string))...)
	do("key revoke", append(user, key["id"].(string))...)
	do("connect-code create", user...)
	invited := do("invitation create", "--email", "grace@example.org", "--plan", "open")["invitation"].(map[string]any)
	if link, _ := invited["url"].(string); !strings.HasSuffix(link, "/join#"+invited["code"].(string)) {
		t.Errorf("the link of the invitation is %v", invited["url"])
	}
	do("invitation list")
	do("invitation revoke", invited["id"].(string))
	do("connection list", user...)
	do("keys rotate")
	do("keys reseal")
	do("keys reset", "--yes")
	jsonOfPlans(do, user)
	jsonOfSources(t, do, user)
	do("audit list")
	do("audit verify")
	do("spend check")
	do("usage show")
	do("doctor")
	seen["connection revoke"] = true // TestConnectionsAreListedAndRevoked
	for command := range want {
		if !seen[command] {
			t.Errorf("%s was not run", command)
		}
	}
}

type jsonCommand func(command string, args ...string) map[string]any

func jsonOfUsers(t *testing.T, do jsonCommand) {
	t.Helper()
	bob := []string{"--user", "bob@example.org"}
	created := do("user create", "--email", "bob@example.org", "--name", "Bob", "--password", "correct horse")
	if u := created["user"].(map[string]any); u["role"] != "member" || u["email"] != "bob@example.org" {
		t.Errorf("the second account is %v", u)
	}
	do("user list")
	do("user email", append(bob, "--email", "bert@example.org")...)
	bob = []string{"--user", "bert@example.org"}
	do("user password", append(bob, "--password", "another horse")...)
	do("user reset", bob...)
	do("user disable", bob...)
	file := filepath.Join(t.TempDir(), "bob.zip")
	exported := do("user export", append(bob, "--out", file)...)["export"].(map[string]any)
	if info, err := os.Stat(file); err != nil || float64(info.Size()) != exported["bytes"] {
		t.Errorf("the export of %v bytes is %v, %v", exported["bytes"], info, err)
	}
	do("user delete", append(bob, "--yes")...)
}

func jsonOfPlans(do jsonCommand, user []string) {
	do("plan put", "reader", "--capabilities", "search")
	do("plan list")
	do("plan set", append(user, "--plan", "open")...)
	do("subscription set", append(user, "--plan", "reader", "--months", "1")...)
	do("subscription show", user...)
	do("subscription cancel", append(user, "--now")...)
	do("plan put", "unused", "--capabilities", "all")
	do("plan delete", "unused")
}

func jsonOfSources(t *testing.T, do jsonCommand, user []string) {
	t.Helper()
	agent := do("agent create", append(user, "--name", "Library")...)["agent"].(map[string]any)["id"].(string)
	if list := do("agent list", user...)["agents"].([]any); list[0].(map[string]any)["id"] != agent {
		t.Errorf("the agents are %v", list)
	}
	do("source add", "--agent", agent, "--name", "Folder", "--path", t.TempDir(), "folder")
	do("source status", "--agent", agent)
	task := do("tasks list")["tasks"].([]any)[0].(map[string]any)["id"].(string)
	do("tasks show", task)
	if got := do("tasks cancel", task); got["cancelled"] != true {
		t.Errorf("cancelling a queued task prints %v", got)
	}
	if got := do("tasks cancel", task); got["cancelled"] != false {
		t.Errorf("cancelling it again prints %v", got)
	}
	do("index check")
	do("index rebuild")
}

// A script that reads standard output must not find half a result there.
func TestRefusedCommandsPrintOnlyToStandardError(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	agent := in.agent("Library")
	user := []string{"--user", owner}
	for _, c := range []struct {
		line string
		args []string
		want string
	}{
		{"user create", []string{"--email", owner, "--name", "A", "--password", "correct horse"}, "already exists"},
		{"user create", []string{"--email", "no address", "--name", "A", "--password", "correct horse"}, "--email: "},
		{
			"user create",
			[]string{"--email", "c@example.org", "--name", "A", "--password", "correct horse", "--plan", "no"},
			"--plan: ",
		},
		{"user delete", []string{"--user", owner}, "nothing was deleted"},
		{"user export", append(user, "--out", "/no/such/folder/a.zip"), "no such file"},
		{"user password", append(user, "--password", "short"), "--password: "},
		{"key create", append(user, "--name", ""), "--name: "},
		{"key create", append(user, "--name", "k", "--expires=-1h"), "expires"},
		{"key revoke", append(user, "key_none"), "no such key"},
		{"connection revoke", append(user, "--id", "con_none"), "no such connection"},
		{"agent create", append(user, "--name", ""), "--name: "},
		{"agent list", []string{"--user", "eve@example.org"}, "no account has this e-mail address"},
		{"source add", []string{"--agent", agent, "--name", "S", "no-such-file.txt"}, "no such file or folder"},
		{"source add", []string{"--agent", agent, "--name", "S", "--path", "relative", "folder"}, "absolute path"},
		{"source add", []string{"--agent", agent, "--name", "S", "--language", "klingon", "arxiv"}, "anguage"},
		{"source status", []string{"--agent", "agt_none"}, "no such agent"},
		{"plan put", []string{"reader", "--capabilities", "fly"}, "capabilit"},
		{"plan delete", []string{"none-such"}, "no such plan"},
		{"plan set", append(user, "--plan", "none-such"), "no such plan"},
		{"subscription set", append(user, "--plan", "none-such", "--months", "1"), "no such plan"},
		{"subscription cancel", user, "subscription"},
		{"spend set", append(user, "--cap=-1"), "--cap: "},
		{"spend set", append(user, "--cap", "1", "--credential", "key_none"), "no such"},
		{"usage show", []string{"--from", "yesterday"}, "from"},
		{"usage show", []string{"--user", "eve@example.org"}, "no account has this e-mail address"},
		{"tasks show", []string{"tsk_none"}, "no such task"},
		{"tasks cancel", []string{"tsk_none"}, "no such task"},
		{"audit list", []string{"--user", "eve@example.org"}, "no account has this e-mail address"},
	} {
		for _, asJSON := range [][]string{nil, {"--json"}} {
			args := slices.Concat([]string{"admin", "--data", in.data}, strings.Fields(c.line), c.args, asJSON)
			code, out, errs := run(t, args...)
			if code != exitFailed || out != "" || !strings.HasPrefix(errs, "carrel: ") || !strings.Contains(errs, c.want) {
				t.Errorf("%s %v %v: exit code %d, output %q, errors %q", c.line, c.args, asJSON, code, out, errs)
			}
		}
	}
}

// Usage errors have their own exit code, so that a script can tell a typing error from a refusal.
func TestUsageErrorsExitWithTwo(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	for _, line := range []string{
		"admin", "admin user", "admin user create --email a@example.org", "admin key create --user", "admin nonsense",
		"admin tasks list --state asleep", "admin tasks list --limit many", "admin usage show --by colour",
		"admin key create --user a@example.org --name k --scopes root", "admin user list --nonsense", "serve --addr",
		"source watch --server http://127.0.0.1:1 --agent a --source s no-such-folder", "admin plan put",
		"admin key create --user a@example.org --name k --expires soon",
	} {
		args := strings.Fields(line)
		if args[0] == "admin" {
			args = append([]string{"admin", "--data", in.data}, args[1:]...)
		}
		code, out, errs := run(t, args...)
		if code != exitUsage || out != "" || !strings.Contains(errs, `Try "carrel --help"`) {
			t.Errorf("%s: exit code %d, output %q, errors %q", line, code, out, errs)
		}
	}
}
