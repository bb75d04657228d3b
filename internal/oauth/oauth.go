// Package oauth is the authorization server. It implements OAuth 2.1 (authorization code with PKCE, no implicit grant),
// OpenID Connect for the user's identity, and RFC 7009 (revocation), 7591 (registration), 7662 (introspection), 8414
// (metadata), 8707 (resource indicators), 9207 (issuer in responses) and 9700 (security practice). Access tokens are
// opaque and checked against the database, so a revoked grant stops working on the next request.
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

// Lifetimes. A grant with a refresh token expires after RefreshIdle without a refresh, and after RefreshLimit in any
// case.
const (
	CodeLife     = 60 * time.Second
	AccessLife   = time.Hour
	RefreshIdle  = 30 * 24 * time.Hour
	RefreshLimit = 180 * 24 * time.Hour
	// RefreshGrace is how long a used refresh token still returns its successor. Clients retry a refresh after a lost
	// response, and some refresh twice in parallel; neither is an attack.
	RefreshGrace = 10 * time.Second
	// unusedClientLife is how long a registration is kept for a client that never received a token.
	unusedClientLife = 7 * 24 * time.Hour
	// maxUnusedClients is how many such registrations are kept; registering another deletes the oldest. The rate limit
	// per address makes that take more than an hour, enough for a user to answer the consent page.
	maxUnusedClients = 5000
	// endedRetention is how long expired and revoked codes, tokens and grants are kept, so that their reuse is
	// detected.
	endedRetention = 30 * 24 * time.Hour
)

// AuthMethod is how a client authenticates at the token endpoint.
type AuthMethod string

// The supported methods. AuthNone is for public clients, such as apps on a user's machine, which can't keep a secret.
const (
	AuthNone  AuthMethod = "none"
	AuthBasic AuthMethod = "client_secret_basic"
	AuthPost  AuthMethod = "client_secret_post"
)

// ClientKind is the origin of a client's metadata.
type ClientKind string

// The kinds: dynamic registration (RFC 7591), or a document at the URL that is the client id.
const (
	ClientRegistered ClientKind = "registered"
	ClientDocument   ClientKind = "document"
)

// Client is a program that may ask users for access. Its name and URI are unverified.
type Client struct {
	ID           string
	Kind         ClientKind
	Name         string
	URI          string
	RedirectURIs []string
	AuthMethod   AuthMethod
	// SecretHash is the keyed hash of the client secret; nil for a public client.
	SecretHash []byte
	CreatedAt  time.Time
	// FetchedAt is when the client's document was last fetched; nil for a registered client.
	FetchedAt *time.Time
	UsedAt    *time.Time
}

func (c Client) public() bool { return c.AuthMethod == AuthNone }

// Grant is a user's permission for a client.
type Grant struct {
	ID         string
	UserID     string
	ClientID   string
	ClientName string
	Scopes     []string
	Resources  []string
	AuthTime   time.Time
	CreatedAt  time.Time
	// ExpiresAt moves forward with every refresh.
	ExpiresAt  time.Time
	LastUsedAt *time.Time
	RevokedAt  *time.Time
}

// Offline reports whether the client may refresh the grant while the user is away.
func (g Grant) Offline() bool { return slices.Contains(g.Scopes, ScopeOffline) }

// EndAfter returns the expiry of the grant if its last refresh is now.
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

// Live reports whether the grant is neither revoked nor expired.
func (g Grant) Live(now time.Time) bool { return g.RevokedAt == nil && now.Before(g.ExpiresAt) }

// Code is an authorization code, without its secret. Redeeming it creates the grant with the id GrantID.
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

// Redemption is a token request with an authorization code. Client, redirect URI and challenge must equal the code's.
type Redemption struct {
	CodeHash    []byte
	ClientID    string
	RedirectURI string
	Challenge   string
	// Narrow returns the part of the grant that the access token gets. A retried transaction calls it again.
	Narrow     func(Grant) (scopes, resources []string, err error)
	AccessHash []byte
	// RefreshHash is stored only if the grant has the scope offline_access.
	RefreshHash []byte
}

