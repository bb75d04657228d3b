package credential_test

import (
	"log/slog"
	"strings"
	"testing"

	"carrel/internal/audit"
	"carrel/internal/credential"
)

func TestPoint13ActsOnCredentialsAreWrittenDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	log := audit.New(w.db, w.clock, nil, slog.New(slog.DiscardHandler))
	w.RecordTo(log)
	k, token := w.key(t, credential.NewKey{Name: "laptop"})
	if err := w.RevokeKey(t.Context(), w.user, k.ID); err != nil {
		t.Fatal(err)
	}
	_, code, err := w.CreateCode(t.Context(), w.user)
	if err != nil {
		t.Fatal(err)
	}
	minted, err := w.Exchange(t.Context(), code, "editor")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Exchange(t.Context(), code, "editor"); err == nil {
		t.Error("a code works twice")
	}
	entries, err := log.List(t.Context(), w.user.UserID, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, string(e.Event))
		for _, secret := range []string{token, code, minted} {
			if strings.Contains(e.Detail+e.Actor, secret) {
				t.Errorf("%s holds a secret", e.Event)
			}
		}
	}
	if s := strings.Join(got, " "); s != "code_exchanged code_created key_revoked key_created" {
		t.Errorf("the log holds %s", s)
	}
	if e := entries[3]; e.Actor != "operator" || !strings.Contains(e.Detail, `"name":"laptop"`) || !strings.Contains(e.Detail, k.ID) {
		t.Errorf("%+v", e)
	}
}
