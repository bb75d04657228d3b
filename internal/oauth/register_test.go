package oauth_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRegistrationReturnsTheRegisteredMetadata(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	for _, method := range []string{"none", "client_secret_basic", "client_secret_post", ""} {
		body, _ := json.Marshal(map[string]any{
			"redirect_uris": []string{redirectURI, "http://127.0.0.1/cb"}, "client_name": "<b>App</b>",
			"token_endpoint_auth_method": method,
			"logo_uri":                   "https://app.example/logo.png", "unknown": 7,
			"grant_types": []string{"authorization_code", "refresh_token"},
		})
		r := srv.send(http.MethodPost, "/api/auth/mcp/register", string(body), "Content-Type", "application/json",
			"Origin", "https://elsewhere.example")
		v := r.json(t)
		if r.status != http.StatusCreated || r.header.Get("Cache-Control") != "no-store" ||
			r.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %d %v", method, r.status, r.header)
		}
		_, secret := v["client_secret"]
		if v["client_id"] == "" || v["client_name"] != "<b>App</b>" || secret != (method != "none") ||
			len(v["redirect_uris"].([]any)) != 2 {
			t.Errorf("%s: %v", method, v)
		}
		if secret && v["client_secret_expires_at"] != float64(0) {
			t.Errorf("%s: the secret expires at %v", method, v["client_secret_expires_at"])
		}
	}
	r := srv.send(http.MethodOptions, "/api/auth/mcp/register", "", "Origin", "https://elsewhere.example",
		"Access-Control-Request-Method", "POST")
	if r.status != http.StatusNoContent || !strings.Contains(r.header.Get("Access-Control-Allow-Methods"), "POST") ||
		!strings.Contains(r.header.Get("Access-Control-Allow-Headers"), "Content-Type") {
		t.Errorf("preflight: %d %v", r.status, r.header)
	}
}

func TestInvalidRegistrationReturnsRFC7591Error(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	redirect := func(uri string) string {
		b, _ := json.Marshal(map[string]any{"redirect_uris": []string{uri}, "token_endpoint_auth_method": "none"})
		return string(b)
	}
	bad := map[string][]string{
		"invalid_client_metadata": {
			``, `[]`, `null`, `"x"`, `{`, `{"redirect_uris":"https://a.example"}`,
			`{"redirect_uris":["https://a.example"],"client_name":7}`,
			`{"redirect_uris":["https://a.example"],"token_endpoint_auth_method":"private_key_jwt"}`,
			`{"redirect_uris":["https://a.example"],"grant_types":["implicit"]}`,
			`{"redirect_uris":["https://a.example"],"response_types":["token"]}`,
			`{"redirect_uris":["https://a.example"],"id_token_signed_response_alg":"none"}`,
			`{"redirect_uris":["https://a.example"],"id_token_signed_response_alg":"HS256"}`,
			`{"redirect_uris":["https://a.example"],"client_name":"` + strings.Repeat("x", 101) + `"}`,
			`{"redirect_uris":["https://a.example"],"client_name":"a\u0000b"}`,
			`{"redirect_uris":["https://a.example"],"client_name":"a\u202eb"}`,
			"{\"redirect_uris\":[\"https://a.example\"],\"client_name\":\"\xff\"}",
		},
		"invalid_redirect_uri": {
			`{}`, `{"redirect_uris":[]}`,
			`{"redirect_uris":[` + strings.Repeat(`"https://a.example",`, 20) + `"https://a.example"]}`,
			`{"redirect_uris":["cursor://x"],"token_endpoint_auth_method":"client_secret_basic"}`,
			`{"redirect_uris":["https://a.example","http://a.example"]}`,
		},
	}
	for _, uri := range []string{
		"", "/relative", "a.example/cb", "//a.example/cb", "https://", "https:///cb", "https://a.example/#",
		"https://a.example/cb#x", "https://u:p@a.example/cb", "https://u@a.example/",
		"http://a.example/cb", "http://127.0.0.2/cb", "http://localhost.evil.example/cb",
		"http://127.0.0.1@evil.example/", "http://127.0.0.1:80:80/", "http://[::2]/cb", "http://10.0.0.1/",
		"javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "file:///etc/passwd",
		"blob:https://a.example/x", "about:blank", "vbscript:x", "view-source:https://a.example",
		"https://a.example/\\evil", "https://a.example/ cb", "https://a.example/\n", "https://ä.example/",
		"HTTPS://a.example/cb", "ws://a.example", "http:127.0.0.1/cb", "https:a.example",
		"https://a.example/" + strings.Repeat("x", 2000),
		"https://*.example/cb", "https://*/cb", "https://a.*/cb", "https://a*.example/cb", "https://*.example:8443/cb",
		"https://%2a.example/cb", "https://a..example/cb",
		"https://.example/cb", "https://a(b).example/cb", "http://*.localhost/cb", "http://127.0.0.1:*/cb",
		"com.example.app://*/cb",
		"myapp://cb", "vscode://vscode.github-authentication/did-authenticate", "app:/cb", "web+app://cb",
		"cursorx://cb", "x.:/cb", "mailto:a@a.example", "intent://a/#Intent;end",
		"ms-settings:", "tel:1", "chrome-extension://a/cb", "ftp://a.example/cb",
	} {
		bad["invalid_redirect_uri"] = append(bad["invalid_redirect_uri"], redirect(uri))
	}
	for code, bodies := range bad {
		for _, body := range bodies {
			r := srv.send(http.MethodPost, "/api/auth/mcp/register", body, "Content-Type", "application/json")
			if srv.wantError(r, http.StatusBadRequest, code); srv.Failed() {
				t.Fatalf("for %.200s", body)
			}
		}
	}
	r := srv.send(http.MethodPost, "/api/auth/mcp/register", `{"client_name":"`+strings.Repeat("x", 65<<10)+`"}`)
	srv.wantError(r, http.StatusRequestEntityTooLarge, "invalid_request")
	for _, uri := range []string{
		"https://a.example", "https://a.example:8443/cb?x=1", "http://127.0.0.1", "http://127.0.0.1:7777/cb",
		"http://[::1]/cb", "http://localhost:1/cb",
		"cursor://anysphere.cursor-retrieval/oauth/user-x/callback", "cursor://anysphere.cursor-mcp/oauth/callback",
		"com.example.app:/cb", "com.example.app://host/cb", "com.example-1.app:/cb", "https://127.0.0.1/cb",
		"https://[2001:db8::1]/cb", "https://a_b.example./cb", "https://localhost/cb",
		"https://a.example/cb*", "https://vscode.dev/redirect", "http://127.0.0.1:33418/",
		"https://claude.ai/api/mcp/auth_callback",
	} {
		if r := srv.send(http.MethodPost, "/api/auth/mcp/register", redirect(uri)); r.status != http.StatusCreated {
			t.Errorf("%s: %d %s", uri, r.status, r.body)
		}
	}
}

