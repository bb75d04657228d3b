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

// signingAlgorithm is the one that every OpenID client must know (OpenID Connect Core, 15.1).
const signingAlgorithm = jose.RS256

const (
	rsaBits = 2048
	// keyLife is how long a key signs; keyLead is how long the next one is published before, so that everybody who keeps
	// our keys has it by then; keyTail is how long one stays published after, until its last token has ended.
	keyLife = 90 * 24 * time.Hour
	keyLead = 24 * time.Hour
	keyTail = 2 * idTokenLife

	idTokenLife = time.Hour
)

// SigningKey is a key as it is stored: the private half is encrypted.
type SigningKey struct {
	Number    int64
	ID        string
	Sealed    []byte
	CreatedAt time.Time
	ActiveAt  time.Time
}

// keyring makes, opens and replaces the keys that id tokens are signed with.
type keyring struct {
	store KeyStore
	clock core.Clock
	box   *secretbox.Box
	// opened remembers what was decrypted, by id.
	opened sync.Map
}

// heldKey is a key that can be used.
type heldKey struct {
	SigningKey
	private *rsa.PrivateKey
}

// open decrypts a key. One that was sealed with another secret is of no use to us.
func (k *keyring) open(stored SigningKey) (heldKey, bool) {
	if private, ok := k.opened.Load(stored.ID); ok {
		return heldKey{stored, private.(*rsa.PrivateKey)}, true
	}
	der, err := k.box.Open(stored.Sealed, stored.ID)
	if err != nil {
		return heldKey{}, false
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	private, ok := parsed.(*rsa.PrivateKey)
	if err != nil || !ok {
		return heldKey{}, false
	}
	k.opened.Store(stored.ID, private)
	return heldKey{stored, private}, true
}

// list returns the keys that are published now, by number, after making the first one where there is none that works.
func (k *keyring) list(ctx context.Context) ([]heldKey, error) {
	for range 3 {
		stored, err := k.store.SigningKeys(ctx)
		if err != nil {
			return nil, err
		}
		now := k.clock.Now()
		var held []heldKey
		for i, s := range stored {
			if i+1 < len(stored) && now.After(stored[i+1].ActiveAt.Add(keyTail)) {
				continue // its last token is gone
			}
			if key, ok := k.open(s); ok {
				held = append(held, key)
			}
		}
		if _, ok := current(held, now); ok {
			return held, nil
		}
		// Nobody can hold a key that is not there, so the first one needs no lead.
		if err := k.add(ctx, stored, now); err != nil && !core.IsKind(err, core.KindConflict) {
			return nil, err
		}
	}
	return nil, errors.New("no signing key can be made")
}

// current returns the key that signs now.
func current(held []heldKey, now time.Time) (heldKey, bool) {
	for _, key := range slices.Backward(held) {
		if !key.ActiveAt.After(now) {
			return key, true
		}
	}
	return heldKey{}, false
}

// add makes the key that follows those that are stored. Another node may do so at the same time; then one has a conflict.
func (k *keyring) add(ctx context.Context, stored []SigningKey, activeAt time.Time) error {
	private, err := rsa.GenerateKey(rand.Reader, rsaBits)
	if err != nil {
		return fmt.Errorf("make a signing key: %w", err)
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

// RotateKeys makes the next signing key when the present one is old enough, or at once when asked to. It is published from
// now on and signs a day later; that time is returned. While one is waiting already no other is made.
func (s *Service) RotateKeys(ctx context.Context, atOnce bool) (time.Time, error) {
	k := s.keys
	if _, err := k.list(ctx); err != nil { // makes the first
		return time.Time{}, err
	}
	stored, err := k.store.SigningKeys(ctx)
	if err != nil {
		return time.Time{}, err
	}
	now, latest := k.clock.Now(), stored[len(stored)-1]
	if latest.ActiveAt.After(now) || !atOnce && now.Before(latest.ActiveAt.Add(keyLife-keyLead)) {
		return latest.ActiveAt, nil
	}
	activeAt := now.Add(keyLead)
	err = k.add(ctx, stored, activeAt)
	switch {
	case err == nil:
		s.note(ctx, audit.Record{Event: audit.SigningKeyMade, Actor: string(core.CredentialOperator)})
	case !core.IsKind(err, core.KindConflict):
		return time.Time{}, err
	}
	return activeAt, nil
}

// serveJWKS publishes the public halves: the key that signs, the next one, and the last one for a while.
func (s *Service) serveJWKS(w http.ResponseWriter, r *http.Request) error {
	held, err := s.keys.list(r.Context())
	if err != nil {
		return err
	}
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, key := range held {
		set.Keys = append(set.Keys, jose.JSONWebKey{
			Key: key.private.Public(), KeyID: key.ID, Algorithm: string(signingAlgorithm), Use: "sig",
		})
	}
	w.Header().Set("Cache-Control", "public, max-age=300")
	writeJSON(w, http.StatusOK, set)
	return nil
}

// idClaims are what an id token says beside the registered claims.
type idClaims struct {
	AuthTime        int64  `json:"auth_time"`
	Nonce           string `json:"nonce,omitempty"`
	AccessTokenHash string `json:"at_hash"`
	profile
}

// profile is what a client may know of the user, by its scopes.
type profile struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
	// EmailVerified is false: nobody has made the user show that the address is theirs.
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

// idToken signs who the user is, for the client that was given the access token.
func (s *Service) idToken(ctx context.Context, t Token, nonce, accessToken string) (string, error) {
	held, err := s.keys.list(ctx)
	if err != nil {
		return "", err
	}
	now := s.clock.Now()
	key, ok := current(held, now)
	if !ok {
		return "", errors.New("no key signs now")
	}
	signer, err := jose.NewSigner(jose.SigningKey{
		Algorithm: signingAlgorithm, Key: jose.JSONWebKey{Key: key.private, KeyID: key.ID},
	}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("make a signer: %w", err)
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
