package core

import "time"

// ProofLife is how long it counts that somebody proved who they are, for acts that a stolen or forgotten session must
// not be enough for.
const ProofLife = 10 * time.Minute

// RecentlyProved reports whether the caller has lately proved who they are. That is asked of sessions alone: whoever
// gives a key the scope of the account means programs to use it, and nobody sits there to be asked.
func (a Actor) RecentlyProved(now time.Time) bool {
	return a.Credential != CredentialSession || now.Sub(a.AuthenticatedAt) < ProofLife
}

// AllowProved is Allow for a sensitive operation, which also needs a recent proof: making keys, changing the address or
// the password, and whatever else would let a thief stay.
func (a Actor) AllowProved(op Operation, now time.Time) error {
	if err := a.Allow(op); err != nil {
		return err
	}
	if !a.RecentlyProved(now) {
		return Forbidden("step_up_required",
			"This needs a fresh proof that it is you. Open /step-up, prove it, and send the same again within ten minutes.")
	}
	return nil
}

// SessionRequired is the answer to a key or token that asks for something that only a signed-in person may do.
func SessionRequired() *Error {
	return Forbidden("session_required", "How an account is signed in to is changed in its owner's browser alone, not with a key. Sign in there.")
}
