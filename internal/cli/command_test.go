package cli

import (
	"archive/zip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"carrel/internal/cli/cmdline"
)

// TestEveryCommandHasHelp walks the command line: every command prints its help, the same as if all commands were built
// (see grammarFor), and no help text has an unset variable.
func TestEveryCommandHasHelp(t *testing.T) {
	t.Parallel()
	commands := 0
	var walk func(path []string, c reflect.Type)
	walk = func(path []string, c reflect.Type) {
		for field := range fields(c) {
			if _, is := field.Tag.Lookup("cmd"); !is {
				continue
			}
			name := field.Tag.Get("name")
			if name == "" {
				name = strings.ToLower(field.Name)
			}
			commands++
			line := append(append([]string{}, path...), name)
			code, out, errs := run(t, append(line, "--help")...)
			if code != exitOK || errs != "" || strings.Contains(out, "${") ||
				!strings.Contains(out, field.Tag.Get("help")[:10]) {
				t.Errorf("%v --help: exit code %d, %s%s", line, code, out, errs)
			}
			if want := wholeHelp(t, line); out != want {
				t.Errorf("%v --help prints\n%s\nwant, as with all commands\n%s", line, out, want)
			}
			walk(line, field.Type)
		}
	}
	walk(nil, reflect.TypeFor[commandLine]())
	if commands < 40 {
		t.Errorf("found only %d commands", commands)
	}
}

// wholeHelp returns the help of a command, parsed by a grammar of all commands.
func wholeHelp(t *testing.T, line []string) string {
	t.Helper()
	env := Env{Getenv: func(string) string { return "" }}
	parser := newParser(new(commandLine), env)
	command, err := parser.Parse(slices.Concat(line, []string{"--help"}))
	if !errors.Is(err, cmdline.ErrHelp) {
		t.Fatalf("%v --help: %v", line, err)
	}
	return parser.Help(command, helpWidth(env))
}

// runCommand knows the parameters of the Run methods; others would fail when a user runs the command.
func TestEveryCommandHasARunMethodThatIsCalled(t *testing.T) {
	t.Parallel()
	known := []reflect.Type{
		reflect.TypeFor[func(*Env) error](),
		reflect.TypeFor[func(context.Context, *Env) error](),
		reflect.TypeFor[func(context.Context, *Env, *adminCommand) error](),
		reflect.TypeFor[func(context.Context, *Env, *backupCommand) error](),
		reflect.TypeFor[func(*Env, *cmdline.Node) error](),
	}
	var walk func(n *cmdline.Node)
	walk = func(n *cmdline.Node) {
		for _, child := range n.Children {
			walk(child)
		}
		if len(n.Children) > 0 {
			return
		}
		run := reflect.ValueOf(n.Target()).MethodByName("Run")
		if !run.IsValid() || !slices.Contains(known, run.Type()) {
			t.Errorf("%s has no Run method that runCommand knows", n.Path())
			return
		}
		inAdmin, inBackup := parentOf[adminCommand](n) != nil, parentOf[backupCommand](n) != nil
		if run.Type() == known[2] && !inAdmin || run.Type() == known[3] && !inBackup {
			t.Errorf("%s takes a parent that it does not have", n.Path())
		}
	}
	walk(newParser(new(commandLine), Env{Getenv: func(string) string { return "" }}).Root)
}

// fields yields the fields of a struct.
func fields(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}

