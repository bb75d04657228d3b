// Package upstream implements sign-in with an external OpenID provider, for example of a company or university. It
// verifies the provider's ID tokens and maps their subjects to accounts.
package upstream

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/signin"
)

// requestTimeout is short because a user waits for the page.
const requestTimeout = 10 * time.Second

// Options are the settings of the provider.
type Options struct {
	// Issuer is the issuer identifier, as in the iss claim of ID tokens.
	Issuer, ClientID, ClientSecret string
	// Name is the display name of the provider.
	Name string
	// RedirectURL is the redirect URI registered at the provider.
	RedirectURL string
	// SignUp allows users without an account to create one, with the plan Plan.
	SignUp bool
	Plan   string
}

// Identity is a user at a provider.
type Identity struct {
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
}

// Store persists the links between identities and accounts. A missing user is a not_found error.
type Store interface {
	UserByEmail(ctx context.Context, email string) (account.User, error)
	UserByIdentity(ctx context.Context, id Identity) (account.User, error)
	// LinkIdentity links an identity to a user. It is a conflict if the user has another identity at this provider.
	LinkIdentity(ctx context.Context, id Identity, userID string, at time.Time) error
	// InsertUserWithIdentity inserts a user without a password. It is a conflict if the address is in use.
	InsertUserWithIdentity(ctx context.Context, u account.User, id Identity) error
}

// Deps are the dependencies of a Service.
type Deps struct {
	Store   Store
	Pending *signin.PendingSteps
	Clock   core.Clock
	Audit   audit.Recorder
	Log     *slog.Logger
	Options
}

// Service signs users in with one provider.
type Service struct {
	opts    Options
	store   Store
	pending *signin.PendingSteps
	clock   core.Clock
	audit   audit.Recorder
	log     *slog.Logger
	client  *http.Client

	mu sync.Mutex
	// provider is the result of discovery, which runs on first use: the server starts even if the provider is down, and
	// users can sign in with their passwords.
	provider *oidc.Provider
}

// New returns a Service. It panics if a dependency is missing.
func New(d Deps) *Service {
	core.RequireDeps(d)
	return &Service{
		opts: d.Options, store: d.Store, pending: d.Pending, clock: d.Clock, audit: d.Audit, log: d.Log,
		client: &http.Client{Timeout: requestTimeout, Transport: http.DefaultTransport.(*http.Transport).Clone()},
	}
}

// Close closes idle connections to the provider.
func (s *Service) Close() { s.client.CloseIdleConnections() }

// Name returns the display name of the provider.
func (s *Service) Name() string { return s.opts.Name }

// ErrRefused is the only error for an invalid response of the provider.
var ErrRefused = core.Forbidden("upstream_refused", "The provider did not confirm your identity. Start again.")

var (
	errUnavailable = &core.Error{
		Kind: core.KindUpstream, Code: "upstream_away",
		Detail: "The sign-in provider does not respond. Try again in a moment, or use your password.",
	}
	errUnverified = core.Forbidden("upstream_unverified",
		"The provider has not verified your e-mail address. Verify it there, or sign in with your password.")
	errNoAccount = core.Forbidden("upstream_unknown",
		"There is no account with your e-mail address. Ask your administrator for one.")
	errDisabled   = core.Forbidden("upstream_disabled", "This account is disabled.")
	errOtherOwner = core.Forbidden("upstream_other",
		"The account with your e-mail address is linked to another user of this provider. Ask your administrator.")
)

// authRequest is the state of an authorization request while the user is at the provider.
type authRequest struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	ReturnTo string    `json:"returnTo"`
	BegunAt  time.Time `json:"begunAt"`
}

