package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"carrel/internal/testkit"
)

// noInvitation has the form of an id and does not exist.
const noInvitation = "inv_00000000000000000000000000"

// peopleCalls returns a valid request for every operation on people and models that accepts a key.
func (w *installation) peopleCalls() []call {
	return []call{
		{operation: "listAccountInvitations", method: "GET", path: adminPath + "/invitations", key: w.adminKey},
		{
			operation: "revokeAccountInvitation",
			method:    "DELETE",
			path:      adminPath + "/invitations/" + noInvitation,
			key:       w.adminKey,
		},
		{operation: "getModels", method: "GET", path: adminPath + "/models", key: w.adminKey},
		{operation: "testModels", method: "POST", path: adminPath + "/models/test", key: w.adminKey},
	}
}

// peopleSessionCalls returns a request for every operation on people that requires a session, with an API key.
func (w *installation) peopleSessionCalls() []call {
	return []call{
		{
			operation: "createUser",
			method:    "POST",
			path:      adminPath + "/users",
			body:      `{"email": "new@example.org", "name": "New"}`,
			key:       w.adminKey,
		},
		{
			operation: "resetPassword",
			method:    "POST",
			path:      adminPath + "/users/" + w.member + "/reset",
			body:      `{}`,
			key:       w.adminKey,
		},
		{
			operation: "createAccountInvitation",
			method:    "POST",
			path:      adminPath + "/invitations",
			body:      `{}`,
			key:       w.adminKey,
		},
	}
}

// people creates accounts, resets and invitations with a session of the owner.
func (w *installation) people(t *testing.T) {
	office := w.browser(t, "ada@example.org").with("Origin", w.server.URL)
	post := func(path, body string) call {
		c := office
		c.method, c.path, c.body = "POST", adminPath+path, body
		return c
	}
	made := w.send(t, post("/users", `{"email": "lise@example.org", "name": "Lise", "role": "admin", "plan": "open"}`),
		http.StatusOK)
	link := made.text("reset", "url")
	if link != w.server.URL+"/reset#"+made.text("reset", "code") {
		t.Errorf("the link for the password is %s", link)
	}
	lise := newPerson(t, w.server.URL)
	if body, _ := lise.send("/reset", "code", made.text("reset", "code"), "password", "correct horse battery"); !strings.
		Contains(body, "Password changed") {
		t.Errorf("a created account gets no password: %s", body)
	}
	w.problem(t, post("/users", `{"email": "lise@example.org", "name": "Lise"}`), 409, "conflict")
	w.problem(t, post("/users", `{"email": "no address", "name": "", "plan": "no such plan"}`), 400, "invalid_request")
	for path, bodies := range map[string][2]string{
		"/users":                        {`{"email": "emmy@example.org", "name": "Emmy"}`, `{"email": "e@example.org", "name": "E"}`},
		"/users/" + w.member + "/reset": {`{}`, `{"clearFactors": true}`},
		"/invitations":                  {`{"role": "admin"}`, `{}`},
	} {
		first := post(path, bodies[0]).with("Idempotency-Key", "people"+strings.ReplaceAll(path, "/", "-"))
		w.send(t, first, http.StatusOK)
		w.send(t, first, http.StatusOK)
		first.body = bodies[1]
		w.problem(t, first, 422, "idempotency_mismatch")
	}
	w.problem(t, post("/users/"+noUser+"/reset", `{}`), 404, "not_found")
	w.problem(t, post("/users/"+w.owner+"/reset", `{}`), 409, "conflict")
	w.problem(t, post("/invitations", `{"email": "lise@example.org"}`), 409, "conflict")
	w.problem(t, post("/invitations", `{"days": 31}`), 400, "invalid_request")
	w.invitedPerson(t, post)
	w.run(t, "GET", "/models", "")
	w.problem(t, call{method: "POST", path: adminPath + "/models/test", key: w.adminKey}, 409, "conflict")
	w.models(t)
}

// invitedPerson invites a person, who creates an account, and revokes another invitation.
func (w *installation) invitedPerson(t *testing.T, post func(path, body string) call) {
	sent := w.send(t, post("/invitations", `{"email": "hedy@example.org", "role": "member", "plan": "open", "days": 3}`),
		http.StatusOK)
	if got := w.run(t, "GET", "/invitations", "").text("invitations", 0, "email"); got != "hedy@example.org" {
		t.Errorf("the first invitation is for %q", got)
	}
	hedy := newPerson(t, w.server.URL)
	join := func(email string) (body, at string) {
		return hedy.send("/join", "code", sent.text("code"), "name", "Hedy", "email", email,
			"password", "correct horse battery")
	}
	if body, at := join("other@example.org"); at != "/join" || !strings.Contains(body, "another address") {
		t.Errorf("an invitation accepts another address: %s %s", at, body)
	}
	if body, at := join("hedy@example.org"); at != "/start" {
		t.Errorf("after joining, at %s: %s", at, body)
	}
	if body, at := join("hedy@example.org"); at != "/join" || !strings.Contains(body, "used invitation") {
		t.Errorf("an invitation works twice: %s %s", at, body)
	}
	gone := w.send(t, post("/invitations", `{}`), http.StatusOK).text("invitation", "id")
	w.run(t, "DELETE", "/invitations/"+gone, "")
	w.problem(t, call{method: "DELETE", path: adminPath + "/invitations/" + gone, key: w.adminKey}, 404, "not_found")
}

// models tests a provider that has one of two configured models, and one that does not reply.
func (w *installation) models(t *testing.T) {
	provider := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer sk-secret-of-the-test" {
			http.Error(rw, "not authorized", http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprint(rw, `{"data": [{"id": "fake-1"}, {"id": "fake-3"}]}`) // the client may have gone
	}))
	t.Cleanup(provider.Close)
	s := &installation{checker: w.checker, client: w.client, statuses: w.statuses}
	s.server = testkit.StartServer(t, testkit.ServerOptions{Env: []string{
		"CARREL_MODEL=openai", "CARREL_MODEL_BASE_URL=" + provider.URL + "/v1", "CARREL_MODEL_API_KEY=sk-secret-of-the-test",
		"CARREL_MODEL_NAME=fake-1", "CARREL_MODEL_ALLOWED=fake-2", "CARREL_MODEL_PRICES=fake-1=2.5/10",
	}})
	s.admin(t, "user", "create", "--email", "ada@example.org", "--name", "Ada", "--password", "correct horse battery")
	s.adminKey = s.admin(t, "key", "create", "--user", "ada@example.org", "--name", "admin",
		"--scope", "admin").text("key")
	got := s.run(t, "GET", "/models", "")
	if fmt.Sprint(got.at("models", 0, "inMicros")) != "2.5e+06" || got.at("models", 1, "priced") != false {
		t.Errorf("the models are %v", got.body)
	}
	got = s.run(t, "POST", "/models/test", "")
	if got.at("ok") != false || got.text("missing", 0) != "fake-2" || got.text("models", 1) != "fake-3" {
		t.Errorf("the test says %v", got.body)
	}
	provider.Close()
	got = s.run(t, "POST", "/models/test", "")
	if got.at("ok") != false || got.at("status") != nil || strings.Contains(fmt.Sprint(got.body), provider.URL) {
		t.Errorf("without a provider the test says %v", got.body)
	}
	s.server.Stop()
}
