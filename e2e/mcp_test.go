package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/testkit"
)

// The last version with sessions, and the first without.
const (
	stateful  = "2025-11-25"
	stateless = "2026-07-28"
)

// mcpInstallation is a server with scripted turns and two accounts.
type mcpInstallation struct {
	*installation
	theirs, bob string // an agent and a key of another account
	limited     string // a key without the scope to manage agents
}

func newMCPInstallation(t *testing.T, opts testkit.ServerOptions) *mcpInstallation {
	t.Helper()
	opts.Binary, opts.Env = testkit.Build(t, "carrel/e2e/slowserver"), append(opts.Env, "CARREL_RATE_LIMITS=off")
	w := &mcpInstallation{installation: &installation{server: testkit.StartServer(t, opts), client: http.DefaultClient}}
	for _, name := range []string{"ada", "bob"} {
		w.admin(t, "user", "create", "--email", name+"@example.org", "--name", name, "--password", "correct horse battery")
	}
	agent := func(who string) string {
		return w.admin(t, "agent", "create", "--user", who+"@example.org", "--name", "Landmarks of "+who).text("agent", "id")
	}
	w.agent, w.theirs = agent("ada"), agent("bob")
	key := func(who string, more ...string) string {
		return w.admin(t, append([]string{"key", "create", "--user", who + "@example.org", "--name", "test"}, more...)...).
			text("key")
	}
	w.key, w.bob, w.limited = key("ada"), key("bob"), key("ada", "--scope", "agents")
	return w
}

// bearerTransport adds a bearer token to every request.
type bearerTransport struct{ key string }

func (b bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return http.DefaultTransport.RoundTrip(r)
}

// connect connects an SDK client with a protocol version.
func (w *mcpInstallation) connect(t *testing.T, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: w.server.URL + "/mcp", HTTPClient: &http.Client{Transport: bearerTransport{w.key}},
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("connected at %s, want %s", got, version)
	}
	return session
}

// inBothEras runs a test with a client of each era.
func inBothEras(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", stateful, stateless} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

// use calls a tool and returns its text and its structured content.
func use(
	t *testing.T, s *mcp.ClientSession, tool string, arguments map[string]any,
) (result *mcp.CallToolResult, text string, structured reply) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	for _, c := range result.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	b, err := json.Marshal(result.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	return result, text, decoded(t, b)
}

func TestMCPClientWorksWithAgents(t *testing.T) {
	t.Parallel()
	w := newMCPInstallation(t, testkit.ServerOptions{})
	inBothEras(t, func(t *testing.T, version string) {
		s := w.connect(t, version, nil)
		tools, err := s.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) < 28 || tools.Tools[0].Name != "list_agents" || tools.Tools[1].Name != "ask_agent" {
			t.Fatalf("%d tools, %v", len(tools.Tools), err)
		}
		if _, text, got := use(t, s, "list_agents", nil); got.text("agents", 0, "id") == "" ||
			!strings.Contains(text, "Landmarks of ada") || strings.Contains(text, "bob") {
			t.Errorf("agents: %s", text)
		}
		fact := "I read German. " + version
		_, _, made := use(t, s, "add_memory", map[string]any{"agentId": w.agent, "text": fact})
		id := made.text("memory", "id")
		if _, text, _ := use(t, s, "list_memories",
			map[string]any{"agentId": w.agent, "status": nil}); !strings.Contains(text, fact) {
			t.Errorf("memories: %s", text)
		}
		if _, _, got := use(t, s, "delete_memory",
			map[string]any{"agentId": w.agent, "memoryId": id}); got.at("deleted") != true {
			t.Errorf("deleted: %v", got.body)
		}
		for _, tc := range []struct {
			tool, says string
			arguments  map[string]any
		}{
			{"list_memories", "not_found: ", map[string]any{"agentId": w.theirs}},
			{"ask_agent", "not_found: ", map[string]any{"agentId": w.theirs, "text": "x"}},
			{"add_memory", "invalid_request: ", map[string]any{"agentId": w.agent, "text": ""}},
			{"ask_agent", "text: Is required", map[string]any{"agentId": w.agent}},
			{"search", "query: ", map[string]any{"agentId": w.agent}},
		} {
			if result, text, _ := use(t, s, tc.tool, tc.arguments); !result.IsError ||
				!strings.Contains(text, tc.says) || strings.Contains(text, w.theirs) {
				t.Errorf("%s %v: %s", tc.tool, tc.arguments, text)
			}
		}
	})
}

