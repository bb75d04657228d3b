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

// AllowSession is Allow for operations on how somebody signs in. A key is never enough, whatever its scopes: a leaked key
// would otherwise open a session. The operator at the machine has the database and needs neither.
func (a Actor) AllowSession(op Operation) error {
	if err := a.Allow(op); err != nil {
		return err
	}
	if !a.signedIn() {
		return SessionRequired()
	}
	return nil
}

// AllowFreshSession is AllowSession for operations that change how an account is signed in to, or whom it obeys: they need
// a session with a recent proof.
func (a Actor) AllowFreshSession(op Operation, now time.Time) error {
	if err := a.AllowSession(op); err != nil {
		return err
	}
	return a.AllowProved(op, now)
}

// AllowProved is Allow for operations that a stolen session must not be enough for and that programs may do with a key,
// such as making keys that can do no more than the key itself. A session needs a recent proof.
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
	return Forbidden("session_required", "This is done in the browser of a person who has signed in, never with a key. Sign in there.")
}

// signedIn reports whether a person is asking: in a session, or at the machine.
func (a Actor) signedIn() bool {
	return a.Credential == CredentialSession || a.Credential == CredentialOperator
}
