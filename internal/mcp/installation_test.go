package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/app"
	"carrel/internal/cli"
	"carrel/internal/config"
	"carrel/internal/testkit/echo"
)

// installation is a running server on SQLite with two accounts: Ada owns it and has an agent with one document, Bob has
// nothing. Agents repeat the question as their reply.
type installation struct {
	data, url string
	// ada and bob are API keys with the scopes agents and manage.
	ada, bob string
	// agent is Ada's agent, and source its only source.
	agent, source string
}

func start(t *testing.T) *installation {
	t.Helper()
	in := &installation{data: t.TempDir()}
	for _, name := range []string{"ada", "bob"} {
		in.admin(t, "user", "create", "--email", name+"@example.org", "--name", name, "--password", "correct horse")
	}
	in.ada, in.bob = in.key(t, "ada"), in.key(t, "bob")
	created := in.admin(t, "agent", "create", "--user", "ada@example.org", "--name", "Landmarks")
	in.agent = created["agent"].(object)["id"].(string)
	document := filepath.Join(t.TempDir(), "works.jsonl")
	if err := os.WriteFile(document, []byte(`{"id": "codd", "title": "A Relational Model", "authors": ["E. F. Codd"], `+
		`"text": "Future users of large data banks must be protected.", "year": 1970}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	added := in.admin(t, "source", "add", "--agent", in.agent, "--name", "Works", "--default", document)
	in.source = added["source"].(object)["id"].(string)
	in.serve(t)
	return in
}

// TestReadOnlyRequests runs the tests that change no data on one installation, because starting one takes seconds.
func TestReadOnlyRequests(t *testing.T) {
	t.Parallel()
	in := start(t)
	for name, test := range map[string]func(*testing.T, *installation){
		"ToolsIgnoreUnknownAndNullArguments":         testToolsIgnoreUnknownAndNullArguments,
		"ArgumentsMustBeAnObject":                    testArgumentsMustBeAnObject,
		"ToolsHideAgentsOfOtherAccounts":             testToolsHideAgentsOfOtherAccounts,
		"ToolsAreListedByScope":                      testToolsAreListedByScope,
		"ToolListIsStable":                           testToolListIsStable,
		"ResourcesAreListedByAccess":                 testResourcesAreListedByAccess,
		"ResourcesOfOthersAndUnknownOnesAreNotFound": testResourcesOfOthersAndUnknownOnesAreNotFound,
		"PromptsInsertTheirArguments":                testPromptsInsertTheirArguments,
		"CompletionSuggestsOnlyIDsOfTheCaller":       testCompletionSuggestsOnlyIDsOfTheCaller,
		"SessionWorksForItsAccountOnly":              testSessionWorksForItsAccountOnly,
	} {
		t.Run(name, func(t *testing.T) { test(t, in) })
	}
}

type object = map[string]any

// admin runs an admin command and returns its JSON output.
func (in *installation) admin(t *testing.T, args ...string) object {
	t.Helper()
	var out, errs bytes.Buffer
	env := cli.Env{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" }}
	args = append(append([]string{"admin", "--data", in.data}, args...), "--json")
	if code := cli.Main(args, env); code != 0 {
		t.Fatalf("%v: exit code %d, %s%s", args, code, &out, &errs)
	}
	var got object
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v prints %s", args, &out)
	}
	return got
}

// key creates an API key, with the scopes agents and manage unless others are given.
func (in *installation) key(t *testing.T, user string, scopes ...string) string {
	t.Helper()
	args := []string{"key", "create", "--user", user + "@example.org", "--name", "test"}
	if len(scopes) > 0 {
		args = append(args, "--scopes", strings.Join(scopes, ","))
	}
	return in.admin(t, args...)["key"].(string)
}

// serve runs the server until the test ends.
func (in *installation) serve(t *testing.T) {
	t.Helper()
	cfg, err := config.Load(config.LoadOptions{Overrides: map[string]string{
		"data": in.data, "addr": "127.0.0.1:0", "rate-limits": "off", "outbound-private": "on",
	}})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	opened, err := app.Open(t.Context(), cfg, app.Options{Log: log, Answerer: echo.Answerer{}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	listening, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		err := opened.Serve(ctx, app.ServeOptions{Log: log, Listening: func(_ context.Context, cfg config.Config) error {
			listening <- cfg.BaseURL
			return nil
		}})
		ended <- errors.Join(err, opened.Close())
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	select {
	case in.url = <-listening:
	case err := <-ended:
		ended <- nil
		t.Fatalf("the server ended with %v", err)
	}
}

// bearer adds an API key to every request.
type bearer struct {
	key  string
	base http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return b.base.RoundTrip(r)
}

// client is an SDK client that is connected with an API key.
type client struct {
	*mcp.ClientSession
	t *testing.T
}

func (in *installation) connect(t *testing.T, key string) client {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{
			Endpoint: in.url + "/mcp", DisableStandaloneSSE: true,
			HTTPClient: &http.Client{Transport: bearer{key, transport}},
		}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close() // the server may have ended first
		transport.CloseIdleConnections()
	})
	return client{session, t}
}

// call calls a tool, which may return an error result, and returns its text and its structured content.
func (c client) call(tool string, arguments any) (result *mcp.CallToolResult, text string) {
	c.t.Helper()
	result, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		c.t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	for _, part := range result.Content {
		if content, ok := part.(*mcp.TextContent); ok {
			text += content.Text
		}
	}
	return result, text
}

// must calls a tool that must succeed and returns its structured content.
func (c client) must(tool string, arguments any) object {
	c.t.Helper()
	result, text := c.call(tool, arguments)
	content, ok := result.StructuredContent.(object)
	if result.IsError || !ok {
		c.t.Fatalf("%s %v: %s", tool, arguments, text)
	}
	return content
}

// refused calls a tool that must fail and returns the error code and the text.
func (c client) refused(tool string, arguments any) (code, text string) {
	c.t.Helper()
	result, text := c.call(tool, arguments)
	if !result.IsError {
		c.t.Fatalf("%s %v succeeded: %s", tool, arguments, text)
	}
	code, _ = result.Meta["carrel/code"].(string)
	return code, text
}

// tools returns the listed tools by name.
func (c client) tools() map[string]*mcp.Tool {
	c.t.Helper()
	out := map[string]*mcp.Tool{}
	for tool, err := range c.Tools(c.t.Context(), nil) {
		if err != nil {
			c.t.Fatal(err)
		}
		out[tool.Name] = tool
	}
	return out
}
