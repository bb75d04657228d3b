package e2e

import (
	"net/http"
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

// TestExamplesOfTheAPIReferenceRun runs every command of /docs in a shell.
func TestExamplesOfTheAPIReferenceRun(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	s := testkit.StartServer(t, testkit.ServerOptions{Env: []string{"CARREL_RATE_LIMITS=off"}})
	w := &installation{server: s}
	w.admin(t, "user", "create", "--email", "ada@example.org", "--name", "Ada", "--password", "correct horse battery")
	// The examples change this agent.
	w.admin(t, "user", "create", "--email", "max@example.org", "--name", "Max", "--password", "correct horse battery")
	agent := w.admin(t, "agent", "create", "--user", "ada@example.org", "--name", "Landmarks").text("agent", "id")
	file := filepath.Join(t.TempDir(), "documents.jsonl")
	if err := os.WriteFile(file, []byte(documents), 0o600); err != nil {
		t.Fatal(err)
	}
	w.admin(t, "source", "add", "--agent", agent, "--name", "Works", "--default", file)
	key := w.admin(t, "key", "create", "--user", "ada@example.org", "--name", "docs",
		"--scope", "agents,manage,account,admin").text("key")
	code := w.admin(t, "connect-code", "create", "--user", "ada@example.org").text("code")

	// A user with a session, and a connected program.
	newPerson(t, s.URL).send("/sign-in", "email", "ada@example.org", "password", "correct horse battery")
	connected := w.admin(t, "connect-code", "create", "--user", "ada@example.org").text("code")
	connect, err := http.Post(s.URL+"/api/connect/exchange", "application/json",
		strings.NewReader(`{"code": "`+connected+`", "client": "docs"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = connect.Body.Close()

	first, rest := commands(t, s.URL+"/docs")
	if len(rest) < 20 {
		t.Fatalf("only %d commands found", len(rest))
	}
	for i, command := range rest {
		rest[i] = tolerated(command)
	}
	// Deletions run after the commands that need their objects, the agent's last.
	slices.SortStableFunc(rest, func(a, b string) int { return removes(a) - removes(b) })
	script := "set -e\n" + first + ": ${AGENT_ID:?} ${DOCUMENT_ID:?} ${THREAD_ID:?} ${SOURCE_ID:?} ${UPLOAD_ID:?} " +
		"${MESSAGE_ID:?} ${MEMORY_ID:?} ${CARD_ID:?} ${WEBHOOK_ID:?} ${SESSION_ID:?} ${KEY_ID:?} ${CODE_ID:?} " +
		"${COLLECTION_ID:?} ${CONNECTION_ID:?} ${CREDENTIAL_ID:?} ${USER_ID:?} ${PLAN_NAME:?}\n" +
		strings.Join(rest, "\necho\n")
	script = strings.ReplaceAll(script, "crl_…", key)
	script = strings.ReplaceAll(script, "crlc_…", code)
	script = strings.ReplaceAll(script, "curl -sS", "curl -sS --fail-with-body")

	cmd := exec.CommandContext(t.Context(), "sh", "-x")
	cmd.Stdin = strings.NewReader(script)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, strings.ReplaceAll(string(out), key, "[key]"))
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
	// The server sells no plans.
	regexp.MustCompile(`/api/account/subscription/|/api/billing/`),
	// The records of a JSON Lines file have no original.
	regexp.MustCompile(`/documents/\$DOCUMENT_ID/original|/documents/reread`),
	// The source of the examples is no Zotero library.
	regexp.MustCompile(`/sources/\$SOURCE_ID/favourites`),
	// There is no invitation and no proposed memory.
	regexp.MustCompile(`/api/account/invitations/|/dismiss`),
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
	noExport := strings.Contains(command, "/api/account/export") && !strings.Contains(command, " -X ")
	refuses := func(r *regexp.Regexp) bool { return r.MatchString(command) }
	if noExport || slices.ContainsFunc(refusedExamples, refuses) {
		return command + " || [ $? -eq 22 ]" // HTTP errors
	}
	return command
}

func removes(command string) int {
	switch {
	case !strings.Contains(command, "-X DELETE"):
		return 0
	case strings.Contains(command, "/feedback"):
		return 1 // before its thread
	case regexp.MustCompile(`(agents/\$AGENT_ID|account/sessions)"`).MatchString(command):
		return 3
	}
	return 2
}

// commands returns the first steps and the requests of the page.
func commands(t *testing.T, url string) (first string, rest []string) {
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
	for n := range root.Descendants() {
		if n.Type != html.ElementNode || n.Data != "pre" {
			continue
		}
		switch label := attribute(n, "aria-label"); {
		case label == "First steps":
			first = textOf(n)
		case strings.HasPrefix(label, "Request: "):
			rest = append(rest, textOf(n))
		}
	}
	return first, rest
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
