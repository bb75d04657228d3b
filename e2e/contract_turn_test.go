package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"carrel/internal/testkit"
)

// turns runs scripted turns with every outcome on a server with its own database; an empty URL means SQLite.
func (w *installation) turns(t *testing.T, database string) {
	s := &installation{checker: w.checker, client: w.client, statuses: w.statuses}
	s.server = testkit.StartServer(t, testkit.ServerOptions{
		Database: database, Binary: testkit.Build(t, "carrel/e2e/slowserver"),
		Env: []string{"CARREL_RATE_LIMITS=off", "CARREL_TURNS_PER_USER=1"},
	})
	s.admin(t, "user", "create", "--email", "ada@example.org", "--name", "Ada", "--password", "correct horse battery")
	s.agent = s.admin(t, "agent", "create", "--user", "ada@example.org", "--name", "Landmarks").text("agent", "id")
	s.key = s.admin(t, "key", "create", "--user", "ada@example.org", "--name", "test").text("key")
	s.thread = s.do(t, "POST", s.below("/threads"), "").text("thread", "id")
	s.workingTurn(t)
	s.cancelledTurn(t)
	s.failedTurns(t)
	s.citedTurn(t)
	s.followedTurn(t)
	s.versions(t)
	s.queuedTurn(t)
	s.server.Stop() // the steps that break the database do not concern it
}

func (w *installation) inThread(path string) string { return w.below("/threads/" + w.thread + path) }

// message returns a call that sends a message.
func (w *installation) message(text string) call {
	return call{method: "POST", path: w.inThread("/messages"), body: `{"text": "` + text + `"}`, key: w.key}
}

// workingTurn sends a message, observes its running turn, and reads the reply when it is complete.
func (w *installation) workingTurn(t *testing.T) {
	text := "steps 2; stumble; stream Hello there; slow 2s"
	accepted := w.send(t, w.message(text).with("Prefer", "respond-async"), http.StatusAccepted)
	again := w.send(t, w.message(text).with("Prefer", "wait=0"), http.StatusAccepted)
	if accepted.text("turnId") != again.text("turnId") || accepted.header.Get("Location") != w.inThread("/messages") {
		t.Errorf("accepted %v, then %v", accepted.body, again.body)
	}
	w.problem(t, w.message("another"), http.StatusConflict, "turn_working")
	if got := w.do(t, "GET", w.inThread(""), ""); got.text("thread", "status") != "working" {
		t.Errorf("the thread is %v", got.body)
	}
	read := w.do(t, "GET", w.inThread("/messages"), "")
	partial := 0
	for end := time.Now().Add(testkit.Patience); read.text("status") == "working" && time.Now().Before(end); {
		if read.at("turn", "partialText") != nil && read.text("turn", "steps", 2, "state") == "failed" {
			partial++
		}
		poll := call{method: "GET", path: w.inThread("/messages"), key: w.key}.with("Prefer", "wait=1").
			with("If-None-Match", read.header.Get("ETag"))
		if status, news := w.try(t, poll); status == http.StatusOK {
			read = news
		}
	}
	if read.text("messages", 1, "text") != "Hello there" || partial == 0 {
		t.Errorf("in the end there is %v, and %d times a part of it", read.body, partial)
	}
}

func (w *installation) cancelledTurn(t *testing.T) {
	path := w.inThread("/cancel")
	waiting := make(chan int, 1)
	go func() {
		status, _, _, err := w.exchange(t.Context(), w.message("slow 1m"))
		if err != nil {
			t.Error(err)
		}
		waiting <- status
	}()
	for end := time.Now().Add(testkit.Patience); w.do(t, "POST", path, "").
		at("cancelled") != true; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("there was nothing to cancel")
		}
	}
	if status := <-waiting; status != http.StatusConflict {
		t.Errorf("who waited got %d", status)
	}
	w.do(t, "GET", w.inThread("/messages"), "")
}

