// Package passkey lets people sign in with WebAuthn credentials: keys that live in a phone, a computer or a password
// manager, answer for one site alone and can't be told to anybody by mistake.
package passkey

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"carrel/internal/account"
	"carrel/internal/core"
	"carrel/internal/credential"
)

// maxPasskeys bounds how many a user has: a few devices, each with a spare.
const maxPasskeys = 20

// Passkey is one of a user's passkeys.
type Passkey struct {
	ID     string
	UserID string
	// CredentialID is the authenticator's own name for it.
	CredentialID []byte
	// Name is what the user calls it.
	Name string
	// Record is what answers are checked against, as the library wants it kept.
	Record     []byte
	CreatedAt  time.Time
	LastUsedAt *time.Time
}

// Store keeps passkeys. What is not there is not_found; a credential that is known already is a conflict.
type Store interface {
	UserByID(ctx context.Context, userID string) (account.User, error)
	InsertPasskey(ctx context.Context, p Passkey) error
	// Passkeys returns those of a user, newest first.
	Passkeys(ctx context.Context, userID string) ([]Passkey, error)
	// UsePasskey replaces the record of a passkey, which counts its uses, and notes when that was.
	UsePasskey(ctx context.Context, userID string, credentialID, record []byte, at time.Time) error
	RenamePasskey(ctx context.Context, userID, id, name string) error
	DeletePasskey(ctx context.Context, userID, id string) error
}

// Service makes and checks passkeys.
type Service struct {
	store    Store
	pendings *credential.Pendings
	clock    core.Clock
	recorder account.Recorder
	// relying is nil where browsers offer no passkeys.
	relying *webauthn.WebAuthn
}

// New returns the passkeys of an installation at this address. They belong to its host: under another name browsers do
// not offer them. Hosts that are an address instead of a name, and plain HTTP to another machine, can't have any.
func New(store Store, pendings *credential.Pendings, clock core.Clock, recorder account.Recorder, baseURL string) (*Service, error) {
	s := &Service{store: store, pendings: pendings, clock: clock, recorder: recorder}
	base, err := url.Parse(baseURL)
	if err != nil {
		return nil, fmt.Errorf("read the base address: %w", err)
	}
	if !possible(base) {
		return s, nil
	}
	s.relying, err = webauthn.New(&webauthn.Config{
		RPID: base.Hostname(), RPDisplayName: "Carrel", RPOrigins: []string{base.Scheme + "://" + base.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			// The user is found by the passkey alone, and proves to the device who they are: it stands for both factors.
			ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationRequired,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("set up passkeys: %w", err)
	}
	return s, nil
}

// possible reports whether browsers have passkeys for an address (WebAuthn 3, 5.1.3: the id of a party is a domain).
func possible(base *url.URL) bool {
	host := base.Hostname()
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	return base.Scheme == "https" || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// Available reports whether there are passkeys at this installation's address.
func (s *Service) Available() bool { return s.relying != nil }

// The answers to what can't be done. ErrPasskey is the one for all that is wrong with a passkey's answer.
var (
	ErrPasskey = core.Forbidden("proof_failed",
		"This passkey was not accepted. Try again, use another one, or sign in with your password.")
	errUnavailable = core.Forbidden("forbidden",
		"There are no passkeys at this address. They need HTTPS and a host that is a name, or localhost.")
)

// Ceremony is what a browser needs to make or use a passkey.
type Ceremony struct {
	// Token leads to what the answer is checked against. It is good once.
	Token string
	// Options is what PublicKeyCredential.parse…OptionsFromJSON reads: {"publicKey": {…}} without the outer object.
	Options json.RawMessage
}

// person is a user as the library sees them.
type person struct {
	user        account.User
	credentials []webauthn.Credential
}

func (p person) WebAuthnID() []byte                         { return []byte(p.user.ID) }
func (p person) WebAuthnName() string                       { return p.user.Email }
func (p person) WebAuthnDisplayName() string                { return p.user.Name }
func (p person) WebAuthnCredentials() []webauthn.Credential { return p.credentials }

// person returns a user with their passkeys.
func (s *Service) person(ctx context.Context, userID string) (person, error) {
	user, err := s.store.UserByID(ctx, userID)
	if err != nil {
		return person{}, err
	}
	passkeys, err := s.store.Passkeys(ctx, userID)
	if err != nil {
		return person{}, err
	}
	p := person{user: user}
	for _, k := range passkeys {
		var c webauthn.Credential
		if err := json.Unmarshal(k.Record, &c); err != nil {
			return person{}, fmt.Errorf("read passkey %s: %w", k.ID, err)
		}
		p.credentials = append(p.credentials, c)
	}
	return p, nil
}

// ceremony keeps what an answer will be checked against.
func (s *Service) ceremony(ctx context.Context, kind credential.PendingKind, actor core.Actor, options any, data *webauthn.SessionData) (Ceremony, error) {
	encoded, err := json.Marshal(options)
	if err != nil {
		return Ceremony{}, fmt.Errorf("encode a challenge: %w", err)
	}
	token, err := s.pendings.Begin(ctx, kind, actor.UserID, actor.CredentialID, data)
	if err != nil {
		return Ceremony{}, err
	}
	return Ceremony{Token: token, Options: encoded}, nil
}

// take returns what an answer is checked against, if it was begun by the same session.
func (s *Service) take(ctx context.Context, kind credential.PendingKind, actor core.Actor, token string) (webauthn.SessionData, error) {
	var data webauthn.SessionData
	pending, err := s.pendings.Take(ctx, kind, token, &data)
	if err == nil && (pending.UserID != actor.UserID || pending.SessionID != actor.CredentialID) {
		err = credential.ErrPending
	}
	return data, err
}
