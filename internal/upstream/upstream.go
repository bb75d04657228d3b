// Package upstream signs people in with another OpenID provider, that of their company or university. It trusts the
// provider that the settings name for who somebody is, and decides which account here is theirs.
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
	"carrel/internal/core"
	"carrel/internal/credential"
)

// patience bounds every request to the provider: somebody is waiting for a page.
const patience = 10 * time.Second

// Options is the provider as the settings have it.
type Options struct {
	// Issuer is the provider's address, as it stands in its tokens.
	Issuer, ClientID, ClientSecret string
	// Name is what people know the provider by.
	Name string
	// RedirectURL is where the provider sends people back to.
	RedirectURL string
	// SignUp is whether people without an account get one, and Plan the one that they get then.
	SignUp bool
	Plan   string
}

// Identity is who somebody is at a provider.
type Identity struct {
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
}

// Store keeps which accounts belong to which identities. What is not there is not_found.
type Store interface {
	UserByEmail(ctx context.Context, email string) (account.User, error)
	UserByIdentity(ctx context.Context, id Identity) (account.User, error)
	// LinkIdentity ties an identity to a user; a user who has another one at this provider is a conflict.
	LinkIdentity(ctx context.Context, id Identity, userID string, at time.Time) error
	// InsertUserWithIdentity adds a user without a password; an address that is taken is a conflict.
	InsertUserWithIdentity(ctx context.Context, u account.User, id Identity) error
}

// Service signs people in with a provider.
type Service struct {
	opts     Options
	store    Store
	pendings *credential.Pendings
	clock    core.Clock
	recorder account.Recorder
	log      *slog.Logger
	client   *http.Client

	mu sync.Mutex
	// provider is what discovery found. It is asked when it is first needed: the server starts also when the provider is
	// away, and people can sign in with their passwords meanwhile.
	provider *oidc.Provider
}

// New returns the sign-in with a provider.
func New(o Options, store Store, pendings *credential.Pendings, clock core.Clock, recorder account.Recorder, log *slog.Logger) *Service {
	return &Service{
		opts: o, store: store, pendings: pendings, clock: clock, recorder: recorder, log: log,
		client: &http.Client{Timeout: patience, Transport: http.DefaultTransport.(*http.Transport).Clone()},
	}
}

// Close ends idle connections to the provider.
func (s *Service) Close() { s.client.CloseIdleConnections() }

// Name is what people know the provider by.
func (s *Service) Name() string { return s.opts.Name }

// The answers to journeys that fail.
var (
	errAway = &core.Error{
		Kind: core.KindUpstream, Code: "upstream_away", Detail: "The provider you sign in with does not answer. Try again in a moment, or use your password.",
	}
	// ErrRefused is the answer to all that is wrong with what the provider sent back.
	ErrRefused = core.Forbidden("upstream_refused", "The provider did not confirm who you are. Begin again.")
	errAddress = core.Forbidden("upstream_unverified",
		"The provider does not vouch for your e-mail address, so that no account can be found by it. Confirm the address there, or sign in with your password.")
	errNoAccount = core.Forbidden("upstream_unknown", "There is no account here with your e-mail address. Ask whoever runs this installation for one.")
	errDisabled  = core.Forbidden("upstream_disabled", "This account can't be used.")
	errOther     = core.Forbidden("upstream_other",
		"The account with your e-mail address belongs to somebody else at this provider. Ask whoever runs this installation.")
)

// journey is what is kept while somebody is at the provider.
type journey struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	ReturnTo string    `json:"returnTo"`
	BegunAt  time.Time `json:"begunAt"`
}

// Begin returns the address to send somebody to, and the secret that their browser keeps meanwhile. With an actor it is
// for a fresh proof: the provider is told to ask again.
func (s *Service) Begin(ctx context.Context, actor core.Actor, returnTo string) (to, token string, err error) {
	config, err := s.config(ctx)
	if err != nil {
		return "", "", err
	}
	j := journey{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), ReturnTo: returnTo, BegunAt: s.clock.Now()}
	options := []oauth2.AuthCodeOption{oidc.Nonce(j.Nonce), oauth2.S256ChallengeOption(j.Verifier)}
	if actor.UserID != "" {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	token, err = s.pendings.Begin(ctx, credential.PendingUpstream, actor.UserID, actor.CredentialID, j)
	if err != nil {
		return "", "", err
	}
	return config.AuthCodeURL(j.State, options...), token, nil
}

