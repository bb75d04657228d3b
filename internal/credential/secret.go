package credential

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"strings"
)

const (
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	secretLength = 32 // 190 bits
	sumLength    = 6  // a CRC32 in base62
)

// isBase62 tells the bytes of base62 from others.
var isBase62 = func() (is [256]bool) {
	for _, c := range []byte(base62) {
		is[c] = true
	}
	return is
}()

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
	sum := ^uint32(0) // the loop of crc32.ChecksumIEEE, which would need a copy of the string on the heap
	for i := range len(secret) {
		sum = crc32.IEEETable[byte(sum)^secret[i]] ^ sum>>8
	}
	sum = ^sum
	for i := sumLength - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return out
}

// IsSecret reports whether a token has this prefix, the right length and a valid checksum. Other tokens are rejected
// without a database lookup.
func IsSecret(prefix, token string) bool {
	body, ok := strings.CutPrefix(token, prefix)
	if !ok || len(body) != 1+secretLength+sumLength || body[0] != '_' {
		return false
	}
	body = body[1:]
	for i := range len(body) {
		if !isBase62[body[i]] {
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
	// Reducing 256 bits to 190 has a bias of 2^-66.
	secret := base62Digits(mac.Sum(nil))
	sum := checksum(string(secret[:]))
	return prefix + "_" + string(secret[:]) + string(sum[:])
}

// base62Digits returns the lowest digits of a big-endian number of 256 bits in base 62, the lowest first. It divides by
// the largest power of 62 that fits into 64 bits: a division of the whole number per digit took most of the time of a
// derivation.
func base62Digits(number []byte) (digits [secretLength]byte) {
	const power, perDivision = 839299365868340224, 10 // 62^10
	var words [4]uint64
	for i := range words {
		words[i] = binary.BigEndian.Uint64(number[8*i:])
	}
	for i := 0; i < secretLength; i += perDivision {
		var rest uint64
		for j := range words {
			words[j], rest = bits.Div64(rest, words[j], power)
		}
		for j := i; j < min(i+perDivision, secretLength); j++ {
			digits[j] = base62[rest%62]
			rest /= 62
		}
	}
	return digits
}
