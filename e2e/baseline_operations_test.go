package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/testkit"
)

// measuredOperation is a kind of request whose figures are in the baseline.
type measuredOperation struct {
	name string
	// call returns request i of a batch.
	call func(i int) call
	// prepare creates what n requests of a batch need. It does not count.
	prepare func(n int)
	// seen receives the body of each reply, or is nil.
	seen func(body []byte)
	// status is the expected status, by default 200, and batch the requests of a batch, by default 200.
	status, batch int
}

// newBaselineInstallation starts a server with one user, an agent, 200 documents, and thirty threads, memories and
// favourites.
func newBaselineInstallation(t *testing.T, opts testkit.ServerOptions) *installation {
	t.Helper()
	w := &installation{
		server: testkit.StartServer(t, opts), client: &http.Client{Transport: &http.Transport{}, Timeout: 5 * time.Minute},
	}
	t.Cleanup(w.client.CloseIdleConnections)
	w.admin(t, "user", "create", "--email", "ada@example.org", "--name", "Ada", "--password", "correct horse battery",
		"--plan", "open")
	w.agent = w.admin(t, "agent", "create", "--user", "ada@example.org", "--name", "Landmarks").text("agent", "id")
	w.key = w.admin(t, "key", "create", "--user", "ada@example.org", "--name", "test").text("key")
	w.fullKey = w.admin(t, "key", "create", "--user", "ada@example.org", "--name", "full", "--scope", "account").
		text("key")
	var lines strings.Builder
	for i := range 200 {
		fmt.Fprintf(&lines, `{"id": "work-%d", "title": "Relational model %d", "authors": ["Edgar F. Codd"], `+
			`"text": "Users of data bank %d must be protected. A relational model of data is proposed.", "year": %d}`+"\n",
			i, i, i, 1900+i%100)
	}
	file := filepath.Join(t.TempDir(), "documents.jsonl")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	w.admin(t, "source", "add", "--agent", w.agent, "--name", "Works", "--default", "--language", "en", file)
	w.sources.source, _ = w.awaitSource(t, "Works", "ready")["id"].(string)
	for i := range 30 {
		w.thread = w.do(t, "POST", w.below("/threads"), fmt.Sprintf(`{"title": "Thread %d"}`, i)).text("thread", "id")
		w.memory = w.do(t, "POST", w.below("/memories"), fmt.Sprintf(`{"text": "Memory %d"}`, i)).text("memory", "id")
		w.do(t, "POST", w.below("/favourites"), fmt.Sprintf(`{"card": {"cardId": "card-%d", "title": "Card %d"}}`, i, i))
	}
	w.do(t, "POST", w.inThread("/messages"), `{"text": "What is the relational model?"}`)
	w.document = w.do(t, "POST", w.below("/search"), `{"query": "relational model"}`).text("results", 0, "documentId")
	return w
}

// operations returns the operations of the baseline. Those that read come first, so that their lists have always the
// same length.
func (w *installation) operations(t *testing.T) []measuredOperation {
	t.Helper()
	all := append(w.readingOperations(t), w.writingOperations(t)...)
	for i := range all {
		if all[i].prepare == nil {
			all[i].prepare = func(int) {}
		}
	}
	return append(all, w.refreshOperation(t))
}

// same returns an operation that repeats one call.
func same(c call) measuredOperation {
	return measuredOperation{name: c.operation, call: func(int) call { return c }}
}

