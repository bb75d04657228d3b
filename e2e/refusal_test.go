package e2e

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/testkit"
	"carrel/internal/testkit/modelfake"
)

// refused is an account that is refused an operation, with its key, agent and thread.
type refused struct {
	email, key, keyID, agent, thread string
}

// newRefusalInstallation starts the real program with rate limits and a model.
func newRefusalInstallation(t *testing.T) *mcpInstallation {
	t.Helper()
	model := newScriptedModel(t, modelfake.OpenAI)
	return &mcpInstallation{installation: &installation{
		server: testkit.StartServer(t, testkit.ServerOptions{Env: model.env("CARREL_MODEL_ALLOWED=fake-2")}),
		client: http.DefaultClient,
	}}
}

// newAccount creates an account with an agent and a thread, and then sets the plan for which it is refused.
func (w *mcpInstallation) newAccount(t *testing.T, name, plan string) refused {
	t.Helper()
	who := refused{email: name + "@example.org"}
	w.admin(t, "user", "create", "--email", who.email, "--name", name, "--password", "correct horse battery")
	who.agent = w.admin(t, "agent", "create", "--user", who.email, "--name", "Agent of "+name).text("agent", "id")
	made := w.admin(t, "key", "create", "--user", who.email, "--name", "test", "--scope", "agents,manage,account")
	who.key, who.keyID = made.text("key"), made.text("id")
	who.thread = w.send(t, call{
		method: "POST",
		path:   "/api/agents/" + who.agent + "/threads",
		body:   `{"title": "Before"}`,
		key:    who.key,
	}, http.StatusOK).text("thread", "id")
	w.admin(t, "plan", "set", "--user", who.email, "--plan", plan)
	return who
}

// connectAs connects an SDK client with a key.
func (w *mcpInstallation) connectAs(t *testing.T, version, key string) *mcp.ClientSession {
	t.Helper()
	theirs := *w.installation
	theirs.key = key
	return (&mcpInstallation{installation: &theirs}).connect(t, version, nil)
}

// refusedAlike makes a call by REST and by MCP, in both eras, and expects the same refusal.
func (w *mcpInstallation) refusedAlike(
	t *testing.T, who refused, c call, tool string, arguments map[string]any, status int, code string,
) {
	t.Helper()
	c.key = who.key
	problem := w.send(t, c, status)
	detail := problem.text("detail")
	if problem.text("code") != code || detail == "" || problem.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s %s: %s %v, want %s", c.method, c.path, problem.header.Get("Content-Type"), problem.body, code)
	}
	for _, version := range []string{stateful, stateless} {
		result, text, _ := use(t, w.connectAs(t, version, who.key), tool, arguments)
		if !result.IsError || text != code+": "+detail || result.Meta["carrel/code"] != code {
			t.Errorf("%s at %s: %v %q, want %s: %s", tool, version, result.Meta, text, code, detail)
		}
	}
}

// messageRefused is refusedAlike for a message. A refused message must leave nothing behind.
func (w *mcpInstallation) messageRefused(t *testing.T, who refused, status int, code string) {
	t.Helper()
	one := "/api/agents/" + who.agent
	send := call{method: "POST", path: one + "/threads/" + who.thread + "/messages", body: `{"text": "Who was it?"}`}
	w.refusedAlike(t, who, send, "ask_agent",
		map[string]any{"agentId": who.agent, "text": "Who was it?", "threadId": who.thread}, status, code)
	w.refusedAlike(t, who, send, "ask_agent", map[string]any{"agentId": who.agent, "text": "Who was it?"}, status, code)
	send.body = `{"text": "Who was it?", "research": true}`
	w.refusedAlike(t, who, send, "ask_agent",
		map[string]any{"agentId": who.agent, "text": "Who was it?", "research": true}, status, code)
	if got, _ := w.send(t, call{method: "GET", path: one + "/threads", key: who.key}, http.StatusOK).
		at("threads").([]any); len(got) != 1 {
		t.Errorf("a message that was refused left %d threads: %v", len(got), got)
	}
}

func (w *mcpInstallation) searches(t *testing.T, who refused, status int, code string) {
	t.Helper()
	search := call{method: "POST", path: "/api/agents/" + who.agent + "/search", body: `{"query": "x"}`}
	w.refusedAlike(t, who, search, "search", map[string]any{"agentId": who.agent, "query": "x"}, status, code)
}

