package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/store"
)

// BenchmarkRequests measures a request without the network: server middleware, authentication, database and encoding.
func BenchmarkRequests(b *testing.B) {
	db := openStore(b, store.Options{Path: filepath.Join(b.TempDir(), "carrel.db")})
	w := newServer(b, db)
	ctx := b.Context()
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	u, err := w.signIn.accounts.Create(ctx, core.Operator(""), account.NewUser{
		Email: "bench@example.org", Name: "Bench", Password: "correct horse",
	})
	must(err)
	actor := core.Operator(u.ID)
	_, key, err := w.credentials.CreateKey(ctx, actor, credential.NewKey{Name: "bench"})
	must(err)
	name := "Bench"
	a, err := w.agents.Create(ctx, actor, agent.Change{Name: &name})
	must(err)
	for i := range 200 {
		_, err := w.memories.Add(ctx, actor, a.ID,
			fmt.Sprintf("Fact %d, as long as facts tend to be when people write them down.", i))
		must(err)
	}
	t, err := w.threads.Create(ctx, actor, a.ID, "Bench")
	must(err)
	for _, c := range []struct{ name, path string }{
		{"list of 50", "/api/agents/" + a.ID + "/memories?limit=50"},
		{"single read", "/api/agents/" + a.ID + "/threads/" + t.ID},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(http.MethodGet, c.path, nil)
				r.Header.Set("Authorization", "Bearer "+key)
				rec := httptest.NewRecorder()
				w.handler.ServeHTTP(rec, r)
				if rec.Code != http.StatusOK {
					b.Fatal(rec.Code, rec.Body)
				}
			}
		})
	}
}