// Rotation is the exchange of a refresh token for its successor. The new tokens are derived from the old one, so every
// retry carries the same hashes.
type Rotation struct {
	RefreshHash []byte
	ClientID    string
	// Narrow works as in Redemption.
	Narrow     func(Grant) (scopes, resources []string, err error)
	NewAccess  []byte
	NewRefresh []byte
}

// Issued is the result of a redemption or a rotation: the stored access token and its grant.
type Issued struct {
	Token Token
	Nonce string
	// Ended is set with ErrReused if this reuse revoked the grant, and false if the grant had ended before.
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

// ErrReused means that a code or a refresh token was used a second time and may be stolen. The store has revoked its
// grant when it returns this error.
var ErrReused = core.Conflict("reused", "This code or token was already used. Its grant has been revoked.")

// ClientStore stores clients. An unknown id is not_found.
type ClientStore interface {
	// PutClient inserts a client, or updates it after its document was fetched again. It keeps the newest unused
	// clients among those that never received a token, because anyone can register one.
	PutClient(ctx context.Context, c Client, unused int) error
	Client(ctx context.Context, id string) (Client, error)
}

// GrantStore stores grants with their codes and tokens. Each change of state is one transaction under a lock. It reads
// the clock after it has the lock: a time taken before a long wait would make a fresh use look like a late reuse.
type GrantStore interface {
	InsertAuthCode(ctx context.Context, c Code, hash []byte) error
	// RedeemAuthCode consumes a code and creates its grant. It returns not_found for a code that is unknown, expired or
	// issued for another request, and ErrReused for a used one.
	RedeemAuthCode(ctx context.Context, clock core.Clock, r Redemption) (Issued, error)
	// RotateRefresh replaces a refresh token. Within RefreshGrace after its first use it returns the same result again;
	// later it returns ErrReused. A token of another client or of an ended grant is not_found.
	RotateRefresh(ctx context.Context, clock core.Clock, r Rotation) (Issued, error)
	// AccessToken and RefreshToken return a token of an enabled user, expired ones included. A refresh token whose
	// successor is stored is not_found.
	AccessToken(ctx context.Context, hash []byte) (Token, error)
	RefreshToken(ctx context.Context, hash, successor []byte) (Token, error)
	// RevokeToken revokes the client's token with this hash: an access token alone, a refresh token with its whole
	// grant. It reports whether a grant ended. An unknown token is not an error (RFC 7009, 2.2).
	RevokeToken(ctx context.Context, clientID string, hash []byte, now time.Time) (ended bool, err error)
	// Grants lists a user's grants, newest first.
	Grants(ctx context.Context, userID string) ([]Grant, error)
	// RevokeGrant revokes a grant of the user and reports whether it was live. Revoking it again changes nothing.
	RevokeGrant(ctx context.Context, userID, grantID string, now time.Time) (ended bool, err error)
}

// KeyStore stores the keys that sign id tokens.
type KeyStore interface {
	// SigningKeys returns all keys, ordered by number.
	SigningKeys(ctx context.Context) ([]SigningKey, error)
	// InsertSigningKey adds a key. It returns a conflict if another node has taken the number.
	InsertSigningKey(ctx context.Context, k SigningKey) error
}

// Store is the storage of the authorization server.
type Store interface {
	ClientStore
	GrantStore
	KeyStore
	AttemptStore
	// PruneOAuth deletes clients that were registered before unused and never received a token; codes, tokens, grants
	// and attempts that ended before traces; and signing keys that became active before traces, except the two latest.
	PruneOAuth(ctx context.Context, now, unused, traces time.Time) error
}

// Prefixes are the prefixes of secrets, by which secret scanners and log redaction recognise them.
type Prefixes struct {
	Access, Refresh, Code, Client string
}

// PrefixesFor derives the prefixes from the prefix of API keys.
func PrefixesFor(key string) Prefixes {
	return Prefixes{Access: key + "a", Refresh: key + "r", Code: key + "z", Client: key + "s"}
}

// All lists the prefixes for log redaction.
func (p Prefixes) All() []string { return []string{p.Access, p.Refresh, p.Code, p.Client} }

// Deps is the configuration and the dependencies of a Service.
type Deps struct {
	Store Store
	Clock core.Clock
	// Audit receives security events.
	Audit Recorder
	Log   *slog.Logger
	// Secret is the installation's secret, which stored keys are encrypted with. Previous are earlier values, with which
	// they may be encrypted too.
	Secret   []byte
	Previous [][]byte `dep:"optional"`
	// HashKey is the HMAC key of stored secrets. It stays the same when Secret changes.
	HashKey []byte
	// Issuer is the installation's base URL. Clients compare it byte for byte.
	Issuer   string
	Prefixes Prefixes
	// Address returns the client address of a request context. Nil records no addresses.
	Address func(context.Context) string `dep:"optional"`
	// Documents fetches client metadata documents. It must refuse private addresses, because anyone chooses the URL.
	// Nil turns documents off.
	Documents *http.Client `dep:"optional"`
}

// Service is the authorization server.
type Service struct {
	store    Store
	clock    core.Clock
	audit    Recorder
	issuer   string
	prefixes Prefixes
	// hashKey keys the hashes of stored secrets; deriveKey derives the successors of refresh tokens.
	hashKey, deriveKey []byte
	handles            *secretbox.Box
	keys               *keyring
	origin             *http.CrossOriginProtection
	log                *slog.Logger
	address            func(context.Context) string
	documents          *http.Client
	// fetching is a semaphore of document fetches.
	fetching chan struct{}
}

// NewService returns an authorization server. It panics if a required dependency is missing.
func NewService(d Deps) (*Service, error) {
	core.RequireDeps(d)
	handles, err := secretbox.New(d.Secret, "oauth consent", d.Previous...)
	if err != nil {
		return nil, err
	}
	private, err := secretbox.New(d.Secret, "oauth signing keys", d.Previous...)
	if err != nil {
		return nil, err
	}
	deriveKey, err := hkdf.Key(sha256.New, d.HashKey, nil, "carrel oauth: refresh", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive the refresh key: %w", err)
	}
	if d.Address == nil {
		d.Address = func(context.Context) string { return "" }
	}
	origin := http.NewCrossOriginProtection()
	if u, err := url.Parse(d.Issuer); err == nil {
		// A proxy may forward another Host than the one in the browser's address bar.
		if err := origin.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
			return nil, fmt.Errorf("trust the issuer's origin: %w", err)
		}
	}
	return &Service{
		store: d.Store, clock: d.Clock, audit: d.Audit, log: d.Log, issuer: d.Issuer, prefixes: d.Prefixes,
		hashKey: d.HashKey, deriveKey: deriveKey, handles: handles, origin: origin, address: d.Address,
		documents: d.Documents, fetching: make(chan struct{}, maxFetches),
		keys: &keyring{store: d.Store, clock: d.Clock, box: private},
	}, nil
}