// capabilities returns the capabilities of an agent for an account, and toolsOf the listed MCP tools.
func (w *mcpInstallation) capabilities(t *testing.T, who refused) []string {
	t.Helper()
	var out []string
	list, _ := w.send(t, call{method: "GET", path: "/api/agents/" + who.agent, key: who.key}, http.StatusOK).
		at("agent", "capabilities").([]any)
	for _, c := range list {
		out = append(out, c.(string))
	}
	return out
}

func (w *mcpInstallation) toolsOf(t *testing.T, who refused, version string) []string {
	t.Helper()
	list, err := w.connectAs(t, version, who.key).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, tool := range list.Tools {
		out = append(out, tool.Name)
	}
	return out
}

func TestRESTAndMCPRefuseAlike(t *testing.T) {
	t.Parallel()
	w := newRefusalInstallation(t)
	for name, flags := range map[string][]string{
		"reader": {"--capabilities", "search,mcp"},
		"other":  {"--capabilities", "all", "--models", "fake-2"},
		"closed": {"--capabilities", "search,chat"},
		"slow":   {"--capabilities", "all", "--rate-limit", "1", "--rate-burst", "1"},
		"tiny":   {"--capabilities", "all", "--storage-limit", "30"},
	} {
		w.admin(t, append([]string{"plan", "put", name}, flags...)...)
	}
	for _, test := range []struct {
		name, user, plan string
		run              func(*testing.T, *mcpInstallation, refused)
	}{
		{"AnAccountWithoutASubscriptionReadsAndNeitherSearchesNorChats", "eve", "none", withoutSubscription},
		{"AnAccountAtItsCap", "bob", "open", atItsCap},
		{"AKeyAtItsCap", "kim", "open", keyAtItsCap},
		{"AModelThatThePlanDoesNotPayFor", "max", "other", withoutModel},
		{"ACapabilityThatThePlanLacksIsNotShownEither", "lee", "reader", withoutCapability},
		{"APlanWithoutMCP", "uma", "closed", withoutMCP},
		{"AGrantThatDoesNotAllowIt", "vic", "open", withoutGrant},
		{"TooManyRequests", "joe", "slow", tooMany},
		{"DocumentsThatThereIsNoRoomFor", "ann", "tiny", withoutRoom},
	} {
		who := w.newAccount(t, test.user, test.plan)
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, w, who)
		})
	}
}

func withoutSubscription(t *testing.T, w *mcpInstallation, who refused) {
	w.searches(t, who, 402, "no_subscription")
	w.messageRefused(t, who, 402, "no_subscription")
	// Existing data can be read. The tools stay listed, because their errors say what to do.
	w.send(t, call{method: "GET", path: "/api/agents/" + who.agent + "/threads/" + who.thread + "/messages", key: who.key},
		http.StatusOK)
	s := w.connectAs(t, stateless, who.key)
	if result, text, _ := use(t, s, "list_threads", map[string]any{"agentId": who.agent}); result.IsError ||
		!strings.Contains(text, "Before") {
		t.Errorf("threads: %s", text)
	}
	if tools := w.toolsOf(t, who, stateless); !slices.Contains(tools, "search") || !slices.Contains(tools, "ask_agent") {
		t.Errorf("the tools are %v", tools)
	}
	if got := w.capabilities(t, who); slices.Contains(got, "search") || slices.Contains(got, "chat") {
		t.Errorf("the capabilities are %v", got)
	}
}

func atItsCap(t *testing.T, w *mcpInstallation, who refused) {
	w.admin(t, "spend", "set", "--user", who.email, "--cap", "0")
	w.searches(t, who, 402, "spend_cap_reached")
	w.messageRefused(t, who, 402, "spend_cap_reached")
}

func keyAtItsCap(t *testing.T, w *mcpInstallation, who refused) {
	w.send(t, call{method: "PUT", path: accountPath + "/spend-caps/" + who.keyID, body: `{"capMicros": 0}`, key: who.key},
		http.StatusOK)
	w.searches(t, who, 402, "spend_cap_reached")
	w.messageRefused(t, who, 402, "spend_cap_reached")
}

