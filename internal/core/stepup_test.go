package core

import (
	"testing"
	"time"
)

func TestOnlySessionsNeedARecentProof(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		actor Actor
		want  string
	}{
		"a session of now": {Actor{Credential: CredentialSession, AuthenticatedAt: now}, ""},
		"one just inside": {
			Actor{Credential: CredentialSession, AuthenticatedAt: now.Add(-ProofLife + 1)}, "",
		},
		"one just outside": {
			Actor{Credential: CredentialSession, AuthenticatedAt: now.Add(-ProofLife)}, "step_up_required",
		},
		"one that was never proved":     {Actor{Credential: CredentialSession}, "step_up_required"},
		"a key for the account":         {Actor{Credential: CredentialKey}, ""},
		"the operator":                  {Actor{Credential: CredentialOperator}, ""},
		"a minted key, which may not":   {Actor{Credential: CredentialMinted}, "insufficient_scope"},
		"an OAuth token, which may not": {Actor{Credential: CredentialOAuth}, "insufficient_scope"},
		"something else, which may not": {Actor{}, "insufficient_scope"},
		"a session that may not any more": {
			Actor{Credential: CredentialSession, Scopes: []Scope{ScopeAgents}}, "insufficient_scope",
		},
	} {
		a := c.actor
		a.UserID = "u"
		if a.Scopes == nil {
			a.Scopes = RoleMember.Scopes()
		}
		got := ""
		if err := a.AllowProved(OpKeys, now); err != nil {
			got = AsError(err).Code
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestSignInChangesNeedAFreshSession(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		actor          Actor
		session, fresh string
	}{
		"a session of now": {Actor{Credential: CredentialSession, AuthenticatedAt: now}, "", ""},
		"an old session": {
			Actor{Credential: CredentialSession, AuthenticatedAt: now.Add(-ProofLife)}, "", "step_up_required",
		},
		"a key for the account": {
			Actor{Credential: CredentialKey, AuthenticatedAt: now}, "session_required", "session_required",
		},
		"the operator":                  {Actor{Credential: CredentialOperator}, "", ""},
		"a minted key, which may not":   {Actor{Credential: CredentialMinted}, "insufficient_scope", "insufficient_scope"},
		"an OAuth token, which may not": {Actor{Credential: CredentialOAuth}, "insufficient_scope", "insufficient_scope"},
		"nobody":                        {Actor{}, "insufficient_scope", "insufficient_scope"},
	} {
		a := c.actor
		a.UserID, a.Scopes = "u", RoleMember.Scopes()
		code := func(err error) string {
			if err == nil {
				return ""
			}
			return AsError(err).Code
		}
		if got := code(a.AllowSession(OpAccount)); got != c.session {
			t.Errorf("%s: a session is needed: %q, want %q", name, got, c.session)
		}
		if got := code(a.AllowFreshSession(OpAccount, now)); got != c.fresh {
			t.Errorf("%s: a fresh session is needed: %q, want %q", name, got, c.fresh)
		}
	}
}
