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

// picturesEnv names a folder for screenshots of all pages.
const picturesEnv = "CARREL_TEST_PICTURES"

var consent = oauth.ConsentPage{
	Client: "Claude Code", ClientHost: "127.0.0.1:5555", Account: email, Action: "/consent", Scopes: oauth.Scopes(),
	Fields: map[string]string{"request": "r1", "token": "t1"},
}

// screen is a window size, a theme and a language.
type screen struct {
	browser.Options
	language string
}

// screens cover both themes and both languages; German has the longer words, so it gets the narrowest window.
var screens = map[string]screen{
	"light":       {browser.Options{Width: 1280, Height: 800}, "en"},
	"dark":        {browser.Options{Width: 1280, Height: 800, Dark: true}, "de"},
	"phone":       {browser.Options{Width: 390, Height: 844}, "de"},
	"phone-dark":  {browser.Options{Width: 390, Height: 844, Dark: true}, "en"},
	"small-phone": {browser.Options{Width: 320, Height: 568}, "de"},
}

// open opens a tab with the screen's language chosen at the site.
func (s screen) open(b *browser.Browser, base string) *browser.Tab {
	tab := b.Open(s.Options)
	tab.Go(base + "/")
	if _, err := tab.Eval("document.cookie = 'carrel-language=" + s.language + "; path=/'"); err != nil {
		panic(err)
	}
	return tab
}

// checkPage checks the layout and language of a page, and writes a screenshot if picturesEnv is set.
func checkPage(t *testing.T, tab *browser.Tab, page, screen string) {
	t.Helper()
	if got := tab.Text("document.documentElement.lang"); got != screens[screen].language {
		t.Errorf("%s, %s: the page is in %q", page, screen, got)
	}
	if v, err := tab.Eval("document.documentElement.scrollWidth <= innerWidth"); err != nil || v != true {
		t.Errorf("%s, %s: the page is wider than the window (%v)", page, screen, err)
	}
	const styled = "document.styleSheets.length === 1 && " +
		"getComputedStyle(document.querySelector('h1')).fontSize === '24px'"
	if v, err := tab.Eval(styled); err != nil || v != true {
		t.Errorf("%s, %s: the style sheet is missing (%v)", page, screen, err)
	}
	if dir := os.Getenv(picturesEnv); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, page+"-"+screen+".png"), tab.Screenshot(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPagesInABrowser uses the set-up and sign-in pages with the keyboard only, on all screens and in both languages.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	for name, o := range screens {
		site := newEmptySite(t)
		site.mux.HandleFunc("GET /consent", func(rw http.ResponseWriter, r *http.Request) {
			p := consent
			p.RedirectTo = "http://127.0.0.1:5555/callback"
			site.app.Consent(rw, r, p)
		})
		site.mux.HandleFunc("GET /fail", func(rw http.ResponseWriter, r *http.Request) {
			site.app.Fail(rw, r, oauth.FailPage{
				Failure: oauth.FailClientDocument, Detail: "It could not be fetched from its URL.",
				Status: http.StatusBadRequest,
			})
		})
		tab := o.open(b, site.srv.URL)
		check := func(page string) {
			t.Helper()
			checkPage(t, tab, page, name)
		}
		at := func(path string) {
			tab.Wait("document.readyState === 'complete' && location.pathname === '" + path + "'")
		}
		tab.Go(site.srv.URL + "/")
		check("welcome-setup")
		tab.Go(site.srv.URL + "/sign-in")
		at("/setup")
		check("setup")
		tab.Type("wrong")
		tab.Press("Tab")
		tab.Type("Ada Lovelace")
		tab.Press("Tab")
		tab.Type(email)
		tab.Press("Tab")
		tab.Type(password)
		tab.Press("Enter")
		tab.Wait("document.readyState === 'complete' && document.querySelector('#code-error') !== null")
		check("setup-wrong")
		tab.Type(strings.ToLower(setupCode))
		tab.Press("Tab")
		tab.Press("Tab")
		tab.Press("Tab")
		tab.Type(password)
		tab.Press("Enter")
		at("/")
		if text := tab.Text("document.body.innerText"); !strings.Contains(text, "Ada Lovelace") {
			t.Fatalf("after the set-up: %s", text)
		}
		check("home")
		if c := sessionCookies(tab); len(c) != 1 || !c[0].HTTPOnly || c[0].SameSite != "Lax" || c[0].Name != "carrel" {
			t.Errorf("cookies: %+v", c)
		}
		tab.Go(site.srv.URL + "/consent")
		check("consent")
		tab.Go(site.srv.URL + "/fail")
		check("fail")
		tab.Go(site.srv.URL + "/")
		_, err := tab.Eval("document.querySelector('form button').focus()")
		if err != nil {
			t.Fatal(err)
		}
		tab.Press("Enter")
		tab.Wait(signedOut)
		check("welcome")
		tab.Go(site.srv.URL + "/sign-in")
		check("sign-in")
		tab.Type(email)
		tab.Press("Tab")
		tab.Type("not the password")
		tab.Press("Enter")
		tab.Wait("document.readyState === 'complete' && document.querySelector('[role=alert]') !== null")
		check("sign-in-wrong")
		tab.Type(password) // the focus is on the password field
		tab.Press("Enter")
		at("/")
	}
}

