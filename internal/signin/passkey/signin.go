package passkey

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/signin"
)

// BeginSignIn starts a sign-in without a user name: the passkey identifies the user.
func (s *Service) BeginSignIn(ctx context.Context) (Ceremony, error) {
	if s.webauthn == nil {
		return Ceremony{}, errUnavailable
	}
	options, data, err := s.webauthn.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin passkey assertion: %w", err)
	}
	return s.begin(ctx, signin.PendingAssertion, core.Actor{}, options.Response, data)
}

// FinishSignIn verifies the browser's response and returns the user. An invalid response is ErrPasskey.
func (s *Service) FinishSignIn(ctx context.Context, token string, response []byte) (account.User, error) {
	if s.webauthn == nil {
		return account.User{}, errUnavailable
	}
	data, err := s.take(ctx, signin.PendingAssertion, core.Actor{}, token)
	if err != nil {
		return account.User{}, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBody(bytes.NewReader(response))
	if err != nil {
		return account.User{}, ErrPasskey.Because(err)
	}
	var lookupErr error // the library hides the error of the callback
	found, used, err := s.webauthn.ValidatePasskeyLogin(func(_, handle []byte) (webauthn.User, error) {
		p, err := s.person(ctx, string(handle))
		if err != nil {
			lookupErr = err
		}
		return p, err
	}, data, parsed)
	if lookupErr != nil && !core.IsKind(lookupErr, core.KindNotFound) {
		return account.User{}, lookupErr
	}
	if err != nil {
		return account.User{}, ErrPasskey.Because(err)
	}
	return s.accept(ctx, found.(person).user, used)
}

// BeginProof starts a step-up with one of the actor's passkeys.
func (s *Service) BeginProof(ctx context.Context, actor core.Actor) (Ceremony, error) {
	if err := signin.AllowOwn(actor); err != nil {
		return Ceremony{}, err
	}
	if s.webauthn == nil {
		return Ceremony{}, errUnavailable
	}
	p, err := s.person(ctx, actor.UserID)
	if err != nil {
		return Ceremony{}, err
	}
	if len(p.credentials) == 0 {
		return Ceremony{}, core.Conflict("conflict", "This account has no passkey. Use the password instead.")
	}
	options, data, err := s.webauthn.BeginLogin(p, webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin passkey assertion: %w", err)
	}
	return s.begin(ctx, signin.PendingAssertion, actor, options.Response, data)
}

// FinishProof verifies the browser's response to BeginProof. An invalid response is ErrPasskey.
func (s *Service) FinishProof(ctx context.Context, actor core.Actor, token string, response []byte) error {
	if err := signin.AllowOwn(actor); err != nil {
		return err
	}
	if s.webauthn == nil {
		return errUnavailable
	}
	data, err := s.take(ctx, signin.PendingAssertion, actor, token)
	if err != nil {
		return err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBody(bytes.NewReader(response))
	if err != nil {
		return ErrPasskey.Because(err)
	}
	p, err := s.person(ctx, actor.UserID)
	if err != nil {
		return err
	}
	used, err := s.webauthn.ValidateLogin(p, data, parsed)
	if err != nil {
		return ErrPasskey.Because(err)
	}
	_, err = s.accept(ctx, p.user, used)
	return err
}

// accept stores the use of a verified passkey. It rejects disabled accounts and passkeys whose signature counter
// decreased, which indicates a clone.
func (s *Service) accept(ctx context.Context, user account.User, used *webauthn.Credential) (account.User, error) {
	switch {
	case user.DisabledAt != nil:
		return account.User{}, ErrPasskey.Because(errors.New("account is disabled"))
	case used.Authenticator.CloneWarning:
		return account.User{}, ErrPasskey.Because(errors.New("signature counter decreased: the authenticator may be cloned"))
	}
	record, err := json.Marshal(used)
	if err != nil {
		return account.User{}, fmt.Errorf("encode passkey: %w", err)
	}
	err = s.store.UsePasskey(ctx, user.ID, used.ID, record, s.clock.Now())
	if core.IsKind(err, core.KindNotFound) {
		return account.User{}, ErrPasskey.Because(err) // removed concurrently
	}
	return user, err
}
