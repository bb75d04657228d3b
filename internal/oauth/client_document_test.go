package oauth_test

import (
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/oauth"
	"carrel/internal/outbound"
	"carrel/internal/testkit"
)

// documentSite is an HTTPS server with client documents. Its host name resolves to this machine.
type documentSite struct {
	host    string
	roots   *x509.CertPool
	fetches atomic.Int32
	mu      sync.Mutex
	serve   http.HandlerFunc
}

// documentHost is the name in the certificate of test servers.
const documentHost = "example.com"

// startDocumentSite starts the site and returns an HTTP client that reaches it.
func (srv *server) startDocumentSite() *http.Client {
	d := &documentSite{}
	srv.documents = d
	site := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		d.fetches.Add(1)
		d.mu.Lock()
		serve := d.serve
		d.mu.Unlock()
		serve(rw, r)
	}))
	srv.Cleanup(site.Close)
	_, port, _ := net.SplitHostPort(site.Listener.Addr().String())
	d.host, d.roots = documentHost+":"+port, x509.NewCertPool()
	d.roots.AddCert(site.Certificate())
	return outbound.NewClient(outbound.Options{
		Private: true, Timeout: time.Second, Roots: d.roots, Resolver: testkit.Names(srv.TB, [4]byte{127, 0, 0, 1}),
	})
}

// publishDocument serves a valid document at the path and returns its client. The name-value pairs change members; nil
// removes one.
func (srv *server) publishDocument(path string, pairs ...any) client {
	srv.Helper()
	id := "https://" + srv.documents.host + path
	document := map[string]any{
		"client_id": id, "client_name": "Documented", "redirect_uris": []string{redirectURI},
		"token_endpoint_auth_method": "none",
		"grant_types":                []string{"authorization_code", "refresh_token"},
		"logo_uri":                   "http://127.0.0.1/never-fetched",
	}
	for i := 0; i < len(pairs); i += 2 {
		document[pairs[i].(string)] = pairs[i+1]
		if pairs[i+1] == nil {
			delete(document, pairs[i].(string))
		}
	}
	body, _ := json.Marshal(document)
	srv.serveDocument(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write(body)
	})
	return client{id: id}
}

func (srv *server) serveDocument(serve http.HandlerFunc) {
	srv.documents.mu.Lock()
	defer srv.documents.mu.Unlock()
	srv.documents.serve = serve
}

func TestClientWithMetadataDocumentNeedsNoRegistration(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.publishDocument("/client.json", "token_endpoint_auth_method", nil)
	page := srv.authorize(c.request())
	if !strings.Contains(page.body, "Documented at app.example for") ||
		!strings.Contains(page.body, "by "+srv.documents.host) {
		t.Errorf("page: %s", page.body)
	}
	got := srv.connect(c)
	if !srv.accepts(got.Access) {
		t.Error("the token does not work")
	}
	srv.tokensIn(srv.refresh(c, got.Refresh))
	if n := srv.documents.fetches.Load(); n != 1 {
		t.Errorf("the document was fetched %d times", n)
	}
	srv.wantError(srv.post("introspect", url.Values{"client_id": {c.id}, "token": {got.Access}}),
		http.StatusUnauthorized, "invalid_client")
	srv.wantError(srv.post("token", c.redemption(srv.code(c), "client_secret", "x")), http.StatusUnauthorized,
		"invalid_client")
	grants, err := srv.service.Grants(t.Context(), core.Operator(srv.user.ID))
	if err != nil || len(grants) != 1 || grants[0].ClientID != c.id || grants[0].ClientName != "Documented" {
		t.Errorf("grants: %+v, %v", grants, err)
	}
	if srv.send(http.MethodGet, "/.well-known/oauth-authorization-server",
		"").json(t)["client_id_metadata_document_supported"] != true {
		t.Error("documents are not advertised")
	}
}

