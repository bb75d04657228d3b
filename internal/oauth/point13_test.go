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

// events are those of the audit log, oldest first.
func (w *world) events() []audit.Entry {
	w.Helper()
	entries, err := w.db.AuditFrom(w.Context(), 0, 100)
	if err != nil {
		w.Fatal(err)
	}
	return entries
}

func TestPoint13EverySecurityEventIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.register("none")
	given := w.connect(c)
	w.clock.Advance(time.Minute)
	w.tokensIn(w.refresh(c, given.Refresh)) // no event: it is what clients do all day
	w.clock.Advance(time.Minute)
	for range 3 {
		w.wantError(w.refresh(c, given.Refresh), http.StatusBadRequest, "invalid_grant")
	}
	back := w.connect(c)
	for range 2 {
		w.post("revoke", url.Values{"client_id": {c.id}, "token": {back.Refresh}})
	}
	code := w.code(c)
	w.tokensIn(w.post("token", c.redemption(code)))
	for range 3 {
		w.wantError(w.post("token", c.redemption(code)), http.StatusBadRequest, "invalid_grant")
	}
	w.connect(c)
	actor := core.Operator(w.user.ID)
	grants, err := w.service.Grants(t.Context(), actor)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.service.RevokeGrant(t.Context(), actor, grants[0].ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.service.RotateKeys(t.Context(), true); err != nil {
		t.Fatal(err)
	}

	var got []audit.Event
	for _, e := range w.events() {
		got = append(got, e.Event)
		if user := map[bool]string{true: w.user.ID}[strings.HasPrefix(string(e.Event), "grant") || e.Event == audit.TokenReused]; e.UserID != user {
			t.Errorf("%s is of %q", e.Event, e.UserID)
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
	if e := w.events()[8]; e.Actor != string(core.CredentialOperator) || !strings.Contains(e.Detail, grants[0].ID) {
		t.Errorf("the revocation is %+v", e)
	}
}
