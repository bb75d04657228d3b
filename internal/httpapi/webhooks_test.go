package httpapi_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/store"
)

const webhooksPath = "/api/account/webhooks"

// changedWebhooks reads and changes one webhook.
func changedWebhooks(t *testing.T, w *testServer) {
	p, other := w.user(t, core.PlanOpen).accountKey(), w.user(t, core.PlanOpen).accountKey()
	made := p.post(webhooksPath, object{"url": "https://hooks.example/a"}).ok(t)
	one := webhooksPath + "/" + made.str("webhook", "id")
	change := func(body string) answer { return p.send("PATCH", one, body).ok(t) }
	if a := change(`{"active":false}`); a.value("webhook", "disabledAt") == nil {
		t.Errorf("disabled: %s", a.body)
	}
	a := change(`{"url":" https://hooks.example/b ","events":["turn.failed"],"active":true}`)
	if a.str("webhook", "url") != "https://hooks.example/b" || a.value("webhook", "disabledAt") != nil ||
		a.value("webhook", "secret") != nil {
		t.Errorf("changed: %s", a.body)
	}
	if got := p.get(one).ok(t); string(got.body) != string(a.body) {
		t.Errorf("read %s after %s", got.body, a.body)
	}
	if got := change(`{}`); string(got.body) != string(a.body) {
		t.Errorf("without fields: %s", got.body)
	}
	for body, pointer := range map[string]string{
		`{"url":"ftp://hooks.example"}`: "/url", `{"url":""}`: "/url", `{"events":[]}`: "/events", `{"active":1}`: "/active",
	} {
		if a := p.send("PATCH", one, body); a.status != http.StatusBadRequest || !strings.Contains(string(a.body), pointer) {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	for _, a := range []answer{other.get(one), other.send("PATCH", one, `{"active":false}`), p.get(one + "0")} {
		if a.status != http.StatusNotFound {
			t.Errorf("another user: %d %s", a.status, a.body)
		}
	}
}

func TestWebhooks(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"WebhookIsCreatedListedAndDeleted", webhookLife},
		{"WebhookIsReadAndChanged", changedWebhooks},
		{"WebhooksNeedTheScope", webhookScope},
		{"ConnectedProgramsManageTheirOwnWebhooks", webhookClients},
		{"WebhooksOfOtherUsersAreNotFound", webhookOwners},
		{"InvalidWebhooksAreRefused", badWebhooks},
		{"LimitOfTwentyWebhooks", webhookLimit},
		{"RetryReturnsTheSameWebhookAndSecret", webhookOnce},
		{"PrivateAddressesAreNotReached", webhookPrivate},
	})
}

// owner returns a user whose key has the account scope.
func (w *testServer) owner(t *testing.T) *testUser {
	t.Helper()
	p := w.user(t, core.PlanOpen)
	return p.with(p.key(credential.NewKey{
		Name: "account", Scopes: []core.Scope{core.ScopeAgents, core.ScopeManage, core.ScopeAccount},
	}))
}

func webhookLife(t *testing.T, w *testServer) {
	p := w.owner(t)
	if got := p.get(webhooksPath).ok(t); string(got.body) != `{"webhooks":[]}` {
		t.Errorf("at first: %s", got.body)
	}
	made := p.post(webhooksPath, `{"url":"https://example.org/hook"}`).ok(t)
	id, secret := made.str("webhook", "id"), made.str("webhook", "secret")
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) != 32 || !core.IsID("whk", id) {
		t.Errorf("made %s", made.body)
	}
	if got := made.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q", got)
	}
	other := p.post(webhooksPath,
		`{"url":"https://example.org/other","events":["turn.failed"]}`).ok(t).str("webhook", "id")
	list := p.get(webhooksPath).ok(t)
	at := made.str("webhook", "createdAt")
	want := fmt.Sprintf(`{"webhooks":[{"id":"%s","url":"https://example.org/other","events":["turn.failed"],"createdAt":"%s"},`+
		`{"id":"%s","url":"https://example.org/hook","events":["turn.completed","turn.failed"],"createdAt":"%s"}]}`,
		other, at, id, at)
	if string(list.body) != want {
		t.Errorf("listed %s\nwant %s", list.body, want)
	}
	if got := p.get(webhooksPath, "If-None-Match", list.header.Get("ETag")); got.status != http.StatusNotModified {
		t.Errorf("with its tag the list is %d", got.status)
	}
	p.send("DELETE", webhooksPath+"/"+id, "").ok(t)
	p.send("DELETE", webhooksPath+"/"+id, "").refused(t, 404, "not_found")
	if got := p.get(webhooksPath).list("webhooks", "id"); !slices.Equal(got, []string{other}) {
		t.Errorf("left %v", got)
	}
}

