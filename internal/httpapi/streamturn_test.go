package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"carrel/internal/task"
	"carrel/internal/thread"
)

const wantEvents = "text/event-stream"

func TestMessageWithAStream(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"EventsOfTheTurnAreTheReply", streamedTurn},
		{"SameTextJoinsTheTurnFromItsStart", joinedStream},
		{"RepeatedMessageGetsTheEnd", repeatedStream},
		{"FailureIsTheLastEvent", failedStream},
		{"RefusalIsAProblem", refusedStream},
		{"JSONIsPreferred", acceptsBoth},
	})
}

func kinds(body []byte) string {
	var out []string
	for line := range strings.SplitSeq(string(body), "\n") {
		if kind, ok := strings.CutPrefix(line, "event: "); ok {
			out = append(out, kind)
		}
	}
	return strings.Join(out, " ")
}

func streamedTurn(t *testing.T, w *testServer) {
	c := w.talk(t)
	c.say("Earlier").ok(t)
	s := w.scene(t)
	s.goOn()
	got := c.say(s.text, "Accept", wantEvents).ok(t)
	read := c.get(c.path("/messages")).ok(t)
	if kinds(got.body) != "step step step delta step done" && kinds(got.body) != "step step step delta delta step done" {
		t.Errorf("the events are %s", kinds(got.body))
	}
	if !strings.Contains(string(got.body), "id: 2.1\n") || strings.Contains(string(got.body), "id: 1.") ||
		!strings.Contains(string(got.body), `"messageId":"`+read.last()["id"].(string)+`"`) {
		t.Errorf("the stream is\n%s", got.body)
	}
	for name, value := range map[string]string{
		"Content-Type": wantEvents, "Cache-Control": "no-store", "Retry-After": "", "Location": c.path("/messages"),
	} {
		if got.header.Get(name) != value {
			t.Errorf("%s is %q", name, got.header.Get(name))
		}
	}
}

func joinedStream(t *testing.T, w *testServer) {
	c, s := w.talk(t), w.scene(t)
	c.say(s.text, "Prefer", "wait=0").working(t)
	<-s.began
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+c.path("/messages"),
		strings.NewReader(encode(t, object{"text": s.text})))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{
		"Authorization": {"Bearer " + c.token}, "Accept": {wantEvents}, "Content-Type": {"application/json"},
	}
	res, err := w.client.Do(req) // returns at the start of the stream
	if err != nil {
		t.Fatal(err)
	}
	s.goOn()
	f := &following{t: t, res: res, lines: bufio.NewScanner(res.Body), leave: func() { _ = res.Body.Close() }}
	defer f.close()
	var last event
	for e := range f.rest() {
		if last.id == "" && e.id != "1.1" {
			t.Errorf("the first event is %v", e)
		}
		last = e
	}
	if last.kind != task.EventDone {
		t.Errorf("the last event is %v", last)
	}
}

func repeatedStream(t *testing.T, w *testServer) {
	c := w.talk(t)
	first := c.say("Hello", "Idempotency-Key", "stream "+c.id).ok(t)
	c.say("Something else").ok(t)
	got := c.say("Hello", "Idempotency-Key", "stream "+c.id, "Accept", wantEvents).ok(t)
	want := "event: done\ndata: {\"messageId\":\"" + first.str("messageId") + "\",\"status\":\"complete\"}\n\n"
	if string(got.body) != want {
		t.Errorf("the stream is\n%s\nwant\n%s", got.body, want)
	}
}

func failedStream(t *testing.T, w *testServer) {
	c := w.talk(t)
	text := "fail " + c.id
	w.script(text, func(context.Context, *task.Run, thread.Question) (string, error) {
		return "", errors.New("broken")
	})
	got := c.say(text, "Accept", wantEvents).ok(t)
	if kinds(got.body) != "done" || !strings.Contains(string(got.body), `"status":"failed"`) {
		t.Errorf("the stream is\n%s", got.body)
	}
}

func refusedStream(t *testing.T, w *testServer) {
	c, s := w.talk(t), w.scene(t)
	if a := c.say("", "Accept", wantEvents); a.status != http.StatusBadRequest || a.str("code") != "invalid_request" {
		t.Errorf("an empty message: %d %s", a.status, a.body)
	}
	c.say(s.text, "Prefer", "wait=0").working(t)
	if a := c.say("Another", "Accept", wantEvents); a.status != http.StatusConflict || a.str("code") != "turn_working" {
		t.Errorf("during another turn: %d %s", a.status, a.body)
	}
	s.goOn()
	c.ended()
	c.id = "thr_01k9zq7m4x8v2n6b3c5d7f9h1j"
	if a := c.say("Hello", "Accept", wantEvents); a.status != http.StatusNotFound {
		t.Errorf("in an unknown thread: %d %s", a.status, a.body)
	}
}

func acceptsBoth(t *testing.T, w *testServer) {
	c := w.talk(t)
	for accept, events := range map[string]bool{
		"text/event-stream, application/json": false,
		"text/event-stream;q=0, */*":          false,
		"text/event-stream, */*;q=0.1":        true,
		"*/*":                                 false,
	} {
		a := c.say("Hello", "Accept", accept).ok(t)
		if got := strings.HasPrefix(a.header.Get("Content-Type"), wantEvents); got != events {
			t.Errorf("%s: the type is %s", accept, a.header.Get("Content-Type"))
		}
	}
}
