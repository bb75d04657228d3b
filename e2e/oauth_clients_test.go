package e2e

import (
	"bufio"
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"carrel/internal/testkit"
)

// clientsFolder holds the third-party clients, pinned by a lock file.
const clientsFolder = "clients"

// nodeProgram returns the path of Node.js, or skips the test.
func nodeProgram(t *testing.T) string {
	t.Helper()
	node, err := filepath.Abs(filepath.Join(clientsFolder, "node_modules", ".bin", "node"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(node); err != nil {
		t.Skip("the clients are not installed: make setup")
	}
	return node
}

// newOwner starts a server with an account and returns a browser in which its owner is not signed in.
func newOwner(t *testing.T, o testkit.ServerOptions) *flow {
	t.Helper()
	server := testkit.StartServer(t, o)
	server.MustAdmin("user", "create", "--email", "ada@example.org", "--name", "Ada",
		"--password", "correct horse battery")
	return newFlow(t, server)
}

// allow opens the authorization page of a client, signs in if needed, allows the request, and follows the redirect to
// the client. It returns the client's response.
func (f *flow) allow(address string) *url.URL {
	f.Helper()
	page := f.do(http.MethodGet, address, "")
	if page.status == http.StatusSeeOther && strings.HasPrefix(page.header.Get("Location"), "/sign-in") {
		page = f.signIn(page)
	}
	if page.status != http.StatusOK || !strings.Contains(page.body, "ada@example.org") {
		f.Fatalf("the consent page: %d %s", page.status, page.body)
	}
	f.asked = page.body
	form := testkit.HiddenFields(page.body)
	form.Set("decision", "allow")
	r := f.do(http.MethodPost, f.server.URL+"/api/auth/mcp/authorize", form.Encode(),
		"Content-Type", "application/x-www-form-urlencoded", "Origin", f.server.URL, "Sec-Fetch-Site", "same-origin")
	to, err := url.Parse(r.header.Get("Location"))
	if err != nil || r.status != http.StatusSeeOther || to.Query().Get("code") == "" {
		f.Fatalf("after consent: %d %s %s", r.status, to, r.body)
	}
	f.secrets = append(f.secrets, to.Query().Get("code"))
	return to
}

// run runs a client program and acts as its user. The program prints OPEN and a URL for the user, and SECRET and a
// value that no log may contain. It must exit with 0.
func (f *flow) run(node string, args ...string) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, args...)
	cmd.Dir = clientsFolder
	cmd.WaitDelay = 5 * time.Second
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		f.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.Fatal(err)
	}
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		switch word, rest, _ := strings.Cut(line, " "); {
		case word == "OPEN":
			f.visit(f.allow(rest))
		case word == "SECRET":
			f.secrets = append(f.secrets, rest)
		case strings.HasPrefix(line, f.server.URL+"/api/auth/mcp/authorize?"): // printed by the conformance suite
			f.visit(f.allow(line))
		default:
			said = append(said, line)
		}
	}
	if err := cmd.Wait(); err != nil {
		f.Fatalf("%v: %v\n%s\n%s", args, err, complaints.String(), strings.Join(said, "\n"))
	}
	f.Logf("%s", strings.Join(said, "\n"))
}

// visit follows the redirect to a waiting client.
func (f *flow) visit(answer *url.URL) {
	f.Helper()
	if r := f.do(http.MethodGet, answer.String(), ""); r.status != http.StatusOK {
		f.Fatalf("the client answers its user with %d %s", r.status, r.body)
	}
}

// TestRealClientsConnect drives common OAuth clients through the real pages.
func TestRealClientsConnect(t *testing.T) {
	t.Parallel()
	node := nodeProgram(t)
	f := newOwner(t, testkit.ServerOptions{Env: []string{"CARREL_RATE_LIMITS=off"}})
	for _, args := range [][]string{
		{"openid-client.mjs", f.server.URL},
		{"oauth4webapi.mjs", f.server.URL},
		{"mcp-oauth.mjs", f.server.URL, "sdk"},
		{"mcp-oauth.mjs", f.server.URL, "client"},
	} {
		t.Run(strings.Join(append([]string{strings.TrimSuffix(args[0], ".mjs")}, args[2:]...), " "), func(t *testing.T) {
			mine := newFlow(t, f.server)
			mine.run(node, args...)
			if len(mine.secrets) < 5 {
				t.Errorf("only %d secrets went over the wire", len(mine.secrets))
			}
			mine.wantNoSecretsIn(f.server.Log())
		})
	}
}

