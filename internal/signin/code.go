package signin

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"strings"
)

// CodeAlphabet is Crockford's base32, which omits letters that are easily confused.
const CodeAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// codeLength is the length of recovery and reset codes: 80 bits. They are stored as keyed hashes, so guesses must go
// through the server, which limits them.
const codeLength = 16

// newCode returns a random code in display form.
func newCode() string {
	random := make([]byte, codeLength)
	_, _ = rand.Read(random) // documented never to fail
	return SpellCode(random)
}

// SpellCode encodes the lower five bits of each byte as a character, in groups of four.
func SpellCode(bits []byte) string {
	var b strings.Builder
	for i, v := range bits {
		if i > 0 && i%4 == 0 {
			b.WriteByte('-')
		}
		b.WriteByte(CodeAlphabet[v%32])
	}
	return b.String()
}

// PlainCode normalizes a typed code: upper case, no separators, and digits for the letters that resemble them.
func PlainCode(typed string) string {
	return strings.NewReplacer("-", "", " ", "", "\t", "", "O", "0", "I", "1", "L", "1").Replace(strings.ToUpper(typed))
}

// wellFormedCode reports whether a normalized code has the right form. Others are rejected without a database lookup.
func wellFormedCode(plain string) bool {
	return len(plain) == codeLength && strings.Trim(plain, CodeAlphabet) == ""
}

// hashCode returns the stored form of a code. The purpose prevents a code from being accepted for a different one.
func hashCode(key []byte, purpose, plain string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(purpose + "\x00" + plain))
	return mac.Sum(nil)
}
