package account

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // what authenticator apps compute with; HMAC does not need its resistance to collisions
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"time"
)

// The parameters that every authenticator app knows (RFC 6238, 1.2 and 5.2): six digits, SHA-1, steps of thirty seconds.
const (
	totpSecret = 20
	totpPeriod = 30
	totpDigits = 6
	totpModulo = 1_000_000
)

// totpCode is the code of a time step (RFC 4226, 5.3).
func totpCode(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	_ = binary.Write(mac, binary.BigEndian, step) // a hash takes everything
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0xf
	value := binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", totpDigits, value%totpModulo)
}

// totpStep returns the step that a code belongs to: the present one, or a neighbour for clocks that go wrong and people
// who type slowly. Every candidate is compared, so that the time tells nothing.
func totpStep(secret []byte, code string, now time.Time) (step int64, ok bool) {
	present := now.Unix() / totpPeriod
	for s := present - 1; s <= present+1; s++ {
		if subtle.ConstantTimeCompare([]byte(totpCode(secret, s)), []byte(code)) == 1 {
			step, ok = s, true
		}
	}
	return step, ok
}

// totpURI is what authenticator apps read from a QR code.
func totpURI(issuer, email string, secret []byte) string {
	u := url.URL{Scheme: "otpauth", Host: "totp", Path: "/" + issuer + ":" + email}
	// Not url.Values: apps take its "+" for a plus sign.
	u.RawQuery = "secret=" + totpText(secret) + "&issuer=" + url.PathEscape(issuer)
	return u.String()
}

// totpText is a secret as people type it where there is no camera.
func totpText(secret []byte) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)
}
