package signin

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // required by authenticator apps; HMAC does not depend on collision resistance
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"time"
)

// The parameters supported by all authenticator apps (RFC 6238, sections 1.2 and 5.2): six digits, SHA-1, 30-second
// steps.
const (
	totpSecret = 20
	totpPeriod = 30
	totpDigits = 6
	totpModulo = 1_000_000
)

// totpCode returns the code of a time step (RFC 4226, section 5.3).
func totpCode(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	_ = binary.Write(mac, binary.BigEndian, step) // a hash never returns an error
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0xf
	value := binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", totpDigits, value%totpModulo)
}

// totpStep returns the time step of a code: the current one, or an adjacent one to tolerate clock drift and slow
// typing. All candidates are compared, so the duration reveals nothing.
func totpStep(secret []byte, code string, now time.Time) (step int64, ok bool) {
	current := now.Unix() / totpPeriod
	for s := current - 1; s <= current+1; s++ {
		if subtle.ConstantTimeCompare([]byte(totpCode(secret, s)), []byte(code)) == 1 {
			step, ok = s, true
		}
	}
	return step, ok
}

// totpURI returns the key URI that authenticator apps read from a QR code.
func totpURI(issuer, email string, secret []byte) string {
	u := url.URL{Scheme: "otpauth", Host: "totp", Path: "/" + issuer + ":" + email}
	// Not url.Values: some apps read its "+" as a plus sign instead of a space.
	u.RawQuery = "secret=" + totpText(secret) + "&issuer=" + url.PathEscape(issuer)
	return u.String()
}

// totpText returns a secret in base32, for manual entry.
func totpText(secret []byte) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)
}
