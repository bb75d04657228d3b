package e2e

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"carrel/internal/testkit"
)

// TestInvalidMessagesGetTheErrorsOfTheProtocol sends malformed and forbidden messages.
func TestInvalidMessagesGetTheErrorsOfTheProtocol(t *testing.T) {
	t.Parallel()
	w := newMCPInstallation(t, testkit.ServerOptions{})
	for name, tc := range w.invalidMessages(w.begin(t, w.key)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, header, got := w.exchange(t, tc.raw)
			code := got.at("error", "code")
			if _, problem := tc.code.(string); problem {
				code = got.at("code")
			}
			if status != tc.status || tc.code != nil && code != tc.code || header.Get("X-Request-Id") == "" {
				t.Errorf("%d %v, want %d %v: %v", status, code, tc.status, tc.code, got.body)
			}
		})
	}
}

// invalidMessage is a request and its expected response.
type invalidMessage struct {
	raw    raw
	status int
	code   any // of the error: a number in JSON-RPC, a string in a problem, nil without an error
}

// invalidMessages returns invalid requests by their fault, and a few unusual ones that are valid.
func (w *mcpInstallation) invalidMessages(session string) map[string]invalidMessage {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	discover := func(change func(*raw)) raw {
		r := w.modern("server/discover", "", "", "")
		change(&r)
		return r
	}
	return map[string]invalidMessage{
		"no credential": {
			raw{body: ping, header: map[string]string{"Authorization": ""}}, 401, "missing_credential",
		},
		"another scheme": {
			raw{body: ping, header: map[string]string{"Authorization": "Basic eDp5"}}, 401, "invalid_credential",
		},
		"an unknown credential": {raw{key: "crl_x", body: ping}, 401, "invalid_credential"},
		"a foreign origin": {
			raw{key: w.key, body: ping, header: map[string]string{"Origin": "https://evil.example"}}, 403, "forbidden",
		},
		"an opaque origin": {
			raw{key: w.key, body: ping, header: map[string]string{"Origin": "null"}}, 403, "forbidden",
		},
		"a foreign host": {
			raw{key: w.key, body: ping, header: map[string]string{"Host": "evil.example"}}, 403, "forbidden",
		},
		"our own origin":           {discover(func(r *raw) { r.header["Origin"] = w.server.URL }), 200, nil},
		"the host name of a proxy": {discover(func(r *raw) { r.header["Host"] = "carrel:8080" }), 200, nil},
		"another method":           {raw{method: http.MethodPut, key: w.key}, 405, "method_not_allowed"},
		"not JSON":                 {raw{key: w.key, body: `{"jsonrpc":`}, 400, -32700.0},
		"an empty body":            {raw{key: w.key}, 400, -32700.0},
		"a string":                 {raw{key: w.key, body: `"x"`}, 400, -32600.0},
		"a broken batch":           {raw{key: w.key, body: `[{]`}, 400, -32700.0},
		"a batch in a session": {
			raw{key: w.key, session: session, version: stateful, body: "[" + ping + "]"}, 400, -32600.0,
		},
		"a batch without one": {raw{key: w.key, version: stateless, body: "[" + ping + "]"}, 400, -32600.0},
		"a body too large": {
			raw{key: w.key, body: `{"x":"` + strings.Repeat("x", 1<<20) + `"}`}, 413, "body_too_large",
		},
		"an unsupported content type": {raw{
			key:     w.key,
			version: stateful,
			session: session,
			body:    ping,
			header:  map[string]string{"Content-Type": "text/plain"},
		}, 415, -32600.0},
		"an Accept header for HTML": {
			raw{key: w.key, version: stateful, session: session, body: ping, header: map[string]string{"Accept": "text/html"}},
			400, -32600.0,
		},
		"an unknown old version": {raw{key: w.key, version: "2020-01-01", session: session, body: ping}, 400, -32600.0},
		"a malformed version":    {raw{key: w.key, version: "banana", body: ping}, 400, nil},
		"a future version": {
			discover(func(r *raw) { r.version, r.body = "2030-01-01", strings.ReplaceAll(r.body, stateless, "2030-01-01") }),
			400, -32022.0,
		},
		"versions that differ": {
			discover(func(r *raw) { r.body = strings.ReplaceAll(r.body, stateless, stateful) }), 400, -32020.0,
		},
		"methods that differ":          {discover(func(r *raw) { r.header["Mcp-Method"] = "tools/list" }), 400, -32020.0},
		"names that differ":            {w.modernNamed("tools/call", "search", `"name":"list_agents"`), 400, -32020.0},
		"an unknown method":            {w.modern("no/such", "", "", ""), 404, -32601.0},
		"an unknown tool":              {w.modern("tools/call", "nothing", `"name":"nothing"`, ""), 400, -32602.0},
		"an unknown session":           {raw{key: w.key, session: "abc", version: stateful, body: ping}, 404, -32600.0},
		"a session of another account": {raw{key: w.bob, session: session, version: stateful, body: ping}, 404, -32600.0},
		"a stream without a session":   {raw{method: http.MethodGet, key: w.key, version: stateful}, 400, -32600.0},
		"arguments that are no object": {
			w.modern("tools/call", "list_agents", `"name":"list_agents","arguments":[1]`, ""), 200, nil,
		},
	}
}