func webhookScope(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	q := p.with(p.key(credential.NewKey{Name: "manager", Scopes: []core.Scope{core.ScopeManage}}))
	for _, a := range []answer{
		q.get(webhooksPath), q.post(webhooksPath, `{"url":"https://example.org"}`),
		q.send("DELETE", webhooksPath+"/whk_x", ""), q.send("POST", webhooksPath+"/whk_x/test", ""),
		q.get(webhooksPath + "/whk_x/deliveries"), q.send("POST", webhooksPath+"/whk_x/deliveries/whd_x/redeliver", ""),
	} {
		a.refused(t, 403, "insufficient_scope")
		if got := a.header.Get("WWW-Authenticate"); !strings.Contains(got, `scope="agents"`) {
			t.Errorf("the challenge is %q", got)
		}
	}
}

// webhookClients manages webhooks with the credentials of connected programs, which see only their own.
func webhookClients(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	account := p.accountKey()
	granted, _ := p.granted()
	limited := p.with(p.key(credential.NewKey{
		Name: "limited", Scopes: []core.Scope{core.ScopeAgents, core.ScopeAccount}, Agents: []string{p.agent},
	}))
	clients := map[string]*testUser{"minted": p.connect("editor"), "oauth": granted, "key": p}
	limited.get(webhooksPath).refused(t, 403, "limited_to_agents")
	limited.post(webhooksPath, `{"url":"https://example.org/own"}`).refused(t, 403, "limited_to_agents")
	whole := account.post(webhooksPath, `{"url":"https://example.org/whole"}`).ok(t).str("webhook", "id")
	for name, q := range clients {
		made := q.post(webhooksPath, `{"url":"https://example.org/own"}`).ok(t).str("webhook", "id")
		if got := q.get(webhooksPath).list("webhooks", "id"); !slices.Equal(got, []string{made}) {
			t.Errorf("%s sees %v", name, got)
		}
		q.post(webhooksPath, `{"url":"https://example.org","events":["spend.near"]}`).refused(t, 400, "invalid_request")
		one := webhooksPath + "/" + whole
		for _, a := range []answer{
			q.get(one), q.send("PATCH", one, `{"active":false}`), q.send("POST", one+"/test", ""),
			q.get(one + "/deliveries"), q.send("DELETE", one, ""),
			q.send("POST", one+"/deliveries/"+core.NewID(core.PrefixDelivery)+"/redeliver", ""),
		} {
			a.refused(t, 404, "not_found")
		}
		if got := account.get(webhooksPath+"/"+made).ok(t).str("webhook", "credentialId"); got == "" {
			t.Errorf("%s: the account does not see who created the webhook", name)
		}
		q.get(webhooksPath + "/" + made + "/deliveries").ok(t)
		q.send("PATCH", webhooksPath+"/"+made, `{"active":false}`).ok(t)
		q.send("DELETE", webhooksPath+"/"+made, "").ok(t)
	}
	// Revoking the connection deletes its webhooks.
	editor := p.connect("another editor")
	gone := editor.post(webhooksPath, `{"url":"https://example.org"}`).ok(t)
	id := account.get(webhooksPath+"/"+gone.str("webhook", "id")).ok(t).str("webhook", "credentialId")
	account.send("DELETE", "/api/account/connections/"+id, "").ok(t)
	if got := account.get(webhooksPath).list("webhooks", "id"); !slices.Equal(got, []string{whole}) {
		t.Errorf("after the connection was revoked there are %v", got)
	}
}

