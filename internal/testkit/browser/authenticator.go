package browser

// Authenticator is a virtual WebAuthn device that stores passkeys and approves every request. It replaces only the
// hardware: browser and server run the real protocol.
type Authenticator struct {
	tab *Tab
	id  string
}

// Authenticator adds a device with resident keys and user verification to the tab.
func (t *Tab) Authenticator() *Authenticator {
	t.b.t.Helper()
	var r struct {
		ID string `json:"authenticatorId"`
	}
	t.call("WebAuthn.enable", map[string]any{}, nil)
	t.call("WebAuthn.addVirtualAuthenticator", map[string]any{"options": map[string]any{
		"protocol": "ctap2", "transport": "internal", "hasResidentKey": true, "hasUserVerification": true,
		"isUserVerified": true, "automaticPresenceSimulation": true,
	}}, &r)
	return &Authenticator{tab: t, id: r.ID}
}

// SetUserVerified sets whether the device verifies its user, as with a fingerprint.
func (a *Authenticator) SetUserVerified(verified bool) {
	a.tab.b.t.Helper()
	a.tab.call("WebAuthn.setUserVerified", map[string]any{"authenticatorId": a.id, "isUserVerified": verified}, nil)
}

// Key is a passkey in the device.
type Key struct {
	CredentialID         string `json:"credentialId"`
	IsResidentCredential bool   `json:"isResidentCredential"`
	RPID                 string `json:"rpId"`
	PrivateKey           string `json:"privateKey"`
	UserHandle           string `json:"userHandle"`
	SignCount            int    `json:"signCount"`
}

// Keys returns the passkeys of the device.
func (a *Authenticator) Keys() []Key {
	a.tab.b.t.Helper()
	var r struct {
		Credentials []Key `json:"credentials"`
	}
	a.tab.call("WebAuthn.getCredentials", map[string]any{"authenticatorId": a.id}, &r)
	return r.Credentials
}

// Put adds a passkey, such as a copy from another device.
func (a *Authenticator) Put(k Key) {
	a.tab.b.t.Helper()
	a.tab.call("WebAuthn.addCredential", map[string]any{"authenticatorId": a.id, "credential": k}, nil)
}

// Clear deletes all passkeys.
func (a *Authenticator) Clear() {
	a.tab.b.t.Helper()
	a.tab.call("WebAuthn.clearCredentials", map[string]any{"authenticatorId": a.id}, nil)
}
