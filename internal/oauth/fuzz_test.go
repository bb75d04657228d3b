package oauth

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzRedirect checks that every URI that matches a registered one leads to the registered host and path.
func FuzzRedirect(f *testing.F) {
	for _, known := range []string{
		"https://app.example/cb", "http://127.0.0.1/cb", "http://[::1]:1/cb?x=1",
		"http://localhost", "cursor://a/b", "com.example:/cb",
	} {
		for _, requested := range []string{
			known, known + "/", "http://127.0.0.1:99/cb", "http://localhost:1",
			"https://app.example@evil.example/cb", "http://127.0.0.1:1@evil.example/cb", "http://[::1]/cb?x=1",
			"javascript:alert(1)",
		} {
			f.Add(known, requested)
		}
	}
	f.Fuzz(func(t *testing.T, known, requested string) {
		if checkRedirect(known, true) != "" {
			return
		}
		k, err := url.Parse(known)
		if err != nil || k.User != nil || k.Fragment != "" || k.Scheme == "javascript" || k.Scheme == "data" ||
			k.Scheme == "http" && k.Hostname() != "127.0.0.1" && k.Hostname() != "::1" && k.Hostname() != "localhost" {
			t.Fatalf("%q may be registered (%v)", known, err)
		}
		if !matchRedirect([]string{known}, known) {
			t.Errorf("%q does not match itself", known)
		}
		if !matchRedirect([]string{known}, requested) {
			return
		}
		a, err := url.Parse(requested)
		if err != nil || a.Scheme != k.Scheme || a.Hostname() != k.Hostname() || a.EscapedPath() != k.EscapedPath() ||
			a.RawQuery != k.RawQuery || a.Fragment != "" || a.User != nil {
			t.Fatalf("%q matches %q", requested, known)
		}
		if a.Port() != k.Port() && k.Scheme != "http" {
			t.Fatalf("%q matches %q with another port", requested, known)
		}
		to, err := url.Parse(withQuery(requested, url.Values{"code": {"c"}, "iss": {"i"}}))
		if err != nil || to.Hostname() != a.Hostname() || to.Query().Get("iss") != "i" &&
			!strings.Contains(a.RawQuery, "iss") && !strings.Contains(a.RawQuery, ";") &&
			!strings.Contains(a.RawQuery, "%") {
			t.Fatalf("the response for %q goes to %q", requested, to)
		}
	})
}

// FuzzBasic checks that parseBasic returns only client ids that can be looked up.
func FuzzBasic(f *testing.F) {
	for _, h := range []string{
		"", "Basic", "Basic YTpi", "basic YTpi", "Basic Y2xpJTVGYTpi", "Basic Og==", "Basic !",
		"Bearer YTpi", "Basic YSUwMDpi", "Basic //8=",
	} {
		f.Add(h)
	}
	f.Fuzz(func(t *testing.T, header string) {
		id, secret, ok := parseBasic(header)
		if !ok && (id != "" || secret != "") || ok && (id == "" || !utf8.ValidString(id) ||
			strings.ContainsRune(id, 0)) {
			t.Errorf("%q gives %q %q %t", header, id, secret, ok)
		}
		r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
		r.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
		if again, same, fine := parseBasic(r.Header.Get("Authorization")); ok &&
			(!fine || again != id || same != secret) {
			t.Errorf("%q %q came back as %q %q", id, secret, again, same)
		}
	})
}

