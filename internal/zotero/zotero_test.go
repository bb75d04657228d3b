package zotero_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"carrel/internal/testkit/zoterofake"
	"carrel/internal/zotero"
)

// open returns a library whose pauses are recorded instead of waited for.
func open(server *zoterofake.Server, key, name string, pauses *[]time.Duration) *zotero.Library {
	return zotero.Open(zotero.Options{
		Client:  &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		Address: server.URL + "/", Key: key, Name: name, Now: time.Now, UserAgent: "test",
		Wait: func(_ context.Context, d time.Duration) error {
			*pauses = append(*pauses, d)
			return nil
		},
	})
}

func TestTheLibraryIsFoundByItsKey(t *testing.T) {
	t.Parallel()
	server := zoterofake.New(t)
	server.Allow(zoterofake.Rights{Library: true, Notes: true})
	for name, want := range map[string]struct {
		name   string
		rights zotero.Rights
	}{
		"":               {"users/475425", zotero.Rights{Library: true, Notes: true}},
		"groups/2510000": {"groups/2510000", zotero.Rights{Library: true, Files: true, Notes: true}},
		"users/1":        {"users/1", zotero.Rights{Files: true, Notes: true}},
	} {
		got, rights, err := open(server, zoterofake.Key, name, nil).Resolve(t.Context())
		if err != nil || got.Name() != want.name || rights != want.rights {
			t.Errorf("%q: %v %+v %v", name, got, rights, err)
		}
	}
	if _, _, err := open(server, "WrongKeyWrongKey", "", nil).Resolve(t.Context()); zotero.StatusOf(err) != 403 {
		t.Errorf("a wrong key: %v", err)
	}
	got, rights, err := open(zoterofake.NewLocal(t), "", "", nil).Resolve(t.Context())
	if err != nil || got.Name() != zotero.LocalLibrary || rights.Write {
		t.Errorf("the local API: %v %+v %v", got, rights, err)
	}
}

func TestPausesThatTheServerAsksForAreMade(t *testing.T) {
	t.Parallel()
	server := zoterofake.New(t)
	var pauses []time.Duration
	l := open(server, zoterofake.Key, "users/475425", &pauses)
	server.Fail(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Backoff", "7")
		_, _ = w.Write([]byte("[]"))
	}, zoterofake.Refuse(http.StatusTooManyRequests, "Retry-After", "9"))
	for range 2 {
		if _, err := l.Collections(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(pauses) != 2 || pauses[0] != 7*time.Second || pauses[1] != 9*time.Second {
		t.Errorf("pauses %v", pauses)
	}
	for _, header := range []string{"Backoff", "Retry-After"} {
		server.Fail(zoterofake.Refuse(http.StatusServiceUnavailable, header, "7200"))
		_, err := l.Collections(t.Context())
		if fault, is := errors.AsType[*zotero.Error](err); !is || !fault.Busy() {
			t.Errorf("a long %s: %v", header, err)
		}
	}
}

func TestRepliesOfWritesAreRead(t *testing.T) {
	t.Parallel()
	server := zoterofake.New(t)
	l := open(server, zoterofake.Key, "users/475425", nil)
	for reply, want := range map[string]string{
		`{"successful":[],"success":[],"unchanged":[],"failed":[]}`:                                  "0 0",
		`{"success":{"0":"ABCD2345"},"failed":{"1":{"code":412}}}`:                                   "1 1",
		`{"successful":{"0":{"key":"ABCD2345","data":{}}},"unchanged":{"1":"EFGH2345"},"failed":{}}`: "2 0",
		`{"success":{"0":"../../x"}}`:                                                                "0 0",
	} {
		server.Fail(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(reply)) })
		got, err := l.Create(t.Context(), "items", "token-of-this-test", []any{map[string]any{}})
		if s := strings.Join([]string{count(len(got.Keys)), count(len(got.Failed))}, " "); err != nil || s != want {
			t.Errorf("%s: %+v %v", reply, got, err)
		}
	}
	for _, reply := range []string{"", "[]", `{"failed": 5}`} {
		server.Fail(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(reply)) })
		if _, err := l.Update(t.Context(), []any{}); !errors.Is(err, zotero.ErrUnreadable) {
			t.Errorf("%q: %v", reply, err)
		}
	}
}

func count(n int) string { return string(rune('0' + n)) }

func TestRedirectsOfFilesAreLimited(t *testing.T) {
	t.Parallel()
	server := zoterofake.New(t)
	l := open(server, zoterofake.Key, "users/475425", nil)
	for _, to := range []string{"ftp://example.org/x", "http://user:password@127.0.0.1/x", server.URL + "/storage/LOOP2345"} {
		server.StoreAt("FILE2345", to)
		if f, err := l.File(t.Context(), "FILE2345"); err == nil && to != server.URL+"/storage/LOOP2345" {
			t.Errorf("%s: %+v", to, f)
		} else if err == nil {
			_ = f.Body.Close()
		}
	}
	server.StoreAt("FILE2345", "")
	server.Fail(zoterofake.Refuse(http.StatusFound))
	if _, err := l.File(t.Context(), "FILE2345"); !errors.Is(err, zotero.ErrUnreadable) {
		t.Errorf("a redirect without an address: %v", err)
	}
}
