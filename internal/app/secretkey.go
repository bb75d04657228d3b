package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"

	"carrel/internal/config"
	"carrel/internal/secretbox"
	"carrel/internal/store"
)

// keys are the keys of an installation.
type keys struct {
	// current encrypts stored secrets, and previous were used earlier.
	current  []byte
	previous [][]byte
	// hash is the key of credential hashes. It is the first secret key of the installation: the tokens are not stored, so
	// that their hashes can't be computed again.
	hash []byte
	// stored is the state in the database, and stale is set if the database is sealed with a previous key.
	stored store.KeyState
	stale  bool
}

// hashKeyPlace is the place of the sealed hash key.
const hashKeyPlace = "installation"

// errOtherKey means that the installation was last used with another secret key.
var errOtherKey = errors.New("secret-key is not the key that this database was last used with: set secret-key to " +
	"that key, or name it in secret-key-previous to change the key. If it is lost, accept that all keys, sessions " +
	"and stored secrets become invalid, and run: carrel admin keys reset")

// loadKeys returns the keys of the installation. With reset it accepts a key that is not the one of the database.
func loadKeys(ctx context.Context, cfg config.Config, db *store.DB, reset bool) (keys, error) {
	stored, err := db.KeyState(ctx)
	if err != nil {
		return keys{}, err
	}
	k := keys{current: []byte(cfg.SecretKey), stored: stored}
	if len(k.current) == 0 {
		k.current = stored.Secret
	}
	for _, p := range cfg.SecretKeyPrevious {
		k.previous = append(k.previous, []byte(p))
	}
	check := secretbox.Fingerprint(k.current)
	if (stored.Check == "" || reset) && stored.Check != check && !db.ReadOnly() {
		if err := db.SetKeyState(ctx, stored, store.KeyState{Check: check}); err != nil {
			return keys{}, err
		}
		if stored, err = db.KeyState(ctx); err != nil {
			return keys{}, err
		}
		k.stored = stored
	}
	if stored.Check == "" || stored.Check == check {
		k.hash, err = openHashKey(stored, k.current)
		return k, err
	}
	for _, p := range append([][]byte{stored.Secret}, k.previous...) {
		if secretbox.Fingerprint(p) != stored.Check {
			continue
		}
		k.stale, k.previous = true, append([][]byte{p}, k.previous...)
		k.hash, err = openHashKey(stored, p)
		return k, err
	}
	return keys{}, errOtherKey
}

// openHashKey returns the key of credential hashes of a database that is sealed with a secret.
func openHashKey(stored store.KeyState, secret []byte) ([]byte, error) {
	if stored.HashKey == nil {
		return secret, nil
	}
	box, err := secretbox.New(secret, "credential hash key")
	if err != nil {
		return nil, err
	}
	return box.Open(stored.HashKey, hashKeyPlace)
}

// box returns the box for one purpose.
func (k keys) box(purpose string) (*secretbox.Box, error) {
	return secretbox.New(k.current, purpose, k.previous...)
}

// Fingerprint identifies the secret key of the installation. Included reports whether it is stored in the database.
func (k keys) fingerprint() (key string, included bool) {
	return secretbox.Fingerprint(k.current), bytes.Equal(k.current, k.stored.Secret)
}

// Resealed counts the stored secrets that were encrypted with a previous secret key.
type Resealed struct {
	// Secrets were encrypted again with the current key. Unreadable could not be decrypted with any key.
	Secrets, Unreadable int
}

// Reseal encrypts the stored secrets with the current secret key. Afterwards no previous key is needed, unless a node
// still runs with one.
func (in *App) Reseal(ctx context.Context) (Resealed, error) {
	var r Resealed
	for _, kind := range []store.SealedKind{
		store.SealedWebhooks, store.SealedTOTP, store.SealedSigningKeys, store.SealedReplies,
	} {
		box, err := in.keys.box(string(kind))
		if err != nil {
			return r, err
		}
		if err := in.reseal(ctx, kind, box, &r); err != nil {
			return r, err
		}
	}
	box, err := in.keys.box(sourceSecrets)
	if err != nil {
		return r, err
	}
	resealed, unreadable, err := in.Sources.ResealSecrets(ctx, box.Reseal)
	r.Secrets, r.Unreadable = r.Secrets+resealed, r.Unreadable+unreadable
	if err != nil || !in.keys.stale {
		return r, err
	}
	after := store.KeyState{Check: secretbox.Fingerprint(in.keys.current)}
	if !bytes.Equal(in.keys.hash, in.keys.current) {
		box, err := secretbox.New(in.keys.current, "credential hash key")
		if err != nil {
			return r, err
		}
		after.HashKey = box.Seal(in.keys.hash, hashKeyPlace)
	}
	return r, in.Store.SetKeyState(ctx, in.keys.stored, after)
}

// reseal encrypts the secrets of one kind again.
func (in *App) reseal(ctx context.Context, kind store.SealedKind, box *secretbox.Box, r *Resealed) error {
	secrets, err := in.Store.SealedSecrets(ctx, kind)
	if err != nil {
		return err
	}
	for _, s := range secrets {
		fresh, stale, err := box.Reseal(s.Value, s.Place)
		switch {
		case err != nil:
			r.Unreadable++
			continue
		case !stale:
			continue
		}
		if err := in.Store.ReplaceSealed(ctx, kind, s, fresh); err != nil {
			return err
		}
		r.Secrets++
	}
	return nil
}

// resealAtStart encrypts the stored secrets again if the secret key was changed.
func (in *App) resealAtStart(ctx context.Context, log *slog.Logger) error {
	if !in.keys.stale {
		return nil
	}
	r, err := in.Reseal(ctx)
	if err != nil {
		return err
	}
	log.InfoContext(ctx, "secret-key was changed; stored secrets are encrypted with the new key. When all nodes run with "+
		"it, check with: carrel admin keys reseal", slog.Int("secrets", r.Secrets), slog.Int("unreadable", r.Unreadable))
	return nil
}
