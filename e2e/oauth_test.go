package e2e

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"carrel/internal/testkit"
)

// TestOAuthFlow runs a client that starts with only the URL of the API: it is refused, discovers the authorization
// server, registers, sends its user through the real pages, and works until its grant is revoked.
func TestOAuthFlow(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		oauthFlow(t, testkit.StartServer(t, testkit.ServerOptions{}), "--data")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		database := testkit.Postgres(t)
		oauthFlow(t, testkit.StartServer(t, testkit.ServerOptions{Database: database}), "--database", database)
	})
}

func oauthFlow(t *testing.T, server *testkit.Server, where ...string) {
	if len(where) == 1 {
		where = append(where, server.Data)
	}
	f := newFlow(t, server)
	admin := func(args ...string) string {
		t.Helper()
		r := testkit.Carrel(t, append(append([]string{"admin"}, where...), args...)...)
		if r.Code != 0 {
			t.Fatalf("carrel %v: %d %s", args, r.Code, r.Stderr)
		}
		return r.Stdout
	}
	admin("user", "create", "--email", "ada@example.org", "--name", "Ada", "--password", "correct horse battery")

	turnedAway := f.api("", "/api/agents")
	f.wantChallenge(turnedAway, http.StatusUnauthorized, `scope="agents manage offline_access"`)
	f.discover(turnedAway)
	client := f.register()
	first := f.tokens(url.Values{
		"grant_type": {"authorization_code"}, "client_id": {client},
		"redirect_uri": {flowRedirect}, "code_verifier": {f.verifier},
		"code": {f.authorize(client, server.URL)},
	})
	if r := f.api(first.Access, "/api/agents"); r.status != http.StatusOK {
		t.Fatalf("with the token: %d %s", r.status, r.body)
	}
	f.wantChallenge(f.api(first.Access, "/api/account/export"), http.StatusForbidden,
		`error="insufficient_scope", scope="account"`)

	next := f.tokens(url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {first.Refresh}})
	if r := f.api(next.Access, "/api/agents"); r.status != http.StatusOK {
		t.Fatalf("after the refresh: %d %s", r.status, r.body)
	}
	f.post("revocation_endpoint", url.Values{"client_id": {client}, "token": {next.Refresh}}, http.StatusOK)
	for _, token := range []string{first.Access, next.Access} {
		f.wantChallenge(f.api(token, "/api/agents"), http.StatusUnauthorized,
			`error="invalid_token", scope="agents manage offline_access"`)
	}

	// REST and MCP are one resource, and the operator can revoke a grant as well.
	f.signedIn = true
	var last flowTokens
	for _, resource := range []string{server.URL, server.URL + "/", server.URL + "/mcp", ""} {
		last = f.tokens(url.Values{
			"grant_type": {"authorization_code"}, "client_id": {client},
			"redirect_uri": {flowRedirect}, "code_verifier": {f.verifier},
			"code": {f.authorize(client, resource)},
		})
		if r := f.api(last.Access, "/api/agents"); r.status != http.StatusOK {
			t.Errorf("a token for %q on REST: %d %s", resource, r.status, r.body)
		}
		if r := f.mcp(last.Access); r.status != http.StatusOK || !strings.Contains(r.body, `"serverInfo"`) {
			t.Errorf("a token for %q on MCP: %d %s", resource, r.status, r.body)
		}
	}
	var listed struct {
		Connections []struct {
			ID, Kind, Name string
			Revoked        bool
		}
	}
	if err := json.Unmarshal([]byte(admin("connection", "list", "--user", "ada@example.org", "--json")),
		&listed); err != nil || len(listed.Connections) != 5 || listed.Connections[0].Name != "Flow" {
		t.Fatalf("connections: %+v %v", listed, err)
	}
	admin("connection", "revoke", "--user", "ada@example.org", "--id", listed.Connections[0].ID)
	f.wantChallenge(f.api(last.Access, "/api/agents"), http.StatusUnauthorized,
		`error="invalid_token", scope="agents manage offline_access"`)
	admin("keys", "rotate")
	f.wantNoSecretsIn(server.Log())
}

