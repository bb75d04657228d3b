// Package passkey implements sign-in and step-up with WebAuthn credentials. They are bound to the origin, so they
// cannot be phished.
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
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/signin"
)

// maxPasskeys is the maximum number of passkeys per user.
const maxPasskeys = 20

// Passkey is a registered WebAuthn credential.
type Passkey struct {
	ID     string
	UserID string
	// CredentialID is the credential id chosen by the authenticator.
	CredentialID []byte
	// Name is chosen by the user.
	Name string
	// Record is the webauthn.Credential in JSON: public key, flags and signature counter.
	Record     []byte
	CreatedAt  time.Time
	LastUsedAt *time.Time
}

// Store persists passkeys. A missing one is a not_found error, a credential id that is already registered a conflict.
type Store interface {
	UserByID(ctx context.Context, userID string) (account.User, error)
	InsertPasskey(ctx context.Context, p Passkey) error
	// Passkeys returns the passkeys of a user, newest first.
	Passkeys(ctx context.Context, userID string) ([]Passkey, error)
	// UsePasskey stores the record with the updated signature counter and the time of the last use.
	UsePasskey(ctx context.Context, userID string, credentialID, record []byte, at time.Time) error
	RenamePasskey(ctx context.Context, userID, id, name string) error
	DeletePasskey(ctx context.Context, userID, id string) error
}

// Service registers and verifies passkeys.
type Service struct {
	store   Store
	pending *signin.PendingSteps
	clock   core.Clock
	audit   audit.Recorder
	// webauthn is nil if browsers do not support passkeys at the base URL.
	webauthn *webauthn.WebAuthn
}

// Deps are the dependencies of a Service.
type Deps struct {
	Store   Store
	Pending *signin.PendingSteps
	Clock   core.Clock
	Audit   audit.Recorder
	// BaseURL is the address of the installation. Passkeys are bound to its host name.
	BaseURL string
}

// New returns a Service. It panics if a dependency is missing. If the base URL has an IP address as host, or is plain
// HTTP to another machine, the service is not Available.
func New(d Deps) (*Service, error) {
	core.RequireDeps(d)
	s := &Service{store: d.Store, pending: d.Pending, clock: d.Clock, audit: d.Audit}
	base, err := url.Parse(d.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("parse base URL: %w", err)
	}
	if !supported(base) {
		return s, nil
	}
	s.webauthn, err = webauthn.New(&webauthn.Config{
		RPID: base.Hostname(), RPDisplayName: "Carrel", RPOrigins: []string{base.Scheme + "://" + base.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			// A discoverable credential identifies the user, and user verification makes it a second factor.
			ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationRequired,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("configure WebAuthn: %w", err)
	}
	return s, nil
}

// supported reports whether browsers allow passkeys at a URL: a secure context whose host is a domain (WebAuthn Level
// 3, section 5.1.3).
func supported(base *url.URL) bool {
	host := base.Hostname()
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	return base.Scheme == "https" || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// Available reports whether browsers support passkeys at the base URL.
func (s *Service) Available() bool { return s.webauthn != nil }

// ErrPasskey is the only error for a response that fails verification.
var (
	ErrPasskey = core.Forbidden("proof_failed",
		"This passkey was not accepted. Try again, use another one, or sign in with your password.")
	errUnavailable = core.Forbidden("forbidden",
		"Passkeys are not available at this address. They require HTTPS and a host name, or localhost.")
)

// Ceremony is the input of a browser for registering or using a passkey.
type Ceremony struct {
	// Token identifies the pending challenge. It can be used once.
	Token string
	// Options is the publicKey object that PublicKeyCredential.parse…OptionsFromJSON expects.
	Options json.RawMessage
}

// person implements webauthn.User.
type person struct {
	user        account.User
	credentials []webauthn.Credential
}

func (p person) WebAuthnID() []byte                         { return []byte(p.user.ID) }
func (p person) WebAuthnName() string                       { return p.user.Email }
func (p person) WebAuthnDisplayName() string                { return p.user.Name }
func (p person) WebAuthnCredentials() []webauthn.Credential { return p.credentials }

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
			return person{}, fmt.Errorf("decode passkey %s: %w", k.ID, err)
		}
		p.credentials = append(p.credentials, c)
	}
	return p, nil
}

// begin stores the challenge of a ceremony as a pending step.
func (s *Service) begin(
	ctx context.Context, kind signin.PendingKind, actor core.Actor, options any, data *webauthn.SessionData,
) (Ceremony, error) {
	encoded, err := json.Marshal(options)
	if err != nil {
		return Ceremony{}, fmt.Errorf("encode challenge: %w", err)
	}
	token, err := s.pending.Begin(ctx, kind, actor.UserID, actor.CredentialID, data)
	if err != nil {
		return Ceremony{}, err
	}
	return Ceremony{Token: token, Options: encoded}, nil
}

// take completes the pending step and returns its challenge. It must have been begun by the same session.
func (s *Service) take(
	ctx context.Context, kind signin.PendingKind, actor core.Actor, token string,
) (webauthn.SessionData, error) {
	var data webauthn.SessionData
	pending, err := s.pending.Take(ctx, kind, token, &data)
	if err == nil && (pending.UserID != actor.UserID || pending.SessionID != actor.CredentialID) {
		err = signin.ErrPending
	}
	return data, err
}
