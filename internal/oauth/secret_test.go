package oauth_test

import (
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/credential"
	"carrel/internal/store"
)

func serve(h http.Handler, path string) []byte {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, http.NoBody))
	return rec.Body.Bytes()
}

func TestSecretsHavePrefixChecksumAnd160Bits(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("client_secret_post")
	code := srv.code(c)
	got := srv.tokensIn(srv.post("token", c.redemption(code)))
	next := srv.tokensIn(srv.refresh(c, got.Refresh))
	for prefix, list := range map[string][]string{
		"crla": {got.Access, next.Access},
		"crlr": {got.Refresh, next.Refresh}, "crlz": {code}, "crls": {c.secret},
	} {
		for _, token := range list {
			if !credential.IsSecret(prefix, token) {
				t.Errorf("%s is no secret with the prefix %s", token, prefix)
			}
			changed := []byte(token)
			changed[7] ^= 1
			if credential.IsSecret(prefix, string(changed)) {
				t.Errorf("a changed secret is accepted as %s", prefix)
			}
		}
	}
	if bits := 32 * math.Log2(62); bits < 160 {
		t.Errorf("%f bits", bits)
	}
	if credential.DeriveSecret([]byte("a"), "crla", "x") == credential.DeriveSecret([]byte("b"), "crla", "x") ||
		credential.DeriveSecret([]byte("a"), "crla", "x")[5:] == credential.DeriveSecret([]byte("a"), "crlr", "x")[5:] {
		t.Error("derived secrets do not depend on the key and the prefix")
	}
}

func TestSecretsAreNeitherStoredNorLogged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := newServerOn(t, store.Options{Path: filepath.Join(dir, "db")})
	c := srv.register("client_secret_post")
	code := srv.code(c)
	first := srv.tokensIn(srv.post("token", c.redemption(code)))
	next := srv.tokensIn(srv.refresh(c, first.Refresh))
	secrets := []string{code, first.Access, first.Refresh, next.Access, next.Refresh, c.secret, first.ID}
	srv.accepts(next.Access)
	srv.post("introspect", url.Values{"token": {next.Access}, "client_id": {c.id}, "client_secret": {c.secret}})
	srv.post("token", c.redemption(code)) // a replay
	srv.refresh(c, next.Refresh)
	srv.post("revoke", url.Values{"token": {next.Refresh}, "client_id": {c.id}, "client_secret": {c.secret}})
	if err := srv.db.Close(); err != nil {
		t.Fatal(err)
	}
	// With the database closed every lookup is an internal error, which is logged.
	srv.refresh(c, next.Refresh)
	srv.post("token", c.redemption(code))
	srv.post("introspect", url.Values{"token": {next.Access}, "client_id": {c.id}, "client_secret": {c.secret}})
	if !strings.Contains(srv.log.String(), "oauth request failed") {
		t.Errorf("no error was logged, so the test proves nothing: %q", srv.log)
	}
	stored := srv.log.String()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		stored += string(b)
	}
	if !strings.Contains(stored, c.id) {
		t.Fatal("the client id is not stored either: the test looks in the wrong place")
	}
	for i, s := range secrets {
		if strings.Contains(stored, s) || strings.Contains(stored, s[5:len(s)-6]) {
			t.Errorf("secret %d is stored in clear text", i)
		}
	}
}
