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
	"carrel/internal/credential"
)

// BeginSignIn returns a challenge for whoever it may be: the passkey itself tells.
func (s *Service) BeginSignIn(ctx context.Context) (Ceremony, error) {
	if s.relying == nil {
		return Ceremony{}, errUnavailable
	}
	options, data, err := s.relying.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin with a passkey: %w", err)
	}
	return s.ceremony(ctx, credential.PendingAssertion, core.Actor{}, options.Response, data)
}

// FinishSignIn returns the user whose passkey answered the challenge. An answer that is not good is ErrPasskey.
func (s *Service) FinishSignIn(ctx context.Context, token string, answer []byte) (account.User, error) {
	if s.relying == nil {
		return account.User{}, errUnavailable
	}
	data, err := s.take(ctx, credential.PendingAssertion, core.Actor{}, token)
	if err != nil {
		return account.User{}, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBody(bytes.NewReader(answer))
	if err != nil {
		return account.User{}, ErrPasskey.Because(err)
	}
	var missing error
	found, used, err := s.relying.ValidatePasskeyLogin(func(_, handle []byte) (webauthn.User, error) {
		p, err := s.person(ctx, string(handle))
		if err != nil {
			missing = err
		}
		return p, err
	}, data, parsed)
	if missing != nil && !core.IsKind(missing, core.KindNotFound) {
		return account.User{}, missing // the database is away, which is not the passkey's fault
	}
	if err != nil {
		return account.User{}, ErrPasskey.Because(err)
	}
	return s.accept(ctx, found.(person).user, used)
}

// BeginProof returns a challenge for the passkeys of the actor's user, to prove once more that it is them.
func (s *Service) BeginProof(ctx context.Context, actor core.Actor) (Ceremony, error) {
	if err := account.AllowOwn(actor); err != nil {
		return Ceremony{}, err
	}
	if s.relying == nil {
		return Ceremony{}, errUnavailable
	}
	p, err := s.person(ctx, actor.UserID)
	if err != nil {
		return Ceremony{}, err
	}
	if len(p.credentials) == 0 {
		return Ceremony{}, core.Conflict("conflict", "This account has no passkey. Prove it with the password.")
	}
	options, data, err := s.relying.BeginLogin(p, webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin with a passkey: %w", err)
	}
	return s.ceremony(ctx, credential.PendingAssertion, actor, options.Response, data)
}

// FinishProof checks that a passkey of the actor's user answered. An answer that is not good is ErrPasskey.
func (s *Service) FinishProof(ctx context.Context, actor core.Actor, token string, answer []byte) error {
	if err := account.AllowOwn(actor); err != nil {
		return err
	}
	if s.relying == nil {
		return errUnavailable
	}
	data, err := s.take(ctx, credential.PendingAssertion, actor, token)
	if err != nil {
		return err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBody(bytes.NewReader(answer))
	if err != nil {
		return ErrPasskey.Because(err)
	}
	p, err := s.person(ctx, actor.UserID)
	if err != nil {
		return err
	}
	used, err := s.relying.ValidateLogin(p, data, parsed)
	if err != nil {
		return ErrPasskey.Because(err)
	}
	_, err = s.accept(ctx, p.user, used)
	return err
}

// accept notes the use of a passkey that answered rightly.
func (s *Service) accept(ctx context.Context, user account.User, used *webauthn.Credential) (account.User, error) {
	switch {
	case user.DisabledAt != nil:
		return account.User{}, ErrPasskey.Because(errors.New("the account is disabled"))
	case used.Authenticator.CloneWarning:
		return account.User{}, ErrPasskey.Because(errors.New("its counter went back: there may be a copy of it"))
	}
	record, err := json.Marshal(used)
	if err != nil {
		return account.User{}, fmt.Errorf("encode a passkey: %w", err)
	}
	err = s.store.UsePasskey(ctx, user.ID, used.ID, record, s.clock.Now())
	if core.IsKind(err, core.KindNotFound) {
		return account.User{}, ErrPasskey.Because(err) // removed meanwhile
	}
	return user, err
}
