package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.yaml.in/yaml/v3"

	contractdoc "carrel/api"
	"carrel/internal/testkit"
	"carrel/internal/testkit/contract"
	"carrel/internal/testkit/stripefake"
)

// seenOnPostgres are states that a test can cause only with a connection to the database.
var seenOnPostgres = []string{
	"reply * 500",
	"reply * 503",
	"reply createAgent 409", "reply addMemory 409", "reply saveFavourite 409", "reply createCollection 409",
	"reply createThread 409", "reply createSource 409",
	"value Problem.code=idempotency_in_progress",
	"field Completion.*", "field Document.completed", "field DocumentSummary.completed",
}

// TestContractOnSQLite and TestContractOnPostgres call every operation of the contract on a real server and compare
// every reply with the contract. Every documented reply must occur, and no other.
func TestContractOnSQLite(t *testing.T) {
	t.Parallel()
	w := newInstallation(t, testkit.ServerOptions{})
	w.everything(t)
	w.turns(t, "")
	w.nothingUnseen(t,
		slices.Concat(unseenOfSources, seenOnPostgres, seenOfProposals, seenOfAccounts, seenOfPlans, seenOfAccountData)...)
}

func TestContractOnPostgres(t *testing.T) {
	t.Parallel()
	pg := testkit.NewPostgresServer(t, testkit.PostgresOptions{})
	w := newInstallation(t, testkit.ServerOptions{Database: pg.URL("postgres")})
	w.everything(t)
	database(t, pg.URL("postgres"), func(_ context.Context, conn *pgx.Conn) { execute(t, conn, "CREATE DATABASE turns") })
	w.turns(t, pg.URL("turns"))
	w.proposals(t, pg.URL("postgres"))
	w.completedDocument(t, pg.URL("postgres"))
	w.accountStates(t, pg.URL("postgres"))
	w.planStates(t, pg.URL("postgres"))
	w.accountDataStates(t, pg.URL("postgres"))
	w.inProgress(t, pg.URL("postgres"))
	w.internal(t, pg.URL("postgres"))
	w.unavailable(t, pg)
	w.nothingUnseen(t, unseenOfSources...)
}

// everything runs the steps that work on both databases.
func (w *installation) everything(t *testing.T) {
	w.agents(t)
	w.search(t)
	w.searchAway(t)
	w.checkTexts(t)
	w.fillSources(t)
	w.federatedSources(t)
	w.memories(t)
	w.threads(t)
	w.answers(t)
	w.favourites(t)
	w.connect(t)
	w.webhooks(t)
	w.oauth(t)
	w.accounts(t)
	w.links(t)
	w.signIn(t)
	w.plans(t)
	w.webhookLog(t) // after the list of tasks, which shows no cancelled one on SQLite
	w.accountData(t)
	w.badRequests(t)
	w.refusals(t)
	w.rateLimits(t)
	w.deletes(t)
}

func (w *installation) nothingUnseen(t *testing.T, allowed ...string) {
	t.Helper()
	if t.Failed() {
		return // the first failure is more useful than the missing replies
	}
	for _, line := range w.checker.Unseen(allowed...) {
		t.Errorf("in the document, but not served in this test: %s", line)
	}
}

// installation is a server with accounts, and the ids that the test needs.
type installation struct {
	server  *testkit.Server
	checker *contract.Checker
	client  *http.Client
	// statuses are the documented statuses of each operation.
	statuses map[string][]int
	// Keys: of a user with all scopes, of the same user for one agent only and for the account only, and of users without
	// a plan and at their spend cap, who have agents.
	key, oneAgentKey, accountKey, planlessKey, cappedKey string
	// manageKey has the scope manage only.
	manageKey                  string
	planlessAgent, cappedAgent string
	// fullKey has every scope of a member.
	fullKey string
	// adminKey is the owner's, with every scope; member and task are the objects of its calls.
	adminKey, member, task string
	// owner is the id of Ada, who buys a plan through stripe.
	owner  string
	stripe *stripefake.Server
	// Ids for the calls.
	user, agent, thread, memory, card, collection, document, reply, link, saved, bin string
	webhook, delivery                                                                string
	session, apiKey, connectCode, connection                                         string
	sources                                                                          sourceIDs
	// code is a connect code that was exchanged.
	code string
}

