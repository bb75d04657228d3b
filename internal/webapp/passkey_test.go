package webapp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/testkit/browser"
)

// passkeyBrowser is a browser tab with a virtual authenticator, at a site on localhost.
type passkeyBrowser struct {
	site   *site
	tab    *browser.Tab
	device *browser.Authenticator
	base   string
}

func (s *site) passkeyBrowser(b *browser.Browser, screen screen) *passkeyBrowser {
	base := strings.Replace(s.srv.URL, "127.0.0.1", "localhost", 1)
	tab := screen.open(b, base)
	return &passkeyBrowser{site: s, tab: tab, device: tab.Authenticator(), base: base}
}

// signedOut is the script condition that the welcome page of a site with accounts is loaded.
const signedOut = `document.readyState === 'complete' && document.querySelector('a[href="/sign-in"]') !== null`

// at waits until the page at a path is loaded.
func (p *passkeyBrowser) at(path string) {
	p.site.t.Helper()
	p.tab.Wait("document.readyState === 'complete' && location.pathname === '" + path + "'")
}

// send submits the form with this action.
func (p *passkeyBrowser) send(action string) {
	p.site.t.Helper()
	if _, err := p.tab.Eval("document.querySelector('form[action=\"" + action + "\"] button').click()"); err != nil {
		p.site.t.Fatal(err)
	}
}

// signIn signs in with the password.
func (p *passkeyBrowser) signIn() {
	p.site.t.Helper()
	p.tab.Go(p.base + "/sign-in")
	p.tab.Type(email)
	p.tab.Press("Tab")
	p.tab.Type(password)
	p.tab.Press("Enter")
	p.at("/")
}

// enrol creates a passkey through the settings.
func (p *passkeyBrowser) enrol(name string) {
	p.site.t.Helper()
	p.tab.Go(p.base + "/security")
	p.send("/security/passkeys")
	p.tab.Wait("document.readyState === 'complete' && document.activeElement.id === 'name'")
	p.tab.Type(name)
	p.tab.Press("Enter")
	p.at("/security")
}

func (p *passkeyBrowser) signOut() {
	p.site.t.Helper()
	p.tab.Go(p.base + "/")
	p.send("/sign-out")
	p.tab.Wait(signedOut)
}

// usePasskey begins a sign-in with a passkey.
func (p *passkeyBrowser) usePasskey() {
	p.site.t.Helper()
	p.tab.Go(p.base + "/sign-in?return=/security")
	p.send("/sign-in/passkey")
}

func (p *passkeyBrowser) text() string { return p.tab.Text("document.body.innerText") }

// wantRefused waits for the error on the sign-in page and checks that there is no session.
func (p *passkeyBrowser) wantRefused(why string) {
	p.site.t.Helper()
	p.tab.Wait("document.readyState === 'complete' && " +
		"document.querySelector('#error')?.innerText.includes('not accepted')")
	if cookies := sessionCookies(p.tab); len(cookies) != 0 {
		p.site.t.Errorf("%s: cookies %+v", why, cookies)
	}
}

func TestPasskeySignsIn(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	site := newSite(t, onLocalhost)
	p := site.passkeyBrowser(b, screens["light"])
	p.signIn()
	p.enrol("Laptop")
	if keys := p.device.Keys(); len(keys) != 1 || !keys[0].IsResidentCredential || keys[0].RPID != "localhost" {
		t.Fatalf("the device holds %+v", keys)
	}
	if !strings.Contains(p.text(), "Laptop") {
		t.Fatalf("the page does not list it: %s", p.text())
	}
	p.signOut()
	p.usePasskey()
	p.at("/security")
	if !strings.Contains(p.text(), "last used") {
		t.Errorf("after signing in with it: %s", p.text())
	}
	if cookies := sessionCookies(p.tab); len(cookies) != 1 {
		t.Errorf("cookies: %+v", cookies)
	}
	// It is accepted for a step-up.
	site.clock.Advance(core.ProofLife)
	p.tab.Go(p.base + "/security")
	p.at("/step-up")
	p.send("/step-up/passkey")
	p.at("/security")
	// A device creates only one passkey for an account.
	p.send("/security/passkeys")
	p.tab.Wait("document.readyState === 'complete' && document.activeElement.id === 'name'")
	p.tab.Type("Once more")
	p.tab.Press("Enter")
	p.tab.Wait("document.querySelector('#trouble').innerText.includes('already has a passkey for your account')")
	// A removed passkey is refused.
	p.tab.Go(p.base + "/security")
	p.send("/security/passkeys/remove")
	p.tab.Wait("document.readyState === 'complete' && !document.body.innerText.includes('Laptop')")
	p.signOut()
	p.usePasskey()
	p.wantRefused("a removed passkey")
	if events := fmt.Sprint(site.events()); !strings.Contains(events, "passkey_added") ||
		!strings.Contains(events, "passkey_removed") || !strings.Contains(events, `{"session":`) ||
		!strings.Contains(events, `"with":"passkey"`) {
		t.Errorf("the audit log: %s", events)
	}
}

func TestPasskeyRequiresUserVerification(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	site := newSite(t, onLocalhost)
	p := site.passkeyBrowser(b, screens["light"])
	p.signIn()
	p.enrol("Laptop")
	p.signOut()
	p.device.SetUserVerified(false)
	p.usePasskey()
	p.tab.Wait("document.querySelector('#trouble')?.innerText.includes('No passkey was used')")
	// The same page works after the device has verified its user.
	p.device.SetUserVerified(true)
	p.send("/sign-in/passkey/finish")
	p.at("/security")
}

