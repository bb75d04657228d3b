package oauth_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// events returns the audit log, oldest first.
func (srv *server) events() []audit.Entry {
	srv.Helper()
	entries, err := srv.db.AuditFrom(srv.Context(), 0, 100)
	if err != nil {
		srv.Fatal(err)
	}
	return entries
}

func TestSecurityEventsAreAudited(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	c := srv.register("none")
	given := srv.connect(c)
	srv.clock.Advance(time.Minute)
	srv.tokensIn(srv.refresh(c, given.Refresh)) // a normal refresh is not audited
	srv.clock.Advance(time.Minute)
	for range 3 {
		srv.wantError(srv.refresh(c, given.Refresh), http.StatusBadRequest, "invalid_grant")
	}
	back := srv.connect(c)
	for range 2 {
		srv.post("revoke", url.Values{"client_id": {c.id}, "token": {back.Refresh}})
	}
	code := srv.code(c)
	srv.tokensIn(srv.post("token", c.redemption(code)))
	for range 3 {
		srv.wantError(srv.post("token", c.redemption(code)), http.StatusBadRequest, "invalid_grant")
	}
	srv.connect(c)
	actor := core.Operator(srv.user.ID)
	grants, err := srv.service.Grants(t.Context(), actor)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := srv.service.RevokeGrant(t.Context(), actor, grants[0].ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := srv.service.RotateKeys(t.Context(), true); err != nil {
		t.Fatal(err)
	}

	var got []audit.Event
	for _, e := range srv.events() {
		got = append(got, e.Event)
		if user := map[bool]string{true: srv.user.ID}[strings.HasPrefix(string(e.Event), "grant") ||
			e.Event == audit.TokenReused]; e.UserID != user {
			t.Errorf("%s has the user %q", e.Event, e.UserID)
		}
		for _, secret := range []string{given.Access, given.Refresh, back.Refresh, code} {
			if strings.Contains(e.Detail+e.Actor, secret) {
				t.Errorf("%s holds a secret", e.Event)
			}
		}
	}
	want := []audit.Event{
		audit.ClientRegistered, audit.GrantGiven, audit.TokenReused, audit.GrantGiven, audit.GrantRevoked,
		audit.GrantGiven, audit.TokenReused, audit.GrantGiven, audit.GrantRevoked, audit.SigningKeyMade,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if e := srv.events()[8]; e.Actor != string(core.CredentialOperator) || !strings.Contains(e.Detail, grants[0].ID) {
		t.Errorf("the revocation is %+v", e)
	}
}