func TestAskAgentReportsProgressAndCites(t *testing.T) {
	t.Parallel()
	w := newMCPInstallation(t, testkit.ServerOptions{Env: []string{"CARREL_TURN_WAIT=2s"}})
	inBothEras(t, func(t *testing.T, version string) {
		labels := make(chan string, 10)
		s := w.connect(t, version, &mcp.ClientOptions{
			ProgressNotificationHandler: func(
				_ context.Context, r *mcp.ProgressNotificationClientRequest,
			) {
				labels <- r.Params.Message
			},
		})
		params := &mcp.CallToolParams{
			Name: "ask_agent", Arguments: map[string]any{"agentId": w.agent, "text": "steps 3; stream Hello there"},
		}
		params.SetProgressToken("p")
		result, err := s.CallTool(t.Context(), params)
		if err != nil || result.IsError {
			t.Fatalf("asked: %+v %v", result, err)
		}
		for _, want := range []string{"Thought 1", "Thought 2", "Thought 3", "Writing the reply"} {
			if got := <-labels; got != want {
				t.Errorf("progress: %q, want %q", got, want)
			}
		}

		result, text, got := use(t, s, "ask_agent", map[string]any{"agentId": w.agent, "text": "cite"})
		link, _ := result.Content[1].(*mcp.ResourceLink)
		if link == nil || link.URI != "carrel://agents/"+w.agent+"/documents/doc_1" ||
			!strings.Contains(text, "[1] A Relational Model. Edgar F. Codd. 1970.") {
			t.Errorf("cited: %s %+v", text, link)
		}
		if got.text("status") != "complete" || got.text("citations", 0, "quote") == "" || got.text("threadId") == "" {
			t.Errorf("structured: %v", got.body)
		}

		// After the wait there is no reply yet, but the result says where it will be.
		_, text, late := use(t, s, "ask_agent", map[string]any{"agentId": w.agent, "text": "slow 4s; stream Late but here"})
		if late.text("status") != "working" || !strings.Contains(text, "get_messages") {
			t.Fatalf("past the wait: %s %v", text, late.body)
		}
		for working := true; working; {
			var read reply
			_, text, read = use(t, s, "get_messages", map[string]any{"agentId": w.agent, "threadId": late.text("threadId")})
			working = read.text("status") == "working"
		}
		if !strings.Contains(text, "Late but here") {
			t.Errorf("read later: %s", text)
		}
		if result, text, _ := use(t, s, "ask_agent", map[string]any{"agentId": w.agent, "text": "fail"}); !result.IsError ||
			!strings.Contains(text, "model_failed: ") {
			t.Errorf("a turn that failed: %s", text)
		}
	})
}

func TestResourcesPromptsAndCompletion(t *testing.T) {
	t.Parallel()
	w := newMCPInstallation(t, testkit.ServerOptions{})
	inBothEras(t, func(t *testing.T, version string) {
		ctx, s := t.Context(), w.connect(t, version, nil)
		list, err := s.ListResources(ctx, nil)
		if err != nil || len(list.Resources) != 2 || list.Resources[0].URI != "carrel://agents/"+w.agent {
			t.Fatalf("resources: %+v %v", list, err)
		}
		templates, err := s.ListResourceTemplates(ctx, nil)
		if err != nil || len(templates.ResourceTemplates) != 4 {
			t.Errorf("templates: %+v %v", templates, err)
		}
		_, _, asked := use(t, s, "ask_agent", map[string]any{"agentId": w.agent, "text": "stream Words of " + version})
		uri := "carrel://agents/" + w.agent + "/threads/" + asked.text("threadId")
		read, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil || !strings.Contains(read.Contents[0].Text, "Words of "+version) ||
			read.Contents[0].MIMEType != "text/markdown" {
			t.Errorf("the thread: %+v %v", read, err)
		}
		for _, uri := range []string{
			"carrel://agents/" + w.theirs, "carrel://agents/" + w.agent + "/threads/thr_x", "carrel://agents/",
			"carrel://x", "file:///etc/passwd",
		} {
			if read, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri}); err == nil {
				t.Errorf("%s: %+v", uri, read.Contents[0])
			}
		}
		prompts, err := s.ListPrompts(ctx, nil)
		if err != nil || len(prompts.Prompts) != 3 {
			t.Errorf("prompts: %+v %v", prompts, err)
		}
		prompt, err := s.GetPrompt(ctx,
			&mcp.GetPromptParams{Name: "research", Arguments: map[string]string{"question": "Why {agentId}?"}})
		text, _ := prompt.Messages[0].Content.(*mcp.TextContent)
		if err != nil || !strings.HasPrefix(text.Text, "Find out: Why {agentId}?\n") ||
			strings.Contains(text.Text, "Use the agent") {
			t.Errorf("the prompt: %q %v", text.Text, err)
		}
		if _, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "research"}); err == nil {
			t.Error("a prompt without what it needs")
		}
		complete := func(argument, value string, given map[string]string) []string {
			t.Helper()
			got, err := s.Complete(ctx, &mcp.CompleteParams{
				Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: "carrel://agents/{agentId}/threads/{threadId}"},
				Argument: mcp.CompleteParamsArgument{Name: argument, Value: value}, Context: &mcp.CompleteContext{Arguments: given},
			})
			if err != nil {
				t.Fatal(err)
			}
			return got.Completion.Values
		}
		if got := complete("agentId", "landmarks", nil); len(got) != 1 || got[0] != w.agent {
			t.Errorf("agents: %v", got)
		}
		if got := complete("threadId", "words of "+version, map[string]string{"agentId": w.agent}); len(got) != 1 ||
			got[0] != asked.text("threadId") {
			t.Errorf("threads: %v", got)
		}
		if got := complete("threadId", "", map[string]string{"agentId": w.theirs}); len(got) != 0 {
			t.Errorf("threads of others: %v", got)
		}
	})
}