func TestAKeyIsRevokedByItsIDItsNameOrItself(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	create := func(name string) map[string]any { return in.json("key", "create", "--user", owner, "--name", name) }
	byID, byKey := create("one"), create("two")
	create("same")
	create("same")
	mustContain(t, in.admin("key", "revoke", "--user", owner, byID["id"].(string)), "Revoked one")
	mustContain(t, in.admin("key", "revoke", "--user", owner, "--key", byKey["key"].(string)), "Revoked two")
	mustContain(t, in.refused("key", "revoke", "--user", owner, "--name", "same"), "several keys have this name")
	mustContain(t, in.refused("key", "revoke", "--user", owner, "--name", "three"), "no such key")
	states := map[string]int{}
	for _, k := range in.json("key", "list", "--user", owner)["keys"].([]any) {
		key := k.(map[string]any)
		if key["revoked"] == true {
			states["revoked "+key["name"].(string)]++
		} else {
			states[key["name"].(string)]++
		}
	}
	if want := map[string]int{"revoked one": 1, "revoked two": 1, "same": 2}; !reflect.DeepEqual(states, want) {
		t.Errorf("the keys are %v, want %v", states, want)
	}
	table := in.admin("key", "list", "--user", owner)
	mustContain(t, table, "LAST USED", "never", "same")
	if strings.Contains(table, byID["key"].(string)) {
		t.Error("the list shows a key")
	}
}

func TestOnlyAnAdministratorGetsAKeyWithTheScopeAdmin(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.admin("user", "create", "--email", "bob@example.org", "--name", "Bob", "--password", "correct horse")
	mustContain(t, in.refused("key", "create", "--user", "bob@example.org", "--name", "k", "--scopes", "admin"),
		"--scopes: bob@example.org is not an administrator")
	in.admin("key", "create", "--user", owner, "--name", "k", "--scopes", "admin,agents", "--expires", "720h")
	key := in.json("key", "list", "--user", owner)["keys"].([]any)[0].(map[string]any)
	if _, expires := key["expiresAt"]; !expires || len(key["scopes"].([]any)) != 2 {
		t.Errorf("the key is %v", key)
	}
}