// Grants lists the actor's grants, newest first.
func (s *Service) Grants(ctx context.Context, actor core.Actor) ([]Grant, error) {
	if err := actor.Allow(core.OpAccount); err != nil {
		return nil, err
	}
	return s.store.Grants(ctx, actor.UserID)
}

// RevokeGrant revokes a grant of the actor. Its tokens fail from the next request on.
func (s *Service) RevokeGrant(ctx context.Context, actor core.Actor, grantID string) error {
	if err := actor.Allow(core.OpAccount); err != nil {
		return err
	}
	ended, err := s.store.RevokeGrant(ctx, actor.UserID, grantID, s.clock.Now())
	if ended {
		s.audit.Note(ctx, audit.Record{
			Event: audit.GrantRevoked, UserID: actor.UserID, Actor: actorName(actor),
			Detail: map[string]string{"id": grantID},
		})
	}
	return err
}

// Prune deletes unused clients and everything that ended more than 30 days ago, and creates the next signing key when
// it is due.
func (s *Service) Prune(ctx context.Context) error {
	now := s.clock.Now()
	if err := s.store.PruneOAuth(ctx, now, now.Add(-unusedClientLife), now.Add(-endedRetention)); err != nil {
		return err
	}
	_, err := s.RotateKeys(ctx, false)
	return err
}