const documents = `{"id": "codd-1970", "title": "A Relational Model of Data for Large Shared Data Banks", "authors": ["Edgar F. Codd"], "text": "Future users of large data banks must be protected from having to know how the data is organized. A relational model of data is proposed.", "year": 1970, "url": "https://doi.org/10.1145/362384.362685", "doi": "10.1145/362384.362685", "venue": "Communications of the ACM", "type": "article", "publishedAt": "1970-06-01", "citationCount": 12500, "openAccessUrl": "https://example.org/codd-1970.pdf"}
{"id": "undated", "title": "Notes on the relational model", "authors": [], "text": "A relational model, without a year."}
`

func newInstallation(t *testing.T, opts testkit.ServerOptions) *installation {
	t.Helper()
	opts.Env = append(opts.Env, "CARREL_RATE_LIMITS=off", "CARREL_OUTBOUND_PRIVATE=on")
	stripe := sells(t, &opts)
	base := &http.Transport{ExpectContinueTimeout: 10 * time.Second}
	t.Cleanup(base.CloseIdleConnections)
	checker := contract.New(t, contractdoc.Document)
	w := &installation{
		server: testkit.StartServer(t, opts), stripe: stripe, checker: checker, statuses: documentedStatuses(t),
		client: &http.Client{Transport: checker.Transport(base), Timeout: testkit.Patience},
	}
	for _, user := range []struct{ name, plan string }{{"ada", "open"}, {"eve", "none"}, {"bob", "open"}} {
		w.admin(t, "user", "create", "--email", user.name+"@example.org", "--name", user.name,
			"--password", "correct horse battery", "--plan", user.plan)
	}
	w.admin(t, "spend", "set", "--user", "bob@example.org", "--cap", "0")
	w.agent = w.admin(t, "agent", "create", "--user", "ada@example.org", "--name", "Landmarks").text("agent", "id")
	key := func(user string, more ...string) string {
		return w.admin(t, append([]string{"key", "create", "--user", user + "@example.org", "--name", "test"}, more...)...).
			text("key")
	}
	w.key = key("ada")
	w.oneAgentKey = key("ada", "--agent", w.agent)
	w.accountKey, w.manageKey = key("ada", "--scope", "account"), key("ada", "--scope", "manage")
	w.planlessKey, w.cappedKey = key("eve"), key("bob")
	w.planlessAgent = w.admin(t, "agent", "create", "--user", "eve@example.org", "--name", "Without a plan").
		text("agent", "id")
	w.cappedAgent = w.admin(t, "agent", "create", "--user", "bob@example.org", "--name", "At its cap").text("agent", "id")
	file := filepath.Join(t.TempDir(), "documents.jsonl")
	if err := os.WriteFile(file, []byte(documents), 0o600); err != nil {
		t.Fatal(err)
	}
	w.admin(t, "source", "add", "--agent", w.agent, "--name", "Works", "--default", "--language", "en", file)
	return w
}

// admin runs an admin command with --json and returns the printed object.
func (w *installation) admin(t *testing.T, args ...string) reply {
	t.Helper()
	// --json comes before a last argument that is a file.
	result := w.server.Admin(slices.Insert(slices.Clone(args), 2, "--json")...)
	if result.Code != 0 {
		t.Fatalf("carrel admin %s: exit code %d\n%s%s", strings.Join(args, " "), result.Code, result.Stdout, result.Stderr)
	}
	return decoded(t, []byte(result.Stdout))
}

// reply is a JSON object and the header of its response.
type reply struct {
	body   map[string]any
	header http.Header
}

func decoded(t *testing.T, b []byte) reply {
	t.Helper()
	var r reply
	if len(b) == 0 || b[0] != '{' {
		return r
	}
	if err := json.Unmarshal(b, &r.body); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return r
}

// at returns a value of the body by member names and indexes.
func (r reply) at(path ...any) any {
	var v any = r.body
	for _, part := range path {
		switch part := part.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[part]
		case int:
			list, _ := v.([]any)
			if part >= len(list) {
				return nil
			}
			v = list[part]
		}
	}
	return v
}

