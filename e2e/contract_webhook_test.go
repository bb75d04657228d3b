package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	webhooksPath = "/api/account/webhooks"
	// noWebhook has the form of a webhook id and does not exist.
	noWebhook = "whk_00000000000000000000000000"
	// noCollection has the form of a collection id and does not exist.
	noCollection = "col_00000000000000000000000000"
	// noSaved has the form of the id of a saved search and does not exist.
	noSaved = "sav_00000000000000000000000000"
)

// webhookCalls returns a valid request for every operation on webhooks, with the key that they need.
func (w *installation) webhookCalls() []call {
	one := webhooksPath + "/" + w.webhook
	return []call{
		{operation: "listWebhooks", method: "GET", path: webhooksPath, key: w.accountKey},
		{
			operation: "createWebhook",
			method:    "POST",
			path:      webhooksPath,
			body:      `{"url": "https://hooks.example"}`,
			key:       w.accountKey,
		},
		{operation: "getWebhook", method: "GET", path: one, key: w.accountKey},
		{operation: "changeWebhook", method: "PATCH", path: one, body: `{"active": false}`, key: w.accountKey},
		{operation: "deleteWebhook", method: "DELETE", path: one, key: w.accountKey},
		{operation: "testWebhook", method: "POST", path: one + "/test", key: w.accountKey},
		{operation: "listWebhookDeliveries", method: "GET", path: one + "/deliveries", key: w.accountKey},
		{
			operation: "redeliverWebhook", method: "POST", path: one + "/deliveries/" + w.delivery + "/redeliver",
			key: w.accountKey,
		},
	}
}

// account makes a call with the key for the account and expects 200.
func (w *installation) account(t *testing.T, method, path, body string) reply {
	t.Helper()
	return w.send(t, call{method: method, path: path, body: body, key: w.accountKey}, http.StatusOK)
}

// hookRequest is a request that a hookReceiver got.
type hookRequest struct {
	header http.Header
	body   []byte
}

// hookReceiver is a server that receives webhooks and replies with a status.
type hookReceiver struct {
	url      string
	requests chan hookRequest
	status   atomic.Int32
}

