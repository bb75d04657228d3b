// Package secretbox encrypts secrets that must be read again, such as the signing secrets of webhooks. A copy of the
// database without the installation's key does not reveal them.
package secretbox

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// keySize is the key size of AES-256.
const keySize = 32

// ErrUnreadable means that a secret was sealed with another key or for another place, or was modified.
var ErrUnreadable = errors.New("secretbox: the secret cannot be opened with this key")

// Box seals secrets with the current key and opens those of the current and of previous keys. It is safe for concurrent
// use.
type Box struct {
	current  cipher.AEAD
	previous []cipher.AEAD
}

// New returns a box for one purpose. Its key is derived from the installation's secret with HKDF (RFC 5869), so that a
// secret sealed for one purpose cannot be opened for another. Secrets that were sealed with a previous secret of the
// installation can be opened too.
func New(secret []byte, purpose string, previous ...[]byte) (*Box, error) {
	var box Box
	var err error
	if box.current, err = newAEAD(secret, purpose); err != nil {
		return nil, err
	}
	for _, p := range previous {
		aead, err := newAEAD(p, purpose)
		if err != nil {
			return nil, err
		}
		box.previous = append(box.previous, aead)
	}
	return &box, nil
}

func newAEAD(secret []byte, purpose string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "carrel seal: "+purpose, keySize)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Seal encrypts a secret for one place, such as the id of its row. It cannot be opened for another place.
func (b *Box) Seal(plain []byte, place string) []byte {
	return b.current.Seal(nil, nil, plain, []byte(place))
}

// Open decrypts a secret that was sealed for this place.
func (b *Box) Open(sealed []byte, place string) ([]byte, error) {
	plain, _, err := b.open(sealed, place)
	return plain, err
}

func (b *Box) open(sealed []byte, place string) (plain []byte, current bool, err error) {
	if plain, err := b.current.Open(nil, nil, sealed, []byte(place)); err == nil {
		return plain, true, nil
	}
	for _, aead := range b.previous {
		if plain, err := aead.Open(nil, nil, sealed, []byte(place)); err == nil {
			return plain, false, nil
		}
	}
	return nil, false, ErrUnreadable
}

// Reseal returns a secret sealed with the current key, and whether it was sealed with a previous one.
func (b *Box) Reseal(sealed []byte, place string) (fresh []byte, stale bool, err error) {
	plain, current, err := b.open(sealed, place)
	if err != nil || current {
		return sealed, false, err
	}
	return b.Seal(plain, place), true, nil
}

// Fingerprint identifies an installation's secret without revealing it.
func Fingerprint(secret []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("carrel key fingerprint"))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}