func TestClonedPasskeyIsRefused(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	site := newSite(t, onLocalhost)
	p := site.passkeyBrowser(b, screens["light"])
	p.signIn()
	p.enrol("Laptop")
	copied := p.device.Keys()[0]
	for range 3 { // the original advances its counter
		p.signOut()
		p.usePasskey()
		p.at("/security")
	}
	p.signOut()
	p.device.Clear()
	p.device.Put(copied)
	p.usePasskey()
	p.wantRefused("a clone with an old counter")
}

func TestPasskeyOfADisabledUserIsRefused(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	site := newSite(t, onLocalhost)
	p := site.passkeyBrowser(b, screens["light"])
	p.signIn()
	p.enrol("Laptop")
	p.signOut()
	if err := site.accounts.Disable(t.Context(), core.Operator(""), site.user.ID); err != nil {
		t.Fatal(err)
	}
	p.usePasskey()
	p.wantRefused("a disabled user")
}

// The test captures the response of a device and sends it from another browser, twice, and with another signature.
func TestPasskeyResponseWorksOnceAndInItsBrowser(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	site := newSite(t, onLocalhost)
	p := site.passkeyBrowser(b, screens["light"])
	p.signIn()
	p.enrol("Laptop")
	p.signOut()
	// The page's script submits the form. Replacing submit captures the response.
	begin := func() (response, token string) {
		p.tab.Go(p.base + "/sign-in")
		p.device.SetUserVerified(false)
		p.send("/sign-in/passkey")
		p.tab.Wait("document.querySelector('#trouble')?.innerText.includes('No passkey was used')")
		p.device.SetUserVerified(true)
		const capture = `HTMLFormElement.prototype.submit = () => {
			window.captured = document.querySelector('[name=answer]').value
		}`
		if _, err := p.tab.Eval(capture); err != nil {
			t.Fatal(err)
		}
		p.send("/sign-in/passkey/finish")
		p.tab.Wait("typeof window.captured === 'string'")
		for _, c := range p.tab.Cookies() {
			if strings.HasSuffix(c.Name, "-pending") {
				token = c.Value
			}
		}
		return p.tab.Text("window.captured"), token
	}
	response, token := begin()
	pending := &http.Cookie{Name: "carrel-pending", Value: token}
	finish := func(response string, c *http.Cookie) int {
		return site.post("/sign-in/passkey/finish", c, "answer", response).status
	}
	if got := finish(response, nil); got != http.StatusUnprocessableEntity {
		t.Errorf("from another browser: %d", got)
	}
	if got := finish(response, pending); got != http.StatusSeeOther {
		t.Fatalf("the captured response: %d", got)
	}
	if got := finish(response, pending); got != http.StatusUnprocessableEntity {
		t.Errorf("sent again: %d", got)
	}
	response, token = begin()
	pending.Value = token
	got := finish(strings.Replace(response, `"signature":"M`, `"signature":"N`, 1), pending)
	if got != http.StatusUnprocessableEntity {
		t.Errorf("another signature: %d", got)
	}
	if got := finish(response, pending); got != http.StatusUnprocessableEntity {
		t.Errorf("the right one after a wrong one: %d", got) // a challenge is used up by a wrong response too
	}
	for _, junk := range []string{
		"", "{}", "null", `{"id":"AA","rawId":"AA","type":"public-key","response":{}}`,
		strings.Repeat("x", 60_000),
	} {
		started := site.visitor()
		if a := started.post("/sign-in/passkey"); a.status != http.StatusOK {
			t.Fatal(a.status)
		}
		if a := started.post("/sign-in/passkey/finish", "answer", junk); a.status != http.StatusUnprocessableEntity {
			t.Errorf("%.20q: %d", junk, a.status)
		}
	}
}

func TestPasskeysAreOfferedOnlyAtSupportedAddresses(t *testing.T) {
	t.Parallel()
	site := newSite(t) // at an IP address
	if a := site.get("/sign-in", nil); strings.Contains(a.body, "passkey") {
		t.Error("passkeys are offered at an IP address")
	}
	if a := site.post("/sign-in/passkey", nil); a.status != http.StatusUnprocessableEntity || a.cookie != nil {
		t.Errorf("beginning a passkey sign-in: %d", a.status)
	}
	if a := site.visitor().signIn().get("/security"); !strings.Contains(a.body, "This address has neither.") {
		t.Error("the page does not explain why passkeys are not available")
	}
	v := newSite(t, onLocalhost).visitor()
	page := v.post("/sign-in/passkey", "return", "/docs")
	policy := page.header.Get("Content-Security-Policy")
	if page.status != http.StatusOK || !strings.Contains(policy, "script-src 'self'") ||
		strings.Contains(policy, "unsafe") || strings.Contains(policy, "connect-src") {
		t.Errorf("%d with the policy %s", page.status, policy)
	}
	if strings.Count(page.body, "<script") != 1 || !strings.Contains(page.body, `<script src="/pages/passkey-`) ||
		!strings.Contains(page.body, "<noscript>") {
		t.Error(page.body)
	}
	if strings.Contains(v.get("/sign-in").header.Get("Content-Security-Policy"), "script-src") {
		t.Error("the sign-in page allows scripts")
	}
}
