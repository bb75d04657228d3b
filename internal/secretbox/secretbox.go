// Package secretbox keeps secrets that must be read again, such as those that webhooks are signed with: encrypted, so that a
// copy of the database without the installation's key gives nothing away.
package secretbox

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
)

// keySize is that of AES-256.
const keySize = 32

// ErrUnreadable means that something was sealed with another key or for another place, or was changed since.
var ErrUnreadable = errors.New("seal: can't be opened with this key")

// Box seals and opens. It may be used from many goroutines.
type Box struct{ aead cipher.AEAD }

// New returns a box for one purpose. Its key is derived from the installation's secret (HKDF, RFC 5869), so that what
// is sealed for one purpose can't be opened for another, and the secret itself encrypts nothing.
func New(secret []byte, purpose string) (*Box, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "carrel seal: "+purpose, keySize)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &Box{aead: aead}, nil
}

// Seal encrypts a text for one place, such as the id of the row that holds it: moved elsewhere it can't be opened.
func (b *Box) Seal(plain []byte, place string) []byte {
	return b.aead.Seal(nil, nil, plain, []byte(place))
}

// Open returns what was sealed for this place.
func (b *Box) Open(sealed []byte, place string) ([]byte, error) {
	plain, err := b.aead.Open(nil, nil, sealed, []byte(place))
	if err != nil {
		return nil, ErrUnreadable
	}
	return plain, nil
}