// A null or a value of another type must not count as an absent member, or the client would silently get a default.
func TestRegistrationMemberOfWrongTypeIsRefused(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	const text, list, object = `"x"`, `["x"]`, `{"x":"y"}`
	for name, good := range map[string]string{
		"redirect_uris": list, "grant_types": list, "response_types": list, "contacts": list,
		"client_name": text, "client_uri": text, "logo_uri": text, "scope": text, "tos_uri": text, "policy_uri": text,
		"jwks_uri":    text,
		"software_id": text, "software_version": text, "software_statement": text, "token_endpoint_auth_method": text,
		"application_type":             text,
		"id_token_signed_response_alg": text, "jwks": object,
	} {
		for _, value := range []string{
			`null`, `7`, `1.5`, `true`, text, list, object, `[null]`, `["x",7]`, `[["x"]]`,
			`[]`, `{}`,
		} {
			empty := value == `[]` && good == list || value == `{}` && good == object
			if value == good || empty {
				continue // the right type
			}
			body := `{"` + name + `":` + value + `}`
			if name != "redirect_uris" {
				body = `{"redirect_uris":["https://a.example"],"` + name + `":` + value + `}`
			}
			srv.wantError(srv.send(http.MethodPost, "/api/auth/mcp/register", body), http.StatusBadRequest,
				"invalid_client_metadata")
			if srv.Failed() {
				t.Fatalf("for %s", body)
			}
		}
	}
	// Unknown members are ignored, and names are compared with regard to case.
	r := srv.send(http.MethodPost, "/api/auth/mcp/register",
		`{"redirect_uris":["https://a.example"],"unknown":null,"Token_Endpoint_Auth_Method":"none"}`)
	if r.status != http.StatusCreated || r.json(t)["token_endpoint_auth_method"] != "client_secret_basic" {
		t.Errorf("%d %s", r.status, r.body)
	}
}

func TestUnusedClientIsPrunedAfterAWeek(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	unused, used := srv.register("none"), srv.register("none")
	srv.connect(used)
	var found []string
	for _, after := range []time.Duration{7*day - time.Second, 2 * time.Second} {
		srv.clock.Advance(after)
		if err := srv.service.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, c := range []client{unused, used} {
			if r := srv.authorize(c.request()); r.status == http.StatusOK {
				found = append(found, c.id)
			}
		}
	}
	if !slices.Equal(found, []string{unused.id, used.id, used.id}) {
		t.Errorf("found %v of %s and %s", found, unused.id, used.id)
	}
}
