package webapp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/testkit/browser"
)

// holder is a browser with a device at an installation that has a name.
type holder struct {
	w      *world
	tab    *browser.Tab
	device *browser.Authenticator
	base   string
}

func (w *world) holder(b *browser.Browser) *holder {
	tab := b.Open(browser.Options{Width: 1280, Height: 800})
	return &holder{w: w, tab: tab, device: tab.Authenticator(), base: strings.Replace(w.srv.URL, "127.0.0.1", "localhost", 1)}
}

// at waits until the browser has arrived.
func (p *holder) at(path string) {
	p.w.t.Helper()
	p.tab.Wait("document.readyState === 'complete' && location.pathname === '" + path + "'")
}

// send submits the form that goes to a path.
func (p *holder) send(action string) {
	p.w.t.Helper()
	if _, err := p.tab.Eval("document.querySelector('form[action=\"" + action + "\"] button').click()"); err != nil {
		p.w.t.Fatal(err)
	}
}

// signIn uses the password.
func (p *holder) signIn() {
	p.w.t.Helper()
	p.tab.Go(p.base + "/sign-in")
	p.tab.Type(email)
	p.tab.Press("Tab")
	p.tab.Type(password)
	p.tab.Press("Enter")
	p.at("/")
}

// enrol makes a passkey.
func (p *holder) enrol(name string) {
	p.w.t.Helper()
	p.tab.Go(p.base + "/security")
	p.send("/security/passkeys")
	p.tab.Wait("document.readyState === 'complete' && document.activeElement.id === 'name'")
	p.tab.Type(name)
	p.tab.Press("Enter")
	p.at("/security")
}

func (p *holder) signOut() {
	p.w.t.Helper()
	p.tab.Go(p.base + "/")
	p.send("/sign-out")
	p.tab.Wait("document.readyState === 'complete' && document.body.innerText.includes('Agents that know')")
}

// trySignIn uses a passkey.
func (p *holder) trySignIn() {
	p.w.t.Helper()
	p.tab.Go(p.base + "/sign-in?return=/security")
	p.send("/sign-in/passkey")
}

func (p *holder) text() string { return p.tab.Text("document.body.innerText") }

// refused waits for the sign-in page to say that a passkey was not accepted.
func (p *holder) refused(why string) {
	p.w.t.Helper()
	p.tab.Wait("document.readyState === 'complete' && document.querySelector('#error')?.innerText.includes('not accepted')")
	if cookies := sessionCookies(p.tab); len(cookies) != 0 {
		p.w.t.Errorf("%s: the browser keeps %+v", why, cookies)
	}
}

func TestPoint12APasskeySignsIn(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	w := newWorld(t, named)
	p := w.holder(b)
	p.signIn()
	p.enrol("Laptop")
	if keys := p.device.Keys(); len(keys) != 1 || !keys[0].IsResidentCredential || keys[0].RPID != "localhost" {
		t.Fatalf("the device holds %+v", keys)
	}
	if !strings.Contains(p.text(), "Laptop") {
		t.Fatalf("the page does not list it: %s", p.text())
	}
	p.signOut()
	p.trySignIn()
	p.at("/security")
	if !strings.Contains(p.text(), "last used") {
		t.Errorf("after signing in with it: %s", p.text())
	}
	if cookies := sessionCookies(p.tab); len(cookies) != 1 {
		t.Errorf("the browser keeps %+v", cookies)
	}
	// It is asked for again where a proof is.
	w.clock.Advance(core.ProofLife)
	p.tab.Go(p.base + "/security")
	p.at("/step-up")
	p.send("/step-up/passkey")
	p.at("/security")
	// A device that has one makes no second.
	p.send("/security/passkeys")
	p.tab.Wait("document.readyState === 'complete' && document.activeElement.id === 'name'")
	p.tab.Type("Once more")
	p.tab.Press("Enter")
	p.tab.Wait("document.querySelector('#trouble').innerText.includes('has a passkey for your account already')")
	// Removed it is worth nothing.
	p.tab.Go(p.base + "/security")
	p.send("/security/passkeys/remove")
	p.tab.Wait("document.readyState === 'complete' && !document.body.innerText.includes('Laptop')")
	p.signOut()
	p.trySignIn()
	p.refused("a removed passkey")
	if events := fmt.Sprint(w.events()); !strings.Contains(events, "passkey_added") || !strings.Contains(events, "passkey_removed") || !strings.Contains(events, `{"session":`) || !strings.Contains(events, `"with":"passkey"`) {
		t.Errorf("the audit log: %s", events)
	}
}

func TestPoint12APasskeyMustKnowItsUser(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	w := newWorld(t, named)
	p := w.holder(b)
	p.signIn()
	p.enrol("Laptop")
	p.signOut()
	p.device.SetUserVerified(false)
	p.trySignIn()
	p.tab.Wait("document.querySelector('#trouble')?.innerText.includes('No passkey was used')")
	// The page is still good: the same challenge, now with a finger that is known.
	p.device.SetUserVerified(true)
	p.send("/sign-in/passkey/finish")
	p.at("/security")
}

