package e2e

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"carrel/internal/testkit"
	"carrel/internal/testkit/browser"
)

// TestUserAuthorizesAClientInABrowser runs the authorization code flow in a real browser: a client registers and
// redirects a user, who signs in, reads the request and allows it. The client exchanges the code for a token.
func TestUserAuthorizesAClientInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	s := testkit.StartServer(t, testkit.ServerOptions{})
	const email, password = "ada@example.org", "correct horse battery"
	s.MustAdmin("user", "create", "--email", email, "--name", "Ada", "--password", password)

	answers := make(chan url.Values, 1)
	client := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/callback" {
			answers <- r.URL.Query()
			_, _ = w.Write([]byte("connected"))
		}
	}))
	t.Cleanup(client.Close)
	redirect := client.URL + "/callback"
	clientID := register(t, s.URL, redirect)
	verifier := strings.Repeat("verifier", 6)
	sum := sha256.Sum256([]byte(verifier))
	authorize := s.URL + "/api/auth/mcp/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {clientID}, "redirect_uri": {redirect}, "state": {"xyz & co"},
		"scope":          {"agents offline_access"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}.Encode()

	for decision, want := range map[string]string{"allow": "code", "deny": "error"} {
		tab := b.Open(browser.Options{Width: 390, Height: 844})
		tab.Go(authorize)
		tab.Wait("document.readyState === 'complete' && location.pathname === '/sign-in'")
		tab.Type(email)
		tab.Press("Tab")
		tab.Type(password)
		tab.Press("Enter")
		tab.Wait("document.readyState === 'complete' && location.pathname === '/api/auth/mcp/authorize'")
		text := tab.Text("document.body.innerText")
		for _, part := range []string{"Test client", "unverified", "127.0.0.1", email, "Use your agents"} {
			if !strings.Contains(text, part) {
				t.Errorf("%q is not on the consent page: %s", part, text)
			}
		}
		if _, err := tab.Eval("document.querySelector('button[value=" + decision + "]').focus()"); err != nil {
			t.Fatal(err)
		}
		tab.Press("Enter")
		tab.Wait("document.readyState === 'complete' && document.body.innerText === 'connected'")
		answer := <-answers
		if answer.Get(want) == "" || answer.Get("state") != "xyz & co" || answer.Get("iss") != s.URL {
			t.Errorf("%s: the client got %v", decision, answer)
		}
		if decision == "allow" {
			redeem(t, s.URL, url.Values{
				"grant_type": {"authorization_code"}, "client_id": {clientID}, "redirect_uri": {redirect},
				"code": {answer.Get("code")}, "code_verifier": {verifier},
			})
		}
	}
}

// register registers a public client and returns its id.
func register(t *testing.T, base, redirect string) string {
	t.Helper()
	body := `{"client_name": "Test client", "redirect_uris": ["` + redirect + `"], "token_endpoint_auth_method": "none"}`
	resp, err := http.Post(base+"/api/auth/mcp/register", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var made struct {
		ID string `json:"client_id"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&made); err != nil || made.ID == "" {
		t.Fatalf("register: %d %v", resp.StatusCode, err)
	}
	return made.ID
}

// redeem exchanges a code for a token and uses it.
func redeem(t *testing.T, base string, form url.Values) {
	t.Helper()
	resp, err := http.PostForm(base+"/api/auth/mcp/token", form)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var tokens struct {
		Access string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&tokens); err != nil || tokens.Access == "" {
		t.Fatalf("token: %d %v", resp.StatusCode, err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/agents", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+tokens.Access)
	agents, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = agents.Body.Close()
	if agents.StatusCode != http.StatusOK {
		t.Errorf("the token gets %d", agents.StatusCode)
	}
}
