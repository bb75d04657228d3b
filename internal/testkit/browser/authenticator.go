package browser

// Authenticator is a device with passkeys that answers by itself: it stands in for a finger on a sensor, and for nothing
// of what browser and server do.
type Authenticator struct {
	tab *Tab
	id  string
}

// Authenticator plugs a device into the tab. It keeps passkeys and knows its user.
func (t *Tab) Authenticator() *Authenticator {
	t.b.t.Helper()
	var r struct {
		ID string `json:"authenticatorId"`
	}
	t.b.must(t.b.call(t.session, "WebAuthn.enable", map[string]any{}, nil))
	t.b.must(t.b.call(t.session, "WebAuthn.addVirtualAuthenticator", map[string]any{"options": map[string]any{
		"protocol": "ctap2", "transport": "internal", "hasResidentKey": true, "hasUserVerification": true,
		"isUserVerified": true, "automaticPresenceSimulation": true,
	}}, &r))
	return &Authenticator{tab: t, id: r.ID}
}

// Recognise makes the device know its user, or not.
func (a *Authenticator) Recognise(user bool) {
	a.tab.b.t.Helper()
	a.tab.b.must(a.tab.b.call(a.tab.session, "WebAuthn.setUserVerified", map[string]any{"authenticatorId": a.id, "isUserVerified": user}, nil))
}

// Key is a passkey as the device keeps it.
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
	a.tab.b.must(a.tab.b.call(a.tab.session, "WebAuthn.getCredentials", map[string]any{"authenticatorId": a.id}, &r))
	return r.Credentials
}

// Put gives the device a passkey, such as the copy of another's.
func (a *Authenticator) Put(k Key) {
	a.tab.b.t.Helper()
	a.tab.b.must(a.tab.b.call(a.tab.session, "WebAuthn.addCredential", map[string]any{"authenticatorId": a.id, "credential": k}, nil))
}

// Clear makes the device forget its passkeys.
func (a *Authenticator) Clear() {
	a.tab.b.t.Helper()
	a.tab.b.must(a.tab.b.call(a.tab.session, "WebAuthn.clearCredentials", map[string]any{"authenticatorId": a.id}, nil))
}
