package account

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"strings"
)

// CodeAlphabet is Crockford's base32: no letter that is easily taken for another.
const CodeAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// codeLength is how many characters the codes have that people keep or are told: 80 bits. They are stored as keyed
// hashes, so that guessing goes through the server, which limits it.
const codeLength = 16

// newCode returns a fresh code as people read it.
func newCode() string {
	random := make([]byte, codeLength)
	_, _ = rand.Read(random) // documented never to fail
	return SpellCode(random)
}

// SpellCode writes a code for each byte's lower five bits, in groups of four.
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

// PlainCode reads a code as people type it: small letters, spaces, and letters for the digits they look like.
func PlainCode(typed string) string {
	return strings.NewReplacer("-", "", " ", "", "\t", "", "O", "0", "I", "1", "L", "1").Replace(strings.ToUpper(typed))
}

// wellFormedCode reports whether a plain code could be one of ours; junk is refused without asking the database.
func wellFormedCode(plain string) bool {
	return len(plain) == codeLength && strings.Trim(plain, CodeAlphabet) == ""
}

// hashCode is what is stored instead of a code. purpose keeps a code for one thing from being taken for another.
func hashCode(key []byte, purpose, plain string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(purpose + "\x00" + plain))
	return mac.Sum(nil)
}