// raw is a request of a client without a library.
type raw struct {
	method, key, version, session, body string
	header                              map[string]string
}

// request sends a raw request. The caller closes the body.
func (w *mcpInstallation) request(t *testing.T, r raw) *http.Response {
	t.Helper()
	if r.method == "" {
		r.method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), r.method, w.server.URL+"/mcp", strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	header := map[string]string{
		"Accept": "application/json, text/event-stream", "Content-Type": "application/json",
		"Authorization":        "Bearer " + r.key,
		"Mcp-Protocol-Version": r.version, "Mcp-Session-Id": r.session,
	}
	for name, value := range r.header {
		header[name] = value
	}
	for name, value := range header {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if header["Host"] != "" {
		req.Host = header["Host"]
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// exchange sends a raw request and reads the whole reply. For a stream it returns the last message.
func (w *mcpInstallation) exchange(t *testing.T, r raw) (status int, header http.Header, message reply) {
	t.Helper()
	res := w.request(t, r)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if i := bytes.LastIndex(body, []byte("data: ")); i >= 0 {
		body = bytes.TrimSpace(body[i+len("data: "):])
	}
	return res.StatusCode, res.Header, decoded(t, body)
}

// modern returns a raw request of the stateless era.
func (w *mcpInstallation) modern(method, name, params, capabilities string) raw {
	if params != "" {
		params += ","
	}
	if capabilities == "" {
		capabilities = "{}"
	}
	return raw{
		key: w.key, version: stateless, header: map[string]string{"Mcp-Method": method, "Mcp-Name": name},
		body: `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + params +
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"` + stateless +
			`","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":` +
			capabilities + `}}}`,
	}
}

// begin starts a session and returns its id.
func (w *mcpInstallation) begin(t *testing.T, key string) string {
	t.Helper()
	status, header, got := w.exchange(t, raw{
		key: key, body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + stateful +
			`","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`,
	})
	if status != http.StatusOK || header.Get("Mcp-Session-Id") == "" {
		t.Fatalf("initialize: %d %v", status, got.body)
	}
	session := header.Get("Mcp-Session-Id")
	if status, _, _ := w.exchange(
		t, raw{key: key, session: session, version: stateful, body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`},
	); status != http.StatusAccepted {
		t.Fatalf("initialized: %d", status)
	}
	return session
}

// memoriesIn lists memories in a session.
func (w *mcpInstallation) memoriesIn(t *testing.T, key, session string) (int, reply) {
	t.Helper()
	status, _, got := w.exchange(t, raw{
		key: key, session: session, version: stateful,
		body: `{"jsonrpc":"2.0","id":"` + rand.Text() +
			`","method":"tools/call","params":{"name":"list_memories","arguments":{"agentId":"` + w.agent + `"}}}`,
	})
	return status, got
}

// TestMCPSessionSurvivesARestart continues a session after a restart and after a crash; another account cannot.
func TestMCPSessionSurvivesARestart(t *testing.T) {
	t.Parallel()
	w := newMCPInstallation(t, testkit.ServerOptions{})
	session := w.begin(t, w.key)
	before := w.server.PID()
	w.server.Restart()
	if w.server.PID() == before {
		t.Fatal("it was not restarted")
	}
	if status, got := w.memoriesIn(t, w.key, session); status != http.StatusOK ||
		got.at("result", "structuredContent", "memories") == nil {
		t.Errorf("after a restart: %d %v", status, got.body)
	}
	w.server.Kill()
	w.server.Start()
	var wait sync.WaitGroup
	for range 20 { // one of them resumes it
		wait.Go(func() {
			if status, got := w.memoriesIn(t, w.key, session); status != http.StatusOK {
				t.Errorf("after a crash: %d %v", status, got.body)
			}
		})
	}
	wait.Wait()
	if status, got := w.memoriesIn(t, w.bob, session); status != http.StatusNotFound {
		t.Errorf("somebody else's session: %d %v", status, got.body)
	}
	if status, _, _ := w.exchange(t,
		raw{method: http.MethodDelete, key: w.key, session: session}); status != http.StatusNoContent {
		t.Errorf("ended: %d", status)
	}
	if status, got := w.memoriesIn(t, w.key, session); status != http.StatusNotFound {
		t.Errorf("an ended session: %d %v", status, got.body)
	}
}

// follow reads the messages of a stream until it ends, without comments.
func follow(t *testing.T, res *http.Response) <-chan reply {
	t.Helper()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("no stream: %d", res.StatusCode)
	}
	out := make(chan reply, 10)
	go func() {
		defer close(out)
		defer func() { _ = res.Body.Close() }()
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var r reply
				if json.Unmarshal([]byte(data), &r.body) == nil {
					out <- r
				}
			}
		}
	}()
	return out
}

func (w *mcpInstallation) get(t *testing.T, key, session string) <-chan reply {
	t.Helper()
	return follow(t, w.request(t, raw{method: http.MethodGet, key: key, session: session, version: stateful}))
}

func (w *mcpInstallation) listen(t *testing.T, key, notifications string) <-chan reply {
	t.Helper()
	r := w.modern("subscriptions/listen", "", `"notifications":`+notifications, "")
	r.key = key
	return follow(t, w.request(t, r))
}

func TestNotificationsReachSubscribers(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func() string{
		"sqlite": func() string { return "" }, "postgres": func() string { return testkit.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newMCPInstallation(t, testkit.ServerOptions{Database: database()})
			memories := "carrel://agents/" + w.agent + "/memories"
			listening := w.listen(
				t, w.key,
				`{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["`+
					memories+`","carrel://agents/`+w.theirs+`"]}`)
			ack := <-listening
			if ack.text("method") != "notifications/subscriptions/acknowledged" ||
				ack.at("params", "notifications", "resourceSubscriptions", 1) != nil ||
				ack.at("params", "notifications", "promptsListChanged") != nil ||
				ack.at("params", "_meta", "io.modelcontextprotocol/subscriptionId") != 7.0 {
				t.Fatalf("acknowledged: %v", ack.body)
			}
			session := w.begin(t, w.key)
			old, others := w.get(t, w.key, session), w.listen(t, w.bob, `{"resourcesListChanged":true}`)
			<-others
			w.do(t, "POST", w.below("/memories"), `{"text":"Something new."}`)
			if news := <-listening; news.text("method") != "notifications/resources/updated" ||
				news.text("params", "uri") != memories {
				t.Errorf("a memory: %v", news.body)
			}
			w.do(t, "POST", "/api/agents", `{"name":"Another"}`)
			for era, stream := range map[string]<-chan reply{"stateless": listening, "stateful": old} {
				if news := <-stream; news.text("method") != "notifications/resources/list_changed" {
					t.Errorf("%s: %v", era, news.body)
				}
			}
			select {
			case news := <-others:
				t.Errorf("somebody else is told: %v", news.body)
			default:
			}
			// A server that shuts down ends its streams, with a final message where the protocol has one.
			w.server.Stop()
			if last := <-listening; last.text("result", "resultType") != "complete" {
				t.Errorf("the last word: %v", last.body)
			}
			for _, stream := range []<-chan reply{listening, old} {
				if news, open := <-stream; open {
					t.Errorf("after the end: %v", news.body)
				}
			}
		})
	}
}

// TestStreamsEndWithTheirCredential times out if they do not.
func TestStreamsEndWithTheirCredential(t *testing.T) {
	t.Parallel()
	w := newMCPInstallation(t, testkit.ServerOptions{})
	key := w.admin(t, "key", "create", "--user", "ada@example.org", "--name", "to be revoked").text("key")
	session := w.begin(t, key)
	streams := []<-chan reply{w.get(t, key, session), w.listen(t, key, `{"toolsListChanged":true}`)}
	w.admin(t, "key", "revoke", "--user", "ada@example.org", "--name", "to be revoked")
	for _, stream := range streams {
		for range stream { // until it ends
		}
	}
	status, header, got := w.exchange(t, raw{key: key, session: session, body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`})
	want := `Bearer error="invalid_token", scope="agents manage offline_access", resource_metadata="` + w.server.URL +
		`/.well-known/oauth-protected-resource/mcp"`
	if status != http.StatusUnauthorized || header.Get("WWW-Authenticate") != want {
		t.Errorf("revoked: %d %s %v", status, header.Get("WWW-Authenticate"), got.body)
	}
}
