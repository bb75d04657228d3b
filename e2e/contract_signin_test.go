package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"carrel/internal/testkit"
)

const (
	passkeysPath, totpPath, stepUpPath = accountPath + "/passkeys", accountPath + "/totp", accountPath + "/step-up"
	// passkeyOrigin is the public URL of the server with passkeys. Only the authenticator uses it.
	passkeyOrigin, passkeyHost = "http://localhost:4321", "localhost"
)

// signInCalls returns a request for every operation that requires a session, with an API key.
func (w *installation) signInCalls() []call {
	return []call{
		{
			operation: "changePassword",
			method:    "POST",
			path:      accountPath + "/password",
			body:      `{"newPassword": "another password"}`,
			key:       w.fullKey,
		},
		{operation: "stepUp", method: "POST", path: stepUpPath, body: `{"password": "x"}`, key: w.fullKey},
		{operation: "beginStepUp", method: "POST", path: stepUpPath + "/options", key: w.fullKey},
		{operation: "listPasskeys", method: "GET", path: passkeysPath, key: w.fullKey},
		{
			operation: "addPasskey",
			method:    "POST",
			path:      passkeysPath,
			body:      `{"ceremony": "x", "name": "x", "answer": {}}`,
			key:       w.fullKey,
		},
		{operation: "beginPasskey", method: "POST", path: passkeysPath + "/options", key: w.fullKey},
		{
			operation: "renamePasskey",
			method:    "PATCH",
			path:      passkeysPath + "/" + noCredential,
			body:      `{"name": "x"}`,
			key:       w.fullKey,
		},
		{operation: "removePasskey", method: "DELETE", path: passkeysPath + "/" + noCredential, key: w.fullKey},
		{operation: "getTotp", method: "GET", path: totpPath, key: w.fullKey},
		{operation: "beginTotp", method: "POST", path: totpPath, key: w.fullKey},
		{operation: "removeTotp", method: "DELETE", path: totpPath, key: w.fullKey},
		{operation: "confirmTotp", method: "POST", path: totpPath + "/confirm", body: `{"code": "123456"}`, key: w.fullKey},
		{operation: "renewRecoveryCodes", method: "POST", path: totpPath + "/recovery-codes", key: w.fullKey},
		{operation: "acceptInvitation", method: "POST", path: invitationsPath + "/" + w.agent + "/accept", key: w.fullKey},
		{operation: "declineInvitation", method: "DELETE", path: invitationsPath + "/" + w.agent, key: w.fullKey},
	}
}

// authenticator is a software device that holds one passkey at a time and always reports user presence.
type authenticator struct {
	t       *testing.T
	key     *ecdsa.PrivateKey
	id      []byte
	counter uint32
}

func encoded(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// data returns the authenticator data (WebAuthn 3, 6.1): the hash of the relying party, the flags and the counter.
func (a *authenticator) data(flags byte) []byte {
	a.counter++
	host := sha256.Sum256([]byte(passkeyHost))
	return binary.BigEndian.AppendUint32(append(host[:], flags), a.counter)
}

func (a *authenticator) client(kind string, options reply) []byte {
	a.t.Helper()
	b, err := json.Marshal(map[string]any{
		"type":        kind,
		"challenge":   options.text("options", "challenge"),
		"origin":      passkeyOrigin,
		"crossOrigin": false,
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return b
}

// create creates a passkey and returns the body of the request that adds it.
func (a *authenticator) create(options reply, name string) string {
	a.t.Helper()
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		a.t.Fatal(err)
	}
	a.id = make([]byte, 32)
	_, _ = rand.Read(a.id)
	public, err := a.key.PublicKey.Bytes() // 4, x, y
	if err != nil {
		a.t.Fatal(err)
	}
	const present, known, attested = 0x01, 0x04, 0x40
	data := append(a.data(present|known|attested), make([]byte, 16)...) // no model id
	data = append(binary.BigEndian.AppendUint16(data, 32), a.id...)
	// The key in COSE (RFC 9053): {1: 2, 3: -7, -1: 1, -2: x, -3: y}.
	data = append(append(data, 0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32), public[1:33]...)
	data = append(append(data, 0x22, 0x58, 32), public[33:]...)
	// {"fmt": "none", "attStmt": {}, "authData": data} in CBOR.
	object := append([]byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58"), byte(len(data)))
	return a.answer(options, map[string]any{"name": name}, map[string]any{
		"clientDataJSON":    encoded(a.client("webauthn.create", options)),
		"attestationObject": encoded(append(object, data...)),
	})
}

// get signs with the passkey and returns the body of the request that proves it.
func (a *authenticator) get(options reply, user string) string {
	a.t.Helper()
	data, client := a.data(0x05), a.client("webauthn.get", options)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(append([]byte{}, data...), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, digest[:])
	if err != nil {
		a.t.Fatal(err)
	}
	return a.answer(options, map[string]any{}, map[string]any{
		"clientDataJSON": encoded(client), "authenticatorData": encoded(data), "signature": encoded(signature),
		"userHandle": encoded([]byte(user)),
	})
}

func (a *authenticator) answer(options reply, body, response map[string]any) string {
	a.t.Helper()
	body["ceremony"] = options.text("ceremony")
	body["answer"] = map[string]any{
		"id": encoded(a.id), "rawId": encoded(a.id), "type": "public-key",
		"clientExtensionResults": map[string]any{}, "response": response,
	}
	b, err := json.Marshal(body)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(b)
}

// appCode returns the code of an authenticator app, a number of steps from now.
func appCode(t *testing.T, key string, steps int64) string {
	t.Helper()
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(key)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha1.New, secret)
	_ = binary.Write(mac, binary.BigEndian, time.Now().Unix()/30+steps)
	sum := mac.Sum(nil)
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[sum[19]&15:])&0x7fffffff%1000000)
}

