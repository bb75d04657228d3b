package store_test

import (
	"carrel/internal/core"
	"carrel/internal/oauth"
)

var oauthClientTests = []test{
	{"AClientIsFoundByItsID", func(w *fixture) {
		c := w.client("App")
		got, err := w.db.Client(w.ctx, c.ID)
		w.must(err)
		w.same("client", got, c)
		_, err = w.db.Client(w.ctx, "cli_none")
		w.wantMissing(err, "client")
		c.ID, c.AuthMethod, c.SecretHash = core.NewID(core.PrefixClient), oauth.AuthBasic, hash()
		w.must(w.db.PutClient(w.ctx, c, 100))
		got, err = w.db.Client(w.ctx, c.ID)
		w.must(err)
		w.same("client with a secret", got, c)
	}},
	{"OnlyDocumentClientsAreUpdated", func(w *fixture) {
		c := w.client("App")
		other := c
		other.Name = "Thief"
		w.must(w.db.PutClient(w.ctx, other, 100))
		got, err := w.db.Client(w.ctx, c.ID)
		w.must(err)
		w.same("registered name", got.Name, "App")
		c.ID, c.Kind, c.FetchedAt = "https://app.example/"+c.ID, oauth.ClientDocument, &w.now
		w.must(w.db.PutClient(w.ctx, c, 100))
		later := w.after(5)
		c.Name, c.FetchedAt, c.RedirectURIs = "New name", &later, []string{"https://app.example/2"}
		w.must(w.db.PutClient(w.ctx, c, 100))
		got, err = w.db.Client(w.ctx, c.ID)
		w.must(err)
		w.same("document", got, c)
	}},
	{"OnlyUnusedClientsArePruned", func(w *fixture) {
		unused, used := w.client("Unused"), w.client("Used")
		w.grant(w.ada.id, used)
		w.must(w.db.PruneOAuth(w.ctx, w.now, w.now, w.now))
		_, err := w.db.Client(w.ctx, unused.ID)
		w.must(err) // the limit is exclusive
		w.must(w.db.PruneOAuth(w.ctx, w.now, w.after(1), w.now))
		_, err = w.db.Client(w.ctx, unused.ID)
		w.wantMissing(err, "client")
		got, err := w.db.Client(w.ctx, used.ID)
		w.must(err)
		w.same("first use", got.UsedAt, &w.now)
	}},
	{"UnusedClientsAreLimitedToTheLatest", func(w *fixture) {
		used := w.client("Used")
		w.grant(w.ada.id, used)
		var clients []oauth.Client
		for i := range 4 {
			c := oauth.Client{
				ID: core.NewID(core.PrefixClient), Kind: oauth.ClientRegistered, Name: "App",
				RedirectURIs: []string{"https://app.example/cb"},
				AuthMethod:   oauth.AuthNone, CreatedAt: w.after(i + 1),
			}
			w.must(w.db.PutClient(w.ctx, c, 2))
			clients = append(clients, c)
		}
		for _, c := range clients[:2] {
			_, err := w.db.Client(w.ctx, c.ID)
			w.wantMissing(err, "client")
		}
		for _, c := range append(clients[2:], used) {
			_, err := w.db.Client(w.ctx, c.ID)
			w.must(err)
		}
	}},
	{"SigningKeyNumberIsUnique", func(w *fixture) {
		k := oauth.SigningKey{Number: 1, ID: "key_a", Sealed: []byte{1}, CreatedAt: w.now, ActiveAt: w.after(1)}
		w.must(w.db.InsertSigningKey(w.ctx, k))
		twin := k
		twin.ID = "key_b"
		w.wantKind(w.db.InsertSigningKey(w.ctx, twin), core.KindConflict, "")
		for n, id := range []string{"key_c", "key_d", "key_e"} {
			next := k
			next.Number, next.ID, next.Sealed = int64(n)+2, id, []byte{byte(n)}
			w.must(w.db.InsertSigningKey(w.ctx, next))
		}
		got, err := w.db.SigningKeys(w.ctx)
		w.must(err)
		w.same("first of the keys", got[0], k)
		w.must(w.db.PruneOAuth(w.ctx, w.now, w.now, w.after(2)))
		got, err = w.db.SigningKeys(w.ctx)
		w.must(err)
		w.same("keys left", []string{got[0].ID, got[1].ID}, []string{"key_d", "key_e"})
	}},
}
