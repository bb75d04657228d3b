package signin

import "time"

// TOTPCodeAt returns the code that an authenticator app shows at a time.
func TOTPCodeAt(secret []byte, at time.Time) string { return totpCode(secret, at.Unix()/totpPeriod) }

// DecoyHash is the hash that the password of an unknown user is compared with.
var DecoyHash = decoyHash
