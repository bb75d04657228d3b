package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	contractdoc "carrel/api"
	"carrel/internal/core"
	"carrel/internal/testkit"
)

// TestEveryOperationOnAnAgentNeedsItsGrant calls every operation of the contract below /api/agents/{agentId} with every
// grant, by REST and by its MCP tool, against the real program. A refused call must leave every table of the database
// unchanged; an allowed one must be carried out.
func TestEveryOperationOnAnAgentNeedsItsGrant(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		accessMatrix(t, "")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		accessMatrix(t, testkit.NewPostgresServer(t, testkit.PostgresOptions{}).URL("postgres"))
	})
}

// standing is a caller's relation to an agent: the grant with which they created their data, and the grant that they
// have in the test.
type standing struct {
	name      string
	everybody bool
	grant     core.Grant
}

var standings = []standing{
	{"none", false, core.GrantNone},
	{"viewer", false, core.GrantViewer},
	{"user", false, core.GrantUser},
	{"manager", false, core.GrantManager},
	{"owner", false, core.GrantOwner},
	{"everybody-viewer", true, core.GrantViewer},
	{"everybody-user", true, core.GrantUser},
}

func accessMatrix(t *testing.T, database string) {
	m := newMatrix(t, database)
	for _, s := range standings {
		for _, protocol := range []string{"REST", "MCP"} {
			caller := m.fixture(t, s)
			t.Run(s.name+" by "+protocol, func(t *testing.T) { // sequential, because the database is compared
				caller.walk(t, s, protocol)
			})
		}
	}
}

// matrix is a server with the owner of all agents.
type matrix struct {
	*mcpInstallation
	reader     reader
	operations map[string]contractOperation
	// ownerKey belongs to the owner of the agents, who also administers the installation. callerKey belongs to the caller.
	ownerKey, callerKey string
	caller, stranger    string
}

// contractOperation is the method and path of an operation.
type contractOperation struct{ method, path string }

func newMatrix(t *testing.T, database string) *matrix {
	t.Helper()
	opts := testkit.ServerOptions{
		Database: database, Env: []string{"CARREL_RATE_LIMITS=off", "CARREL_OUTBOUND_PRIVATE=on"},
	}
	w := &installation{server: testkit.StartServer(t, opts), client: &http.Client{Timeout: testkit.Patience}}
	m := &matrix{mcpInstallation: &mcpInstallation{installation: w}, operations: contractOperations(t)}
	for _, name := range []string{"olga", "carl", "sue"} {
		w.admin(t, "user", "create", "--email", name+"@example.org", "--name", name, "--password", matrixPassword)
	}
	key := func(user, scopes string) string {
		return w.admin(t, "key", "create", "--user", user+"@example.org", "--name", "test", "--scope", scopes).text("key")
	}
	m.ownerKey, m.callerKey = key("olga", "agents,manage,account,admin"), key("carl", "agents,manage,account")
	m.caller, m.stranger = "carl@example.org", "sue@example.org"
	m.reader = newReader(t, w.server, database)
	return m
}

const matrixPassword = "correct horse battery"

// contractOperations reads the operations on agents from the contract.
func contractOperations(t *testing.T) map[string]contractOperation {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]yaml.Node
	}
	if err := yaml.Unmarshal(contractdoc.Document, &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string]contractOperation{}
	for path, item := range doc.Paths {
		if path != "/api/agents/{agentId}" && !strings.HasPrefix(path, "/api/agents/{agentId}/") {
			continue
		}
		for method, node := range item {
			var op struct {
				ID string `yaml:"operationId"`
			}
			if method == "parameters" {
				continue
			}
			if err := node.Decode(&op); err != nil {
				t.Fatal(err)
			}
			out[op.ID] = contractOperation{strings.ToUpper(method), path}
		}
	}
	if len(out) < 40 {
		t.Fatalf("the contract has only %d operations on agents", len(out))
	}
	return out
}