// Browsers apply the form-action policy of the consent page to every redirect after the form.
func TestConsentReachesTheClientInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	client := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = rw.Write([]byte("client got " + r.URL.Query().Get("code")))
	}))
	t.Cleanup(client.Close)
	for name, allow := range map[string]bool{"the client's address": true, "another address": false} {
		site := newSite(t)
		redirect := strings.Replace(client.URL, "127.0.0.1", "localhost", 1) + "/callback"
		site.mux.Handle("GET /consent", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			p := consent
			p.RedirectTo = redirect
			if !allow {
				p.RedirectTo = "http://localhost:1/callback"
			}
			site.app.Consent(rw, r, p)
		}))
		posted := make(chan url.Values, 1)
		site.mux.Handle("POST /consent", site.app.Guard(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			posted <- r.PostForm
			rw.Header().Set("Location", redirect+"?code=123")
			rw.WriteHeader(http.StatusSeeOther)
		})))
		tab := b.Open(browser.Options{Width: 800, Height: 800})
		tab.Go(site.srv.URL + "/consent")
		if _, err := tab.Eval(`
			addEventListener('securitypolicyviolation', e => { window.refused = e.violatedDirective });
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

// TestSignInSettingsInABrowser sets up every sign-in method through the pages, on all screens and in both languages.
func TestSignInSettingsInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	for name, o := range screens {
		site := newSite(t, onLocalhost)
		p := site.passkeyBrowser(b, o)
		check := func(page string) {
			t.Helper()
			checkPage(t, p.tab, page, name)
		}
		p.tab.Go(p.base + "/reset")
		check("reset")
		p.tab.Type("WRONG")
		p.tab.Press("Tab")
		p.tab.Type("another password")
		p.tab.Press("Enter")
		p.tab.Wait("document.querySelector('#code-error') !== null")
		check("reset-wrong")
		p.signIn()
		p.enrol("My own laptop with a rather long name")
		check("security")
		p.send("/security/totp")
		p.at("/security/totp")
		check("totp")
		device := site.authenticator(p.tab.Text("document.querySelector('.key').innerText"))
		p.tab.Type(device.code(0))
		p.tab.Press("Enter")
		p.tab.Wait("document.readyState === 'complete' && document.querySelectorAll('.codes li').length === 10")
		check("codes")
		p.tab.Go(p.base + "/security")
		check("security-all")
		site.clock.Advance(core.ProofLife)
		p.tab.Go(p.base + "/security")
		p.at("/step-up")
		check("step-up")
		p.tab.Type(password)
		p.tab.Press("Tab")
		p.tab.Type("000000")
		p.tab.Press("Enter")
		p.tab.Wait("document.querySelector('#code-error') !== null")
		check("step-up-wrong")
		p.signOut()
		p.tab.Go(p.base + "/sign-in")
		check("sign-in-ways")
		p.tab.Type(email)
		p.tab.Press("Tab")
		p.tab.Type(password)
		p.tab.Press("Enter")
		p.at("/sign-in/code")
		check("code")
		p.tab.Type(device.code(0))
		p.tab.Press("Enter")
		p.at("/")
		p.signOut()
		p.device.SetUserVerified(false)
		p.usePasskey()
		p.tab.Wait("document.querySelector('#trouble')?.hidden === false")
		check("passkey")
	}
}
