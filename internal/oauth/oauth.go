// Package oauth is the authorization server: programs register, people allow them what they ask for, and they get tokens
// that can be taken back at any moment. It follows OAuth 2.1 as it stands (code with PKCE, no implicit grant), OpenID
// Connect for who the user is, and RFCs 7009, 7591, 7662, 8414, 8707, 9207 and 9700.
package oauth

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/secretbox"
)

// The lives of things. A grant with a refresh token ends when nobody refreshes it, and at the latest at its limit.
const (
	CodeLife     = 60 * time.Second
	AccessLife   = time.Hour
	RefreshIdle  = 30 * 24 * time.Hour
	RefreshLimit = 180 * 24 * time.Hour
	// RefreshGrace is how long a refresh token that was used gives its successor again: clients do refresh twice.
	RefreshGrace = 10 * time.Second
	// unusedLife is how long a client that never got a token stays registered.
	unusedLife = 7 * 24 * time.Hour
	// maxUnused is how many clients are kept that never got a token. At the pace of one address, which is limited, the
	// oldest goes after more than an hour: time enough for a person to answer.
	maxUnused = 5000
	// traceLife is how long what has ended is kept, so that its reuse is noticed.
	traceLife = 30 * 24 * time.Hour
)

// AuthMethod is how a client proves itself at the token endpoint.
type AuthMethod string

// The methods. A public client, such as an app on a user's machine, can't keep a secret and has none.
const (
	AuthNone  AuthMethod = "none"
	AuthBasic AuthMethod = "client_secret_basic"
	AuthPost  AuthMethod = "client_secret_post"
)

// ClientKind is where a client's description comes from.
type ClientKind string

// The kinds: registered by itself (RFC 7591), or a document at the address that is its id.
const (
	ClientRegistered ClientKind = "registered"
	ClientDocument   ClientKind = "document"
)

// Client is a program that may ask users for access. All that it says of itself is unverified.
type Client struct {
	ID           string
	Kind         ClientKind
	Name         string
	URI          string
	RedirectURIs []string
	AuthMethod   AuthMethod
	// SecretHash is the keyed hash of its secret; nil for a public client.
	SecretHash []byte
	CreatedAt  time.Time
	// FetchedAt is when a document was last read.
	FetchedAt *time.Time
	UsedAt    *time.Time
}

func (c Client) public() bool { return c.AuthMethod == AuthNone }

// Grant is what a user has allowed a client.
type Grant struct {
	ID         string
	UserID     string
	ClientID   string
	ClientName string
	Scopes     []string
	Resources  []string
	AuthTime   time.Time
	CreatedAt  time.Time
	// ExpiresAt is when it ends unless the client refreshes it before.
	ExpiresAt  time.Time
	LastUsedAt *time.Time
	RevokedAt  *time.Time
}

// Offline reports whether the client may refresh the grant while the user is away.
func (g Grant) Offline() bool { return slices.Contains(g.Scopes, ScopeOffline) }

// EndAfter returns when the grant ends if it is refreshed now, or never again.
func (g Grant) EndAfter(now time.Time) time.Time {
	if !g.Offline() {
		return g.CreatedAt.Add(AccessLife)
	}
	end, limit := now.Add(RefreshIdle), g.CreatedAt.Add(RefreshLimit)
	if end.After(limit) {
		return limit
	}
	return end
}

// Live reports whether the grant still works.
func (g Grant) Live(now time.Time) bool { return g.RevokedAt == nil && now.Before(g.ExpiresAt) }

// Code is an authorization code, without its secret. The grant of this id begins when it is redeemed.
type Code struct {
	GrantID     string
	UserID      string
	ClientID    string
	RedirectURI string
	Challenge   string
	Nonce       string
	Scopes      []string
	Resources   []string
	AuthTime    time.Time
	ExpiresAt   time.Time
}

