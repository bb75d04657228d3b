package core

import "time"

// ProofLife is how long a proof of identity is valid for operations for which a stolen or forgotten session must not be
// enough.
const ProofLife = 10 * time.Minute

// RecentlyProved reports whether the caller proved their identity within ProofLife. Only sessions need a proof: a key
// with the account scope is meant for programs, which cannot be prompted.
func (a Actor) RecentlyProved(now time.Time) bool {
	return a.Credential != CredentialSession || now.Sub(a.AuthenticatedAt) < ProofLife
}

// AllowSession is Allow for operations on the sign-in methods of an account. Keys are refused, whatever their scopes: a
// leaked key could otherwise be used to sign in. The operator has access to the database anyway, and is allowed.
func (a Actor) AllowSession(op Operation) error {
	if err := a.Allow(op); err != nil {
		return err
	}
	if !a.signedIn() {
		return SessionRequired()
	}
	return nil
}

// AllowFreshSession is AllowSession for operations that change the sign-in methods of an account. They need a session
// with a recent proof.
func (a Actor) AllowFreshSession(op Operation, now time.Time) error {
	if err := a.AllowSession(op); err != nil {
		return err
	}
	return a.AllowProved(op, now)
}

// AllowProved is Allow for operations for which a stolen session must not be enough, but which programs may carry out
// with a key, such as creating keys with the same or fewer scopes. A session needs a recent proof.
func (a Actor) AllowProved(op Operation, now time.Time) error {
	if err := a.Allow(op); err != nil {
		return err
	}
	if !a.RecentlyProved(now) {
		return Forbidden("step_up_required",
			"Confirm your identity first: open /step-up, then send the request again within ten minutes.")
	}
	return nil
}

// SessionRequired is the error for a key or token on an operation that requires a browser session.
func SessionRequired() *Error {
	return Forbidden("session_required", "This requires a signed-in browser session; keys and tokens are not accepted.")
}

// signedIn reports whether the caller is a person: in a session, or the operator.
func (a Actor) signedIn() bool {
	return a.Credential == CredentialSession || a.Credential == CredentialOperator
}