func withoutModel(t *testing.T, w *mcpInstallation, who refused) {
	w.messageRefused(t, who, 403, "capability_disabled")
	change := call{method: "PATCH", path: "/api/agents/" + who.agent, body: `{"model": "fake-1"}`}
	w.refusedAlike(t, who, change, "change_agent",
		map[string]any{"agentId": who.agent, "model": "fake-1"}, 403, "capability_disabled")
}

func withoutCapability(t *testing.T, w *mcpInstallation, who refused) {
	w.messageRefused(t, who, 403, "capability_disabled")
	memory := call{method: "POST", path: "/api/agents/" + who.agent + "/memories", body: `{"text": "x"}`}
	w.refusedAlike(t, who, memory, "add_memory",
		map[string]any{"agentId": who.agent, "text": "x"}, 403, "capability_disabled")
	if got := w.capabilities(t, who); !slices.Equal(got, []string{"search"}) {
		t.Errorf("the capabilities are %v", got)
	}
	for _, version := range []string{stateful, stateless} {
		tools := w.toolsOf(t, who, version)
		for _, gone := range []string{"ask_agent", "create_thread", "add_memory", "save_favourite", "change_agent"} {
			if slices.Contains(tools, gone) {
				t.Errorf("%s is shown at %s", gone, version)
			}
		}
		if !slices.Contains(tools, "search") || !slices.Contains(tools, "list_threads") {
			t.Errorf("at %s the tools are %v", version, tools)
		}
	}
}

// callTool calls a tool without the SDK and returns the HTTP response.
func (w *mcpInstallation) callTool(t *testing.T, key, tool string, arguments map[string]any) (int, http.Header, reply) {
	t.Helper()
	b, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	r := w.modern("tools/call", tool, `"name":"`+tool+`","arguments":`+string(b), "")
	r.key = key
	return w.exchange(t, r)
}

// sameProblem expects two replies to be the same problem, except for the request id.
func sameProblem(t *testing.T, rest, overMCP reply) {
	t.Helper()
	of := func(r reply) map[string]any {
		out := maps.Clone(r.body)
		delete(out, "requestId")
		delete(out, "instance")
		return out
	}
	if a, b := of(rest), of(overMCP); !maps.Equal(a, b) || a["code"] == nil {
		t.Errorf("by REST %v, by MCP %v", a, b)
	}
	if a, b := rest.header.Get("Content-Type"), overMCP.header.Get("Content-Type"); a != b ||
		a != "application/problem+json" {
		t.Errorf("by REST %s, by MCP %s", a, b)
	}
}

func withoutMCP(t *testing.T, w *mcpInstallation, who refused) {
	w.send(t, call{method: "POST", path: "/api/agents/" + who.agent + "/search", body: `{"query": "x"}`, key: who.key},
		http.StatusOK)
	status, header, got := w.callTool(t, who.key, "search", map[string]any{"agentId": who.agent, "query": "x"})
	if status != http.StatusForbidden || got.text("code") != "capability_disabled" ||
		header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %v", status, got.body)
	}
}

// acceptAgent accepts an invitation in a browser.
func (w *installation) acceptAgent(t *testing.T, email, agentID string) {
	t.Helper()
	accept := w.browser(t, email).with("Sec-Fetch-Site", "same-origin")
	accept.method, accept.path = "POST", invitationsPath+"/"+agentID+"/accept"
	w.send(t, accept, http.StatusOK)
}