// Redemption is a client's claim to a code. All of it must be what the code was made for.
type Redemption struct {
	CodeHash    []byte
	ClientID    string
	RedirectURI string
	Challenge   string
	// Narrow says what of the grant the access token is for. It may be called more than once.
	Narrow     func(Grant) (scopes, resources []string, err error)
	AccessHash []byte
	// RefreshHash is stored if the grant has the scope offline_access.
	RefreshHash []byte
}

// Rotation is the exchange of a refresh token for its successor. The hashes of what is new follow from the old token,
// so that every attempt brings the same.
type Rotation struct {
	RefreshHash []byte
	ClientID    string
	// Narrow is that of a redemption.
	Narrow     func(Grant) (scopes, resources []string, err error)
	NewAccess  []byte
	NewRefresh []byte
}

// Issued is what came of a redemption or a rotation: the access token as it is stored, and its grant.
type Issued struct {
	Token Token
	Nonce string
	// Ended says of ErrReused that the grant worked until now.
	Ended bool
}

// Token is an access token, without its secret, with its grant and the user it acts for.
type Token struct {
	Grant     Grant
	User      account.User
	Scopes    []string
	Resources []string
	CreatedAt time.Time
	ExpiresAt time.Time
}

// ErrReused means that a code or a refresh token was shown again, so that somebody else may have it. The store has
// ended its grant by then.
var ErrReused = core.Conflict("reused", "This was used before; what was issued for it has been revoked.")

// ClientStore keeps clients. A missing one is not_found.
type ClientStore interface {
	// PutClient stores a client, or what is new about one whose document was read again. Of clients that were never used
	// the latest stay, so many as unused says: anybody can add one.
	PutClient(ctx context.Context, c Client, unused int) error
	Client(ctx context.Context, id string) (Client, error)
}

// GrantStore keeps grants and what belongs to them. Each change of state is one transaction that happens for one caller
// alone. The clock is read inside, after the lock: a time from before a long wait would make a fresh use look old.
type GrantStore interface {
	InsertAuthCode(ctx context.Context, c Code, hash []byte) error
	// RedeemAuthCode uses a code up and begins its grant. An unknown, expired or ill-fitting one is not_found; a used
	// one is ErrReused.
	RedeemAuthCode(ctx context.Context, clock core.Clock, r Redemption) (Issued, error)
	// RotateRefresh replaces a refresh token. Within the grace after its first use it returns what that use issued;
	// later it is ErrReused. One of another client, or of a grant that ended, is not_found.
	RotateRefresh(ctx context.Context, clock core.Clock, r Rotation) (Issued, error)
	// AccessToken and RefreshToken find a token of a user who is not disabled, also when its time is over. A refresh token
	// that was replaced is not_found.
	AccessToken(ctx context.Context, hash []byte) (Token, error)
	RefreshToken(ctx context.Context, hash []byte) (Token, error)
	// RevokeToken ends what the hash names, if the client has it: an access token alone, or with a refresh token the
	// whole grant. It reports whether a grant ended; what it does not find is no error.
	RevokeToken(ctx context.Context, clientID string, hash []byte, now time.Time) (ended bool, err error)
	// Grants lists a user's grants, newest first.
	Grants(ctx context.Context, userID string) ([]Grant, error)
	// RevokeGrant ends a grant of the user; one that is revoked already stays as it is. It reports whether this was the
	// end.
	RevokeGrant(ctx context.Context, userID, grantID string, now time.Time) (ended bool, err error)
}

// KeyStore keeps the keys that id tokens are signed with.
type KeyStore interface {
	// SigningKeys returns all keys by number.
	SigningKeys(ctx context.Context) ([]SigningKey, error)
	// InsertSigningKey adds a key; a number that is taken is a conflict.
	InsertSigningKey(ctx context.Context, k SigningKey) error
}

// Store is all that the authorization server keeps.
type Store interface {
	ClientStore
	GrantStore
	KeyStore
	AttemptStore
	// PruneOAuth deletes unused clients made before unused, keys other than the two latest that were active before
	// traces, and codes, tokens, grants and attempts that ended before it.
	PruneOAuth(ctx context.Context, now, unused, traces time.Time) error
}

