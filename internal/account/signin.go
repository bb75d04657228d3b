package account

import (
	"context"

	"carrel/internal/audit"
	"carrel/internal/core"
)

// ErrSignIn is the one answer to a sign-in that fails: an unknown address, a wrong password and a disabled account look
// alike, so that nobody learns who has an account here.
var ErrSignIn = core.Unauthenticated("sign_in_failed", "The e-mail address or the password is not right.")

// Refused is why a sign-in failed, for the audit log alone.
type Refused struct {
	// User is whose account it was; zero for an unknown address.
	User User
	// Reason is one of a few fixed words.
	Reason string
}

// SignIn returns the user with this address and password. A failure is ErrSignIn; what lies behind it is in the second
// value and takes as long in every case: an unknown address costs a comparison as well.
func (s *Service) SignIn(ctx context.Context, email, password string) (User, Refused, error) {
	var u User
	var hash string
	email = NormalEmail(email)
	err := error(core.NotFound("user")) // the databases differ in what they make of a text that is none
	if (core.TextRule{Min: 1, Max: maxEmail}).Check(email) == "" {
		u, hash, err = s.store.PasswordHash(ctx, email)
	}
	unknown := core.IsKind(err, core.KindNotFound)
	if err != nil && !unknown {
		return User{}, Refused{}, err
	}
	if hash == "" {
		hash = decoyHash // also of people who sign in elsewhere and have no password
	}
	ok, err := s.check(ctx, hash, password)
	switch {
	case err != nil:
		return User{}, Refused{}, err
	case unknown:
		return User{}, Refused{Reason: "unknown account"}, ErrSignIn
	case !ok:
		return User{}, Refused{User: u, Reason: "wrong password"}, ErrSignIn
	case u.DisabledAt != nil:
		return User{}, Refused{User: u, Reason: "disabled account"}, ErrSignIn
	}
	return u, Refused{}, nil
}

// SetPassword gives a user another password and ends all their sessions but one, or all if that is empty.
func (s *Service) SetPassword(ctx context.Context, actor core.Actor, userID, password, exceptSession string) error {
	if err := actor.AllowFreshSession(core.OpAdmin, s.clock.Now()); err != nil {
		return err
	}
	hash, err := s.newPassword(ctx, userID, password)
	if err != nil {
		return err
	}
	return s.store.SetPassword(ctx, userID, hash, exceptSession, s.clock.Now())
}

// ChangePassword gives the user of a session another password and ends all their other sessions. That it is them they
// have proved before, by whatever means they have: an account may have no password yet.
func (s *Service) ChangePassword(ctx context.Context, actor core.Actor, password string) error {
	if err := AllowOwnProved(actor, s.clock.Now()); err != nil {
		return err
	}
	hash, err := s.newPassword(ctx, actor.UserID, password)
	if err != nil {
		return err
	}
	if err := s.store.SetPassword(ctx, actor.UserID, hash, actor.CredentialID, s.clock.Now()); err != nil {
		return err
	}
	if s.recorder != nil {
		s.recorder.Note(ctx, audit.Record{Event: audit.PasswordChanged, UserID: actor.UserID, Actor: actor.CredentialID})
	}
	return nil
}

// RecordTo makes the service write down what people do to their own accounts. It must be called before it is used.
func (s *Service) RecordTo(r Recorder) { s.recorder = r }

// hash and check wait for their turn, so that many sign-ins at once take neither all cores nor all memory.
func (s *Service) hash(ctx context.Context, password string) (string, error) {
	if err := s.enter(ctx); err != nil {
		return "", err
	}
	defer s.leave()
	return HashPassword(password)
}

func (s *Service) check(ctx context.Context, hash, password string) (bool, error) {
	if err := s.enter(ctx); err != nil {
		return false, err
	}
	defer s.leave()
	return CheckPassword(hash, password), nil
}

func (s *Service) enter(ctx context.Context) error {
	select {
	case s.hashing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Service) leave() { <-s.hashing }
