package credential

import (
	"crypto/hmac"
	"crypto/sha256"
	"math/big"
)

// NewSecret returns a fresh secret with this prefix, in the form of all our tokens.
func NewSecret(prefix string) string { return newToken(prefix) }

// IsSecret reports whether a token could be one with this prefix; junk is refused without asking the database.
func IsSecret(prefix, token string) bool { return wellFormed(prefix, token) }

// Hash is what is stored instead of a token, and what it is found by.
func Hash(key []byte, token string) []byte { return hashToken(key, token) }

// DeriveSecret returns a secret that follows from another and a key. Whoever lacks the key can't tell it from a fresh
// one, and whoever has it need not store the secret to give the same answer twice.
func DeriveSecret(key []byte, prefix, from string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(prefix + "\x00" + from))
	n := new(big.Int).SetBytes(mac.Sum(nil))
	base, digit := big.NewInt(int64(len(base62))), new(big.Int)
	secret := make([]byte, secretLength)
	// 256 bits give 190 with a bias of 2^-66.
	for i := range secret {
		n.DivMod(n, base, digit)
		secret[i] = base62[digit.Int64()]
	}
	return prefix + "_" + string(secret) + checksum(string(secret))
}
