package signin

import "time"

// TOTPCodeAt returns the code that an authenticator app shows at a time.
func TOTPCodeAt(secret []byte, at time.Time) string { return totpCode(secret, at.Unix()/totpPeriod) }
