package account

import (
	"time"

	"carrel/internal/core"
)

// AllowOwn lets people see how they sign in. A key is never enough, whatever its scopes: whoever found one could take
// the account over with it.
func AllowOwn(actor core.Actor) error {
	if err := actor.Allow(core.OpAccount); err != nil {
		return err
	}
	return onlySession(actor)
}

// AllowOwnProved lets people change how they sign in: with a session, and a recent proof that it is them.
func AllowOwnProved(actor core.Actor, now time.Time) error {
	if err := actor.AllowProved(core.OpAccount, now); err != nil {
		return err
	}
	return onlySession(actor)
}

func onlySession(actor core.Actor) error {
	if actor.Credential != core.CredentialSession {
		return core.Forbidden("session_required", "How an account is signed in to is changed in its owner's browser alone, not with a key. Sign in there.")
	}
	return nil
}