func withoutGrant(t *testing.T, w *mcpInstallation, who refused) {
	owner := w.newAccount(t, "owner", "open")
	shared := refused{key: who.key, agent: owner.agent, thread: owner.thread}
	create := call{method: "POST", path: "/api/agents/" + owner.agent + "/threads", body: `{}`}
	arguments := map[string]any{"agentId": owner.agent}
	w.refusedAlike(t, shared, create, "create_thread", arguments, 404, "not_found")
	w.send(t, call{
		method: "PUT",
		path:   "/api/agents/" + owner.agent + "/grants/" + who.email,
		body:   `{"grant": "viewer"}`,
		key:    owner.key,
	}, http.StatusOK)
	w.refusedAlike(t, shared, create, "create_thread", arguments, 404, "not_found")
	w.acceptAgent(t, who.email, owner.agent)
	w.refusedAlike(t, shared, create, "create_thread", arguments, 403, "forbidden")
	ask := call{method: "POST", path: create.path + "/" + owner.thread + "/messages", body: `{"text": "x"}`}
	w.refusedAlike(t, shared, ask, "ask_agent", map[string]any{"agentId": owner.agent, "text": "x"}, 403, "forbidden")
	change := call{method: "PATCH", path: "/api/agents/" + owner.agent, body: `{"name": "x"}`}
	w.refusedAlike(t, shared, change, "change_agent",
		map[string]any{"agentId": owner.agent, "name": "x"}, 403, "forbidden")
	if got := w.capabilities(t, shared); !slices.Equal(got, []string{"search"}) {
		t.Errorf("the capabilities are %v", got)
	}
}

// limited repeats a request until it exceeds the rate limit. One request is refilled per second, so a slow machine may
// need several.
func limited(t *testing.T, try func() (int, reply)) reply {
	t.Helper()
	for range 200 {
		if status, got := try(); status == http.StatusTooManyRequests {
			return got
		}
	}
	t.Fatal("never limited")
	return reply{}
}

func tooMany(t *testing.T, w *mcpInstallation, who refused) {
	rest := limited(t, func() (int, reply) { return w.try(t, call{method: "GET", path: "/api/agents", key: who.key}) })
	over := limited(t, func() (int, reply) {
		status, header, got := w.callTool(t, who.key, "list_agents", map[string]any{})
		got.header = header
		return status, got
	})
	sameProblem(t, rest, over)
	for by, got := range map[string]reply{"REST": rest, "MCP": over} {
		if got.text("code") != "rate_limited" || got.header.Get("Retry-After") != "1" ||
			!strings.Contains(got.text("detail"), "in 1 second.") {
			t.Errorf("by %s: %v, Retry-After %q", by, got.body, got.header.Get("Retry-After"))
		}
		if lines := got.header.Values("RateLimit"); len(lines) != 2 || !strings.HasPrefix(lines[1], `"user";r=0;t=`) ||
			len(got.header.Values("RateLimit-Policy")) != 2 {
			t.Errorf("by %s the limits are %q", by, lines)
		}
	}
}

// withoutRoom is refused before an upload, for which there is no tool, and during an import, which both protocols
// report.
func withoutRoom(t *testing.T, w *mcpInstallation, who refused) {
	one := "/api/agents/" + who.agent
	first := w.send(t, call{method: "GET", path: one, key: who.key}, http.StatusOK).text("agent", "defaultSourceId")
	upload := call{method: "POST", path: one + "/sources/" + first + "/uploads", key: who.key}.with("Upload-Length", "31").
		with("Upload-Metadata", "filename YS50eHQ=")
	problem := w.send(t, upload, http.StatusForbidden)
	if problem.text("code") != "quota_exceeded" {
		t.Errorf("an upload: %v", problem.body)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "long.txt"), []byte(strings.Repeat("Long. ", 20)), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := w.admin(t, "source", "add", "--agent", who.agent, "--name", "Folder", "--path", dir, "folder").
		text("source", "id")
	s := w.connectAs(t, stateless, who.key)
	use(t, s, "sync_source", map[string]any{"agentId": who.agent, "sourceId": folder})
	ended := call{method: "GET", path: one + "/sources/" + folder + "/events?until=done", key: who.key}
	if status, body, _, err := w.installation.exchange(t.Context(), ended); err != nil || status != http.StatusOK {
		t.Fatalf("the import: %d %s (%v)", status, body, err)
	}
	rest := w.send(t, call{method: "GET", path: one + "/sources/" + folder + "/imports", key: who.key}, http.StatusOK)
	_, _, over := use(t, s, "list_imports", map[string]any{"agentId": who.agent, "sourceId": folder})
	for by, got := range map[string]reply{"REST": rest, "MCP": over} {
		if state, reason := got.text("imports", 0,
			"state"), got.text("imports", 0, "errors", 0, "reason"); state != "failed" || reason != problem.text("detail") {
			t.Errorf("by %s the import is %s, %q; an upload is told %q", by, state, reason, problem.text("detail"))
		}
	}
}