// signIn changes the sign-in methods of a user, on a separate server, because passkeys need a host name.
func (w *installation) signIn(t *testing.T) {
	server := testkit.StartServer(t,
		testkit.ServerOptions{Env: []string{"CARREL_RATE_LIMITS=off", "CARREL_BASE_URL=" + passkeyOrigin}})
	there := &installation{server: server, checker: w.checker, client: w.client}
	user := there.admin(t, "user", "create", "--email", "ida@example.org", "--name", "Ida",
		"--password", "correct horse battery").text("user", "id")
	key := there.admin(t, "key", "create", "--user", "ida@example.org", "--name", "all",
		"--scope", "agents,manage,account").text("key")
	b := there.browser(t, "ida@example.org")
	asked := func(method, path, body string) call {
		c := b
		c.method, c.path, c.body = method, path, body
		return c
	}
	ok := func(method, path, body string) reply {
		t.Helper()
		return there.send(t, asked(method, path, body), http.StatusOK)
	}
	no := func(method, path, body string, status int, code string) {
		t.Helper()
		there.problem(t, asked(method, path, body), status, code)
	}
	again := func(path string) {
		t.Helper()
		there.send(t, asked("GET", path, "").with("If-None-Match", ok("GET", path, "").header.Get("ETag")),
			http.StatusNotModified)
	}
	there.problem(t, call{method: "GET", path: passkeysPath, key: key}, 403, "session_required")
	no("POST", stepUpPath, `{"password": "wrong"}`, 403, "proof_failed")
	ok("POST", stepUpPath, `{"password": "correct horse battery"}`)
	ok("POST", accountPath+"/password", `{"newPassword": "another password"}`)
	there.passkeys(t, &authenticator{t: t}, user, ok, no)
	again(passkeysPath)
	no("POST", totpPath+"/confirm", `{"code": "123456"}`, 409, "conflict")
	no("POST", totpPath+"/recovery-codes", "", 409, "conflict")
	no("DELETE", totpPath, "", 404, "not_found")
	secret := ok("POST", totpPath, "").text("secret")
	ok("POST", totpPath+"/confirm", `{"code": "`+appCode(t, secret, 0)+`"}`)
	no("POST", totpPath, "", 409, "conflict")
	again(totpPath)
	ok("POST", stepUpPath, `{"password": "another password", "code": "`+appCode(t, secret, 1)+`"}`)
	ok("POST", totpPath+"/recovery-codes", "")
	ok("DELETE", totpPath, "")
}

// passkeys creates, uses and removes passkeys.
func (w *installation) passkeys(t *testing.T, device *authenticator, user string,
	ok func(method, path, body string) reply, no func(method, path, body string, status int, code string),
) {
	t.Helper()
	no("POST", stepUpPath+"/options", "", 409, "conflict")
	add := device.create(ok("POST", passkeysPath+"/options", ""), "Laptop")
	one := passkeysPath + "/" + ok("POST", passkeysPath, add).text("passkey", "id")
	no("POST", passkeysPath, add, 409, "expired")
	ok("PATCH", one, `{"name": "Phone"}`)
	proof := device.get(ok("POST", stepUpPath+"/options", ""), user)
	ok("POST", stepUpPath, proof)
	no("POST", stepUpPath, proof, 409, "expired")
	if got := ok("GET", passkeysPath, ""); got.text("passkeys", 0, "name") != "Phone" ||
		got.text("passkeys", 0, "lastUsedAt") == "" || got.at("available") != true {
		t.Errorf("listed %v", got.body)
	}
	device.key, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	no("POST", stepUpPath, device.get(ok("POST", stepUpPath+"/options", ""), user), 403, "proof_failed")
	ok("DELETE", one, "")
	no("DELETE", one, "", 404, "not_found")
	no("PATCH", one, `{"name": "x"}`, 404, "not_found")
	const most = 20
	for range most {
		ok("POST", passkeysPath, device.create(ok("POST", passkeysPath+"/options", ""), "One of many"))
	}
	no("POST", passkeysPath+"/options", "", 409, "conflict")
}
