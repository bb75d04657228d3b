package credential_test

import (
	"strings"
	"testing"

	"carrel/internal/credential"
)

func TestCredentialChangesAreRecordedInTheAuditLog(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	k, token := f.key(t, credential.NewKey{Name: "laptop"})
	if err := f.RevokeKey(t.Context(), f.user, k.ID); err != nil {
		t.Fatal(err)
	}
	_, code, err := f.CreateCode(t.Context(), f.user)
	if err != nil {
		t.Fatal(err)
	}
	minted, err := f.Exchange(t.Context(), code, "editor")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Exchange(t.Context(), code, "editor"); err == nil {
		t.Error("a code can be exchanged twice")
	}
	entries, err := f.audit.List(t.Context(), f.user.UserID, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, string(e.Event))
		for _, secret := range []string{token, code, minted} {
			if strings.Contains(e.Detail+e.Actor, secret) {
				t.Errorf("entry %s contains a secret", e.Event)
			}
		}
	}
	if s := strings.Join(got, " "); s != "code_exchanged code_created key_revoked key_created" {
		t.Errorf("events: %s", s)
	}
	if e := entries[3]; e.Actor != "operator" || !strings.Contains(e.Detail, `"name":"laptop"`) ||
		!strings.Contains(e.Detail, k.ID) {
		t.Errorf("%+v", e)
	}
}
