package source

import (
	"context"
	"errors"
	"fmt"

	"carrel/internal/core"
)

// ErrSecretUnreadable means that a stored secret can't be decrypted, because it was encrypted for another receiver or
// with another key of the installation. Its owner must enter it again.
var ErrSecretUnreadable = errors.New("source: the secret was encrypted for another receiver or with another key")

const maxSecret = 4096

// applySettings applies new settings and a new secret, which are validated together. A secret is dropped when the new
// settings have another scope and no new secret: a user who may change the address of a source must not be able to
// redirect its secret.
func (s *Service) applySettings(src *Source, c Change) ([]core.FieldError, error) {
	if c.Settings == nil && c.Secret == nil {
		return nil, nil
	}
	k, known := s.kind(src.Kind)
	if !known {
		return nil, core.InvalidField("/settings", "Sources of this kind can't be changed here.")
	}
	secret, err := s.secretAfterChange(src, k, c)
	if err != nil {
		return nil, err
	}
	set, err := src.SettingsOf()
	if err != nil {
		return nil, err
	}
	if c.Settings != nil {
		set = *c.Settings
		src.NextSyncAt = nextSync(set, src.UpdatedAt)
	}
	kept, bad := s.checkSettings(k, set, secret)
	src.Settings = kept
	return append(bad, s.setSecret(src, k, secret)...), nil
}

// secretAfterChange returns the secret that the source has after a change. It sets src.SecretRemoved if the secret is
// dropped.
func (s *Service) secretAfterChange(src *Source, k Kind, c Change) (string, error) {
	if c.Secret != nil {
		return *c.Secret, nil
	}
	if len(src.Sealed) == 0 {
		return "", nil
	}
	before, err := src.SettingsOf()
	if err != nil {
		return "", err
	}
	if k.SecretScope == nil || c.Settings != nil && k.SecretScope(*c.Settings) != k.SecretScope(before) {
		src.SecretRemoved = true
		return "", nil
	}
	secret, err := s.Secret(*src)
	if errors.Is(err, ErrSecretUnreadable) {
		src.SecretRemoved = true
		return "", nil
	}
	return secret, err
}

// setSecret encrypts a secret for the source and its receiver. The settings of src must be final.
func (s *Service) setSecret(src *Source, k Kind, secret string) []core.FieldError {
	src.Sealed = nil
	switch {
	case secret == "":
		return nil
	case k.SecretScope == nil:
		return nil // checkSettings has reported it
	case len(secret) > maxSecret || s.sealer == nil:
		return []core.FieldError{{Pointer: "/secret", Detail: "Must be at most 4096 bytes."}}
	}
	place, err := secretAssociatedData(*src, k)
	if err != nil { // unreachable: the settings were just encoded
		return []core.FieldError{{Pointer: "/settings", Detail: "Can't be read."}}
	}
	src.Sealed = s.sealer.Seal([]byte(secret), place)
	return nil
}

// secretAssociatedData returns the associated data of a secret: the source, its kind and its scope. If the address of
// a row is changed by other means than Change, such as SQL or a manipulated backup, its secret no longer decrypts.
func secretAssociatedData(src Source, k Kind) (string, error) {
	set, err := src.SettingsOf()
	if err != nil {
		return "", err
	}
	return "source secret\n" + src.ID + "\n" + src.Kind + "\n" + k.SecretScope(set), nil
}

// Secret returns the decrypted secret of a source for a request to its receiver. It is "" if the source has none, and
// the error is ErrSecretUnreadable if it was encrypted for another receiver.
func (s *Service) Secret(src Source) (string, error) {
	plain, _, err := s.openSecret(src)
	return plain, err
}

// HasSecret reports whether a source has a usable secret.
func (s *Service) HasSecret(src Source) bool {
	plain, err := s.Secret(src)
	return err == nil && plain != ""
}

// openSecret also reports whether the secret has the old associated data, which was the source id alone.
func (s *Service) openSecret(src Source) (plain string, old bool, err error) {
	if len(src.Sealed) == 0 {
		return "", false, nil
	}
	k, _ := s.kind(src.Kind)
	if k.SecretScope == nil || s.sealer == nil {
		return "", false, ErrSecretUnreadable
	}
	place, err := secretAssociatedData(src, k)
	if err != nil {
		return "", false, err
	}
	if b, err := s.sealer.Open(src.Sealed, place); err == nil {
		return string(b), false, nil
	}
	b, err := s.sealer.Open(src.Sealed, src.ID)
	if err != nil {
		return "", false, ErrSecretUnreadable
	}
	return string(b), true, nil
}

// BindSecrets encrypts secrets of earlier versions again, with their scope as associated data. The server calls it at
// startup.
func (s *Service) BindSecrets(ctx context.Context) error {
	sources, err := s.store.SealedSources(ctx)
	if err != nil {
		return err
	}
	for _, src := range sources {
		secret, old, err := s.openSecret(src)
		if err != nil || !old {
			continue // unreadable secrets are reported when they are used
		}
		bound := src
		k, _ := s.kind(src.Kind)
		if s.setSecret(&bound, k, secret) != nil {
			continue
		}
		if err := s.store.ReplaceSecret(ctx, src, bound.Sealed); err != nil {
			return fmt.Errorf("bind the secret of source %s: %w", src.ID, err)
		}
	}
	return nil
}

// ResealSecrets encrypts the secrets of all sources again that reseal reports as stale. It returns how many it has
// encrypted and how many could not be decrypted.
func (s *Service) ResealSecrets(
	ctx context.Context, reseal func(sealed []byte, place string) (fresh []byte, stale bool, err error),
) (resealed, unreadable int, err error) {
	sources, err := s.store.SealedSources(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, src := range sources {
		k, known := s.kind(src.Kind)
		if !known || k.SecretScope == nil {
			unreadable++
			continue
		}
		place, err := secretAssociatedData(src, k)
		if err != nil {
			return resealed, unreadable, err
		}
		fresh, stale, err := reseal(src.Sealed, place)
		switch {
		case err != nil:
			unreadable++
			continue
		case !stale:
			continue
		}
		if err := s.store.ReplaceSecret(ctx, src, fresh); err != nil {
			return resealed, unreadable, fmt.Errorf("encrypt the secret of source %s again: %w", src.ID, err)
		}
		resealed++
	}
	return resealed, unreadable, nil
}