// Prefixes are the words that secrets start with.
type Prefixes struct {
	Access, Refresh, Code, Client string
}

// PrefixesFor returns the prefixes that follow from the one of API keys.
func PrefixesFor(key string) Prefixes {
	return Prefixes{Access: key + "a", Refresh: key + "r", Code: key + "z", Client: key + "s"}
}

// All lists the prefixes, for logs to mask what starts with them.
func (p Prefixes) All() []string { return []string{p.Access, p.Refresh, p.Code, p.Client} }

// Options is how the server behaves.
type Options struct {
	// Issuer is the installation's base URL, byte for byte.
	Issuer   string
	Prefixes Prefixes
	// Address tells where the request of a context came from; nil means nowhere.
	Address func(context.Context) string
	// Documents fetches the documents of clients that are described by one; it must go to public addresses alone. Nil means
	// that clients have to register.
	Documents *http.Client
}

// Service is the authorization server.
type Service struct {
	store    Store
	clock    core.Clock
	front    Front
	issuer   string
	prefixes Prefixes
	// hashKey keys the hashes of secrets, deriveKey the successors of refresh tokens.
	hashKey, deriveKey []byte
	handles            *secretbox.Box
	keys               *keyring
	origin             *http.CrossOriginProtection
	log                *slog.Logger
	address            func(context.Context) string
	documents          *http.Client
	// fetching holds a place for each document that is being read.
	fetching chan struct{}
	// recorder writes the audit log; nil writes none.
	recorder Recorder
}

// New returns an authorization server. The secret is the installation's.
func New(store Store, clock core.Clock, secret []byte, o Options, log *slog.Logger) (*Service, error) {
	handles, err := secretbox.New(secret, "oauth consent")
	if err != nil {
		return nil, err
	}
	private, err := secretbox.New(secret, "oauth signing keys")
	if err != nil {
		return nil, err
	}
	deriveKey, err := hkdf.Key(sha256.New, secret, nil, "carrel oauth: refresh", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	if o.Address == nil {
		o.Address = func(context.Context) string { return "" }
	}
	origin := http.NewCrossOriginProtection()
	if u, err := url.Parse(o.Issuer); err == nil {
		// Behind a proxy the Host is another than the one that people see.
		if err := origin.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
			return nil, fmt.Errorf("trust our own origin: %w", err)
		}
	}
	return &Service{
		store: store, clock: clock, issuer: o.Issuer, prefixes: o.Prefixes,
		hashKey: secret, deriveKey: deriveKey, handles: handles, log: log, origin: origin, address: o.Address,
		documents: o.Documents, fetching: make(chan struct{}, maxFetches),
		keys: &keyring{store: store, clock: clock, box: private},
	}, nil
}

// Grants lists what a user has allowed clients, newest first.
func (s *Service) Grants(ctx context.Context, actor core.Actor) ([]Grant, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return nil, err
	}
	return s.store.Grants(ctx, actor.UserID)
}

// RevokeGrant ends a grant of the user: the very next request with a token of it fails.
func (s *Service) RevokeGrant(ctx context.Context, actor core.Actor, grantID string) error {
	if err := actor.Allow(core.OpAccount); err != nil {
		return err
	}
	ended, err := s.store.RevokeGrant(ctx, actor.UserID, grantID, s.clock.Now())
	if ended {
		s.note(ctx, audit.Record{
			Event: audit.GrantRevoked, UserID: actor.UserID, Actor: actorName(actor), Detail: map[string]string{"id": grantID},
		})
	}
	return err
}

// Prune throws away what has ended long ago, and clients that were never used, and makes the next signing key in time.
func (s *Service) Prune(ctx context.Context) error {
	now := s.clock.Now()
	if err := s.store.PruneOAuth(ctx, now, now.Add(-unusedLife), now.Add(-traceLife)); err != nil {
		return err
	}
	_, err := s.RotateKeys(ctx, false)
	return err
}