// Arrival is somebody who came back from the provider.
type Arrival struct {
	User     account.User
	ReturnTo string
	// Unlinked is the person at the provider if the account was found by an address that nobody vouches for. They must
	// prove its password before Link connects the two; until then User is not theirs.
	Unlinked Identity
	// Proof is whether the journey was for a fresh proof of the user of SessionID.
	Proof             bool
	UserID, SessionID string
}

// Finish takes what the provider sent back, once, and returns whose account it is for.
func (s *Service) Finish(ctx context.Context, token string, query url.Values) (Arrival, error) {
	var j journey
	pending, err := s.pendings.Take(ctx, credential.PendingUpstream, token, &j)
	if err != nil {
		return Arrival{}, err
	}
	arrival := Arrival{ReturnTo: j.ReturnTo, Proof: pending.SessionID != "", UserID: pending.UserID, SessionID: pending.SessionID}
	if err := s.checkQuery(j, query); err != nil {
		return arrival, ErrRefused.Because(err)
	}
	claims, err := s.redeem(ctx, j, query.Get("code"))
	if err != nil {
		return arrival, err
	}
	if arrival.Proof {
		return s.proved(ctx, arrival, claims, j)
	}
	arrival.User, arrival.Unlinked, err = s.accountOf(ctx, claims)
	return arrival, err
}

// checkQuery holds the answer to the journey that this browser began, and to the provider that it went to.
func (s *Service) checkQuery(j journey, query url.Values) error {
	switch {
	case subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(j.State)) != 1:
		return errors.New("the state is another")
	case query.Has("iss") && query.Get("iss") != s.opts.Issuer: // RFC 9207
		return errors.New("another provider answered")
	case query.Has("error"):
		return errors.New("the provider refused") // what it says may hold anything
	case query.Get("code") == "":
		return errors.New("there is no code")
	}
	return nil
}

// claims is what the provider says of somebody.
type claims struct {
	Subject  string   `json:"sub"`
	Email    string   `json:"email"`
	Verified verified `json:"email_verified"`
	Name     string   `json:"name"`
	Nonce    string   `json:"nonce"`
	AuthTime int64    `json:"auth_time"`
}

// verified is true only for true: some providers write it as a text, and anything else is no.
type verified bool

// UnmarshalJSON reads a truth value or its text.
func (v *verified) UnmarshalJSON(b []byte) error {
	*v = string(b) == "true" || string(b) == `"true"`
	return nil
}

// redeem exchanges the code and checks the id token.
func (s *Service) redeem(ctx context.Context, j journey, code string) (claims, error) {
	config, err := s.config(ctx)
	if err != nil {
		return claims{}, err
	}
	ctx = oidc.ClientContext(ctx, s.client)
	tokens, err := config.Exchange(ctx, code, oauth2.VerifierOption(j.Verifier))
	if err != nil {
		var refused *oauth2.RetrieveError
		if errors.As(err, &refused) {
			return claims{}, ErrRefused.Because(fmt.Errorf("the provider refused the code: %s", refused.ErrorCode))
		}
		return claims{}, errAway.Because(err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	// The library refuses keys of its own making: none and HS* are not among the algorithms of a key set.
	token, err := s.provider.VerifierContext(ctx, &oidc.Config{ClientID: s.opts.ClientID, Now: s.clock.Now}).Verify(ctx, raw)
	if err != nil {
		return claims{}, ErrRefused.Because(err)
	}
	var c claims
	if err := token.Claims(&c); err != nil {
		return claims{}, ErrRefused.Because(err)
	}
	if subtle.ConstantTimeCompare([]byte(c.Nonce), []byte(j.Nonce)) != 1 || c.Subject == "" {
		return claims{}, ErrRefused.Because(errors.New("the id token is of another journey"))
	}
	return c, nil
}

// config is how the provider is spoken to. Discovery that failed is tried again the next time.
func (s *Service) config(ctx context.Context) (*oauth2.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.provider == nil {
		provider, err := oidc.NewProvider(oidc.ClientContext(ctx, s.client), s.opts.Issuer)
		if err != nil {
			s.log.ErrorContext(ctx, "the OpenID provider can't be used", slog.Any("error", err))
			return nil, errAway.Because(err)
		}
		s.provider = provider
	}
	return &oauth2.Config{
		ClientID: s.opts.ClientID, ClientSecret: s.opts.ClientSecret, Endpoint: s.provider.Endpoint(),
		RedirectURL: s.opts.RedirectURL, Scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}, nil
}