// fixture creates an agent of the owner with data of every kind that the caller created as its user, and then gives the
// caller the grant of a standing.
func (m *matrix) fixture(t *testing.T, s standing) *matrix {
	t.Helper()
	w := &installation{server: m.server, client: m.client, key: m.ownerKey, member: m.stranger, adminKey: m.ownerKey}
	f := *m
	f.mcpInstallation = &mcpInstallation{installation: w}
	w.agent = w.do(t, "POST", "/api/agents", `{"name": "Matrix"}`).text("agent", "id")
	w.sources.source = w.do(t, "GET", w.below(""), "").text("agent", "defaultSourceId")
	one := w.below("/sources/" + w.sources.source)
	body, kind := form("relations.md", "# Relations\n\nA relational model of data is proposed.")
	w.send(t, call{method: "POST", path: one + "/files", body: body, key: w.key}.with("Content-Type", kind), http.StatusOK)
	w.filled(t, one, 1)
	w.sources.file = w.do(t, "GET", one+"/files", "").text("files", 0, "id")
	begin := call{method: "POST", path: one + "/uploads", key: w.key}.with("Upload-Length", "7").
		with("Upload-Metadata", "filename YS50eHQ=")
	location := w.send(t, begin, http.StatusCreated).header.Get("Location")
	w.sources.upload = location[strings.LastIndex(location, "/")+1:]
	f.indexed(t)
	w.sources.document = w.document
	caller := m.callerKey
	if s.grant == core.GrantOwner {
		caller = m.ownerKey
	} else {
		f.give(t, s.everybody, core.GrantUser)
	}
	w.key = caller
	w.thread = w.do(t, "POST", w.below("/threads"), `{"title": "Mine"}`).text("thread", "id")
	thread := w.below("/threads/" + w.thread)
	w.reply = w.do(t, "POST", thread+"/messages", `{"text": "What is proposed?"}`).text("messageId")
	w.do(t, "PUT", thread+"/messages/"+w.reply+"/feedback", `{"thumb": "up"}`)
	w.memory = w.do(t, "POST", w.below("/memories"), `{"text": "I prefer primary sources."}`).text("memory", "id")
	w.card = w.do(t, "POST", w.below("/favourites"), `{"card": {"cardId": "mine", "title": "Mine"}}`).
		text("favourite", "cardId")
	w.saved = w.do(t, "POST", w.below("/saved-searches"), `{"name": "Mine", "search": {"query": "model"}}`).
		text("savedSearch", "id")
	w.bin = w.binnedMemory(t)
	if s.grant != core.GrantOwner {
		f.give(t, s.everybody, s.grant)
	}
	return &f
}

// indexed waits until search finds the agent's document, and stores its id.
func (m *matrix) indexed(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(testkit.Patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		m.document = m.do(t, "POST", m.below("/search"), `{"query": "relational model"}`).text("results", 0, "documentId")
		if m.document != "" {
			return
		}
	}
	t.Fatal("the document was not indexed")
}

// give sets the grant of the caller, or of everybody.
func (m *matrix) give(t *testing.T, everybody bool, g core.Grant) {
	t.Helper()
	whom := m.caller
	if everybody {
		whom = "everybody"
	}
	path := m.below("/grants/" + whom)
	if g == core.GrantNone {
		m.send(t, call{method: "DELETE", path: path, key: m.ownerKey}, http.StatusOK)
		return
	}
	offered := m.send(t,
		call{method: "PUT", path: path, body: `{"grant": "` + g.String() + `"}`, key: m.ownerKey}, http.StatusOK)
	if offered.text("grants", 0, "state") == "pending" {
		m.acceptAgent(t, m.caller, m.agent)
	}
}

// requests returns a valid request for every operation on the agent, deletions last.
func (m *matrix) requests(t *testing.T) []call {
	t.Helper()
	var out []call
	seen := map[string]bool{}
	for _, c := range slices.Concat(m.calls(), m.agentCalls(), m.sourceCalls(), m.planCalls()) {
		if _, ok := m.operations[c.operation]; ok {
			out, seen[c.operation] = append(out, c), true
		}
	}
	for op := range m.operations {
		if !seen[op] {
			t.Errorf("%s has no request in this test: add one to the calls of the contract test", op)
		}
	}
	slices.SortStableFunc(out,
		func(a, b call) int { return slices.Index(last, a.operation) - slices.Index(last, b.operation) })
	return out
}

// last are the operations after which others fail, in an order in which all of them can be carried out.
var last = []string{
	"cancelUpload", "deleteFile", "dismissMemory", "deleteMemory", "deleteFavourite",
	"removeFeedback", "deleteMessage", "deleteThread", "deleteGrant",
	"deleteSource", "deleteAgent",
}

// otherwise are the operations that the state of the fixture refuses, with the error code.
var otherwise = map[string]string{
	"dismissMemory":           "not_found", // the memory is not a proposal
	"deleteSource":            "conflict",  // it is the agent's default source
	"deleteDocument":          "not_found", // the id does not exist
	"deleteBinItem":           "not_found", // it was restored before
	"syncSource":              "conflict",  // it has uploaded files only
	"writeFavouritesToZotero": "conflict",  // it is no Zotero library
}