func (w *installation) readingOperations(t *testing.T) []measuredOperation {
	t.Helper()
	get := func(name, path string) measuredOperation {
		return same(call{operation: name, method: "GET", path: path, key: w.key})
	}
	post := func(name, path, body string) measuredOperation {
		return same(call{operation: name, method: "POST", path: path, body: body, key: w.key})
	}
	tag := w.do(t, "GET", w.below(""), "").header.Get("ETag")
	unchanged := same(call{operation: "getAgent unchanged", method: "GET", path: w.below(""), key: w.key}.
		with("If-None-Match", tag))
	unchanged.status = http.StatusNotModified
	refused := same(call{operation: "listAgents without a key", method: "GET", path: "/api/agents"})
	refused.status = http.StatusUnauthorized
	tools := (&mcpInstallation{installation: w}).modern("tools/list", "", "", "")
	mcpList := same(call{operation: "MCP tools/list", method: "POST", path: "/mcp", body: tools.body, key: tools.key}.
		with("Mcp-Method", "tools/list").with("Mcp-Protocol-Version", tools.version).
		with("Accept", "application/json, text/event-stream"))
	mcpList.batch = 100
	check := post("checkText", w.below("/check"), `{"text": "Codd proposed the relational model in 1970."}`)
	check.batch = 25
	return []measuredOperation{
		same(call{operation: "health", method: "GET", path: "/healthz"}),
		same(call{operation: "index.html", method: "GET", path: "/chat"}),
		// Compressed, because to decompress megabytes takes the client long, while the server allocates for other work.
		same(call{operation: "docs", method: "GET", path: "/docs"}.with("Accept-Encoding", "gzip")),
		refused, unchanged, mcpList, check,
		get("listAgents", "/api/agents"),
		get("getAgent", w.below("")),
		same(call{operation: "getAccount", method: "GET", path: accountPath, key: w.fullKey}),
		get("listThreads", w.below("/threads")),
		get("getThread", w.inThread("")),
		get("listMessages", w.inThread("/messages")),
		get("listMemories", w.below("/memories")),
		get("listFavourites", w.below("/favourites")),
		get("listSources", w.below("/sources")),
		get("listDocuments", w.below("/sources/"+w.sources.source+"/documents")),
		get("getDocument", w.below("/documents/"+w.document)),
		post("search", w.below("/search"), `{"query": "relational model"}`),
		post("searchAgents", "/api/search", `{"query": "relational model"}`),
	}
}

func (w *installation) writingOperations(t *testing.T) []measuredOperation {
	t.Helper()
	change := func(name, path, body string) measuredOperation {
		return measuredOperation{name: name, call: func(i int) call {
			return call{method: "PATCH", path: path, body: fmt.Sprintf(body, i), key: w.key}
		}}
	}
	create := func(name, path, body string) measuredOperation {
		made := 0 // of all batches, because some names are unique
		return measuredOperation{name: name, call: func(int) call {
			made++
			return call{method: "POST", path: path, body: fmt.Sprintf(body, made), key: w.key}
		}}
	}
	var threads []string
	newThreads := func(n int) {
		threads = threads[:0]
		for range n {
			threads = append(threads, w.below("/threads/"+w.do(t, "POST", w.below("/threads"), "").text("thread", "id")))
		}
	}
	return []measuredOperation{
		change("changeAgent", w.below(""), `{"name": "Landmarks %d"}`),
		change("renameThread", w.inThread(""), `{"title": "Renamed %d"}`),
		change("changeMemory", w.below("/memories/"+w.memory), `{"text": "Changed %d"}`),
		create("createThread", w.below("/threads"), `{"title": "Another %d"}`),
		create("saveFavourite", w.below("/favourites"), `{"card": {"cardId": "another-%d", "title": "Another"}}`),
		{name: "deleteThread", prepare: newThreads, call: func(i int) call {
			return call{method: "DELETE", path: threads[i], key: w.key}
		}},
		// A turn without a model searches and quotes.
		{name: "sendMessage", batch: 25, prepare: newThreads, call: func(i int) call {
			return call{
				method: "POST", path: threads[i] + "/messages", body: `{"text": "What is the relational model?"}`, key: w.key,
			}
		}},
	}
}

// refreshOperation returns the refresh of an OAuth grant with the token of the previous reply.
func (w *installation) refreshOperation(t *testing.T) measuredOperation {
	t.Helper()
	f := newFlow(t, w.server)
	f.discover(f.api("", "/api/agents"))
	client := f.register()
	tokens := f.tokens(url.Values{
		"grant_type": {"authorization_code"}, "client_id": {client}, "redirect_uri": {flowRedirect},
		"code_verifier": {f.verifier}, "code": {f.authorize(client, w.server.URL)},
	})
	return measuredOperation{
		name: "OAuth refresh", prepare: func(int) {},
		call: func(int) call {
			form := url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {tokens.Refresh}}
			return call{method: "POST", path: oauthPath + "/token", body: form.Encode()}.
				with("Content-Type", "application/x-www-form-urlencoded")
		},
		seen: func(body []byte) {
			if err := json.Unmarshal(body, &tokens); err != nil {
				t.Fatal(err)
			}
		},
	}
}
