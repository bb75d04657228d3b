package credential

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"strings"
)

const (
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	secretLength = 32 // 190 bits
	sumLength    = 6  // a CRC32 in base62
)

// NewSecret returns a random secret: prefix, underscore, 32 base62 digits and their checksum. The checksum lets secret
// scanners recognize leaked keys and rejects malformed tokens without a database lookup.
func NewSecret(prefix string) string {
	secret := make([]byte, 0, secretLength)
	var buf [64]byte
	for len(secret) < secretLength {
		_, _ = rand.Read(buf[:]) // documented never to fail
		for _, b := range buf {
			// 248 is the largest multiple of 62 below 256; larger bytes would introduce a modulo bias.
			if b < 248 && len(secret) < secretLength {
				secret = append(secret, base62[b%62])
			}
		}
	}
	sum := checksum(string(secret))
	return prefix + "_" + string(secret) + string(sum[:])
}

func checksum(secret string) (out [sumLength]byte) {
	sum := crc32.ChecksumIEEE([]byte(secret))
	for i := sumLength - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return out
}

// IsSecret reports whether a token has this prefix, the right length and a valid checksum. Other tokens are rejected
// without a database lookup.
func IsSecret(prefix, token string) bool {
	body, ok := strings.CutPrefix(token, prefix+"_")
	if !ok || len(body) != secretLength+sumLength {
		return false
	}
	for i := range len(body) {
		if strings.IndexByte(base62, body[i]) < 0 {
			return false
		}
	}
	sum := checksum(body[:secretLength])
	return string(sum[:]) == body[secretLength:]
}

// Hash returns the keyed hash under which a token is stored and looked up. A fast hash is sufficient, because tokens
// have 190 bits of entropy; without the key, a stolen database cannot even be used to check a known token.
func Hash(key []byte, token string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(token))
	return mac.Sum(nil)
}

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
	sum := checksum(string(secret))
	return prefix + "_" + string(secret) + string(sum[:])
}
