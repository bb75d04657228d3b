package oauth

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"carrel/internal/audit"
	"carrel/internal/core"
	"carrel/internal/secretbox"
)

// signingAlgorithm is the algorithm that every OpenID client must support (OpenID Connect Core, 15.1).
const signingAlgorithm = jose.RS256

const (
	rsaBits = 2048
	// keyLife is how long a key signs. The next key is published keyLead before it signs, so that clients that cache
	// the key set have it in time. A key stays published for keyTail after its successor signs, until its last token
	// has expired.
	keyLife = 90 * 24 * time.Hour
	keyLead = 24 * time.Hour
	keyTail = 2 * idTokenLife

	idTokenLife = time.Hour
)

// SigningKey is a stored key. Sealed is the encrypted private key.
type SigningKey struct {
	Number    int64
	ID        string
	Sealed    []byte
	CreatedAt time.Time
	ActiveAt  time.Time
}

// keyring creates, decrypts and rotates the keys that sign id tokens.
type keyring struct {
	store KeyStore
	clock core.Clock
	box   *secretbox.Box
	// opened caches decrypted private keys by id.
	opened sync.Map
}

// openKey is a signing key with its decrypted private key.
type openKey struct {
	SigningKey
	private *rsa.PrivateKey
}

// open decrypts a key. It fails for a key that was encrypted with another installation secret.
func (k *keyring) open(stored SigningKey) (openKey, bool) {
	if private, ok := k.opened.Load(stored.ID); ok {
		return openKey{stored, private.(*rsa.PrivateKey)}, true
	}
	der, err := k.box.Open(stored.Sealed, stored.ID)
	if err != nil {
		return openKey{}, false
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	private, ok := parsed.(*rsa.PrivateKey)
	if err != nil || !ok {
		return openKey{}, false
	}
	k.opened.Store(stored.ID, private)
	return openKey{stored, private}, true
}

// published returns the keys of the key set, ordered by number. It creates the first key if no usable one is active.
func (k *keyring) published(ctx context.Context) ([]openKey, error) {
	for range 3 {
		stored, err := k.store.SigningKeys(ctx)
		if err != nil {
			return nil, err
		}
		now := k.clock.Now()
		var keys []openKey
		for i, s := range stored {
			if i+1 < len(stored) && now.After(stored[i+1].ActiveAt.Add(keyTail)) {
				continue // its last token has expired
			}
			if key, ok := k.open(s); ok {
				keys = append(keys, key)
			}
		}
		if _, ok := current(keys, now); ok {
			return keys, nil
		}
		// The first key signs at once: no client has cached an earlier key set.
		if err := k.add(ctx, stored, now); err != nil && !core.IsKind(err, core.KindConflict) {
			return nil, err
		}
	}
	return nil, errors.New("no signing key could be created")
}

// current returns the newest active key.
func current(keys []openKey, now time.Time) (openKey, bool) {
	for _, key := range slices.Backward(keys) {
		if !key.ActiveAt.After(now) {
			return key, true
		}
	}
	return openKey{}, false
}

// add creates the key after the stored ones. If another node does so at the same time, one of them gets a conflict.
func (k *keyring) add(ctx context.Context, stored []SigningKey, activeAt time.Time) error {
	private, err := rsa.GenerateKey(rand.Reader, rsaBits)
	if err != nil {
		return fmt.Errorf("generate a signing key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return fmt.Errorf("encode a signing key: %w", err)
	}
	next := SigningKey{Number: 1, ID: core.NewID("key"), CreatedAt: k.clock.Now(), ActiveAt: activeAt}
	if len(stored) > 0 {
		next.Number = stored[len(stored)-1].Number + 1
	}
	next.Sealed = k.box.Seal(der, next.ID)
	return k.store.InsertSigningKey(ctx, next)
}

// RotateKeys creates the next signing key when the current one is near its end, or immediately with force. The new key
// is published now and signs from the returned time, a day later. While a key waits to become active no other is
// created.
func (s *Service) RotateKeys(ctx context.Context, force bool) (time.Time, error) {
	k := s.keys
	if _, err := k.published(ctx); err != nil { // creates the first key
		return time.Time{}, err
	}
	stored, err := k.store.SigningKeys(ctx)
	if err != nil {
		return time.Time{}, err
	}
	now, latest := k.clock.Now(), stored[len(stored)-1]
	if latest.ActiveAt.After(now) || !force && now.Before(latest.ActiveAt.Add(keyLife-keyLead)) {
		return latest.ActiveAt, nil
	}
	activeAt := now.Add(keyLead)
	err = k.add(ctx, stored, activeAt)
	switch {
	case err == nil:
		s.audit.Note(ctx, audit.Record{Event: audit.SigningKeyMade, Actor: string(core.CredentialOperator)})
	case !core.IsKind(err, core.KindConflict):
		return time.Time{}, err
	}
	return activeAt, nil
}

// serveJWKS serves the public keys: the current one, the next one, and the previous one until its tokens have expired.
func (s *Service) serveJWKS(w http.ResponseWriter, r *http.Request) error {
	keys, err := s.keys.published(r.Context())
	if err != nil {
		return err
	}
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, key := range keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{
			Key: key.private.Public(), KeyID: key.ID, Algorithm: string(signingAlgorithm), Use: "sig",
		})
	}
	w.Header().Set("Cache-Control", "public, max-age=300")
	writeJSON(w, http.StatusOK, set)
	return nil
}

// idClaims are the claims of an id token in addition to the registered ones of RFC 7519.
type idClaims struct {
	AuthTime        int64  `json:"auth_time"`
	Nonce           string `json:"nonce,omitempty"`
	AccessTokenHash string `json:"at_hash"`
	profile
}

// profile holds the claims about the user that the scopes profile and email allow.
type profile struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
	// EmailVerified is always false: the server does not verify that the user owns the address.
	EmailVerified *bool `json:"email_verified,omitempty"`
}

func profileOf(t Token) profile {
	var p profile
	if slices.Contains(t.Scopes, ScopeProfile) {
		p.Name = t.User.Name
	}
	if slices.Contains(t.Scopes, ScopeEmail) {
		p.Email, p.EmailVerified = t.User.Email, new(bool)
	}
	return p
}

// idToken returns a signed id token for the client that received the access token.
func (s *Service) idToken(ctx context.Context, t Token, nonce, accessToken string) (string, error) {
	keys, err := s.keys.published(ctx)
	if err != nil {
		return "", err
	}
	now := s.clock.Now()
	key, ok := current(keys, now)
	if !ok {
		return "", errors.New("no active signing key")
	}
	signer, err := jose.NewSigner(jose.SigningKey{
		Algorithm: signingAlgorithm, Key: jose.JSONWebKey{Key: key.private, KeyID: key.ID},
	}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("create a signer: %w", err)
	}
	sum := sha256.Sum256([]byte(accessToken))
	signed, err := jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: s.issuer, Subject: t.User.ID, Audience: jwt.Audience{t.Grant.ClientID},
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(idTokenLife)),
	}).Claims(idClaims{
		AuthTime: t.Grant.AuthTime.Unix(), Nonce: nonce, profile: profileOf(t),
		AccessTokenHash: base64.RawURLEncoding.EncodeToString(sum[:sha256.Size/2]),
	}).Serialize()
	if err != nil {
		return "", fmt.Errorf("sign an id token: %w", err)
	}
	return signed, nil
}