// walk sends every request, the refused ones first.
func (m *matrix) walk(t *testing.T, s standing, protocol string) {
	t.Helper()
	var allowed []call
	for _, c := range m.requests(t) {
		rule, known := core.Operation(c.operation).Rule()
		if !known || rule.Access.Grant() == core.GrantNone {
			t.Fatalf("%s has no level of access to an agent", c.operation)
		}
		if protocol == "MCP" && m.toolOf(c.operation) == "" {
			continue
		}
		if s.grant >= rule.Access.Grant() {
			allowed = append(allowed, c)
			continue
		}
		want := "forbidden"
		if s.grant == core.GrantNone {
			want = "not_found"
		}
		before := m.reader.all(t)
		if code, detail := m.outcome(t, c, protocol); code != want ||
			want == "not_found" && detail != "There is no such agent." {
			t.Errorf("%s: %s %q, want %s", c.operation, code, detail, want)
		}
		if tables := before.changed(m.reader.all(t)); tables != nil {
			t.Errorf("%s was refused, and changed %v", c.operation, tables)
		}
	}
	if s.grant == core.GrantNone && len(allowed) > 0 {
		t.Errorf("%d operations need no grant", len(allowed))
	}
	for _, c := range allowed {
		code, detail := m.outcome(t, c, protocol)
		if code == otherwise[c.operation] && detail != "There is no such agent." {
			continue
		}
		t.Errorf("%s: %s %q, want it carried out", c.operation, code, detail)
	}
}

// outcome makes a call and returns the error code and detail, or empty strings.
func (m *matrix) outcome(t *testing.T, c call, protocol string) (code, detail string) {
	t.Helper()
	if protocol == "REST" {
		c.key = m.key
		status, r := m.tryAny(t, c)
		if status < 300 {
			return "", ""
		}
		return r.text("code"), r.text("detail")
	}
	status, _, got := m.callTool(t, m.key, m.toolOf(c.operation), m.arguments(t, c))
	if status != http.StatusOK || got.at("error") != nil {
		t.Fatalf("%s: %d %v", c.operation, status, got.body)
	}
	if got.at("result", "isError") != true {
		return "", ""
	}
	code, detail, _ = strings.Cut(got.text("result", "content", 0, "text"), ": ")
	return code, detail
}

// tryAny is try for replies that may not be JSON; such a reply has no body here.
func (m *matrix) tryAny(t *testing.T, c call) (int, reply) {
	t.Helper()
	if strings.HasPrefix(c.operation, "stream") {
		return m.tryStream(t, c)
	}
	status, body, header, err := m.installation.exchange(t.Context(), c)
	if err != nil {
		t.Fatalf("%s %s: %v", c.method, c.path, err)
	}
	var r reply
	if strings.HasSuffix(header.Get("Content-Type"), "json") {
		r = decoded(t, body)
	}
	return status, r
}

// tryStream opens a stream and closes it immediately.
func (m *matrix) tryStream(t *testing.T, c call) (int, reply) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), c.method, m.server.URL+c.path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	resp, err := m.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusOK {
		return resp.StatusCode, reply{}
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, decoded(t, body)
}

// withoutTool are the operations without an MCP tool, because their bodies or replies are not JSON, or because
// connected programs may not share threads and do not use the bin.
var withoutTool = []string{
	"listThreadLinks", "createThreadLink", "listBin", "restoreBinItem", "deleteBinItem", "emptyBin",
	"streamImports", "streamEvents", "uploadFiles", "listUploads", "createUpload", "appendUpload", "cancelUpload",
	"downloadOriginal", "importFavouriteFile",
}

// toolOf returns the name of an operation's tool.
func (*matrix) toolOf(operation string) string {
	switch {
	case slices.Contains(withoutTool, operation):
		return ""
	case operation == "sendMessage":
		return "ask_agent"
	case operation == "listMessages":
		return "get_messages"
	}
	var b strings.Builder
	for _, r := range operation {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// arguments returns the tool arguments for a request: the parameters of its path and query and the members of its body.
func (m *matrix) arguments(t *testing.T, c call) map[string]any {
	t.Helper()
	out := map[string]any{}
	if c.body != "" {
		if err := json.Unmarshal([]byte(c.body), &out); err != nil {
			t.Fatal(err)
		}
	}
	path, query, _ := strings.Cut(c.path, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	for name := range values {
		out[name] = values.Get(name)
	}
	segments := strings.Split(path, "/")
	for i, part := range strings.Split(m.operations[c.operation].path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			out[strings.TrimSuffix(name, "}")] = segments[i]
		}
	}
	return out
}
