package federated

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/outbound"
	"carrel/internal/source"
)

const (
	contact = "library@example.org"
	secret  = "SECRET-0123456789"
)

// testAPI is a local server in place of a public API.
type testAPI struct {
	*httptest.Server
	requests atomic.Int64
}

// serve starts an API. Handlers reply to invalid requests with status 400, as the real APIs do.
func serve(t testing.TB, h http.HandlerFunc) *testAPI {
	t.Helper()
	a := &testAPI{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.requests.Add(1)
		h(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

// catalogue returns a Searcher that sends the requests of a kind to a local address.
func catalogue(kind, host string) *Searcher {
	return New(Options{
		Client:  outbound.NewClient(outbound.Options{Private: true, Timeout: time.Minute}),
		Contact: contact, Version: "test", Private: true, Hosts: map[string]string{kind: host},
	})
}

// settingsOf returns valid settings of a kind.
func settingsOf(kind, host string) Settings {
	var s Settings
	if kinds[kind].key != forbidden {
		s.Key = secret
	}
	if kinds[kind].address == required {
		s.Address = host
	}
	return s
}

func search(ctx context.Context, kind string, a *testAPI, q Query) (source.FederatedReply, error) {
	if q.Limit == 0 {
		q.Limit = 10
	}
	return catalogue(kind, a.URL).searchKind(ctx, kind, settingsOf(kind, a.URL), q)
}

// wantRequest describes the expected request.
type wantRequest struct {
	path   string
	method string
	query  map[string]string
	header map[string]string
}

func (x wantRequest) wrong(r *http.Request) string {
	if r.Method != x.method && (x.method != "" || r.Method != http.MethodGet) {
		return "method " + r.Method
	}
	if r.URL.Path != x.path {
		return "path " + r.URL.Path
	}
	for name, value := range x.query {
		if got := r.URL.Query().Get(name); got != value {
			return fmt.Sprintf("%s is %q, not %q", name, got, value)
		}
	}
	for name, value := range x.header {
		if got := r.Header.Get(name); got != value {
			return fmt.Sprintf("header %s is not %q", name, value)
		}
	}
	if agent := r.UserAgent(); agent != "Carrel/test (mailto:"+contact+")" {
		return "agent " + agent
	}
	return ""
}

func titles(docs []source.Document) []string {
	out := make([]string, len(docs))
	for i, d := range docs {
		out[i] = d.Title
	}
	return out
}
