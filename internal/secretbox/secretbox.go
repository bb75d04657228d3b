// Package secretbox encrypts secrets that must be read again, such as the signing secrets of webhooks. A copy of the
// database without the installation's key does not reveal them.
package secretbox

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
)

// keySize is the key size of AES-256.
const keySize = 32

// ErrUnreadable means that a secret was sealed with another key or for another place, or was modified.
var ErrUnreadable = errors.New("secretbox: the secret cannot be opened with this key")

// Box seals and opens secrets. It is safe for concurrent use.
type Box struct{ aead cipher.AEAD }

// New returns a box for one purpose. Its key is derived from the installation's secret with HKDF (RFC 5869), so that a
// secret sealed for one purpose cannot be opened for another.
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

// Seal encrypts a secret for one place, such as the id of its row. It cannot be opened for another place.
func (b *Box) Seal(plain []byte, place string) []byte {
	return b.aead.Seal(nil, nil, plain, []byte(place))
}

// Open decrypts a secret that was sealed for this place.
func (b *Box) Open(sealed []byte, place string) ([]byte, error) {
	plain, err := b.aead.Open(nil, nil, sealed, []byte(place))
	if err != nil {
		return nil, ErrUnreadable
	}
	return plain, nil
}