const flowRedirect = "http://127.0.0.1:1/cb"

// flow is a client with its user's browser.
type flow struct {
	*testing.T
	server   *testkit.Server
	browser  *http.Client
	verifier string
	metadata map[string]any
	signedIn bool
	secrets  []string
	// asked is the last consent page.
	asked string
}

func newFlow(t *testing.T, server *testkit.Server) *flow {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &flow{T: t, server: server, verifier: rand.Text() + rand.Text(), browser: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

type flowReply struct {
	status int
	header http.Header
	body   string
}

func (f *flow) do(method, address, body string, headers ...string) flowReply {
	f.Helper()
	r, err := http.NewRequestWithContext(f.Context(), method, address, strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := f.browser.Do(r)
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		f.Fatal(err)
	}
	return flowReply{res.StatusCode, res.Header, string(b)}
}

func (f *flow) api(token, path string) flowReply {
	f.Helper()
	if token == "" {
		return f.do(http.MethodGet, f.server.URL+path, "")
	}
	return f.do(http.MethodGet, f.server.URL+path, "", "Authorization", "Bearer "+token)
}

// mcp starts an MCP session.
func (f *flow) mcp(token string) flowReply {
	f.Helper()
	headers := []string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}
	if token != "" {
		headers = append(headers, "Authorization", "Bearer "+token)
	}
	return f.do(http.MethodPost, f.server.URL+"/mcp",
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",`+
			`"capabilities":{},"clientInfo":{"name":"flow","version":"1"}}}`, headers...)
}

// wantChallenge checks the challenge of a refusal.
func (f *flow) wantChallenge(r flowReply, status int, with string) {
	f.Helper()
	want := "Bearer " + with + `, resource_metadata="` + f.server.URL + `/.well-known/oauth-protected-resource"`
	if got := r.header.Get("WWW-Authenticate"); r.status != status || got != want {
		f.Errorf("%d %s\n got %s\nwant %s", r.status, r.body, got, want)
	}
}

func (f *flow) json(r flowReply) map[string]any {
	f.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(r.body), &v); err != nil || r.status >= 300 {
		f.Fatalf("%d %s", r.status, r.body)
	}
	return v
}

// discover follows the challenge to the metadata of the authorization server.
func (f *flow) discover(turnedAway flowReply) {
	f.Helper()
	m := regexp.MustCompile(`resource_metadata="([^"]+)"`).FindStringSubmatch(turnedAway.header.Get("WWW-Authenticate"))
	resource := f.json(f.do(http.MethodGet, m[1], ""))
	servers, _ := resource["authorization_servers"].([]any)
	if resource["resource"] != f.server.URL || len(servers) != 1 || servers[0] != f.server.URL {
		f.Fatalf("the resource says %v", resource)
	}
	f.metadata = f.json(f.do(http.MethodGet, f.server.URL+"/.well-known/oauth-authorization-server", ""))
	if f.metadata["issuer"] != f.server.URL {
		f.Fatalf("the issuer is %v", f.metadata["issuer"])
	}
}

func (f *flow) at(endpoint string) string {
	f.Helper()
	s, ok := f.metadata[endpoint].(string)
	if !ok {
		f.Fatalf("no %s", endpoint)
	}
	return s
}

func (f *flow) register() string {
	f.Helper()
	v := f.json(f.do(http.MethodPost, f.at("registration_endpoint"),
		`{"client_name":"Flow","redirect_uris":["http://127.0.0.1/cb"],"token_endpoint_auth_method":"none"}`,
		"Content-Type", "application/json"))
	return v["client_id"].(string)
}