// FuzzRegistration checks that accepted metadata is within its limits.
func FuzzRegistration(f *testing.F) {
	for _, b := range []string{
		`{"redirect_uris":["https://a.example"]}`,
		`{"redirect_uris":["cursor://x"],"token_endpoint_auth_method":"none","client_name":"x"}`,
		`{}`, `[]`, `null`, `{"redirect_uris":[null]}`,
		`{"redirect_uris":["https://a.example"],"client_uri":"javascript:x"}`, "\xff",
	} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := parseMetadata(body, AuthBasic)
		if err != nil {
			var e *protocolError
			if !errors.As(err, &e) || e.status != http.StatusBadRequest || e.description == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		if len(m.RedirectURIs) == 0 || len(m.RedirectURIs) > maxRedirects || m.Name == "" || !printable(m.Name) &&
			!strings.Contains(m.Name, ".") || strings.ContainsRune(m.Name, 0) {
			t.Fatalf("registered %+v", m)
		}
		for _, uri := range m.RedirectURIs {
			if checkRedirect(uri, m.AuthMethod == AuthNone) != "" {
				t.Fatalf("registered %q", uri)
			}
		}
		if m.URI != "" && !strings.HasPrefix(m.URI, "https://") {
			t.Fatalf("the client URI is %q", m.URI)
		}
		if _, err := json.Marshal(m); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzAuthorizeQuery checks that an accepted request has a challenge, known scopes and resources, and no repeated
// state.
func FuzzAuthorizeQuery(f *testing.F) {
	good := "client_id=c&response_type=code&state=s&code_challenge=" + strings.Repeat("x", 43) +
		"&code_challenge_method=S256"
	for _, q := range []string{
		good, good + "&scope=openid", good +
			"&resource=https://i.example&resource=https://i.example/mcp", good + "&state=t", good + "&%zz", good + ";x",
		"", good + "&nonce=%00", good + "&scope=admin",
	} {
		f.Add(q)
	}
	s := &Service{issuer: "https://i.example"}
	f.Fuzz(func(t *testing.T, raw string) {
		p, err := parseParams(raw)
		if err != nil {
			return
		}
		var req request
		if err := s.parseRequest(&req, p); err != nil {
			return
		}
		if !challengeForm.MatchString(req.Challenge) || p.Get("code_challenge_method") != "S256" ||
			p.Get("response_type") != "code" || len(p.Values["state"]) > 1 || len(APIScopes(req.Scopes)) == 0 ||
			len(req.Resources) == 0 {
			t.Fatalf("%q gives %+v", raw, req)
		}
		for _, r := range req.Resources {
			if r != s.issuer && r != s.issuer+"/mcp" {
				t.Fatalf("%q gives %+v", raw, req)
			}
		}
	})
}

// FuzzClientDocument checks that an accepted document describes a public client with its own id and valid redirect
// URIs.
func FuzzClientDocument(f *testing.F) {
	const id = "https://app.example/client.json"
	for _, body := range []string{
		`{"client_id":"` + id + `","redirect_uris":["https://app.example/cb"]}`,
		`{"client_id":"` + id + `","client_id":"https://evil.example/x","redirect_uris":["https://app.example/cb"]}`,
		`{"CLIENT_ID":"` + id + `","redirect_uris":["cursor://x"],"client_secret":null}`, `{}`, `[]`, ``,
		`{"client_id":"` + id + `","redirect_uris":["https://app.example/cb"],` +
			`"token_endpoint_auth_method":"client_secret_post"}`,
	} {
		f.Add(id, []byte(body))
	}
	f.Add("https://app.example/a/%2e%2e/b", []byte(`{"client_id":"https://app.example/a/%2e%2e/b"}`))
	f.Fuzz(func(t *testing.T, id string, body []byte) {
		if checkDocumentID(id) == "" {
			u, err := url.Parse(id)
			if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" ||
				len(u.Path) < 2 || u.JoinPath().Path != u.Path && !strings.Contains(u.Path, "//") {
				t.Fatalf("%q is accepted", id)
			}
		}
		m, err := parseDocument(id, body)
		if err != nil {
			return
		}
		if m.AuthMethod != AuthNone || len(m.RedirectURIs) == 0 || !bytes.Contains(body, []byte("client_id")) &&
			!bytes.Contains(bytes.ToLower(body), []byte("client")) {
			t.Fatalf("%q gives %+v", body, m)
		}
		for _, uri := range m.RedirectURIs {
			if checkRedirect(uri, true) != "" {
				t.Fatalf("%q has the redirect %q", body, uri)
			}
		}
	})
}
