package credential_test

import (
	"testing"

	"carrel/internal/core"
	"carrel/internal/credential"
)

// Every method checks access itself: MCP and REST call the same services.
func TestCredentialsAreManagedOnlyWithTheAccountScope(t *testing.T) {
	t.Parallel()
	f, ctx := newFixture(t), t.Context()
	k, _ := f.key(t, credential.NewKey{Name: "k"})
	code, _, err := f.CreateCode(ctx, f.user)
	if err != nil {
		t.Fatal(err)
	}
	minted := f.mint(t, "editor")
	sessions := newSessions(f, "secret")
	session, _, err := sessions.Begin(ctx, f.user.UserID, "", "")
	if err != nil {
		t.Fatal(err)
	}
	_, token := f.key(t, credential.NewKey{Name: "agents"})
	key, err := f.Authenticate(ctx, token)
	if err != nil {
		t.Fatal(err)
	}
	second := func(_ any, err error) error { return err }
	third := func(_, _ any, err error) error { return err }
	for _, actor := range []core.Actor{key, minted, {}} {
		for name, call := range map[string]func() error{
			"CreateKey":        func() error { return third(f.CreateKey(ctx, actor, credential.NewKey{Name: "x"})) },
			"Keys":             func() error { return second(f.Keys(ctx, actor)) },
			"APIKeys":          func() error { return third(f.APIKeys(ctx, actor, core.Page{})) },
			"RevokeKey":        func() error { return f.RevokeKey(ctx, actor, k.ID) },
			"DeleteKey":        func() error { return f.DeleteKey(ctx, actor, k.ID) },
			"CreateCode":       func() error { return third(f.CreateCode(ctx, actor)) },
			"Codes":            func() error { return third(f.Codes(ctx, actor, core.Page{})) },
			"Code":             func() error { return second(f.Code(ctx, actor, code.ID)) },
			"CancelCode":       func() error { return f.CancelCode(ctx, actor, code.ID) },
			"Connections":      func() error { return third(f.Connections(ctx, actor, core.Page{})) },
			"RenameConnection": func() error { return second(f.RenameConnection(ctx, actor, minted.CredentialID, "x")) },
			"RevokeConnection": func() error { return f.RevokeConnection(ctx, actor, minted.CredentialID) },
			"Own":              func() error { return second(sessions.Own(ctx, actor)) },
			"EndOwn":           func() error { return sessions.EndOwn(ctx, actor, session.ID) },
			"EndOwnOthers":     func() error { return sessions.EndOwnOthers(ctx, actor) },
		} {
			if err := call(); !core.IsKind(err, core.KindForbidden) {
				t.Errorf("%s with a %s credential: %v", name, actor.Credential, err)
			}
		}
	}
	if list, err := sessions.List(ctx, f.user.UserID); err != nil || len(list) != 1 {
		t.Errorf("sessions %+v, %v", list, err)
	}
	if c, err := f.Code(ctx, f.user, code.ID); err != nil || c.State(f.clock.Now()) != credential.CodeWaiting {
		t.Errorf("code %+v, %v", c, err)
	}
}