// Begin returns the URL of the authorization request, and the token that the browser keeps until Finish. With an actor
// it is a step-up: the provider must authenticate the user again.
func (s *Service) Begin(ctx context.Context, actor core.Actor, returnTo string) (to, token string, err error) {
	config, err := s.config(ctx)
	if err != nil {
		return "", "", err
	}
	request := authRequest{
		State:    rand.Text(),
		Nonce:    rand.Text(),
		Verifier: oauth2.GenerateVerifier(),
		ReturnTo: returnTo,
		BegunAt:  s.clock.Now(),
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(request.Nonce), oauth2.S256ChallengeOption(request.Verifier)}
	if actor.UserID != "" {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	token, err = s.pending.Begin(ctx, signin.PendingUpstream, actor.UserID, actor.CredentialID, request)
	if err != nil {
		return "", "", err
	}
	return config.AuthCodeURL(request.State, options...), token, nil
}

// Arrival is the result of an authorization request.
type Arrival struct {
	User     account.User
	ReturnTo string
	// Unlinked is the identity if the account was found by an unverified address. The user must prove its password before
	// Link may link the two; until then User must not be signed in.
	Unlinked Identity
	// Proof is true if the request was a step-up of the user UserID in the session SessionID.
	Proof             bool
	UserID, SessionID string
}

// Finish verifies the provider's response and returns the account of the user. A token works once.
func (s *Service) Finish(ctx context.Context, token string, query url.Values) (Arrival, error) {
	var request authRequest
	pending, err := s.pending.Take(ctx, signin.PendingUpstream, token, &request)
	if err != nil {
		return Arrival{}, err
	}
	arrival := Arrival{
		ReturnTo: request.ReturnTo, Proof: pending.SessionID != "", UserID: pending.UserID, SessionID: pending.SessionID,
	}
	if err := s.checkQuery(request, query); err != nil {
		return arrival, ErrRefused.Because(err)
	}
	claims, err := s.redeem(ctx, request, query.Get("code"))
	if err != nil {
		return arrival, err
	}
	if arrival.Proof {
		return s.finishProof(ctx, arrival, claims, request)
	}
	arrival.User, arrival.Unlinked, err = s.accountOf(ctx, claims)
	return arrival, err
}

// checkQuery verifies that the response belongs to the request of this browser and comes from the configured provider.
func (s *Service) checkQuery(request authRequest, query url.Values) error {
	switch {
	case subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(request.State)) != 1:
		return errors.New("state does not match")
	case query.Has("iss") && query.Get("iss") != s.opts.Issuer: // RFC 9207
		return errors.New("response of another issuer")
	case query.Has("error"):
		return errors.New("provider returned an error") // its text is untrusted and not repeated
	case query.Get("code") == "":
		return errors.New("code is missing")
	}
	return nil
}

// claims are the used claims of an ID token.
type claims struct {
	Subject  string   `json:"sub"`
	Email    string   `json:"email"`
	Verified verified `json:"email_verified"`
	Name     string   `json:"name"`
	Nonce    string   `json:"nonce"`
	AuthTime int64    `json:"auth_time"`
}

// verified is email_verified, which some providers send as a string. Anything but true is false.
type verified bool

// UnmarshalJSON decodes a boolean or its string form.
func (v *verified) UnmarshalJSON(b []byte) error {
	*v = string(b) == "true" || string(b) == `"true"`
	return nil
}

// redeem exchanges the authorization code and verifies the ID token.
func (s *Service) redeem(ctx context.Context, request authRequest, code string) (claims, error) {
	config, err := s.config(ctx)
	if err != nil {
		return claims{}, err
	}
	ctx = oidc.ClientContext(ctx, s.client)
	tokens, err := config.Exchange(ctx, code, oauth2.VerifierOption(request.Verifier))
	if err != nil {
		var refused *oauth2.RetrieveError
		if errors.As(err, &refused) {
			return claims{}, ErrRefused.Because(fmt.Errorf("provider rejected the code: %s", refused.ErrorCode))
		}
		return claims{}, errUnavailable.Because(err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	// The library accepts only asymmetric algorithms of the provider's key set, so none and HS* are rejected.
	verifier := s.provider.VerifierContext(ctx, &oidc.Config{ClientID: s.opts.ClientID, Now: s.clock.Now})
	token, err := verifier.Verify(ctx, raw)
	if err != nil {
		return claims{}, ErrRefused.Because(err)
	}
	var c claims
	if err := token.Claims(&c); err != nil {
		return claims{}, ErrRefused.Because(err)
	}
	if subtle.ConstantTimeCompare([]byte(c.Nonce), []byte(request.Nonce)) != 1 || c.Subject == "" {
		return claims{}, ErrRefused.Because(errors.New("ID token belongs to another request"))
	}
	return c, nil
}

// config returns the OAuth client configuration. It runs discovery until it has succeeded once.
func (s *Service) config(ctx context.Context) (*oauth2.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.provider == nil {
		provider, err := oidc.NewProvider(oidc.ClientContext(ctx, s.client), s.opts.Issuer)
		if err != nil {
			s.log.ErrorContext(ctx, "OpenID discovery failed", slog.Any("error", err))
			return nil, errUnavailable.Because(err)
		}
		s.provider = provider
	}
	return &oauth2.Config{
		ClientID: s.opts.ClientID, ClientSecret: s.opts.ClientSecret, Endpoint: s.provider.Endpoint(),
		RedirectURL: s.opts.RedirectURL, Scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}, nil
}