func webhookOwners(t *testing.T, w *testServer) {
	p, stranger := w.owner(t), w.owner(t)
	path := webhooksPath + "/" + p.post(webhooksPath, `{"url":"https://example.org"}`).ok(t).str("webhook", "id")
	stranger.send("DELETE", path, "").refused(t, 404, "not_found")
	stranger.send("POST", path+"/test", "").refused(t, 404, "not_found")
	if got := stranger.get(webhooksPath).ok(t); string(got.body) != `{"webhooks":[]}` {
		t.Errorf("a stranger sees %s", got.body)
	}
	p.send("DELETE", path, "").ok(t)
}

func badWebhooks(t *testing.T, w *testServer) {
	p := w.owner(t)
	for body, pointers := range map[string][]string{
		`{}`:                               {"/url"},
		`{"url":1}`:                        {"/url"},
		`{"url":""}`:                       {"/url"},
		`{"url":"http://examplsent.test"}`: {"/url"},
		`{"url":"https://u:p@sent.test"}`:  {"/url"},
		`{"url":"https://127.0.0.1"}`:      {"/url"},
		`{"url":"https://sent.test#f"}`:    {"/url"},
		`{"url":"x","events":[]}`:          {"/url", "/events"},
		`{"url":"https://sent.test","events":"turn.failed"}`:      {"/events"},
		`{"url":"https://sent.test","events":["turn.cancelled"]}`: {"/events/0"},
		`{"url":"https://sent.test","events":[1]}`:                {"/events"},
	} {
		a := p.post(webhooksPath, body).refused(t, 400, "invalid_request")
		if got := a.pointers(); !slices.Equal(got, pointers) {
			t.Errorf("%s: %v, want %v: %s", body, got, pointers, a.body)
		}
		if strings.Contains(string(a.body), "sent.test") {
			t.Errorf("%s is repeated: %s", body, a.body)
		}
	}
}

func webhookLimit(t *testing.T, w *testServer) {
	p := w.owner(t)
	for range 20 {
		p.post(webhooksPath, `{"url":"https://example.org"}`).ok(t)
	}
	p.post(webhooksPath, `{"url":"https://example.org"}`).refused(t, 409, "conflict")
}

func webhookOnce(t *testing.T, w *testServer) {
	p := w.owner(t)
	const body = `{"url":"https://example.org"}`
	first := p.post(webhooksPath, body, "Idempotency-Key", "once").ok(t)
	again := p.post(webhooksPath, body, "Idempotency-Key", "once").ok(t)
	if string(first.body) != string(again.body) || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("first %s\nagain %s", first.body, again.body)
	}
	p.post(webhooksPath, `{"url":"https://example.net"}`,
		"Idempotency-Key", "once").refused(t, 422, "idempotency_mismatch")
	// After a crash between storing the webhook and storing its reply, a retry finds it with the same secret.
	w.claims.hook(&w.claims.beforeFinish, "crash "+p.id, func() error { return fmt.Errorf("crash") })
	p.post(webhooksPath, body, "Idempotency-Key", "crash "+p.id).refused(t, 500, "internal")
	if got := p.get(webhooksPath).list("webhooks", "id"); len(got) != 2 {
		t.Errorf("%d webhooks", len(got))
	}
	// The stored reply does not contain the secret in plain text.
	now := w.clock.Now()
	rec, _, err := w.db.ClaimIdempotency(t.Context(), p.id, "once", []byte("another"), "", now, now)
	if err != nil || rec.Status != 200 || strings.Contains(string(rec.Body), "whsec") {
		t.Errorf("kept %d %q (%v)", rec.Status, rec.Body, err)
	}
}