func TestClientDocumentIsRefetchedAfter15MinutesAndUsedStaleForADay(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.publishDocument("/client.json")
	srv.code(c)
	srv.publishDocument("/client.json", "redirect_uris", []string{"https://app.example/2"}, "client_name", "Renamed")
	srv.clock.Advance(15*time.Minute - time.Second)
	srv.code(c) // from the cache
	srv.clock.Advance(time.Second)
	if r := srv.authorize(c.request()); r.status != http.StatusBadRequest {
		t.Errorf("the old redirect URI still works after the document changed: %d", r.status)
	}
	if r := srv.authorize(c.request("redirect_uri", "https://app.example/2")); !strings.Contains(r.body, "Renamed") {
		t.Errorf("%d %s", r.status, r.body)
	}
	srv.serveDocument(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) })
	srv.clock.Advance(24*time.Hour - time.Second)
	if r := srv.authorize(c.request("redirect_uri", "https://app.example/2")); r.status != http.StatusOK {
		t.Errorf("while the document server fails: %d", r.status)
	}
	srv.clock.Advance(time.Second)
	if r := srv.authorize(c.request("redirect_uri", "https://app.example/2")); r.status != http.StatusBadRequest {
		t.Errorf("after a day: %d", r.status)
	}
}

func TestClientDocumentIsNotFetchedForAnonymousVisitors(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.publishDocument("/client.json")
	srv.cookie = "unknown"
	r := srv.authorize(c.request())
	if r.status != http.StatusSeeOther || !strings.HasPrefix(r.header.Get("Location"), "/sign-in?") {
		t.Errorf("%d %s", r.status, r.header.Get("Location"))
	}
	if r := srv.authorize(c.request("prompt", "none")); r.status != http.StatusBadRequest {
		t.Errorf("prompt=none: %d", r.status)
	}
	srv.wantError(srv.post("token", c.redemption("x")), http.StatusUnauthorized, "invalid_client")
	if n := srv.documents.fetches.Load(); n != 0 {
		t.Errorf("the document was fetched %d times", n)
	}
}

func TestInvalidClientDocumentURLIsNotFetched(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	srv.publishDocument("/client.json")
	at := "https://" + srv.documents.host
	for _, id := range []string{
		at, at + "/", at + "/client.json#x", at + "/client.json#", "https://u@" + srv.documents.host + "/client.json",
		"https://u:p@" + srv.documents.host + "/client.json",
		at + "/a/../client.json", at + "/./client.json", at + "/a/%2e%2e/client.json", at + "/%2E/client.json",
		"https://EXAMPLE.com/client.json", "https://example.com:443/client.json",
		"https://example.com:/client.json", "https:///client.json", at + "/client.json ", at + "/\\client.json", at +
			"/ä", at + "/" + strings.Repeat("x", 2000),
		"http://" + srv.documents.host + "/client.json", "HTTPS://" + srv.documents.host + "/client.json",
		"file:///etc/passwd", "https:example.com/x", "gopher://example.com/x",
	} {
		if r := srv.authorize(client{id: id}.request()); r.status != http.StatusBadRequest ||
			r.header.Get("Location") != "" {
			t.Errorf("%s: %d", id, r.status)
		}
	}
	if n := srv.documents.fetches.Load(); n != 0 {
		t.Errorf("%d documents were fetched", n)
	}
}

