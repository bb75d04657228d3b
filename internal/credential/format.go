package credential

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"
)

const (
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	secretLength = 32 // 190 bits
	sumLength    = 6  // a CRC32 in base62
)

// newToken returns a random secret: prefix, underscore, 32 base62 digits and their checksum. The checksum lets secret
// scanners recognize leaked keys and rejects malformed tokens without a database lookup.
func newToken(prefix string) string {
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
	return prefix + "_" + string(secret) + checksum(string(secret))
}

func checksum(secret string) string {
	sum := crc32.ChecksumIEEE([]byte(secret))
	var out [sumLength]byte
	for i := sumLength - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return string(out[:])
}

// wellFormed reports whether the token has this prefix, the right length and a valid checksum.
func wellFormed(prefix, token string) bool {
	body, ok := strings.CutPrefix(token, prefix+"_")
	if !ok || len(body) != secretLength+sumLength {
		return false
	}
	for i := range len(body) {
		if strings.IndexByte(base62, body[i]) < 0 {
			return false
		}
	}
	return checksum(body[:secretLength]) == body[secretLength:]
}

// hashToken returns the keyed hash stored instead of a token. A fast hash is sufficient, because tokens have 190 bits
// of entropy; without the key, a stolen database cannot even be used to check a known token.
func hashToken(key []byte, token string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(token))
	return mac.Sum(nil)
}
