package account

import (
	"time"

	"carrel/internal/core"
)

// AllowOwn allows reading how the actor's own account is signed in to, in a session.
func AllowOwn(actor core.Actor) error { return actor.AllowSession(core.OpAccount) }

// AllowOwnProved allows changing how the actor's own account is signed in to, in a session with a recent proof.
func AllowOwnProved(actor core.Actor, now time.Time) error {
	return actor.AllowFreshSession(core.OpAccount, now)
}