func TestInvalidClientDocumentIsRefusedWithAReason(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	raw := func(kind, body string) func() {
		return func() {
			srv.serveDocument(func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", kind)
				_, _ = rw.Write([]byte(body))
			})
		}
	}
	described := func(pairs ...any) func() { return func() { srv.publishDocument("/client.json", pairs...) } }
	id := "https://" + srv.documents.host + "/client.json"
	good := `{"client_id":"` + id + `","redirect_uris":["` + redirectURI + `"]}`
	var landed atomic.Int32
	for name, try := range map[string]struct {
		put   func()
		wrong string
	}{
		"another id":        {described("client_id", id+"/"), "client_id"},
		"no id":             {described("client_id", nil), "client_id"},
		"an id of a number": {described("client_id", 7), "client_id"},
		"a secret":          {described("client_secret", "x"), "secret"},
		"an empty secret":   {described("client_secret", ""), "secret"},
		"a secret method":   {described("token_endpoint_auth_method", "client_secret_basic"), "secret"},
		"a key method":      {described("token_endpoint_auth_method", "private_key_jwt"), "token_endpoint_auth_method"},
		"no redirect":       {described("redirect_uris", []string{}), "redirect_uris"},
		"a bad redirect":    {described("redirect_uris", []string{"http://evil.example"}), "https"},
		"a script":          {described("redirect_uris", []string{"javascript:alert(1)"}), "scheme"},
		"a bad name":        {described("client_name", "a\u202eb"), "client_name"},
		"not JSON":          {raw("application/json", "<html>"), "JSON"},
		"a list":            {raw("application/json", "["+good+"]"), "JSON"},
		"two objects":       {raw("application/json", good+good), "JSON"},
		"a page":            {raw("text/html", good), "application/json"},
		"text":              {raw("text/plain", good), "application/json"},
		"no type":           {raw("", good), "application/json"},
		"too much": {raw("application/json", strings.TrimSuffix(good, "}")+`,"x":"`+strings.Repeat("x",
			16<<10)+`"}`), "16 KiB"},
		"not found": {func() { srv.serveDocument(http.NotFound) }, "fetched"},
		"a redirect": {func() {
			srv.serveDocument(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/client.json" {
					landed.Add(1)
				}
				http.Redirect(rw, r, "/other.json", http.StatusFound)
			})
		}, "fetched"},
		"a hang-up": {func() {
			srv.serveDocument(func(http.ResponseWriter,
				*http.Request,
			) {
				panic(http.ErrAbortHandler)
			})
		}, "fetched"},
	} {
		srv.clock.Advance(time.Second)
		try.put()
		if r := srv.authorize(client{id: id}.request()); r.status != http.StatusBadRequest ||
			r.header.Get("Location") != "" {
			t.Errorf("%s: %d", name, r.status)
		}
		got := srv.attempts(core.RoleMember)
		if len(got) != 1 || got[0].Problem != "client_document" || !got[0].LastAt.Equal(srv.clock.Now()) ||
			!strings.Contains(got[0].Wrong, try.wrong) || got[0].Mend == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if landed.Load() != 0 {
		t.Error("a redirect was followed")
	}
	raw("application/client-id+json; charset=utf-8", good)()
	srv.code(client{id: id})
}

// The host names of the documents resolve to private addresses, as in a DNS rebinding attack.
func TestClientDocumentIsNotFetchedFromPrivateAddresses(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	srv.publishDocument("/client.json")
	_, port, _ := strings.Cut(srv.documents.host, ":")
	for name, answers := range map[string][][4]byte{
		"loopback": {{127, 0, 0, 1}}, "private": {{10, 0, 0, 1}}, "link-local": {{169, 254, 169, 254}},
		"this host": {{0, 0, 0, 0}},
	} {
		mux := http.NewServeMux()
		deps := srv.deps
		deps.Documents = outbound.NewClient(outbound.Options{
			Timeout: time.Second, Roots: srv.documents.roots, Resolver: testkit.Names(t, answers...),
		})
		service, err := oauth.NewService(deps)
		if err != nil {
			t.Fatal(err)
		}
		service.Routes(mux, srv.pages)
		for _, host := range []string{documentHost + ":" + port, "localhost:" + port, "127.0.0.1:" + port, "[::1]:" +
			port, "[::ffff:127.0.0.1]:" + port, "2130706433:" + port} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet,
				"/api/auth/mcp/authorize?"+client{id: "https://" + host + "/client.json"}.request().Encode(),
				http.NoBody)
			r.AddCookie(&http.Cookie{Name: "session", Value: srv.cookie})
			rec := httptest.NewRecorder()
			mux.ServeHTTP(rec, r)
			if rec.Code != http.StatusBadRequest {
				t.Errorf("%s, %s: %d", name, host, rec.Code)
			}
		}
	}
	if n := srv.documents.fetches.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

func TestClientDocumentFollowsTheRegistrationRules(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	for name, pair := range map[string][]any{
		"a wildcard host":    {"redirect_uris", []string{redirectURI, "https://*.example/cb"}},
		"a dotless scheme":   {"redirect_uris", []string{redirectURI, "myapp://cb"}},
		"a name of any type": {"client_name", 7},
		"a list of anything": {"redirect_uris", []any{redirectURI, nil}},
	} {
		c := srv.publishDocument("/"+strings.ReplaceAll(name, " ", "-")+".json", pair...)
		if r := srv.authorize(c.request()); r.status != http.StatusBadRequest || r.header.Get("Location") != "" {
			t.Errorf("%s: %d %s", name, r.status, r.header.Get("Location"))
		}
	}
}