func (w *mcpInstallation) modernNamed(method, name, params string) raw {
	return w.modern(method, name, params, "")
}

// TestToolBeyondTheScopeReturnsAChallenge calls tools within and beyond the scope of a key.
func TestToolBeyondTheScopeReturnsAChallenge(t *testing.T) {
	t.Parallel()
	w := newMCPInstallation(t, testkit.ServerOptions{})
	r := w.modern("tools/call", "create_agent", `"name":"create_agent","arguments":{"name":"x"}`, "")
	r.key = w.limited
	status, header, got := w.exchange(t, r)
	want := `Bearer error="insufficient_scope", scope="agents manage", resource_metadata="` + w.server.URL +
		`/.well-known/oauth-protected-resource/mcp"`
	if status != http.StatusForbidden || header.Get("WWW-Authenticate") != want {
		t.Errorf("%d %s %v", status, header.Get("WWW-Authenticate"), got.body)
	}
	list := w.modern("tools/list", "", "", "")
	list.key = w.limited
	_, _, got = w.exchange(t, list)
	tools, _ := got.at("result", "tools").([]any)
	for i := range tools {
		if name := got.text("result", "tools", i, "name"); strings.HasSuffix(name, "_agent") &&
			name != "get_agent" && name != "ask_agent" {
			t.Errorf("%s is shown", name)
		}
	}
	if len(tools) < 20 {
		t.Errorf("only %d tools are shown", len(tools))
	}
}

func TestAThousandSessionsAtOnce(t *testing.T) {
	t.Parallel()
	w := newMCPInstallation(t, testkit.ServerOptions{})
	ids := make([]string, 1000)
	var wait sync.WaitGroup
	slots := make(chan struct{}, 100) // connections, so that a small machine does not run out of file descriptors
	for i := range ids {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ids[i] = w.begin(t, w.key)
		})
	}
	wait.Wait()
	seen := map[string]bool{}
	for i, id := range ids {
		if seen[id] {
			t.Fatalf("session %d is one of the others", i)
		}
		seen[id] = true
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if status, got := w.memoriesIn(t, w.key, id); status != http.StatusOK {
				t.Errorf("session %d: %d %v", i, status, got.body)
			}
		})
	}
	wait.Wait()
}

// TestAskAgentRunsAsATask follows a task over a restart, and cancels another one.
func TestAskAgentRunsAsATask(t *testing.T) {
	t.Parallel()
	const knows = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	w := newMCPInstallation(t, testkit.ServerOptions{})
	ask := func(text string) string {
		t.Helper()
		_, _, made := w.exchange(t, w.modern("tools/call", "ask_agent",
			`"name":"ask_agent","arguments":{"agentId":"`+w.agent+`","text":"`+text+`"}`, knows))
		if made.text("result", "resultType") != "task" || made.text("result", "createdAt") == "" ||
			made.at("result", "result") != nil {
			t.Fatalf("made: %v", made.body)
		}
		return made.text("result", "taskId")
	}
	task := func(method, id, key string) reply {
		t.Helper()
		r := w.modern(method, id, `"taskId":"`+id+`"`, knows)
		r.key = key
		_, _, got := w.exchange(t, r)
		return got
	}
	ended := func(id string) reply {
		t.Helper()
		for {
			if got := task("tasks/get", id, w.key); got.text("result", "status") != "working" {
				return got
			}
		}
	}
	first := ask("slow 2s; stream All is well")
	w.server.Restart()
	if got := ended(first); got.text("result", "status") != "completed" ||
		!strings.Contains(got.text("result", "result", "structuredContent", "text"), "All is well") {
		t.Errorf("after a restart: %v", got.body)
	}
	second := ask("slow 1m")
	if got := task("tasks/update", second, w.key); got.text("result", "resultType") != "complete" {
		t.Errorf("updated: %v", got.body)
	}
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		if got := task(method, second, w.bob); got.at("error", "code") != -32602.0 {
			t.Errorf("%s by somebody else: %v", method, got.body)
		}
	}
	if got := task("tasks/cancel", second, w.key); got.text("result", "resultType") != "complete" {
		t.Errorf("cancelled: %v", got.body)
	}
	if got := ended(second); got.text("result", "status") != "cancelled" {
		t.Errorf("after it was cancelled: %v", got.body)
	}
	third := ask("fail")
	if got := ended(third); got.text("result", "status") != "completed" || got.at("result", "result", "isError") != true {
		t.Errorf("one that fails: %v", got.body)
	}
	// A client without the extension gets no task.
	if _, _, got := w.exchange(t,
		w.modern("tasks/get", first, `"taskId":"`+first+`"`, "")); got.at("error", "code") != -32021.0 {
		t.Errorf("without the extension: %v", got.body)
	}
}