func (r reply) text(path ...any) string {
	s, _ := r.at(path...).(string)
	return s
}

// call is one request.
type call struct {
	operation, method, path, body string
	header                        map[string]string
	key                           string // empty: no credential
	base                          string // empty: the URL of the installation's server
}

// with returns the call with one more header.
func (c call) with(name, value string) call {
	header := map[string]string{name: value}
	for k, v := range c.header {
		header[k] = v
	}
	c.header = header
	return c
}

// send makes a call and fails the test unless the reply has this status.
func (w *installation) send(t *testing.T, c call, status int) reply {
	t.Helper()
	got, r := w.try(t, c)
	if got != status {
		t.Fatalf("%s %s: status %d, want %d: %v", c.method, c.path, got, status, r.body)
	}
	return r
}

func (w *installation) try(t *testing.T, c call) (int, reply) {
	t.Helper()
	status, b, header, err := w.exchange(t.Context(), c)
	if err != nil {
		t.Fatalf("%s %s: %v", c.method, c.path, err)
	}
	r := decoded(t, b)
	r.header = header
	return status, r
}

func (w *installation) exchange(ctx context.Context, c call) (status int, body []byte, header http.Header, err error) {
	if c.base == "" {
		c.base = w.server.URL
	}
	req, err := http.NewRequestWithContext(ctx, c.method, c.base+c.path, strings.NewReader(c.body))
	if err != nil {
		return 0, nil, nil, err
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	if c.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range c.header {
		req.Header.Set(name, value)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, resp.Header, err
}

// do makes a call with the installation's key and expects 200.
func (w *installation) do(t *testing.T, method, path, body string) reply {
	t.Helper()
	return w.send(t, call{method: method, path: path, body: body, key: w.key}, http.StatusOK)
}

// problem makes a call that must fail with this error code.
func (w *installation) problem(t *testing.T, c call, status int, code string) {
	t.Helper()
	if r := w.send(t, c, status); r.text("code") != code {
		t.Errorf("%s %s: code %s, want %s: %v", c.method, c.path, r.text("code"), code, r.body)
	}
}

// conditional repeats a GET with the ETag of its reply and expects 304. It retries if the state has changed in between,
// like that of a source while its documents are indexed.
func (w *installation) conditional(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(testkit.Patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		tag := w.do(t, http.MethodGet, path, "").header.Get("ETag")
		status, r := w.try(t, call{method: http.MethodGet, path: path, key: w.key}.with("If-None-Match", tag))
		switch {
		case status == http.StatusNotModified:
			return
		case status != http.StatusOK || r.header.Get("ETag") == tag:
			t.Fatalf("GET %s with the tag %s: %d with the tag %s", path, tag, status, r.header.Get("ETag"))
		}
	}
	t.Fatalf("GET %s gives another reply each time", path)
}

// paged reads the first page, of one row, which must have a cursor to the next.
func (w *installation) paged(t *testing.T, path, list string) {
	t.Helper()
	first := w.do(t, http.MethodGet, path+"?limit=1", "")
	cursor := first.text("nextCursor")
	if cursor == "" {
		t.Fatalf("%s: no cursor in %v", path, first.body)
	}
	second := w.do(t, http.MethodGet, path+"?limit=1&cursor="+cursor, "")
	a, b := fmt.Sprint(first.at(list, 0)), fmt.Sprint(second.at(list, 0))
	if a == b || second.at(list, 0) == nil {
		t.Errorf("%s: the second page is %s after %s", path, b, a)
	}
}

// documentedStatuses returns the documented statuses of each operation.
func documentedStatuses(t *testing.T) map[string][]int {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]yaml.Node
	}
	if err := yaml.Unmarshal(contractdoc.Document, &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string][]int{}
	for _, item := range doc.Paths {
		for method, node := range item {
			if method == "parameters" {
				continue
			}
			var op struct {
				ID        string `yaml:"operationId"`
				Responses map[string]any
			}
			if err := node.Decode(&op); err != nil {
				t.Fatal(err)
			}
			for text := range op.Responses {
				status, err := strconv.Atoi(text)
				if err != nil {
					t.Fatal(err)
				}
				out[op.ID] = append(out[op.ID], status)
			}
		}
	}
	return out
}
