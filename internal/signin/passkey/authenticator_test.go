package passkey_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	"carrel/internal/signin/passkey"
)

// The flags of authenticator data (WebAuthn Level 3, section 6.1).
const (
	userPresent  = 0x01
	userVerified = 0x04
	attestedData = 0x40
)

// authenticator is a software authenticator with resident P-256 keys. It implements the authenticator's and the
// browser's side of both ceremonies; tests change its fields to make it misbehave.
type authenticator struct {
	t      *testing.T
	origin string
	rpID   string
	flags  byte
	count  uint32
	id     []byte
	key    *ecdsa.PrivateKey
	handle []byte
}

func newAuthenticator(t *testing.T) *authenticator {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id)
	return &authenticator{
		t:      t,
		origin: "https://carrel.test",
		rpID:   "carrel.test",
		flags:  userPresent | userVerified,
		id:     id,
		key:    key,
	}
}

// options are the fields of a ceremony that an authenticator uses.
type options struct {
	Challenge string `json:"challenge"`
	User      struct {
		ID string `json:"id"`
	} `json:"user"`
	Exclude []struct {
		ID string `json:"id"`
	} `json:"excludeCredentials"`
	Allow []struct {
		ID string `json:"id"`
	} `json:"allowCredentials"`
	Verification string `json:"userVerification"`
}

func parse(t *testing.T, c passkey.Ceremony) options {
	t.Helper()
	var o options
	if err := json.Unmarshal(c.Options, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// clientData returns the client data of a ceremony as a browser serializes it.
func (a *authenticator) clientData(kind, challenge string) []byte {
	b, _ := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": a.origin, "crossOrigin": false})
	return b
}

func (a *authenticator) authData(flags byte) []byte {
	hash := sha256.Sum256([]byte(a.rpID))
	a.count++
	return binary.BigEndian.AppendUint32(append(hash[:], flags), a.count)
}

// register returns the response to a registration.
func (a *authenticator) register(c passkey.Ceremony) []byte {
	a.t.Helper()
	o := parse(a.t, c)
	handle, err := base64.RawURLEncoding.DecodeString(o.User.ID)
	if err != nil {
		a.t.Fatal(err)
	}
	a.handle = handle
	data := a.authData(a.flags | attestedData)
	data = append(data, make([]byte, 16)...) // no AAGUID
	data = binary.BigEndian.AppendUint16(data, uint16(len(a.id)))
	data = append(append(data, a.id...), a.coseKey()...)
	// CBOR: {"fmt": "none", "attStmt": {}, "authData": bytes}
	object := append([]byte{0xa3}, "\x63fmt\x64none\x67attStmt\xa0\x68authData\x59"...)
	object = binary.BigEndian.AppendUint16(object, uint16(len(data)))
	object = append(object, data...)
	return a.response(map[string]any{
		"attestationObject": encode(object), "clientDataJSON": encode(a.clientData("webauthn.create", o.Challenge)),
	})
}

// coseKey returns the public key in COSE format: {kty: EC2, alg: ES256, crv: P-256, x, y}.
func (a *authenticator) coseKey() []byte {
	public, err := a.key.PublicKey.Bytes() // 0x04, x, y
	if err != nil {
		a.t.Fatal(err)
	}
	out := []byte{0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 32}
	out = append(out, public[1:33]...)
	return append(append(out, 0x22, 0x58, 32), public[33:]...)
}

// assert returns the response to a sign-in or a proof.
func (a *authenticator) assert(c passkey.Ceremony) []byte {
	a.t.Helper()
	client := a.clientData("webauthn.get", parse(a.t, c).Challenge)
	data := a.authData(a.flags)
	clientHash := sha256.Sum256(client)
	digest := sha256.Sum256(append(append([]byte{}, data...), clientHash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, digest[:])
	if err != nil {
		a.t.Fatal(err)
	}
	return a.response(map[string]any{
		"authenticatorData": encode(data), "clientDataJSON": encode(client),
		"signature": encode(signature), "userHandle": encode(a.handle),
	})
}

func (a *authenticator) response(fields map[string]any) []byte {
	b, _ := json.Marshal(map[string]any{
		"id":                     encode(a.id),
		"rawId":                  encode(a.id),
		"type":                   "public-key",
		"response":               fields,
		"clientExtensionResults": map[string]any{},
	})
	return b
}
