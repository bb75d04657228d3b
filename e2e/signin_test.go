package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"carrel/internal/testkit"
)

// person is a user with a browser.
type person struct {
	t      *testing.T
	base   string
	client *http.Client
}

func newPerson(t *testing.T, base string) person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := person{t: t, base: base, client: &http.Client{Jar: jar, Transport: &http.Transport{}}}
	t.Cleanup(p.client.CloseIdleConnections)
	return p
}

// see opens a page and returns its content and its path after redirects.
func (p person) see(path string) (body, at string) {
	p.t.Helper()
	resp, err := p.client.Get(p.base + path)
	return p.read(resp, err)
}

// send submits a form like a browser.
func (p person) send(path string, pairs ...string) (body, at string) {
	p.t.Helper()
	fields := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		fields.Set(pairs[i], pairs[i+1])
	}
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.base+path, strings.NewReader(fields.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	resp, err := p.client.Do(req)
	return p.read(resp, err)
}

func (p person) read(resp *http.Response, err error) (body, at string) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b), resp.Request.URL.Path
}

// TestSignInFromFirstStartToDisabledAccount covers accounts from the first start to a disabled account, on both
// databases, with the admin commands, and then searches the server's output for secrets.
func TestSignInFromFirstStartToDisabledAccount(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func() string{
		"sqlite": func() string { return "" }, "postgres": func() string { return testkit.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testkit.StartServer(t, testkit.ServerOptions{
				Data: t.TempDir(), Database: database(), Args: []string{"--log-level", "debug"},
			})
			code := s.SetupCode()
			const home = "/chat" // the page of the app after sign-in
			const email, password = "ada@example.org", "correct horse battery"
			ada := newPerson(t, s.URL)
			if _, at := ada.see("/sign-in"); at != "/setup" {
				t.Errorf("the first visitor is led to %s", at)
			}
			body, at := ada.send("/setup", "code", code, "name", "Ada", "email", email, "password", password)
			if at != "/start" {
				t.Fatalf("after the set-up, at %s: %s", at, body)
			}
			elsewhere := newPerson(t, s.URL)
			if body, _ := elsewhere.send("/sign-in", "email", email, "password",
				"a wrong password"); !strings.Contains(body, "Wrong e-mail address or password") {
				t.Errorf("with a wrong password: %s", body)
			}
			if body, at := elsewhere.send("/sign-in", "email", email, "password", password, "return", "/docs"); at != "/docs" {
				t.Errorf("signing in leads to %s: %s", at, body)
			}
			ada.send("/sign-out")
			if _, at := ada.see("/"); at == home {
				t.Error("signed out, and still in")
			}
			if _, at := elsewhere.see("/"); at != home {
				t.Error("signing out at one browser ends the other's session")
			}
			const second = "another long password"
			s.MustAdmin("user", "password", "--user", email, "--password", second)
			if _, at := elsewhere.see("/"); at == home {
				t.Error("a session outlives its password")
			}
			elsewhere.send("/sign-in", "email", email, "password", second)
			if _, at := elsewhere.see("/"); at != home {
				t.Error("the new password does not work")
			}
			s.MustAdmin("user", "disable", "--user", email)
			if _, at := elsewhere.see("/"); at == home {
				t.Error("a disabled account is still in")
			}
			checkAudit(t, s)
			for _, secret := range []string{password, second, "a wrong password", "crls_"} {
				if strings.Contains(s.Log(), secret) {
					t.Errorf("%q is in the log", secret)
				}
			}
		})
	}
}

// checkAudit reads the audit log and verifies it against an earlier head.
func checkAudit(t *testing.T, s *testkit.Server) {
	t.Helper()
	var log struct {
		Entries []struct {
			Event, Address string
			Seq            int64
		}
	}
	if err := json.Unmarshal([]byte(s.MustAdmin("audit", "list", "--json")), &log); err != nil {
		t.Fatal(err)
	}
	var events []string
	for _, e := range log.Entries {
		events = append(events, e.Event)
	}
	want := "user_disabled sign_in password_changed sign_out sign_in sign_in_failed set_up"
	if got := strings.Join(events, " "); got != want || log.Entries[6].Address != "127.0.0.1" {
		t.Errorf("the audit log holds %s, want %s", got, want)
	}
	noted := regexp.MustCompile(`\d+:[0-9a-f]{64}`).FindString(s.MustAdmin("audit", "verify"))
	s.MustAdmin("audit", "verify", "--noted", noted)
	if r := s.Admin("audit", "verify", "--noted", "7:"+strings.Repeat("0", 64)); r.Code != 1 ||
		!strings.Contains(r.Stderr, "entry 7 does not match the noted hash") {
		t.Errorf("another end: %d %s", r.Code, r.Stderr)
	}
}