// versions asks a question in three versions and selects each of them.
func (w *installation) versions(t *testing.T) {
	w.thread = w.do(t, "POST", w.below("/threads"), "").text("thread", "id")
	question := ""
	for _, text := range []string{"one", "two", "three"} {
		body := `{"text": "` + text + `"}`
		if question != "" {
			body = `{"text": "` + text + `", "versionOf": "` + question + `"}`
		}
		w.do(t, "POST", w.inThread("/messages"), body)
		question = w.do(t, "GET", w.inThread("/messages"), "").text("messages", 0, "id")
	}
	for number := 3.0; number > 0; number-- {
		read := w.do(t, "GET", w.inThread("/messages"), "")
		if read.at("messages", 0, "versions", "number") != number || read.at("messages", 2) != nil {
			t.Errorf("version %v is %v", number, read.body)
		}
		if number > 1 {
			w.do(t, "POST", w.inThread("/messages/"+read.text("messages", 0, "versions", "previousId")+"/select"), "")
		}
	}
	selected := w.inThread("/messages/" + question + "/select")
	w.do(t, "POST", w.inThread("/messages/"+question+"/select"), "")
	w.send(t, w.message("slow 1m").with("Prefer", "respond-async"), http.StatusAccepted)
	w.problem(t, call{method: "POST", path: selected, key: w.key}, http.StatusConflict, "turn_working")
	w.problem(t, call{method: "PUT", path: selected, key: w.key}, 405, "method_not_allowed")
	read := w.do(t, "GET", w.inThread("/messages"), "")
	w.problem(t, call{method: "DELETE", path: w.inThread("/messages/" + read.text("messages", 2, "id")), key: w.key},
		http.StatusConflict, "turn_working")
	w.do(t, "POST", w.inThread("/cancel"), "")
	w.do(t, "DELETE", w.inThread("/messages/"+question), "")
	w.problem(t, call{method: "DELETE", path: w.inThread("/messages/" + question), key: w.key}, 404, "not_found")
}

// queuedTurn sends messages in two threads; the second one waits for the first.
func (w *installation) queuedTurn(t *testing.T) {
	var threads []string
	for range 2 {
		w.thread = w.do(t, "POST", w.below("/threads"), "").text("thread", "id")
		threads = append(threads, w.thread)
		w.send(t, w.message("slow 1m").with("Prefer", "respond-async"), http.StatusAccepted)
	}
	// The first turn may still wait for its start.
	read := w.pollUntil(t, func(read reply) bool { return read.at("turn", "queuePosition") == 0.0 })
	if read.text("status") != "working" {
		t.Errorf("a waiting turn is %v", read.body)
	}
	for _, w.thread = range threads {
		if got := w.do(t, "POST", w.inThread("/cancel"), ""); got.at("cancelled") != true {
			t.Errorf("cancelled: %v", got.body)
		}
	}
}

func (w *installation) failedTurns(t *testing.T) {
	w.problem(t, w.message("stream Half; fail"), http.StatusBadGateway, "model_failed")
	w.problem(t, w.message("fail timeout"), http.StatusGatewayTimeout, "model_timeout")
	w.problem(t, w.message("panic"), http.StatusInternalServerError, "internal")
	read := w.do(t, "GET", w.inThread("/messages"), "")
	if m, _ := read.at("messages", 5).(map[string]any); m["status"] != "failed" || m["text"] != "Half" {
		t.Errorf("read %v", read.body)
	}
	w.do(t, "POST", w.inThread("/messages"), `{"text": "Hello"}`)
}

func (w *installation) followedTurn(t *testing.T) {
	w.send(t, w.message("Stream it").with("Accept", "text/event-stream"), http.StatusOK)
	for _, id := range []string{"0.0", "2.1"} {
		w.send(t, call{method: "GET", path: w.inThread("/events?until=done"), key: w.key}.with("Last-Event-ID", id),
			http.StatusOK)
	}
	w.send(t, call{method: "HEAD", path: w.inThread("/events"), key: w.key}, http.StatusOK)
	w.problem(t, call{method: "GET", path: w.inThread("/events?until=never"), key: w.key}, 400, "invalid_request")
	w.problem(t, call{method: "PUT", path: w.inThread("/events"), key: w.key}, 405, "method_not_allowed")
	w.problem(t, call{method: "GET", path: w.inThread("/cancel"), key: w.key}, 405, "method_not_allowed")
	_, body, _, err := w.exchange(t.Context(),
		call{method: "GET", path: w.inThread("/events?until=done"), key: w.key}.with("Last-Event-ID", "0.0"))
	for _, kind := range []string{"step", "delta", "done"} {
		if err != nil || !strings.Contains(string(body), "\nevent: "+kind+"\n") {
			t.Errorf("there is no %s in %s (%v)", kind, body, err)
		}
	}
}