// TestClientMetadataDocumentIsShownOnTheConsentPage uses a client with a metadata document instead of a registration.
func TestClientMetadataDocumentIsShownOnTheConsentPage(t *testing.T) {
	t.Parallel()
	node := nodeProgram(t)
	var id string
	documents := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w,
			`{"client_id": %q, "client_name": "Documented", "redirect_uris": ["http://127.0.0.1/callback"], `+
				`"token_endpoint_auth_method": "none"}`,
			id)
	}))
	t.Cleanup(documents.Close)
	id = documents.URL + "/client.json"
	roots := filepath.Join(t.TempDir(), "roots.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: documents.Certificate().Raw})
	if err := os.WriteFile(roots, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	f := newOwner(t, testkit.ServerOptions{Env: []string{"CARREL_OUTBOUND_PRIVATE=on", "SSL_CERT_FILE=" + roots}})
	for _, sdk := range []string{"sdk", "client"} {
		mine := newFlow(t, f.server)
		mine.run(node, "mcp-oauth.mjs", f.server.URL, sdk, id)
		if host := strings.TrimPrefix(documents.URL,
			"https://"); !strings.Contains(mine.asked, "Its metadata comes from <b class=\"host\">"+host) {
			t.Errorf("%s: the page does not say where the client comes from: %s", sdk, mine.asked)
		}
	}
	guarded := newOwner(t, testkit.ServerOptions{Env: []string{"SSL_CERT_FILE=" + roots}})
	page := guarded.signIn(guarded.do(http.MethodGet,
		guarded.server.URL+"/api/auth/mcp/authorize?client_id="+url.QueryEscape(id), ""))
	if page.status != http.StatusBadRequest || !strings.Contains(page.body, "could not be fetched") {
		t.Errorf("a document on our own machine: %d %s", page.status, page.body)
	}
}

// TestGoSDKConnectsThroughOAuth uses the client of the Go SDK.
func TestGoSDKConnectsThroughOAuth(t *testing.T) {
	t.Parallel()
	f := newOwner(t, testkit.ServerOptions{})
	const redirect = "http://127.0.0.1:1/callback"
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		RequestRefreshToken: true,
		RedirectURL:         redirect,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Go SDK", RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: "none",
			GrantTypes: []string{"authorization_code", "refresh_token"},
		}},
		AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			answer := f.allow(args.URL).Query()
			return &auth.AuthorizationResult{Code: answer.Get("code"), State: answer.Get("state"), Iss: answer.Get("iss")}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: f.server.URL + "/mcp", OAuthHandler: handler}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) == 0 {
		t.Fatalf("tools: %v", err)
	}
	source, err := handler.TokenSource(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	token, err := source.Token()
	if err != nil || token.RefreshToken == "" {
		t.Fatalf("token: %v", err)
	}
	f.secrets = append(f.secrets, token.AccessToken, token.RefreshToken)
	f.wantNoSecretsIn(f.server.Log())
}

// TestConformanceSuiteAcceptsTheAuthorizationServer runs the MCP conformance suite in its mode for authorization
// servers.
func TestConformanceSuiteAcceptsTheAuthorizationServer(t *testing.T) {
	t.Parallel()
	node := nodeProgram(t)
	f := newOwner(t, testkit.ServerOptions{})
	port := freePort(t)
	client := register(t, f.server.URL, "http://127.0.0.1/callback")
	results := t.TempDir()
	f.run(node, "node_modules/@modelcontextprotocol/conformance/dist/index.js", "authorization", "--url", f.server.URL,
		"--client-id", client, "--resource", f.server.URL+"/mcp", "--port", port, "-o", results)
	f.wantSuccess(results)
}

// wantSuccess reads the results of the suite: every check must have passed, without warnings or skips.
func (f *flow) wantSuccess(results string) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	if err != nil || len(files) < 2 {
		f.Fatalf("the suite has written %v (%v)", files, err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if n := strings.Count(string(body), `"status": "SUCCESS"`); n == 0 ||
			n != strings.Count(string(body), `"status": "`) {
			f.Errorf("%s", body)
		}
	}
}

// freePort returns a free port.
func freePort(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	return port
}