func newHookReceiver(t *testing.T) *hookReceiver {
	t.Helper()
	r := &hookReceiver{requests: make(chan hookRequest, 100)}
	r.status.Store(http.StatusNoContent)
	server := httptest.NewServer(http.HandlerFunc(func(res http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.requests <- hookRequest{req.Header, body}
		res.WriteHeader(int(r.status.Load()))
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// next returns the next request.
func (r *hookReceiver) next(t *testing.T, what string) hookRequest {
	t.Helper()
	select {
	case got := <-r.requests:
		return got
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s did not come", what)
		return hookRequest{}
	}
}

func (w *installation) webhooks(t *testing.T) {
	receiver := newHookReceiver(t)
	status := &receiver.status
	made := w.account(t, "POST", webhooksPath, `{"url": "`+receiver.url+`"}`)
	w.webhook = made.text("webhook", "id")
	official, err := standardwebhooks.NewWebhook(made.text("secret"))
	if err != nil {
		t.Fatal(err)
	}
	// received waits for the next delivery and verifies its signature.
	received := func(want string) {
		t.Helper()
		r := receiver.next(t, want)
		if err := official.Verify(r.body, r.header); err != nil || !strings.Contains(string(r.body), want) {
			t.Errorf("received %s (%v), want %s", r.body, err, want)
		}
		w.checker.CheckMessage(r.body)
	}
	status.Store(http.StatusNoContent)
	sent := w.do(t, "POST", w.below("/threads/"+w.thread+"/messages"), `{"text": "Who is told?"}`)
	received(`"turnId":"` + sent.text("turnId") + `"`)
	test := webhooksPath + "/" + w.webhook + "/test"
	for code, delivered := range map[int32]bool{200: true, 500: false} {
		status.Store(code)
		if got := w.account(t, "POST", test, ""); got.at("delivered") != delivered || got.at("status") != float64(code) {
			t.Errorf("%d: %v", code, got.body)
		}
		received(`"type":"webhook.test"`)
	}
	status.Store(http.StatusGone)
	w.account(t, "POST", test, "")
	received(`"type":"webhook.test"`)
	status.Store(http.StatusNoContent) // for messages that are delivered again later
	list := w.account(t, "GET", webhooksPath, "")
	if list.text("webhooks", 0, "disabledAt") == "" || list.at("webhooks", 0, "lastDelivery", "status") != 410.0 {
		t.Errorf("listed %v", list.body)
	}
	w.send(t, call{method: "GET", path: webhooksPath, key: w.accountKey}.with("If-None-Match", list.header.Get("ETag")),
		http.StatusNotModified)
	one := call{method: "GET", path: webhooksPath + "/" + w.webhook, key: w.accountKey}
	tag := w.send(t, one, http.StatusOK).header.Get("ETag")
	w.send(t, one.with("If-None-Match", tag), http.StatusNotModified)
	one.method, one.body = "PATCH", `{"events": ["turn.failed"], "active": true}`
	if got := w.send(t, one.with("If-Match", tag), http.StatusOK); got.at("webhook", "disabledAt") != nil {
		t.Errorf("changed %v", got.body)
	}
	one.body = `{"url": "ftp://hooks.example"}`
	w.problem(t, one, 400, "invalid_request")
	w.webhookLimits(t)
	w.webhookEvents(t)
}

// everyEvent lists the events that a webhook can subscribe to.
const everyEvent = `["turn.completed", "turn.failed", "import.completed", "import.failed", "source.synced",
	"source.failed", "share.created", "share.changed", "share.accepted", "share.revoked", "spend.near", "spend.reached"]`

// webhookEvents receives the events of imports, sources and shares.
func (w *installation) webhookEvents(t *testing.T) {
	receiver := newHookReceiver(t)
	made := w.account(t, "POST", webhooksPath, `{"url": "`+receiver.url+`", "events": `+everyEvent+`}`)
	one := webhooksPath + "/" + made.text("webhook", "id")
	w.account(t, "GET", one, "")
	received := func(events ...string) {
		t.Helper()
		var got []string
		for range events {
			r := receiver.next(t, strings.Join(events, ", "))
			w.checker.CheckMessage(r.body)
			got = append(got, decoded(t, r.body).text("type"))
		}
		slices.Sort(got)
		if slices.Sort(events); !slices.Equal(got, events) {
			t.Errorf("received %v, want %v", got, events)
		}
	}
	grant := w.below("/grants/guest@example.org")
	w.do(t, "PUT", grant, `{"grant": "viewer"}`)
	received("share.created")
	w.do(t, "PUT", grant, `{"grant": "user"}`)
	received("share.changed")
	w.do(t, "DELETE", grant, "")
	received("share.revoked")
	sources := w.below("/sources")
	feed := w.do(t, "POST", sources, `{"name": "Bucket", "kind": "s3", "secret": "hidden", "settings": {"bucket": "papers",
		"region": "eu-central-1", "endpoint": "http://127.0.0.1:1", "accessKeyId": "AKIAEXAMPLE"}}`).text("source", "id")
	received("import.failed", "source.failed")
	w.do(t, "DELETE", sources+"/"+feed, "")
	web := w.do(t, "POST", sources, `{"name": "Web", "kind": "web", "settings": {"urls": ["http://127.0.0.1:1/"]}}`).
		text("source", "id")
	received("import.completed", "source.synced")
	w.do(t, "DELETE", sources+"/"+web, "")
	w.account(t, "DELETE", one, "")
}

// webhookLog reads the deliveries of the webhook of a connected program in each state, and repeats one.
func (w *installation) webhookLog(t *testing.T) {
	receiver := newHookReceiver(t)
	own := func(method, path, body string) reply {
		t.Helper()
		return w.send(t, call{method: method, path: webhooksPath + path, body: body, key: w.key}, http.StatusOK)
	}
	id := own("POST", "", `{"url": "`+receiver.url+`"}`).text("webhook", "id")
	own("GET", "", "")
	one := "/" + id
	ask := func() {
		t.Helper()
		w.do(t, "POST", w.below("/threads/"+w.thread+"/messages"), `{"text": "Who is told?"}`)
		receiver.next(t, "a message")
	}
	// newest waits until the newest delivery has a state, and returns its id.
	newest := func(state string) string {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			list := own("GET", one+"/deliveries?limit=1", "")
			if list.text("deliveries", 0, "state") == state && list.at("deliveries", 0, "attempts", 0) != nil {
				return list.text("deliveries", 0, "id")
			}
		}
		t.Fatalf("no delivery is %s", state)
		return ""
	}
	ask()
	first := newest("delivered")
	redeliver := call{method: "POST", path: webhooksPath + one + "/deliveries/" + first + "/redeliver", key: w.key}
	again := w.send(t, redeliver.with("Idempotency-Key", "again"), http.StatusOK)
	if got := receiver.next(t, "the repeated message").header.Get("webhook-id"); got != first ||
		again.text("delivery", "messageId") != first {
		t.Errorf("repeated as %s: %v", got, again.body)
	}
	receiver.status.Store(http.StatusInternalServerError)
	ask()
	pending := newest("pending")
	w.problem(t, call{
		method: "POST", path: webhooksPath + one + "/deliveries/" + pending + "/redeliver", key: w.key,
	}, 409, "conflict")
	own("PATCH", one, `{"active": false}`)
	newest("cancelled")
	own("PATCH", one, `{"active": true}`)
	receiver.status.Store(http.StatusGone)
	ask()
	newest("failed")
	list := call{method: "GET", path: webhooksPath + one + "/deliveries", key: w.key}
	w.send(t, list.with("If-None-Match", w.send(t, list, http.StatusOK).header.Get("ETag")), http.StatusNotModified)
	w.problem(t, call{method: "GET", path: list.path + "?cursor=x", key: w.key}, 400, "invalid_request")
	w.problem(t, call{method: "GET", path: list.path, key: w.oneAgentKey}, 403, "limited_to_agents")
	missing := call{method: "GET", path: webhooksPath + "/whk_01k9zq7m4x8v2n6b3c5d7f9h1j/deliveries", key: w.key}
	w.problem(t, missing, 404, "not_found")
	own("DELETE", one, "")
	w.delivery = w.account(t, "GET", webhooksPath+"/"+w.webhook+"/deliveries", "").text("deliveries", 0, "id")
}

func (w *installation) webhookLimits(t *testing.T) {
	create := call{
		method: "POST",
		path:   webhooksPath,
		key:    w.accountKey,
		body:   `{"url": "https://hooks.example", "events": ["turn.failed"]}`,
	}
	var made []string
	for range 19 {
		made = append(made, w.send(t, create, http.StatusOK).text("webhook", "id"))
	}
	w.problem(t, create, 409, "conflict")
	for _, id := range made {
		w.account(t, "DELETE", webhooksPath+"/"+id, "")
	}
	for i, body := range []string{
		`{}`, `{"url": "ftp://hooks.example"}`, `{"url": "https://hooks.example", "events": []}`,
		`{"url": "https://169.254.169.254"}`,
	} {
		create.body = body
		w.problem(t, create.with("Idempotency-Key", "bad-webhook-"+strconv.Itoa(i)), 400, "invalid_request")
	}
}
