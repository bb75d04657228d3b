package oauth_test

import (
	"crypto/x509"
	"encoding/json"
	"log/slog"
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

// documents is a site with the documents of clients, at a name that leads to this machine.
type documents struct {
	host  string
	roots *x509.CertPool
	reads atomic.Int32
	mu    sync.Mutex
	serve http.HandlerFunc
}

// documentHost is the name in the certificate of test servers.
const documentHost = "example.com"

// serveDocuments starts the site and returns a client that reaches it.
func (w *world) serveDocuments() *http.Client {
	d := &documents{}
	w.documents = d
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		d.reads.Add(1)
		d.mu.Lock()
		serve := d.serve
		d.mu.Unlock()
		serve(rw, r)
	}))
	w.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	d.host, d.roots = documentHost+":"+port, x509.NewCertPool()
	d.roots.AddCert(server.Certificate())
	return outbound.NewClient(outbound.Options{
		Private: true, Timeout: time.Second, Roots: d.roots, Resolver: testkit.FakeResolver(w.TB, [4]byte{127, 0, 0, 1}),
	})
}

// describe puts a document at the path, changed by pairs, and returns the client whose it is.
func (w *world) describe(path string, pairs ...any) client {
	w.Helper()
	id := "https://" + w.documents.host + path
	document := map[string]any{
		"client_id": id, "client_name": "Documented", "redirect_uris": []string{redirectURI}, "token_endpoint_auth_method": "none",
		"grant_types": []string{"authorization_code", "refresh_token"}, "logo_uri": "http://127.0.0.1/never-fetched",
	}
	for i := 0; i < len(pairs); i += 2 {
		document[pairs[i].(string)] = pairs[i+1]
		if pairs[i+1] == nil {
			delete(document, pairs[i].(string))
		}
	}
	body, _ := json.Marshal(document)
	w.answer(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write(body)
	})
	return client{id: id}
}

func (w *world) answer(serve http.HandlerFunc) {
	w.documents.mu.Lock()
	defer w.documents.mu.Unlock()
	w.documents.serve = serve
}

func TestPoint03AClientWithADocumentNeedsNoRegistration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.describe("/client.json", "token_endpoint_auth_method", nil)
	page := w.authorize(c.request())
	if !strings.Contains(page.body, "Documented at app.example for") || !strings.Contains(page.body, "by "+w.documents.host) {
		t.Errorf("the page says %s", page.body)
	}
	got := w.connect(c)
	if !w.works(got.Access) {
		t.Error("the token does not work")
	}
	w.tokensIn(w.refresh(c, got.Refresh))
	if n := w.documents.reads.Load(); n != 1 {
		t.Errorf("the document was read %d times", n)
	}
	w.wantError(w.post("introspect", url.Values{"client_id": {c.id}, "token": {got.Access}}), http.StatusUnauthorized, "invalid_client")
	w.wantError(w.post("token", c.redemption(w.code(c), "client_secret", "x")), http.StatusUnauthorized, "invalid_client")
	grants, err := w.service.Grants(t.Context(), core.Operator(w.user.ID))
	if err != nil || len(grants) != 1 || grants[0].ClientID != c.id || grants[0].ClientName != "Documented" {
		t.Errorf("grants: %+v, %v", grants, err)
	}
	if w.send(http.MethodGet, "/.well-known/oauth-authorization-server", "").json(t)["client_id_metadata_document_supported"] != true {
		t.Error("documents are not advertised")
	}
}

func TestPoint03ADocumentIsReadAgainAfterAWhileAndServesWhileItsAddressIsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.describe("/client.json")
	w.code(c)
	w.describe("/client.json", "redirect_uris", []string{"https://app.example/2"}, "client_name", "Renamed")
	w.clock.Advance(15*time.Minute - time.Second)
	w.code(c) // as it was read
	w.clock.Advance(time.Second)
	if r := w.authorize(c.request()); r.status != http.StatusBadRequest {
		t.Errorf("the old address is good after the document changed: %d", r.status)
	}
	if r := w.authorize(c.request("redirect_uri", "https://app.example/2")); !strings.Contains(r.body, "Renamed") {
		t.Errorf("%d %s", r.status, r.body)
	}
	w.answer(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) })
	w.clock.Advance(24*time.Hour - time.Second)
	if r := w.authorize(c.request("redirect_uri", "https://app.example/2")); r.status != http.StatusOK {
		t.Errorf("while its address is away: %d", r.status)
	}
	w.clock.Advance(time.Second)
	if r := w.authorize(c.request("redirect_uri", "https://app.example/2")); r.status != http.StatusBadRequest {
		t.Errorf("after a day: %d", r.status)
	}
}

func TestPoint03NobodyWhoIsNotSignedInMakesUsFetch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.describe("/client.json")
	w.cookie = "nobody"
	r := w.authorize(c.request())
	if r.status != http.StatusSeeOther || !strings.HasPrefix(r.header.Get("Location"), "/sign-in?") {
		t.Errorf("%d %s", r.status, r.header.Get("Location"))
	}
	if r := w.authorize(c.request("prompt", "none")); r.status != http.StatusBadRequest {
		t.Errorf("prompt=none: %d", r.status)
	}
	w.wantError(w.post("token", c.redemption("x")), http.StatusUnauthorized, "invalid_client")
	if n := w.documents.reads.Load(); n != 0 {
		t.Errorf("the document was read %d times", n)
	}
}

