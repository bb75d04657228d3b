package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"time"
)

const (
	// SecretPrefix and an underscore start every signing secret, as Standard Webhooks specifies.
	SecretPrefix = "whsec"
	secretSize   = 32
)

func newSecret() []byte {
	b := make([]byte, secretSize)
	_, _ = rand.Read(b) // documented never to fail
	return b
}

// showSecret returns the textual form of a secret.
func showSecret(secret []byte) string {
	return SecretPrefix + "_" + base64.StdEncoding.EncodeToString(secret)
}

// sign returns the signature of a message: HMAC-SHA-256 over its id, the time of the attempt and the body. Signing the
// time prevents replays.
func sign(secret []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
