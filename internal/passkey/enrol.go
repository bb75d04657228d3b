package passkey

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/credential"
)

// List returns the passkeys of the actor's user, newest first.
func (s *Service) List(ctx context.Context, actor core.Actor) ([]Passkey, error) {
	if err := account.AllowOwn(actor); err != nil {
		return nil, err
	}
	return s.store.Passkeys(ctx, actor.UserID)
}

// BeginEnrol returns a challenge to make a passkey with.
func (s *Service) BeginEnrol(ctx context.Context, actor core.Actor) (Ceremony, error) {
	if err := account.AllowOwnProved(actor, s.clock.Now()); err != nil {
		return Ceremony{}, err
	}
	if s.relying == nil {
		return Ceremony{}, errUnavailable
	}
	p, err := s.person(ctx, actor.UserID)
	if err != nil {
		return Ceremony{}, err
	}
	if len(p.credentials) >= maxPasskeys {
		return Ceremony{}, errTooMany
	}
	// A device that has one already says so instead of making a second.
	have := webauthn.Credentials(p.credentials).CredentialDescriptors()
	options, data, err := s.relying.BeginRegistration(p, webauthn.WithExclusions(have))
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin a passkey: %w", err)
	}
	return s.ceremony(ctx, credential.PendingEnrolment, actor, options.Response, data)
}

var errTooMany = core.Conflict("conflict", "This account has 20 passkeys. Remove one first.")

// FinishEnrol keeps the passkey that a device made. An answer that is not good is ErrPasskey.
func (s *Service) FinishEnrol(ctx context.Context, actor core.Actor, token, name string, answer []byte) (Passkey, error) {
	if err := account.AllowOwnProved(actor, s.clock.Now()); err != nil {
		return Passkey{}, err
	}
	if s.relying == nil {
		return Passkey{}, errUnavailable
	}
	name = strings.TrimSpace(name)
	if err := checkName(name); err != nil {
		return Passkey{}, err
	}
	data, err := s.take(ctx, credential.PendingEnrolment, actor, token)
	if err != nil {
		return Passkey{}, err
	}
	made, err := s.create(ctx, actor.UserID, data, answer)
	if err != nil {
		return Passkey{}, err
	}
	record, err := json.Marshal(made)
	if err != nil {
		return Passkey{}, fmt.Errorf("encode a passkey: %w", err)
	}
	k := Passkey{
		ID: core.NewID(core.PrefixCredential), UserID: actor.UserID, CredentialID: made.ID, Name: name,
		Record: record, CreatedAt: s.clock.Now(),
	}
	if err := s.store.InsertPasskey(ctx, k); err != nil {
		return Passkey{}, err
	}
	s.recorder.Note(ctx, audit.Record{
		Event: audit.PasskeyAdded, UserID: actor.UserID, Actor: actor.CredentialID, Detail: map[string]string{"id": k.ID},
	})
	return k, nil
}

// create checks the answer of a device that has made a passkey.
func (s *Service) create(ctx context.Context, userID string, data webauthn.SessionData, answer []byte) (*webauthn.Credential, error) {
	parsed, err := protocol.ParseCredentialCreationResponseBody(bytes.NewReader(answer))
	if err != nil {
		return nil, ErrPasskey.Because(err)
	}
	p, err := s.person(ctx, userID)
	if err != nil {
		return nil, err
	}
	made, err := s.relying.CreateCredential(p, data, parsed)
	if err != nil {
		return nil, ErrPasskey.Because(err)
	}
	return made, nil
}

// Rename calls a passkey something else.
func (s *Service) Rename(ctx context.Context, actor core.Actor, id, name string) (Passkey, error) {
	if err := account.AllowOwn(actor); err != nil {
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
	return Passkey{}, core.NotFound("passkey") // removed meanwhile
}

// Remove makes a passkey useless, at once.
func (s *Service) Remove(ctx context.Context, actor core.Actor, id string) error {
	if err := account.AllowOwnProved(actor, s.clock.Now()); err != nil {
		return err
	}
	if err := s.store.DeletePasskey(ctx, actor.UserID, id); err != nil {
		return err
	}
	s.recorder.Note(ctx, audit.Record{
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
