package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/client"
)

func TestExitCodesAreByKindOfError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
		hint string
	}{
		{errors.New("other"), 1, ""},
		{&client.Error{Status: 400}, 1, ""},
		{&commandError{code: exitUsage, hint: "Do this."}, 2, "Do this."},
		{notSignedIn(), 3, "carrel login"},
		{&client.Error{Status: 401, Code: client.CodeInvalidCredential}, 3, "carrel login"},
		{fmt.Errorf("refresh: %w", client.ErrSignInEnded), 3, "carrel login"},
		{&client.Error{Status: 403, Code: client.CodeInsufficientScope}, 4, "carrel login --key"},
		{&client.Error{Status: 404, Code: client.CodeNotFound}, 5, "carrel agents"},
		{&client.Error{Status: 402, Code: client.CodeSpendCapReached}, 6, "carrel open settings"},
		{&client.Error{Status: 403, Code: client.CodeQuotaExceeded}, 6, ""},
		{&client.Error{Status: 409, Code: client.CodeTurnWorking}, 6, "carrel ask --resume last"},
		{&client.Error{Status: 429}, 6, ""},
		{&client.Error{Status: 503}, 7, ""},
		{fmt.Errorf("send: %w", &url.Error{Op: "Get", Err: errors.New("refused")}), 7, "carrel profiles"},
		{&url.Error{Op: "Get", Err: context.Canceled}, 130, ""},
	} {
		if code, hint := exitCodeOf(c.err), hintOf(c.err); code != c.code || !strings.Contains(hint, c.hint) ||
			c.hint == "" && hint != "" {
			t.Errorf("%v (%T): exit code %d and hint %q", c.err, c.err, code, hint)
		}
	}
}

// TestParallelCommandsRefreshATokenOnce starts many credentials with an expired token, as parallel commands do. A
// refresh token that is used twice would revoke the grant.
func TestParallelCommandsRefreshATokenOnce(t *testing.T) {
	t.Parallel()
	var refreshes atomic.Int32
	var base string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/token" {
			_, _ = fmt.Fprintf(w, `{"issuer":%q,"token_endpoint":%q}`, base, base+"/token")
			return
		}
		n := refreshes.Add(1)
		if n > 1 || r.FormValue("refresh_token") != "refresh-0" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = fmt.Fprint(w, `{"access_token":"access-1","refresh_token":"refresh-1","expires_in":3600}`)
	}))
	t.Cleanup(server.Close)
	base = server.URL
	store := profileStore{filepath.Join(t.TempDir(), "carrel")}
	err := store.update(t.Context(), func(f *profileFile) error {
		f.Profiles["p"] = &profile{Server: base, Kind: profileOAuth, Access: "access-0", Refresh: "refresh-0"}
		f.Default = "p"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(transport.CloseIdleConnections)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			c := &profileCredential{store: store, name: "p", http: transport}
			for _, rejected := range []string{"", "access-0"} {
				if token, err := c.Token(t.Context(), rejected); err != nil || token != "access-1" {
					t.Errorf("%q, %v", token, err)
				}
			}
		})
	}
	group.Wait()
	if n := refreshes.Load(); n != 1 {
		t.Errorf("%d refreshes", n)
	}
	for name, mode := range map[string]os.FileMode{"": 0o700, "profiles.json": 0o600, "profiles.lock": 0o600} {
		if info, err := os.Stat(filepath.Join(store.dir, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	c := &profileCredential{store: store, name: "p", http: transport}
	if _, err := c.Token(t.Context(), "access-1"); !errors.Is(err, client.ErrSignInEnded) {
		t.Errorf("a refused refresh token: %v", err)
	}
}

func TestProfilesAreFoundByNameServerOrDefault(t *testing.T) {
	t.Parallel()
	file := profileFile{Default: "b", Profiles: map[string]*profile{
		"a": {Server: "https://a.example"}, "b": {Server: "https://b.example"},
	}}
	for _, c := range []struct{ name, server, want string }{
		{"", "", "b"},
		{"a", "", "a"},
		{"", "https://a.example", "a"},
		{"b", "https://a.example", "b"},
		{"c", "", ""},
		{"", "https://c.example", ""},
	} {
		name, _, err := file.find(c.name, c.server)
		if name != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q, %q: %q, %v", c.name, c.server, name, err)
		}
		if err != nil && exitCodeOf(err) != exitSignIn {
			t.Errorf("%v has the exit code %d", err, exitCodeOf(err))
		}
	}
}

func TestWaitingForTheLockEndsWithTheCommand(t *testing.T) {
	t.Parallel()
	store := profileStore{t.TempDir()}
	held, err := store.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := store.lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestLoopbackHosts(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"127.0.0.1": true, "::1": true, "localhost": true, "127.0.0.1.example.org": false, "192.0.2.1": false, "": false,
	} {
		if got := isLoopback(host); got != want {
			t.Errorf("%q is loopback: %v", host, got)
		}
	}
}
