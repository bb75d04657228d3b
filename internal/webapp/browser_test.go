package webapp_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/oauth"
	"carrel/internal/testkit/browser"
)

// picturesEnv names a folder to leave pictures of all pages in, to look at.
const picturesEnv = "CARREL_TEST_PICTURES"

var consent = oauth.ConsentPage{
	Client: "Claude Code", ClientHost: "127.0.0.1 (a program on this computer)", Account: email, Action: "/consent",
	Scopes: []oauth.ScopeText{
		{Scope: "agents", Text: "Search your sources, ask your agents, and read and change your threads, memories and favourites"},
		{Scope: "manage", Text: "Make and change agents and their sources"},
		{Scope: "offline_access", Text: "Stay connected when you are away, until you take it back"},
	},
	Fields: map[string]string{"request": "r1", "token": "t1"},
}

// screens are what pages are looked at on.
var screens = map[string]browser.Options{
	"light":       {Width: 1280, Height: 800},
	"dark":        {Width: 1280, Height: 800, Dark: true},
	"phone":       {Width: 390, Height: 844},
	"phone-dark":  {Width: 390, Height: 844, Dark: true},
	"small-phone": {Width: 320, Height: 568},
}

// lookAt checks what every page must have and leaves a picture, if one is wanted.
func lookAt(t *testing.T, tab *browser.Tab, page, screen string) {
	t.Helper()
	if v, err := tab.Eval("document.documentElement.scrollWidth <= innerWidth"); err != nil || v != true {
		t.Errorf("%s, %s: the page is wider than the window (%v)", page, screen, err)
	}
	if v, err := tab.Eval("document.styleSheets.length === 1 && getComputedStyle(document.querySelector('h1')).fontSize === '24px'"); err != nil || v != true {
		t.Errorf("%s, %s: it has no style (%v)", page, screen, err)
	}
	if dir := os.Getenv(picturesEnv); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, page+"-"+screen+".png"), tab.Screenshot(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPagesInABrowser walks through every page with the keyboard alone, in light and dark, on a desk and a phone.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	for name, o := range screens {
		w := newEmptyWorld(t)
		w.mux.HandleFunc("GET /consent", func(rw http.ResponseWriter, r *http.Request) {
			p := consent
			p.RedirectTo = "http://127.0.0.1:5555/callback"
			w.app.Consent(rw, r, p)
		})
		tab := b.Open(o)
		look := func(page string) {
			t.Helper()
			lookAt(t, tab, page, name)
		}
		at := func(path string) {
			tab.Wait("document.readyState === 'complete' && location.pathname === '" + path + "'")
		}
		tab.Go(w.srv.URL + "/")
		look("welcome-setup")
		tab.Go(w.srv.URL + "/sign-in")
		at("/setup")
		look("setup")
		tab.Type("wrong")
		tab.Press("Tab")
		tab.Type("Ada Lovelace")
		tab.Press("Tab")
		tab.Type(email)
		tab.Press("Tab")
		tab.Type(password)
		tab.Press("Enter")
		tab.Wait("document.readyState === 'complete' && document.querySelector('#code-error') !== null")
		look("setup-wrong")
		tab.Type(strings.ToLower(setupCode))
		tab.Press("Tab")
		tab.Press("Tab")
		tab.Press("Tab")
		tab.Type(password)
		tab.Press("Enter")
		at("/")
		if text := tab.Text("document.body.innerText"); !strings.Contains(text, "Hello, Ada Lovelace") {
			t.Fatalf("after the set-up: %s", text)
		}
		look("home")
		if c := sessionCookies(tab); len(c) != 1 || !c[0].HTTPOnly || c[0].SameSite != "Lax" || c[0].Name != "carrel" {
			t.Errorf("the browser keeps %+v", c)
		}
		tab.Go(w.srv.URL + "/consent")
		look("consent")
		tab.Go(w.srv.URL + "/")
		_, err := tab.Eval("document.querySelector('form button').focus()")
		if err != nil {
			t.Fatal(err)
		}
		tab.Press("Enter")
		tab.Wait("document.readyState === 'complete' && document.body.innerText.includes('Agents that know')")
		look("welcome")
		tab.Go(w.srv.URL + "/sign-in")
		look("sign-in")
		tab.Type(email)
		tab.Press("Tab")
		tab.Type("not the password")
		tab.Press("Enter")
		tab.Wait("document.readyState === 'complete' && document.querySelector('[role=alert]') !== null")
		look("sign-in-wrong")
		tab.Type(password) // the focus is where the mistake was
		tab.Press("Enter")
		at("/")
	}
}

