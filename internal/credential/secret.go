package credential

import (
	"crypto/hmac"
	"crypto/sha256"
	"math/big"
)

// NewSecret returns a random secret with this prefix, in the format of all tokens.
func NewSecret(prefix string) string { return newToken(prefix) }

// IsSecret reports whether a token has the format of a secret with this prefix. Others are rejected without a database
// lookup.
func IsSecret(prefix, token string) bool { return wellFormed(prefix, token) }

// Hash returns the keyed hash under which a token is stored and looked up.
func Hash(key []byte, token string) []byte { return hashToken(key, token) }

// DeriveSecret derives a secret from another one and a key, with HMAC-SHA256 as a pseudorandom function. It allows the
// same reply to a retry without storing the secret.
func DeriveSecret(key []byte, prefix, from string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(prefix + "\x00" + from))
	n := new(big.Int).SetBytes(mac.Sum(nil))
	base, digit := big.NewInt(int64(len(base62))), new(big.Int)
	secret := make([]byte, secretLength)
	// Reducing 256 bits to 190 has a bias of 2^-66.
	for i := range secret {
		n.DivMod(n, base, digit)
		secret[i] = base62[digit.Int64()]
	}
	return prefix + "_" + string(secret) + checksum(string(secret))
}
