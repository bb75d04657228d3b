package httpapi_test

import (
	"context"
	"testing"

	"carrel/internal/core"
	"carrel/internal/store"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
)

// Two nodes share a database. When one of them revokes a credential, its stream on the other ends and its next
// request fails.
func TestRevocationReachesOtherNodes(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]func(testing.TB) store.Options{
		"sqlite": func(t testing.TB) store.Options { return store.Options{Path: fixture.SQLite(t)} },
		"postgres": func(t testing.TB) store.Options {
			return store.Options{URL: testkit.PostgresTemplate(t, "httpapi", func(url string) error {
				db, err := store.Open(context.Background(), store.Options{URL: url})
				if err != nil {
					return err
				}
				return db.Close()
			})}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			here, there := newServer(t, openStore(t, o)), newServer(t, openStore(t, o))
			p := here.user(t, core.PlanOpen)
			thread := p.newThread("T")
			// elsewhere is the same user at the other node.
			elsewhere := *p
			elsewhere.w = there
			owner := elsewhere.signedIn()
			last := func(list string) string { return owner.get("/api/account/"+list).ok(t).list(list, "id")[0] }
			for name, c := range map[string]struct {
				// begin returns the credential header, and the path to delete.
				begin func(t *testing.T) (header [2]string, path string)
			}{
				"a session": {func(*testing.T) ([2]string, string) {
					b := p.signedIn()
					return [2]string{"Cookie", b.cookie}, "/api/account/sessions/" + b.session.ID
				}},
				"a key": {func(t *testing.T) ([2]string, string) {
					made := owner.post("/api/account/keys", object{"name": "k"}).ok(t)
					return [2]string{"Authorization", "Bearer " + made.str("token")}, "/api/account/keys/" + made.str("key", "id")
				}},
				"a minted key": {func(*testing.T) ([2]string, string) {
					program := p.connect("editor")
					return [2]string{"Authorization", "Bearer " + program.token}, "/api/account/connections/" + last("connections")
				}},
				"an OAuth grant": {func(*testing.T) ([2]string, string) {
					program, grant := p.granted()
					return [2]string{"Authorization", "Bearer " + program.token}, "/api/account/connections/" + grant
				}},
			} {
				// Sequentially, because the most recent credential is revoked.
				t.Run(name, func(t *testing.T) {
					header, path := c.begin(t)
					reader := *p
					reader.t, reader.token = t, ""
					reader.get("/api/agents", header[0], header[1]).ok(t)
					f := talk{&reader, thread}.follow(header[0], header[1])
					owner.send("DELETE", path, "").ok(t)
					reader.get("/api/agents", header[0], header[1]).refused(t, 401, "invalid_credential")
					f.ends()
				})
			}
		})
	}
}
