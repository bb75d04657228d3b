package source

import (
	"context"
	"errors"
	"fmt"

	"carrel/internal/core"
)

// ErrSecretUnreadable means that a stored secret can't be used: it was sealed for another receiver or with another key
// of the installation. Its owner has to enter it again.
var ErrSecretUnreadable = errors.New("source: the secret belongs to another receiver or installation key")

// maxSecret is the longest secret in bytes.
const maxSecret = 4096

// applySettings puts new settings and a new secret into a source. Kinds check the two together. A secret is dropped
// when the new settings name another receiver and no new secret comes with them: whoever may change the address of a
// source must not be able to have its secret sent there.
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

// secretAfter returns the secret that a source has after a change, and notes in the source when one is dropped.
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

// setSecret seals a secret for its source and receiver: it can be used from then on, and is never shown by the API. The
// source has its final settings already.
func (s *Service) setSecret(src *Source, k Kind, secret string) []core.FieldError {
	src.Sealed = nil
	switch {
	case secret == "":
		return nil
	case k.SecretScope == nil:
		return nil // settings has refused it
	case len(secret) > maxSecret || s.options.Sealer == nil:
		return []core.FieldError{{Pointer: "/secret", Detail: "Must be at most 4096 bytes."}}
	}
	place, err := secretAssociatedData(*src, k)
	if err != nil { // the settings were written a moment ago
		return []core.FieldError{{Pointer: "/settings", Detail: "Can't be read."}}
	}
	src.Sealed = s.options.Sealer.Seal([]byte(secret), place)
	return nil
}

// secretPlace is the associated data that a secret is sealed with: the source, its kind and the receiver. A row whose
// address was changed in any other way than through Change, such as by SQL or a doctored backup, holds a secret that
// can't be opened.
func secretAssociatedData(src Source, k Kind) (string, error) {
	set, err := src.SettingsOf()
	if err != nil {
		return "", err
	}
	return "source secret\n" + src.ID + "\n" + src.Kind + "\n" + k.SecretScope(set), nil
}

// Secret returns the secret of a source in the clear, for a request to its receiver. It is "" where the source has
// none, and ErrSecretUnreadable where the stored one is not for this receiver.
func (s *Service) Secret(src Source) (string, error) {
	plain, _, err := s.openSecret(src)
	return plain, err
}

// HasSecret reports whether a source has a secret that can be used.
func (s *Service) HasSecret(src Source) bool {
	plain, err := s.Secret(src)
	return err == nil && plain != ""
}

// openSecret also reports whether the secret is in the old form, which was sealed for the source alone and not for its
// receiver.
func (s *Service) openSecret(src Source) (plain string, old bool, err error) {
	if len(src.Sealed) == 0 {
		return "", false, nil
	}
	k, _ := s.kind(src.Kind)
	if k.SecretScope == nil || s.options.Sealer == nil {
		return "", false, ErrSecretUnreadable
	}
	place, err := secretAssociatedData(src, k)
	if err != nil {
		return "", false, err
	}
	if b, err := s.options.Sealer.Open(src.Sealed, place); err == nil {
		return string(b), false, nil
	}
	b, err := s.options.Sealer.Open(src.Sealed, src.ID)
	if err != nil {
		return "", false, ErrSecretUnreadable
	}
	return string(b), true, nil
}

// BindSecrets seals the secrets of earlier versions again, bound to the receivers that their sources have now. The
// server calls it at its start; afterwards no row opens in the old form.
func (s *Service) BindSecrets(ctx context.Context) error {
	sources, err := s.store.SealedSources(ctx)
	if err != nil {
		return err
	}
	for _, src := range sources {
		secret, old, err := s.openSecret(src)
		if err != nil || !old {
			continue // unreadable secrets are reported where they are used
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
