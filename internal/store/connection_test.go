package store_test

import (
	"slices"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
)

// minted adds a key for the user that was minted at a time.
func (w *fixture) minted(userID, name string, at time.Time) credential.Key {
	w.t.Helper()
	k := w.key(userID)
	k.Kind, k.Name, k.ClientName, k.CreatedAt = core.CredentialMinted, name, name, at
	w.must(w.db.InsertKey(w.ctx, k, hash()))
	return k
}

func (w *fixture) connections(userID string) []string {
	w.t.Helper()
	list, err := w.db.Connections(w.ctx, userID, w.now, nil, 100)
	w.must(err)
	names := []string{}
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names
}

var connectionTests = []test{
	{"ConnectionsAreActiveMintedKeys", func(w *fixture) {
		w.must(w.db.InsertKey(w.ctx, w.key(w.ada.id), hash())) // a key created by the user is not a connection
		w.minted(w.bert.id, "of another user", w.now)
		first, second := w.minted(w.ada.id, "first", w.after(-2)), w.minted(w.ada.id, "second", w.after(-1))
		revoked := w.minted(w.ada.id, "revoked", w.now)
		w.must(w.db.RevokeKey(w.ctx, w.ada.id, revoked.ID, w.now))
		expired := w.key(w.ada.id)
		expired.Kind, expired.ExpiresAt = core.CredentialMinted, &w.now
		w.must(w.db.InsertKey(w.ctx, expired, hash()))
		w.same("names", w.connections(w.ada.id), []string{"second", "first"})
		got, err := w.db.Connection(w.ctx, w.ada.id, second.ID, w.now)
		w.must(err)
		w.same("one", got, credential.Connection{
			ID: second.ID, Kind: core.CredentialMinted, Name: "second", ClientName: "second",
			Scopes: []core.Scope{core.ScopeAgents, core.ScopeManage}, CreatedAt: w.after(-1),
		})
		for _, id := range []string{revoked.ID, expired.ID, "crd_none"} {
			_, err := w.db.Connection(w.ctx, w.ada.id, id, w.now)
			w.wantMissing(err, "connection")
			if id != expired.ID {
				w.wantMissing(w.db.RenameConnection(w.ctx, w.ada.id, id, "x"), "connection")
			}
		}
		_, err = w.db.Connection(w.ctx, w.bert.id, first.ID, w.now)
		w.wantMissing(err, "connection")
	}},
	{"ConnectionsArePagedByTimeAndID", func(w *fixture) {
		var want []string
		for i := range 5 {
			// Pairs have the same creation time.
			want = append(want, w.minted(w.ada.id, "n", w.after(i/2)).ID)
		}
		slices.Reverse(want)
		var got []string
		var after *credential.ConnectionKey
		for range len(want) {
			page, err := w.db.Connections(w.ctx, w.ada.id, w.now, after, 1)
			w.must(err)
			got = append(got, page[0].ID)
			after = &credential.ConnectionKey{CreatedAt: page[0].CreatedAt, ID: page[0].ID}
		}
		w.same("all pages", got, want)
		page, err := w.db.Connections(w.ctx, w.ada.id, w.now, after, 1)
		w.must(err)
		w.same("after the last", page, []credential.Connection{})
	}},
	{"ConnectionKeepsTheClientName", func(w *fixture) {
		k := w.minted(w.ada.id, "editor", w.now)
		w.wantMissing(w.db.RenameConnection(w.ctx, w.bert.id, k.ID, "mine"), "connection")
		w.must(w.db.RenameConnection(w.ctx, w.ada.id, k.ID, "at work"))
		got, err := w.db.Connection(w.ctx, w.ada.id, k.ID, w.now)
		w.must(err)
		w.same("names", []string{got.Name, got.ClientName}, []string{"at work", "editor"})
		own := w.key(w.ada.id)
		w.must(w.db.InsertKey(w.ctx, own, hash()))
		w.wantMissing(w.db.RenameConnection(w.ctx, w.ada.id, own.ID, "x"), "connection")
	}},
	{"AGrantIsAConnection", func(w *fixture) {
		granted, _ := w.grant(w.ada.id, w.client("App"))
		g := granted.ID
		later := w.after(9)
		w.must(w.db.TouchGrants(w.ctx, map[string]credential.Use{g: {At: later, Address: "203.0.113.7", Program: "node"}}))
		w.must(w.db.RenameConnection(w.ctx, w.ada.id, g, "Desktop"))
		w.wantMissing(w.db.RenameConnection(w.ctx, w.bert.id, g, "x"), "connection")
		got, err := w.db.Connection(w.ctx, w.ada.id, g, w.now)
		w.must(err)
		w.same("the connection", got, credential.Connection{
			ID: g, Kind: core.CredentialOAuth, Name: "Desktop", ClientName: "App",
			Scopes: []core.Scope{core.ScopeAgents, core.ScopeManage}, CreatedAt: granted.CreatedAt, ExpiresAt: &granted.ExpiresAt,
			LastUsedAt: &later, LastAddress: "203.0.113.7", LastProgram: "node",
		})
		w.same("names", w.connections(w.ada.id), []string{"Desktop"})
		w.ends(true)(w.db.RevokeGrant(w.ctx, w.ada.id, g, w.now))
		w.same("after revoking", w.connections(w.ada.id), []string{})
	}},
}