// TestConsentReachesTheClientInABrowser holds the policy of the consent page to what browsers do: they apply form-action
// to every redirect after the form.
func TestConsentReachesTheClientInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	client := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("client got " + r.URL.Query().Get("code")))
	}))
	t.Cleanup(client.Close)
	for name, allow := range map[string]bool{"the client's address": true, "another address": false} {
		w := newWorld(t)
		redirect := strings.Replace(client.URL, "127.0.0.1", "localhost", 1) + "/callback"
		w.mux.Handle("GET /consent", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			p := consent
			p.RedirectTo = redirect
			if !allow {
				p.RedirectTo = "http://localhost:1/callback"
			}
			w.app.Consent(rw, r, p)
		}))
		posted := make(chan url.Values, 1)
		w.mux.Handle("POST /consent", w.app.Guard(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			posted <- r.PostForm
			rw.Header().Set("Location", redirect+"?code=123")
			rw.WriteHeader(http.StatusSeeOther)
		})))
		tab := b.Open(browser.Options{Width: 800, Height: 800})
		tab.Go(w.srv.URL + "/consent")
		if _, err := tab.Eval(`addEventListener('securitypolicyviolation', e => { window.refused = e.violatedDirective });
			document.querySelector('button[value=allow]').click()`); err != nil {
			t.Fatal(err)
		}
		got := <-posted
		if got.Get("decision") != "allow" || got.Get("request") != "r1" || got.Get("token") != "t1" {
			t.Errorf("%s: the form sends %v", name, got)
		}
		if allow {
			tab.Wait("document.body.innerText === 'client got 123'")
			continue
		}
		tab.Wait("window.refused === 'form-action'")
		if text := tab.Text("location.pathname"); text != "/consent" {
			t.Errorf("%s: the browser is at %s", name, text)
		}
	}
}

// TestPagesOfSigningInInABrowser walks through how one changes the ways in, with the keyboard where there is something to
// type.
func TestPagesOfSigningInInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	for name, o := range screens {
		w := newWorld(t, named)
		p := &holder{w: w, tab: b.Open(o), base: strings.Replace(w.srv.URL, "127.0.0.1", "localhost", 1)}
		p.device = p.tab.Authenticator()
		look := func(page string) {
			t.Helper()
			lookAt(t, p.tab, page, name)
		}
		p.tab.Go(p.base + "/reset")
		look("reset")
		p.tab.Type("WRONG")
		p.tab.Press("Tab")
		p.tab.Type("another password")
		p.tab.Press("Enter")
		p.tab.Wait("document.querySelector('#code-error') !== null")
		look("reset-wrong")
		p.signIn()
		p.enrol("My own laptop with a rather long name")
		look("security")
		p.send("/security/totp")
		p.at("/security/totp")
		look("totp")
		device := w.phone(p.tab.Text("document.querySelector('.key').innerText"))
		p.tab.Type(device.code(0))
		p.tab.Press("Enter")
		p.tab.Wait("document.readyState === 'complete' && document.querySelectorAll('.codes li').length === 10")
		look("codes")
		p.tab.Go(p.base + "/security")
		look("security-all")
		w.clock.Advance(core.ProofLife)
		p.tab.Go(p.base + "/security")
		p.at("/step-up")
		look("step-up")
		p.tab.Type(password)
		p.tab.Press("Tab")
		p.tab.Type("000000")
		p.tab.Press("Enter")
		p.tab.Wait("document.querySelector('#code-error') !== null")
		look("step-up-wrong")
		p.signOut()
		p.tab.Go(p.base + "/sign-in")
		look("sign-in-ways")
		p.tab.Type(email)
		p.tab.Press("Tab")
		p.tab.Type(password)
		p.tab.Press("Enter")
		p.at("/sign-in/code")
		look("code")
		p.tab.Type(device.code(0))
		p.tab.Press("Enter")
		p.at("/")
		p.signOut()
		p.device.SetUserVerified(false)
		p.trySignIn()
		p.tab.Wait("document.querySelector('#trouble')?.hidden === false")
		look("passkey")
	}
}