func (f *flow) post(endpoint string, form url.Values, status int) flowReply {
	f.Helper()
	r := f.do(http.MethodPost, f.at(endpoint), form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	if r.status != status {
		f.Fatalf("%s: %d %s", endpoint, r.status, r.body)
	}
	return r
}

// authorize sends the user through the pages and returns the code.
func (f *flow) authorize(client, resource string) string {
	f.Helper()
	sum := sha256.Sum256([]byte(f.verifier))
	q := url.Values{
		"client_id": {client}, "redirect_uri": {flowRedirect}, "response_type": {"code"}, "state": {"xyz"},
		"scope":                 {"openid profile email offline_access"},
		"code_challenge":        {base64.RawURLEncoding.EncodeToString(sum[:])},
		"code_challenge_method": {"S256"}, "resource": {resource},
	}
	page := f.do(http.MethodGet, f.at("authorization_endpoint")+"?"+q.Encode(), "")
	if !f.signedIn {
		page = f.signIn(page)
	}
	if page.status != http.StatusOK || !strings.Contains(page.body, "ada@example.org") ||
		!strings.Contains(page.body, "unverified") {
		f.Fatalf("the consent page: %d %s", page.status, page.body)
	}
	form := testkit.HiddenFields(page.body)
	form.Set("decision", "allow")
	r := f.do(http.MethodPost, f.at("authorization_endpoint"), form.Encode(),
		"Content-Type", "application/x-www-form-urlencoded", "Origin", f.server.URL, "Sec-Fetch-Site", "same-origin")
	to, err := url.Parse(r.header.Get("Location"))
	if err != nil || r.status != http.StatusSeeOther || !strings.HasPrefix(to.String(), flowRedirect+"?") ||
		to.Query().Get("state") != "xyz" || to.Query().Get("iss") != f.server.URL {
		f.Fatalf("after consent: %d %s %s", r.status, to, r.body)
	}
	f.secrets = append(f.secrets, to.Query().Get("code"))
	return to.Query().Get("code")
}

// signIn submits the sign-in page and returns the response.
func (f *flow) signIn(sent flowReply) flowReply {
	f.Helper()
	if sent.status != http.StatusSeeOther {
		f.Fatalf("not sent to sign in: %d %s", sent.status, sent.body)
	}
	page := f.do(http.MethodGet, f.server.URL+sent.header.Get("Location"), "")
	form := testkit.HiddenFields(page.body)
	form.Set("email", "ada@example.org")
	form.Set("password", "correct horse battery")
	r := f.do(http.MethodPost, f.server.URL+"/sign-in", form.Encode(),
		"Content-Type", "application/x-www-form-urlencoded", "Origin", f.server.URL, "Sec-Fetch-Site", "same-origin")
	if r.status != http.StatusSeeOther {
		f.Fatalf("sign-in: %d %s", r.status, r.body)
	}
	return f.do(http.MethodGet, f.server.URL+r.header.Get("Location"), "")
}

type flowTokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	ID      string `json:"id_token"`
}

func (f *flow) tokens(form url.Values) flowTokens {
	f.Helper()
	r := f.post("token_endpoint", form, http.StatusOK)
	var got flowTokens
	if err := json.Unmarshal([]byte(r.body), &got); err != nil || got.Access == "" || got.Refresh == "" {
		f.Fatalf("tokens: %s", r.body)
	}
	f.secrets = append(f.secrets, got.Access, got.Refresh)
	if got.ID != "" {
		f.secrets = append(f.secrets, got.ID)
	}
	return got
}

// wantNoSecretsIn searches the server's log for every secret of the flow.
func (f *flow) wantNoSecretsIn(log string) {
	f.Helper()
	if !strings.Contains(log, "/api/auth/mcp/token") {
		f.Fatalf("the log does not show the requests: %.500s", log)
	}
	for i, s := range append(f.secrets, f.verifier, "correct horse") {
		if strings.Contains(log, s) {
			f.Errorf("secret %d is in the log", i)
		}
	}
}