func TestConnectionsAreListedAndRevoked(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.admin("key", "create", "--user", owner, "--name", "an API key is no connection")
	code := in.json("connect-code", "create", "--user", owner)["code"].(string)
	cfg, err := (flags{"data": &in.data}).load(&Env{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openApp(t, cfg).Credentials.Exchange(t.Context(), code, "Claude"); err != nil {
		t.Fatal(err)
	}
	list := in.json("connection", "list", "--user", owner)["connections"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["name"] != "Claude" {
		t.Fatalf("the connections are %v", list)
	}
	id := list[0].(map[string]any)["id"].(string)
	mustContain(t, in.refused("connection", "revoke", "--user", owner, "--id", "key_other"), "no such connection")
	mustContain(t, in.admin("connection", "revoke", "--user", owner, "--id", id), "Revoked Claude")
	if revoked := in.json("connection", "list",
		"--user", owner)["connections"].([]any); revoked[0].(map[string]any)["revoked"] != true {
		t.Errorf("the connections are %v", revoked)
	}
}

func TestPlansAndSubscriptions(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	put := []string{
		"plan", "put", "reader", "--capabilities", "search,favourites", "--spend-cap", "5",
		"--price", "9.99", "--rate-limit", "7",
	}
	mustContain(t, in.admin(put...), "Plan reader includes search,favourites.")
	mustContain(t, in.admin("plan", "list"), "reader", "5.00 USD", "9.99 USD")
	mustContain(t, in.refused("plan", "put", "reader", "--capabilities", "flying"), "capabilit")
	mustContain(t, in.refused("plan", "put", "reader", "--capabilities", "all", "--price", "1e3"),
		"--cap: Must be an amount")
	mustContain(t, in.admin("subscription", "show", "--user", owner), "has the default plan open and no subscription")
	subscribed := in.json("subscription", "set", "--user", owner, "--plan", "reader",
		"--months", "2", "--grace-days", "3", "--trial")
	s := subscribed["subscription"].(map[string]any)
	if s["plan"] != "reader" || s["endsAt"] == nil || s["graceUntil"] == nil {
		t.Errorf("the subscription is %v", s)
	}
	mustContain(t, in.admin("subscription", "show", "--user", owner),
		"has the plan reader.", "Its subscription to reader is")
	mustContain(t, in.refused("plan", "delete", "reader"), "plan")
	mustContain(t, in.admin("subscription", "cancel", "--user", owner, "--now"), "Cancelled the subscription of "+owner)
	mustContain(t, in.admin("plan", "set", "--user", owner, "--plan", "none"), "is now on the plan none")
	if got := in.json("user", "list")["users"].([]any)[0].(map[string]any)["plan"]; got != "none" {
		t.Errorf("the plan is %v", got)
	}
}

func TestSpendCapsAndUsage(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	id := in.json("key", "create", "--user", owner, "--name", "k")["id"].(string)
	mustContain(t, in.admin("spend", "set", "--user", owner, "--cap", "3", "--credential", id),
		"The cap of "+id+" is 3.00 USD per month.")
	mustContain(t, in.admin("spend", "set", "--user", owner, "--cap", "none"), "no longer has its own spend cap")
	mustContain(t, in.admin("spend", "check"), "0 sums differ from the ledger.")
	if got := in.json("spend", "check")["differences"].([]any); len(got) != 0 {
		t.Errorf("the differences are %v", got)
	}
	mustContain(t, in.admin("usage", "show", "--by", "model"), "MODEL", "CALLS", "ESTIMATED")
	if got := in.json("usage", "show", "--user", owner, "--from", "2026-01-01",
		"--to", "2026-01-31"); got["from"] != "2026-01-01" || got["to"] != "2026-01-31" {
		t.Errorf("the usage is %v", got)
	}
	mustContain(t, in.refused("usage", "show", "--from", "yesterday"), "--from")
}

func TestAnAccountIsExportedAndDeleted(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.admin("user", "create", "--email", "bob@example.org", "--name", "Bob", "--password", "correct horse")
	file := filepath.Join(t.TempDir(), "bob.zip")
	mustContain(t, in.admin("user", "export", "--user", "bob@example.org", "--out", file), "Wrote "+file)
	archive, err := zip.OpenReader(file)
	if err != nil || len(archive.File) == 0 {
		t.Fatalf("the export has no files, %v", err)
	}
	_ = archive.Close()
	mustContain(t, in.refused("user", "export", "--user", "bob@example.org", "--out", file), "already exists")
	mustContain(t, in.refused("user", "delete", "--user", "bob@example.org"), "nothing was deleted", "--yes")
	mustContain(t, in.admin("user", "delete", "--user", "bob@example.org", "--yes"),
		"Deleted bob@example.org and all its data.")
	mustContain(t, in.refused("user", "delete", "--user", "bob@example.org", "--yes"),
		"no account has this e-mail address")
}

func TestPasswordsResetsAndDisabling(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.admin("user", "create", "--email", "bob@example.org", "--name", "Bob", "--password", "correct horse")
	mustContain(t, in.admin("user", "password", "--user", "bob@example.org", "--password", "another horse"), "signed out")
	reset := in.json("user", "reset", "--user", "bob@example.org", "--clear-factors")["reset"].(map[string]any)
	if strings.Contains(reset["url"].(string), reset["code"].(string)) {
		t.Errorf("the code is part of the address: %v", reset)
	}
	mustContain(t, in.admin("user", "reset", "--user", "bob@example.org"),
		"Ask bob@example.org to open", "The code works once")
	mustContain(t, in.admin("user", "disable", "--user", "bob@example.org"), "Disabled bob@example.org")
	entries := in.json("audit", "list", "--user", "bob@example.org")["entries"].([]any)
	events := map[string]bool{}
	for _, e := range entries {
		events[e.(map[string]any)["event"].(string)] = true
	}
	for _, want := range []string{"user_created", "password_changed", "user_disabled"} {
		if !events[want] {
			t.Errorf("the audit log has %v, not %s", events, want)
		}
	}
}

func TestTheAuditLogIsVerifiedAgainstAnEarlierHead(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	out := in.admin("audit", "verify")
	mustContain(t, out, "The audit log is intact")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	noted := lines[len(lines)-1]
	in.admin("key", "create", "--user", owner, "--name", "k")
	mustContain(t, in.admin("audit", "verify", "--noted", noted), "The audit log is intact")
	seq, hash, _ := strings.Cut(noted, ":")
	forged := seq + ":" + strings.Repeat("0", len(hash))
	if errs := in.refused("audit", "verify", "--noted", forged); errs == "" {
		t.Error("a forged head is accepted without a word")
	}
	for _, bad := range []string{"x", "1:", "0:00", "1:zz"} {
		mustContain(t, in.refused("audit", "verify", "--noted", bad), "--noted: Must have the form SEQ:HASH")
	}
	mustContain(t, in.refused("audit", "list", "--limit", "0"), "--limit: Must be 1 or more.")
}

func TestDocumentsAreImportedAndIndexed(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	agent := in.agent("Library")
	file := filepath.Join(t.TempDir(), "notes.jsonl")
	records := `{"id":"1","title":"Relational model","text":"Codd proposed it in 1970.","year":1970}` + "\n"
	if err := os.WriteFile(file, []byte(records+"not a record\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	add := []string{"source", "add", "--agent", agent, "--name", "Notes", file}
	mustContain(t, in.refused(append(add, "--strict")...), "line 2", "1 records are invalid, so nothing was imported")
	mustContain(t, in.admin(add...), "1 documents added, 0 updated, 0 unchanged, 1 skipped.")
	if got := in.json(append(add, "--skip-invalid")...); got["indexed"] != true {
		t.Errorf("the import prints %v", got)
	}
	check := in.json("index", "check")
	if check["ok"] != true || check["documents"] != 1.0 || check["missing"] != 0.0 {
		t.Errorf("the index is %v", check)
	}
	mustContain(t, in.admin("index", "rebuild"), "Rebuilt the search index: 1 documents.")
	mustContain(t, in.admin("index", "check"), "SEGMENT", "1 documents; the index is up to date.")
	mustContain(t, in.refused("source", "add", "--agent", "agt_none", "--name", "Notes", file),
		"no such agent")
	mustContain(t, in.admin("source", "status", "--agent", agent), "Notes", "upload")
}

func TestASourceOfAKindIsImportedByTheNextServer(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	agent := in.agent("Library")
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.txt"), []byte("A note."), 0o600); err != nil {
		t.Fatal(err)
	}
	out := in.admin("source", "add", "--agent", agent, "--name", "Folder", "--path", folder, "folder")
	mustContain(t, out, "is imported by the running server, or at its next start")
	id := in.json("source", "add", "--agent", agent, "--name", "Wikipedia",
		"wikipedia")["source"].(map[string]any)["id"].(string)
	if !strings.HasPrefix(id, "src_") {
		t.Errorf("the source has the id %s", id)
	}
	in.serve()
	for _, s := range in.json("source", "status", "--agent", agent)["sources"].([]any) {
		source := s.(map[string]any)
		if source["name"] != "Folder" {
			continue
		}
		mustContain(t, in.admin("source", "status", "--agent", agent, "--id", source["id"].(string), "--wait"),
			"complete", "1/1 files, 1 documents")
	}
}

func TestTasksAreListedShownAndCancelled(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	agent := in.agent("Library")
	in.admin("source", "add", "--agent", agent, "--name", "Folder", "--path", t.TempDir(), "folder")
	tasks := in.json("tasks", "list")["tasks"].([]any)
	if len(tasks) != 1 {
		t.Fatalf("the tasks are %v", tasks)
	}
	id := tasks[0].(map[string]any)["id"].(string)
	mustContain(t, in.admin("tasks", "show", id), `"state": "queued"`, "STEP")
	mustContain(t, in.admin("tasks", "cancel", id), "Cancelled "+id)
	mustContain(t, in.admin("tasks", "cancel", id), id+" has already ended.")
	mustContain(t, in.admin("tasks", "list", "--state", "cancelled"), id)
	if left := in.json("tasks", "list")["tasks"].([]any); len(left) != 0 {
		t.Errorf("the unfinished tasks are %v", left)
	}
	mustContain(t, in.refused("tasks", "list", "--limit", "0"), "--limit: Must be 1 or more.")
	mustContain(t, in.refused("tasks", "show", "tsk_none"), "no such task")
	mustContain(t, in.admin("keys", "rotate"), "The next key is used from")
}
