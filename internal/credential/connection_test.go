package credential_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
)

func TestLastUseOfAGrantIsShownWithTheConnection(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	deps := f.deps("secret")
	deps.Caller = func(context.Context) (string, string) { return "203.0.113.7", "Editor/1\n" }
	service := credential.NewService(deps)
	grantID, token := f.grant(t, []string{"agents"}, resource)
	f.clock.Advance(time.Minute)
	if _, err := service.Authenticate(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	if err := service.FlushUses(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, _, err := service.Connections(t.Context(), f.user, core.Page{})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	c := list[0]
	if c.ID != grantID || c.Name != "Editor" || c.Kind != core.CredentialOAuth || c.LastUsedAt == nil ||
		!c.LastUsedAt.Equal(f.clock.Now()) || c.LastAddress != "203.0.113.7" || c.LastProgram != "Editor/1" {
		t.Errorf("%+v", c)
	}
}

// revokedGrants records the grants that are revoked.
type revokedGrants struct{ ids []string }

func (r *revokedGrants) RevokeGrant(_ context.Context, _ core.Actor, grantID string) error {
	r.ids = append(r.ids, grantID)
	return nil
}

func TestRevokedConnectionEndsItsGrantAtTheAuthorizationServer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	deps := f.deps("secret")
	revoked := &revokedGrants{}
	deps.Grants = revoked
	service := credential.NewService(deps)
	grantID, _ := f.grant(t, []string{"agents"}, resource)
	minted := f.mint(t, "editor")
	for _, id := range []string{grantID, minted.CredentialID} {
		if err := service.RevokeConnection(t.Context(), f.user, id); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(revoked.ids, []string{grantID}) {
		t.Errorf("revoked the grants %v", revoked.ids)
	}
	err := service.RevokeConnection(t.Context(), core.Operator(f.newUser(t)), grantID)
	if !core.IsKind(err, core.KindNotFound) || len(revoked.ids) != 1 {
		t.Errorf("another user: %v, %v", err, revoked.ids)
	}
}

func TestConnectionsAreListedInPages(t *testing.T) {
	t.Parallel()
	f, ctx := newFixture(t), t.Context()
	var want []string
	for i := range 5 {
		want = append(want, f.mint(t, "editor").CredentialID)
		if i%2 == 0 {
			f.clock.Advance(time.Second) // pairs have the same time
		}
	}
	all, next, err := f.Connections(ctx, f.user, core.Page{})
	if err != nil || next != "" || len(all) != 5 {
		t.Fatalf("%d connections, next %q, %v", len(all), next, err)
	}
	ids := func(list []credential.Connection) (out []string) {
		for _, c := range list {
			out = append(out, c.ID)
		}
		return out
	}
	var paged []string
	cursor, pages := "", 0
	for more := true; more; more = cursor != "" {
		list, next, err := f.Connections(ctx, f.user, core.Page{Limit: 2, Cursor: cursor})
		if err != nil || len(list) > 2 {
			t.Fatal(list, err)
		}
		paged, cursor, pages = append(paged, ids(list)...), next, pages+1
		if pages == 1 {
			f.mint(t, "a newer one does not shift the pages")
		}
	}
	if pages != 3 || !slices.Equal(paged, ids(all)) {
		t.Errorf("%d pages with %v, want %v", pages, paged, ids(all))
	}
	slices.Sort(want)
	slices.Sort(paged)
	if !slices.Equal(paged, want) {
		t.Errorf("listed %v, want %v", paged, want)
	}
	for _, bad := range []string{"x", core.EncodeCursor("keys", "1", "2"), core.EncodeCursor("connections", "x", "y")} {
		if _, _, err := f.Connections(ctx, f.user, core.Page{Cursor: bad}); !core.IsKind(err, core.KindInvalid) {
			t.Errorf("cursor %q: %v", bad, err)
		}
	}
	if _, _, err := f.Connections(ctx, f.user, core.Page{Limit: -1}); !core.IsKind(err, core.KindInvalid) {
		t.Errorf("a negative limit: %v", err)
	}
}