func TestPoint12ACopyOfAPasskeyIsFound(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	w := newWorld(t, named)
	p := w.holder(b)
	p.signIn()
	p.enrol("Laptop")
	copied := p.device.Keys()[0]
	for range 3 { // the real one is used on
		p.signOut()
		p.trySignIn()
		p.at("/security")
	}
	p.signOut()
	p.device.Clear()
	p.device.Put(copied)
	p.trySignIn()
	p.refused("a copy whose counter is behind")
}

func TestPoint12ADisabledUserHasNoPasskey(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	w := newWorld(t, named)
	p := w.holder(b)
	p.signIn()
	p.enrol("Laptop")
	p.signOut()
	if err := w.accounts.Disable(t.Context(), core.Operator(""), w.user.ID); err != nil {
		t.Fatal(err)
	}
	p.trySignIn()
	p.refused("a disabled user")
}

// TestPoint12AnAnswerIsGoodOnceAndAtItsOriginAlone takes an answer that a real device gave, and sends it again, from
// another browser, and to an installation of another name.
func TestPoint12AnAnswerIsGoodOnceAndAtItsOriginAlone(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	w := newWorld(t, named)
	p := w.holder(b)
	p.signIn()
	p.enrol("Laptop")
	p.signOut()
	// The page's own script runs at once: a stand-in keeps the form from leaving, so that the answer can be taken.
	begin := func() (answer, token string) {
		p.tab.Go(p.base + "/sign-in")
		p.device.SetUserVerified(false)
		p.send("/sign-in/passkey")
		p.tab.Wait("document.querySelector('#trouble')?.innerText.includes('No passkey was used')")
		p.device.SetUserVerified(true)
		if _, err := p.tab.Eval("HTMLFormElement.prototype.submit = () => { window.kept = document.querySelector('[name=answer]').value }"); err != nil {
			t.Fatal(err)
		}
		p.send("/sign-in/passkey/finish")
		p.tab.Wait("typeof window.kept === 'string'")
		for _, c := range p.tab.Cookies() {
			if strings.HasSuffix(c.Name, "-pending") {
				token = c.Value
			}
		}
		return p.tab.Text("window.kept"), token
	}
	answer, token := begin()
	pending := &http.Cookie{Name: "carrel-pending", Value: token}
	finish := func(answer string, c *http.Cookie) int {
		return w.post("/sign-in/passkey/finish", c, "answer", answer).status
	}
	if got := finish(answer, nil); got != http.StatusUnprocessableEntity {
		t.Errorf("from another browser: %d", got)
	}
	if got := finish(answer, pending); got != http.StatusSeeOther {
		t.Fatalf("the answer itself: %d", got)
	}
	if got := finish(answer, pending); got != http.StatusUnprocessableEntity {
		t.Errorf("once more: %d", got)
	}
	answer, token = begin()
	pending.Value = token
	if got := finish(strings.Replace(answer, `"signature":"M`, `"signature":"N`, 1), pending); got != http.StatusUnprocessableEntity {
		t.Errorf("another signature: %d", got)
	}
	if got := finish(answer, pending); got != http.StatusUnprocessableEntity {
		t.Errorf("the right one after a wrong one: %d", got) // a challenge is for one answer, good or bad
	}
	for _, junk := range []string{"", "{}", "null", `{"id":"AA","rawId":"AA","type":"public-key","response":{}}`, strings.Repeat("x", 60_000)} {
		started := w.visitor()
		if a := started.post("/sign-in/passkey"); a.status != http.StatusOK {
			t.Fatal(a.status)
		}
		if a := started.post("/sign-in/passkey/finish", "answer", junk); a.status != http.StatusUnprocessableEntity {
			t.Errorf("%.20q: %d", junk, a.status)
		}
	}
}

func TestPasskeysAreOfferedWhereBrowsersHaveThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t) // at an address
	if a := w.get("/sign-in", nil); strings.Contains(a.body, "passkey") {
		t.Error("an installation without a name offers passkeys")
	}
	if a := w.post("/sign-in/passkey", nil); a.status != http.StatusUnprocessableEntity || a.cookie != nil {
		t.Errorf("beginning all the same: %d", a.status)
	}
	if a := w.visitor().signIn().get("/security"); !strings.Contains(a.body, "This address is neither.") {
		t.Error("the page does not say why there are none")
	}
	v := newWorld(t, named).visitor()
	page := v.post("/sign-in/passkey", "return", "/docs")
	policy := page.header.Get("Content-Security-Policy")
	if page.status != http.StatusOK || !strings.Contains(policy, "script-src 'self'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "connect-src") {
		t.Errorf("%d with the policy %s", page.status, policy)
	}
	if strings.Count(page.body, "<script") != 1 || !strings.Contains(page.body, `<script src="/pages/passkey-`) || !strings.Contains(page.body, "<noscript>") {
		t.Error(page.body)
	}
	if strings.Contains(v.get("/sign-in").header.Get("Content-Security-Policy"), "script-src") {
		t.Error("the sign-in page allows scripts")
	}
}
