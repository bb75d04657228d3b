package e2e

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"carrel/internal/testkit"
)

// guardedCluster serves an OpenSearch node over TLS with a certificate of its own authority, to one user. It returns
// the address, the file of the authority, and the number of requests that were refused.
func guardedCluster(t *testing.T, password string) (address, authority string, refused *atomic.Int64) {
	t.Helper()
	node, err := url.Parse(testkit.OpenSearch(t))
	if err != nil {
		t.Fatal(err)
	}
	refused = &atomic.Int64{}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(node) }}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, given, ok := r.BasicAuth(); !ok || user != "carrel" || given != password {
			refused.Add(1)
			w.Header().Set("WWW-Authenticate", `Basic realm="OpenSearch Security"`)
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		r.Header.Del("Authorization") // the node behind has no users
		forward.ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that do not trust the certificate end the handshake
	server.StartTLS()
	t.Cleanup(server.Close)
	authority = filepath.Join(t.TempDir(), "authority.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(authority, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return server.URL, authority, refused
}

func TestServerSearchesInAnOpenSearchWithTLSAndAPassword(t *testing.T) {
	t.Parallel()
	const password = "a password of the cluster: with/characters?"
	address, authority, refused := guardedCluster(t, password)
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newLibrary(t, testkit.ServerOptions{Env: []string{
		"CARREL_SEARCH_URL=" + address, "CARREL_SEARCH_USER=carrel", "CARREL_SEARCH_PASSWORD_FILE=" + file,
		"CARREL_SEARCH_CA_FILE=" + authority,
	}})
	w.add(t, "Crossings", bridges, "--default", "--language", "en")
	if r := w.find(t, "suspension bridges", ""); !slices.Equal(r.ids(), []string{"b1"}) {
		t.Errorf("a search found %v", r.ids())
	}
	if n := refused.Load(); n > 0 {
		t.Errorf("%d requests had no or a wrong password", n)
	}
	if strings.Contains(w.server.Log(), password) {
		t.Error("the password is in the log")
	}
}

func TestWrongPasswordOfOpenSearchIsReported(t *testing.T) {
	t.Parallel()
	address, authority, refused := guardedCluster(t, "right")
	for _, c := range []struct{ name, password, authority, says string }{
		{"a wrong password", "wrong", authority, "401"},
		{"an unknown authority", "right", "", "certificate"},
	} {
		settings := []string{
			"CARREL_SEARCH_URL=" + address, "CARREL_SEARCH_USER=carrel", "CARREL_SEARCH_PASSWORD=" + c.password,
		}
		if c.authority != "" {
			settings = append(settings, "CARREL_SEARCH_CA_FILE="+c.authority)
		}
		s := testkit.StartServer(t, testkit.ServerOptions{Env: settings})
		repeatUntilEmpty(t, func() string {
			r := s.Admin("doctor", "--json")
			if r.Code == 0 || !strings.Contains(r.Stdout, c.says) {
				return c.name + ": the doctor says " + r.Stdout + r.Stderr
			}
			return ""
		})
	}
	if refused.Load() == 0 {
		t.Error("no request with a wrong password arrived")
	}
}
