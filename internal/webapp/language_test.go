package webapp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"carrel/internal/oauth"
)

// getIn requests a page with an Accept-Language header.
func (s *site) getIn(language, path string, cookie *http.Cookie) answer {
	s.t.Helper()
	req := s.request(http.MethodGet, path, nil, cookie)
	req.Header.Set("Accept-Language", language)
	return s.do(req)
}

func TestPagesAreInTheLanguageOfTheBrowser(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	c := site.signIn()
	for path, want := range map[string]map[string]string{
		"/":         {"en": "Hello, Ada Lovelace", "de": "Hallo, Ada Lovelace"},
		"/sign-in":  {"en": "You are signed in as", "de": "angemeldet. Melden Sie sich erneut an"},
		"/reset":    {"en": "Choose a new password", "de": "Neues Passwort wählen"},
		"/security": {"en": "Sign-in settings", "de": "Anmeldung verwalten"},
		"/step-up":  {"en": "Confirm it’s you", "de": "Identität bestätigen"},
	} {
		for language, text := range want {
			got := site.getIn(language, path, c)
			if got.status != http.StatusOK || !strings.Contains(got.body, `<html lang="`+language+`">`) ||
				!strings.Contains(got.body, text) {
				t.Errorf("%s in %s: %d %s", path, language, got.status, got.body)
			}
			if got.header.Get("Vary") != "Accept-Language, Cookie" || got.header.Get("Content-Language") != language {
				t.Errorf("%s in %s: %v", path, language, got.header)
			}
		}
	}
	// The language that was chosen in the app has precedence.
	req := site.request(http.MethodGet, "/sign-in", nil, nil)
	req.Header.Set("Accept-Language", "en")
	req.AddCookie(&http.Cookie{Name: "carrel-language", Value: "de"})
	if got := site.do(req); !strings.Contains(got.body, `<html lang="de">`) {
		t.Errorf("with the cookie: %s", got.body)
	}
	empty := newEmptySite(t)
	if got := empty.getIn("de", "/setup", nil); !strings.Contains(got.body, "Einrichtungscode") {
		t.Errorf("set-up: %d %s", got.status, got.body)
	}
}

func TestFormErrorsAreInTheLanguageOfTheBrowser(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	c := site.signIn()
	post := func(path string, cookie *http.Cookie, pairs ...string) string {
		t.Helper()
		req := site.request(http.MethodPost, path, fieldsOf(pairs), cookie)
		req.Header.Set("Accept-Language", "de")
		return site.do(req).body
	}
	for _, try := range []struct {
		path   string
		cookie *http.Cookie
		pairs  []string
		want   string
	}{
		{"/sign-in", nil, nil, "Geben Sie Ihre E-Mail-Adresse ein."},
		{"/sign-in", nil, []string{"email", email, "password", "wrong"}, "E-Mail-Adresse oder Passwort falsch."},
		{
			"/reset", nil,
			[]string{"code", "x", "password", password},
			"Der Code ist unbekannt, abgelaufen oder schon benutzt.",
		},
		{"/step-up", c, []string{"password", "wrong"}, "Falsches Passwort."},
		{"/security/password", c, []string{"password", "short"}, "Das Passwort ist zu kurz"},
		{"/security/passkeys", c, nil, "Das ist nicht möglich"},
	} {
		if got := post(try.path, try.cookie, try.pairs...); !strings.Contains(got, try.want) {
			t.Errorf("%s: the page lacks %q: %s", try.path, try.want, got)
		}
	}
	for range 10 {
		post("/sign-in", nil, "email", email, "password", "wrong")
	}
	if got := post("/sign-in", nil, "email", email, "password", password); !strings.Contains(got,
		"Zu viele Versuche. Versuchen Sie es in 60 Sekunden erneut.") {
		t.Errorf("rate limit: %s", got)
	}
}

func TestOAuthPagesAreInTheLanguageOfTheBrowser(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	r := site.request(http.MethodGet, "/", nil, nil)
	r.Header.Set("Accept-Language", "de")
	rec := httptest.NewRecorder()
	p := consent
	p.Publisher = "publisher.example"
	site.app.Consent(rec, r, p)
	for _, want := range []string{
		"<title>Zugriff erlauben · Carrel</title>", "Darf <bdi>Claude Code</bdi> auf Ihr Carrel-Konto zugreifen?",
		"ungeprüft", "Ablehnen",
		`Die Beschreibung stammt von <b class="host">publisher.example</b>`,
		"Verbunden bleiben, bis Sie den Zugriff widerrufen",
	} {
		if !strings.Contains(rec.Body.String(), want) {
			t.Errorf("the consent page lacks %q: %s", want, rec.Body)
		}
	}
	for _, f := range oauth.Failures() {
		rec := httptest.NewRecorder()
		site.app.Fail(rec, r, oauth.FailPage{Failure: f, Detail: "Technical.", Status: http.StatusBadRequest})
		if body := rec.Body.String(); rec.Code != http.StatusBadRequest || strings.Contains(body, "fail.") ||
			!strings.Contains(body, `<span lang="en">Technical.</span>`) {
			t.Errorf("%s: %d %s", f, rec.Code, body)
		}
	}
}