func TestPoint03AnIDThatIsNoGoodAddressIsRefusedUnread(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.describe("/client.json")
	at := "https://" + w.documents.host
	for _, id := range []string{
		at, at + "/", at + "/client.json#x", at + "/client.json#", "https://u@" + w.documents.host + "/client.json", "https://u:p@" + w.documents.host + "/client.json",
		at + "/a/../client.json", at + "/./client.json", at + "/a/%2e%2e/client.json", at + "/%2E/client.json", "https://EXAMPLE.com/client.json", "https://example.com:443/client.json",
		"https://example.com:/client.json", "https:///client.json", at + "/client.json ", at + "/\\client.json", at + "/ä", at + "/" + strings.Repeat("x", 2000),
		"http://" + w.documents.host + "/client.json", "HTTPS://" + w.documents.host + "/client.json", "file:///etc/passwd", "https:example.com/x", "gopher://example.com/x",
	} {
		if r := w.authorize(client{id: id}.request()); r.status != http.StatusBadRequest || r.header.Get("Location") != "" {
			t.Errorf("%s: %d", id, r.status)
		}
	}
	if n := w.documents.reads.Load(); n != 0 {
		t.Errorf("%d were read", n)
	}
}

func TestPoint03ABadDocumentIsRefusedAndSaidSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	raw := func(kind, body string) func() {
		return func() {
			w.answer(func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", kind)
				_, _ = rw.Write([]byte(body))
			})
		}
	}
	described := func(pairs ...any) func() { return func() { w.describe("/client.json", pairs...) } }
	id := "https://" + w.documents.host + "/client.json"
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
		"too much":          {raw("application/json", strings.TrimSuffix(good, "}")+`,"x":"`+strings.Repeat("x", 16<<10)+`"}`), "16 KiB"},
		"not found":         {func() { w.answer(http.NotFound) }, "fetched"},
		"a redirect": {func() {
			w.answer(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/client.json" {
					landed.Add(1)
				}
				http.Redirect(rw, r, "/other.json", http.StatusFound)
			})
		}, "fetched"},
		"a hang-up": {func() { w.answer(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }) }, "fetched"},
	} {
		w.clock.Advance(time.Second)
		try.put()
		if r := w.authorize(client{id: id}.request()); r.status != http.StatusBadRequest || r.header.Get("Location") != "" {
			t.Errorf("%s: %d", name, r.status)
		}
		got := w.attempts(core.RoleMember)
		if len(got) != 1 || got[0].Problem != "client_document" || !got[0].LastAt.Equal(w.clock.Now()) || !strings.Contains(got[0].Wrong, try.wrong) || got[0].Mend == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if landed.Load() != 0 {
		t.Error("a redirect was followed")
	}
	raw("application/client-id+json; charset=utf-8", good)()
	w.code(client{id: id})
}

// TestPoint03NoDocumentIsFetchedFromAPrivateAddress lets names of the outside lead inside.
func TestPoint03NoDocumentIsFetchedFromAPrivateAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.describe("/client.json")
	_, port, _ := strings.Cut(w.documents.host, ":")
	for name, answers := range map[string][][4]byte{
		"loopback": {{127, 0, 0, 1}}, "private": {{10, 0, 0, 1}}, "link-local": {{169, 254, 169, 254}}, "this host": {{0, 0, 0, 0}},
	} {
		mux := http.NewServeMux()
		service, err := oauth.New(w.db, w.clock, secret, oauth.Options{
			Issuer: w.issuer, Prefixes: oauth.PrefixesFor("crl"),
			Documents: outbound.NewClient(outbound.Options{Timeout: time.Second, Roots: w.documents.roots, Resolver: testkit.FakeResolver(t, answers...)}),
		}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		service.Routes(mux, w.front)
		for _, host := range []string{documentHost + ":" + port, "localhost:" + port, "127.0.0.1:" + port, "[::1]:" + port, "[::ffff:127.0.0.1]:" + port, "2130706433:" + port} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/auth/mcp/authorize?"+client{id: "https://" + host + "/client.json"}.request().Encode(), http.NoBody)
			r.AddCookie(&http.Cookie{Name: "session", Value: w.cookie})
			rec := httptest.NewRecorder()
			mux.ServeHTTP(rec, r)
			if rec.Code != http.StatusBadRequest {
				t.Errorf("%s, %s: %d", name, host, rec.Code)
			}
		}
	}
	if n := w.documents.reads.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

func TestADocumentIsHeldToTheRulesOfARegistration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, pair := range map[string][]any{
		"a wildcard host":    {"redirect_uris", []string{redirectURI, "https://*.example/cb"}},
		"a dotless scheme":   {"redirect_uris", []string{redirectURI, "myapp://cb"}},
		"a name of any type": {"client_name", 7},
		"a list of anything": {"redirect_uris", []any{redirectURI, nil}},
	} {
		c := w.describe("/"+strings.ReplaceAll(name, " ", "-")+".json", pair...)
		if r := w.authorize(c.request()); r.status != http.StatusBadRequest || r.header.Get("Location") != "" {
			t.Errorf("%s: %d %s", name, r.status, r.header.Get("Location"))
		}
	}
}
