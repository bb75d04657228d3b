package programs

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"carrel/internal/testkit"
)

// referenceServer is a server with the objects that the examples of /docs name.
type referenceServer struct {
	page      string
	key, code string // a key with all scopes, and a connect code
}

// referenceDocuments are the documents that the examples find.
const referenceDocuments = `{"id": "codd-1970", "title": "A Relational Model of Data for Large Shared Data Banks", ` +
	`"authors": ["Edgar F. Codd"], "text": "Future users of large data banks must be protected from having to know how ` +
	`the data is organized. A relational model of data is proposed.", "year": 1970, "doi": "10.1145/362384.362685"}
`

func startReferenceServer(t *testing.T) referenceServer {
	t.Helper()
	testkit.SkipUnless(t, "sh", "curl")
	s := testkit.StartServer(t, testkit.ServerOptions{Env: []string{"CARREL_RATE_LIMITS=off"}})
	s.MustAdmin("user", "create", "--email", "ada@example.org", "--name", "Ada", "--password", "correct horse battery")
	// The examples change this agent.
	s.MustAdmin("user", "create", "--email", "max@example.org", "--name", "Max", "--password", "correct horse battery")
	var created struct{ Agent struct{ ID string } }
	adminJSON(t, s, &created, "agent", "create", "--user", "ada@example.org", "--name", "Landmarks", "--json")
	file := filepath.Join(t.TempDir(), "documents.jsonl")
	if err := os.WriteFile(file, []byte(referenceDocuments), 0o600); err != nil {
		t.Fatal(err)
	}
	s.MustAdmin("source", "add", "--agent", created.Agent.ID, "--name", "Works", "--default", file)
	var key struct{ Key string }
	adminJSON(t, s, &key, "key", "create", "--user", "ada@example.org", "--name", "docs",
		"--scope", "agents,manage,account,admin", "--json")
	code := connectCode(t, s)

	// A user with a session, and a connected program.
	signIn(t, s.URL, "ada@example.org", "correct horse battery")
	connect, err := http.Post(s.URL+"/api/connect/exchange", "application/json",
		strings.NewReader(`{"code": "`+connectCode(t, s)+`", "client": "docs"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = connect.Body.Close()
	return referenceServer{page: s.URL + "/docs", key: key.Key, code: code}
}

// adminJSON runs an admin command with --json and decodes its output.
func adminJSON(t *testing.T, s *testkit.Server, into any, args ...string) {
	t.Helper()
	if err := json.Unmarshal([]byte(s.MustAdmin(args...)), into); err != nil {
		t.Fatal(err)
	}
}

func connectCode(t *testing.T, s *testkit.Server) string {
	t.Helper()
	var made struct{ Code string }
	adminJSON(t, s, &made, "connect-code", "create", "--user", "ada@example.org", "--json")
	return made.Code
}

// signIn submits the form of the sign-in page like a browser.
func signIn(t *testing.T, base, email, password string) {
	t.Helper()
	form := url.Values{"email": {email}, "password": {password}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/sign-in", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	resp, err := http.DefaultTransport.RoundTrip(req) // without following the redirect
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusSeeOther || len(resp.Cookies()) == 0 {
		t.Fatalf("sign-in: %s", resp.Status)
	}
}

// run runs a script of the page in a shell, with carrel on its path, and returns the output.
func (s referenceServer) run(t *testing.T, script string) string {
	t.Helper()
	script = strings.ReplaceAll(script, "crl_…", s.key)
	script = strings.ReplaceAll(script, "crlc_…", s.code)
	script = strings.ReplaceAll(script, "curl -sS", "curl -sS --fail-with-body")
	dir := t.TempDir()
	writeScript(t, filepath.Join(dir, "bin", "carrel"), `exec "`+testkit.Binary(t)+`" "$@"`)
	cmd := exec.CommandContext(t.Context(), "sh", "-x")
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader("set -e\n" + script)
	cmd.Env = []string{
		"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + dir, "XDG_CONFIG_HOME=" + dir,
	}
	out, err := cmd.CombinedOutput()
	shown := strings.ReplaceAll(string(out), s.key, "[key]")
	if err != nil {
		t.Errorf("%v\n%s", err, shown)
	}
	return shown
}

// TestExamplesOfTheAPIReferenceRun runs every curl command of /docs in a shell.
func TestExamplesOfTheAPIReferenceRun(t *testing.T) {
	t.Parallel()
	s := startReferenceServer(t)
	first := strings.Join(append(samples(t, s.page, "curl", "First steps"), samples(t, s.page, "", "Other ids")...), "\n")
	rest := samples(t, s.page, "curl", "Request: ")
	if len(rest) < 20 {
		t.Fatalf("only %d commands found", len(rest))
	}
	for i, command := range rest {
		rest[i] = tolerated(command)
	}
	// Deletions run after the commands that need their objects, the agent's last.
	slices.SortStableFunc(rest, func(a, b string) int { return removes(a) - removes(b) })
	s.run(t, first+"\n: ${AGENT_ID:?} ${DOCUMENT_ID:?} ${THREAD_ID:?} ${SOURCE_ID:?} ${UPLOAD_ID:?} "+
		"${MESSAGE_ID:?} ${MEMORY_ID:?} ${SAVED_SEARCH_ID:?} ${CARD_ID:?} ${WEBHOOK_ID:?} ${SESSION_ID:?} ${KEY_ID:?} "+
		"${CODE_ID:?} "+
		"${COLLECTION_ID:?} ${CONNECTION_ID:?} ${CREDENTIAL_ID:?} ${USER_ID:?} ${PLAN_NAME:?}\n"+
		strings.Join(rest, "\necho\n"))
}

// TestCommandsOfTheAPIReferenceRun runs every command of the CLI on /docs.
func TestCommandsOfTheAPIReferenceRun(t *testing.T) {
	t.Parallel()
	s := startReferenceServer(t)
	script := strings.Join(slices.Concat(samples(t, s.page, "curl", "First steps"), samples(t, s.page, "", "Other ids"),
		samples(t, s.page, "cli", "First steps")), "\n")
	var commands, last []string
	for _, sample := range samples(t, s.page, "cli", "Request: ") {
		switch {
		case strings.HasPrefix(sample, "curl"): // the operation has no command
		case strings.Contains(sample, " cancel "):
			commands = append(commands, sample+" || [ $? -eq 6 ]") // no turn is running
		case strings.Contains(sample, " delete "), strings.Contains(sample, " remove "), strings.Contains(sample, " login "):
			last = append(last, sample)
		default:
			commands = append(commands, sample)
		}
	}
	if len(commands)+len(last) < 20 {
		t.Fatalf("only %d commands found", len(commands)+len(last))
	}
	s.run(t, "echo 'A note.' > note.txt\n"+script+"\n"+strings.Join(append(commands, last...), "\n"))
}

// TestFirstStepsOfTheAPIReferenceNeedADefaultKey runs the first steps of /docs with a key that was created without
// options.
func TestFirstStepsOfTheAPIReferenceNeedADefaultKey(t *testing.T) {
	t.Parallel()
	testkit.SkipUnless(t, "sh", "curl")
	demo := testkit.StartServer(t, testkit.ServerOptions{Args: []string{"--demo"}})
	var key struct{ Key string }
	adminJSON(t, demo, &key, "key", "create", "--user", "demo@example.org", "--name", "default", "--json")
	s := referenceServer{page: demo.URL + "/docs", key: key.Key}
	for _, language := range []string{"curl", "cli"} {
		out := s.run(t, strings.Join(samples(t, s.page, language, "First steps"), "\n")+"\n: ${THREAD_ID:?}")
		if !strings.Contains(out, "Codd") {
			t.Errorf("%s: the answer does not name Codd:\n%s", language, out)
		}
	}
}

// refusedExamples match the examples that the server of the test refuses.
var refusedExamples = []*regexp.Regexp{
	// These need a browser session: passwords and passkeys, the e-mail address, and the deletion of the account.
	regexp.MustCompile(`/api/account/(password|step-up|passkeys|totp)`),
	regexp.MustCompile(`(?s)-X (PATCH|DELETE).*/api/account["\s]|/api/account["\s].*-X (PATCH|DELETE)`),
	// A file is listed after it was read, which takes longer than pasting the next line. Uploaded sources cannot be
	// synchronised, and a complete upload cannot be cancelled.
	regexp.MustCompile(`/files/\$FILE_ID|/sync"|-X DELETE.*/uploads/`),
	// Only the operator creates the plan of the examples, and there is no task to cancel.
	regexp.MustCompile(`(?s)/api/admin/.* -X | -X .*/api/admin/`),
	// Accounts, resets and invitations need a browser session.
	regexp.MustCompile(`(?s)/api/admin/(users|invitations|users/\$USER_ID/reset)".* -d `),
	// An export is complete later than the next line is pasted.
	regexp.MustCompile(`/api/account/export/file`),
	// The server sells no plans.
	regexp.MustCompile(`/api/account/subscription/|/api/billing/`),
	// The records of a JSON Lines file have no original.
	regexp.MustCompile(`/documents/\$DOCUMENT_ID/original|/documents/reread`),
	// The source of the examples is no Zotero library.
	regexp.MustCompile(`/sources/\$SOURCE_ID/favourites`),
	// There is no invitation, no proposed memory and no ended delivery.
	regexp.MustCompile(`/api/account/invitations/|/dismiss|/redeliver`),
	// The thread of the examples has no messages when its link is created.
	regexp.MustCompile(`/links"|/api/account/links/`),
	// The bin is empty when it is listed.
	regexp.MustCompile(`/bin/\$BIN_ITEM_ID`),
	// OAuth needs a browser, and each step needs the result of the previous one.
	regexp.MustCompile(`/api/auth/mcp/(authorize|token|revoke|introspect|userinfo)`),
}

// tolerated returns a command that also succeeds with the expected failure of an example, if it has one.
func tolerated(command string) string {
	command = strings.TrimSpace(command)
	if strings.Contains(command, "/events") {
		// A stream has no end; it must still be open when curl stops.
		return strings.Replace(command, "curl", "curl --max-time 2", 1) + " || [ $? -eq 28 ]"
	}
	refuses := func(r *regexp.Regexp) bool { return r.MatchString(command) }
	if slices.ContainsFunc(refusedExamples, refuses) {
		return command + " || [ $? -eq 22 ]" // HTTP errors
	}
	return command
}

// removes returns the place of a command among those that delete something, or 0.
func removes(command string) int {
	switch {
	case strings.Contains(command, `/documents/delete"`):
		return 1 // before the source
	case strings.Contains(command, `/delete"`):
		return 4 // ids that are not found are no error
	case !strings.Contains(command, "-X DELETE"):
		return 0
	case strings.Contains(command, "/feedback"):
		return 1 // before its message
	case strings.Contains(command, `/messages/$MESSAGE_ID"`):
		return 2 // before its thread
	case regexp.MustCompile(`(agents/\$AGENT_ID|account/sessions)"`).MatchString(command):
		return 5
	}
	return 3
}

// samples returns the samples of a page in a language whose label begins with a text.
func samples(t *testing.T, url, language, label string) []string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	root, err := html.Parse(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for n := range root.Descendants() {
		if n.Type != html.ElementNode || n.Data != "pre" || !strings.HasPrefix(attribute(n, "aria-label"), label) {
			continue
		}
		if language == "" || slices.Contains(strings.Fields(attribute(n, "class")), language) {
			out = append(out, strings.TrimSpace(textOf(n)))
		}
	}
	return out
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}
