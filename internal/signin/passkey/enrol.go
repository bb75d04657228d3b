package passkey

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/signin"
)

// List returns the passkeys of the actor's user, newest first.
func (s *Service) List(ctx context.Context, actor core.Actor) ([]Passkey, error) {
	if err := signin.AllowOwn(actor); err != nil {
		return nil, err
	}
	return s.store.Passkeys(ctx, actor.UserID)
}

// BeginEnrol starts the registration of a passkey.
func (s *Service) BeginEnrol(ctx context.Context, actor core.Actor) (Ceremony, error) {
	if err := signin.AllowOwnProved(actor, s.clock.Now()); err != nil {
		return Ceremony{}, err
	}
	if s.webauthn == nil {
		return Ceremony{}, errUnavailable
	}
	p, err := s.person(ctx, actor.UserID)
	if err != nil {
		return Ceremony{}, err
	}
	if len(p.credentials) >= maxPasskeys {
		return Ceremony{}, errTooMany
	}
	// An authenticator that already holds a passkey of the user refuses to create another one.
	existing := webauthn.Credentials(p.credentials).CredentialDescriptors()
	options, data, err := s.webauthn.BeginRegistration(p, webauthn.WithExclusions(existing))
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin passkey registration: %w", err)
	}
	return s.begin(ctx, signin.PendingEnrolment, actor, options.Response, data)
}

var errTooMany = core.Conflict("conflict", "This account has the maximum of 20 passkeys. Remove one first.")

// FinishEnrol verifies the browser's response and stores the passkey. An invalid response is ErrPasskey.
func (s *Service) FinishEnrol(
	ctx context.Context, actor core.Actor, token, name string, response []byte,
) (Passkey, error) {
	if err := signin.AllowOwnProved(actor, s.clock.Now()); err != nil {
		return Passkey{}, err
	}
	if s.webauthn == nil {
		return Passkey{}, errUnavailable
	}
	name = strings.TrimSpace(name)
	if err := checkName(name); err != nil {
		return Passkey{}, err
	}
	data, err := s.take(ctx, signin.PendingEnrolment, actor, token)
	if err != nil {
		return Passkey{}, err
	}
	created, err := s.verifyRegistration(ctx, actor.UserID, data, response)
	if err != nil {
		return Passkey{}, err
	}
	record, err := json.Marshal(created)
	if err != nil {
		return Passkey{}, fmt.Errorf("encode passkey: %w", err)
	}
	k := Passkey{
		ID: core.NewID(core.PrefixCredential), UserID: actor.UserID, CredentialID: created.ID, Name: name,
		Record: record, CreatedAt: s.clock.Now(),
	}
	if err := s.store.InsertPasskey(ctx, k); err != nil {
		return Passkey{}, err
	}
	s.audit.Note(ctx, audit.Record{
		Event: audit.PasskeyAdded, UserID: actor.UserID, Actor: actor.CredentialID, Detail: map[string]string{"id": k.ID},
	})
	return k, nil
}

func (s *Service) verifyRegistration(
	ctx context.Context, userID string, data webauthn.SessionData, response []byte,
) (*webauthn.Credential, error) {
	parsed, err := protocol.ParseCredentialCreationResponseBody(bytes.NewReader(response))
	if err != nil {
		return nil, ErrPasskey.Because(err)
	}
	p, err := s.person(ctx, userID)
	if err != nil {
		return nil, err
	}
	created, err := s.webauthn.CreateCredential(p, data, parsed)
	if err != nil {
		return nil, ErrPasskey.Because(err)
	}
	return created, nil
}

// Rename changes the name of a passkey.
func (s *Service) Rename(ctx context.Context, actor core.Actor, id, name string) (Passkey, error) {
	if err := signin.AllowOwn(actor); err != nil {
		return Passkey{}, err
	}
	name = strings.TrimSpace(name)
	if err := checkName(name); err != nil {
		return Passkey{}, err
	}
	if err := s.store.RenamePasskey(ctx, actor.UserID, id, name); err != nil {
		return Passkey{}, err
	}
	passkeys, err := s.store.Passkeys(ctx, actor.UserID)
	if err != nil {
		return Passkey{}, err
	}
	for _, k := range passkeys {
		if k.ID == id {
			return k, nil
		}
	}
	return Passkey{}, core.NotFound("passkey") // removed concurrently
}

// Remove deletes a passkey. It can no longer be used.
func (s *Service) Remove(ctx context.Context, actor core.Actor, id string) error {
	if err := signin.AllowOwnProved(actor, s.clock.Now()); err != nil {
		return err
	}
	if err := s.store.DeletePasskey(ctx, actor.UserID, id); err != nil {
		return err
	}
	s.audit.Note(ctx, audit.Record{
		Event: audit.PasskeyRemoved, UserID: actor.UserID, Actor: actor.CredentialID, Detail: map[string]string{"id": id},
	})
	return nil
}

func checkName(name string) error {
	if detail := (core.TextRule{Min: 1, Max: 100}).Check(name); detail != "" {
		return core.InvalidField("/name", detail)
	}
	return nil
}