// webhookPrivate registers a host name with a private address. It is accepted, but no request is sent there.
func webhookPrivate(t *testing.T, w *testServer) {
	var hits atomic.Int32
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(inside.Close)
	p := w.owner(t)
	address := strings.Replace(inside.URL, "127.0.0.1", "localhost", 1)
	id := p.post(webhooksPath, object{"url": address}).ok(t).str("webhook", "id")
	got := p.send("POST", webhooksPath+"/"+id+"/test", "").ok(t)
	if string(got.body) != `{"delivered":false,"detail":"The host of this webhook has no public address."}` {
		t.Errorf("got %s", got.body)
	}
	if hits.Load() != 0 {
		t.Error("it was reached")
	}
}

// A delivery is verified with the official library and listed. The secret is in the first reply only, and neither in
// the log nor in the database.
func TestWebhooksAreDelivered(t *testing.T) {
	t.Parallel()
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deliverWebhooks(t, open(t))
		})
	}
}

func deliverWebhooks(t *testing.T, db *store.DB) {
	w := newServer(t, db, "outbound-private", "on")
	w.clock.Set(time.Now()) // the library checks the timestamp
	type request struct {
		header http.Header
		body   []byte
	}
	requests := make(chan request, 10)
	var status atomic.Int32
	status.Store(http.StatusOK)
	receiver := httptest.NewServer(http.HandlerFunc(func(res http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		requests <- request{req.Header, body}
		res.WriteHeader(int(status.Load()))
		_, _ = io.WriteString(res, "an answer that nobody reads")
	}))
	t.Cleanup(receiver.Close)
	p := w.owner(t)
	made := p.post(webhooksPath, object{"url": receiver.URL + "/hook"}).ok(t)
	id, secret := made.str("webhook", "id"), made.str("webhook", "secret")
	official, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	replies := ""
	send := func(method, path, body string) answer {
		t.Helper()
		a := p.send(method, path, body).ok(t)
		replies += string(a.body)
		return a
	}
	tested := send("POST", webhooksPath+"/"+id+"/test", "")
	if string(tested.body) != `{"delivered":true,"status":200}` {
		t.Errorf("tested: %s", tested.body)
	}
	thread := p.newThread("T")
	sent := send("POST", p.at("/threads/"+thread+"/messages"), `{"text":"hi"}`)
	for _, want := range []string{
		`"type":"webhook.test"`, `"turnId":"` + sent.str("turnId") + `","messageId":"` + sent.str("messageId") + `"`,
	} {
		got := <-requests
		if err := official.Verify(got.body, got.header); err != nil {
			t.Errorf("%v: %s", err, got.body)
		}
		if !strings.Contains(string(got.body), want) {
			t.Errorf("got %s, want %s", got.body, want)
		}
	}
	// The receiver gets the delivery before its result is stored; wait for that.
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		active, err := db.Tasks(t.Context(), "", 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(active) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still at work after 30 s: %+v", active)
		}
	}
	status.Store(http.StatusGone)
	gone := send("POST", webhooksPath+"/"+id+"/test", "")
	if gone.value("delivered") != false || gone.value("status") != 410.0 || gone.str("detail") == "" {
		t.Errorf("tested: %s", gone.body)
	}
	list := send("GET", webhooksPath, "")
	hooks, _ := list.value("webhooks").([]any)
	hook, _ := hooks[0].(object)
	last, _ := hook["lastDelivery"].(object)
	if hook["disabledAt"] == nil || last["status"] != 410.0 || last["error"] != gone.str("detail") ||
		last["at"] != timestampOf(w) {
		t.Errorf("listed %s", list.body)
	}
	send("DELETE", webhooksPath+"/"+id, "")
	w.stop()
	for what, text := range map[string]string{"a reply": replies, "the log": w.log.String()} {
		if strings.Contains(text, "whsec") || strings.Contains(text, strings.TrimPrefix(secret, "whsec_")) {
			t.Errorf("%s holds the secret", what)
		}
	}
	if strings.Contains(w.log.String(), receiver.URL) {
		t.Error("the log holds the address, which may hold a secret of its own")
	}
}

// timestampOf returns the clock's time in the format of replies.
func timestampOf(w *testServer) string { return w.clock.Now().Format("2006-01-02T15:04:05.000Z07:00") }
