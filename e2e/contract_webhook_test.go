package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
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
		{operation: "deleteWebhook", method: "DELETE", path: one, key: w.accountKey},
		{operation: "testWebhook", method: "POST", path: one + "/test", key: w.accountKey},
	}
}

// account makes a call with the key for the account and expects 200.
func (w *installation) account(t *testing.T, method, path, body string) reply {
	t.Helper()
	return w.send(t, call{method: method, path: path, body: body, key: w.accountKey}, http.StatusOK)
}

func (w *installation) webhooks(t *testing.T) {
	type request struct {
		header http.Header
		body   []byte
	}
	requests := make(chan request, 10)
	var status atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(res http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		requests <- request{req.Header, body}
		res.WriteHeader(int(status.Load()))
	}))
	t.Cleanup(receiver.Close)
	made := w.account(t, "POST", webhooksPath, `{"url": "`+receiver.URL+`"}`)
	w.webhook = made.text("webhook", "id")
	official, err := standardwebhooks.NewWebhook(made.text("webhook", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	// received waits for the next delivery and verifies its signature.
	received := func(want string) {
		t.Helper()
		select {
		case r := <-requests:
			if err := official.Verify(r.body, r.header); err != nil || !strings.Contains(string(r.body), want) {
				t.Errorf("received %s (%v), want %s", r.body, err, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s did not come", want)
		}
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
	list := w.account(t, "GET", webhooksPath, "")
	if list.text("webhooks", 0, "disabledAt") == "" || list.at("webhooks", 0, "lastDelivery", "status") != 410.0 {
		t.Errorf("listed %v", list.body)
	}
	w.send(t, call{method: "GET", path: webhooksPath, key: w.accountKey}.with("If-None-Match", list.header.Get("ETag")),
		http.StatusNotModified)
	w.webhookLimits(t)
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
