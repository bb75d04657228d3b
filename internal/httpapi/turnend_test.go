package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/thread"
)

func TestTurnEnds(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"FailureIsReportedAndStored", failedTurn},
		{"InvalidCharactersAreReplaced", oddText},
		{"CancellationIsReportedAndStored", cancelledTurn},
		{"CancelWithoutATurn", nothingToCancel},
		{"CancelRightAfterTheMessage", cancelAtOnce},
		{"DeletingAThreadEndsItsTurn", deletedThread},
	})
}

func failedTurn(t *testing.T, w *testServer) {
	refused := &core.Error{Kind: core.KindUpstream, Code: "model_failed", Detail: "The model refused."}
	for name, c := range map[string]struct {
		script script
		status int
		code   string // of the reply
		why    object // of the message
		text   string
	}{
		"a model's error": {
			func(_ context.Context, r *task.Run, _ thread.Question) (string, error) {
				r.Delta("Half")
				return "Half a reply", refused
			}, http.StatusBadGateway, "model_failed",
			object{"code": "model_failed", "detail": "The model refused."},
			"Half a reply",
		},
		"another error that may be told": {
			func(context.Context, *task.Run, thread.Question) (string, error) {
				return "", &core.Error{Kind: core.KindUnavailable, Code: "overloaded", Detail: "Too many."}
			}, http.StatusBadGateway, "model_failed", object{"code": "overloaded", "detail": "Too many."}, "",
		},
		"an error of a step": {
			func(ctx context.Context, r *task.Run, _ thread.Question) (string, error) {
				_, err := r.Step(ctx, "answer", "Writing", func(context.Context, *task.Step) ([]byte, error) {
					r.Delta("In a step")
					return nil, refused
				})
				return "", err
			}, http.StatusBadGateway, "model_failed",
			object{"code": "model_failed", "detail": "The model refused."},
			"In a step",
		},
		"an error of ours": {
			func(context.Context, *task.Run, thread.Question) (string, error) {
				return "Some", errors.New("secret 4711")
			}, http.StatusInternalServerError, "internal",
			object{"code": "internal", "detail": "Something went wrong on our side. Try again."},
			"Some",
		},
		"a panic": {
			func(_ context.Context, r *task.Run, _ thread.Question) (string, error) {
				r.Delta("Before it ")
				r.Delta("broke")
				panic("secret 4712")
			}, http.StatusInternalServerError, "internal",
			object{"code": "internal", "detail": "Something went wrong on our side. Try again."},
			"Before it broke",
		},
		"a model that was too slow": {
			func(context.Context, *task.Run, thread.Question) (string, error) {
				return "", &core.Error{Kind: core.KindTimeout, Code: "model_timeout", Detail: "The model was silent."}
			}, http.StatusGatewayTimeout, "model_timeout",
			object{"code": "model_timeout", "detail": "The model was silent."},
			"",
		},
		"a search index that is not there": {
			func(context.Context, *task.Run, thread.Question) (string, error) {
				return "", &core.Error{Kind: core.KindUnavailable, Code: "unavailable", Detail: "Try again."}
			}, http.StatusServiceUnavailable, "unavailable", object{"code": "unavailable", "detail": "Try again."}, "",
		},
		"a cap reached inside": {
			func(context.Context, *task.Run, thread.Question) (string, error) {
				return "", &core.Error{Kind: core.KindPaymentRequired, Code: "spend_cap_reached", Detail: "The cap is reached."}
			}, http.StatusPaymentRequired, "spend_cap_reached",
			object{"code": "spend_cap_reached", "detail": "The cap is reached."},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			talk := w.talk(t)
			text := name + " " + talk.id
			w.script(text, c.script)
			a := talk.say(text, "Idempotency-Key", "once").refused(t, c.status, c.code)
			if strings.Contains(string(a.body), "secret") {
				t.Errorf("got %s", a.body)
			}
			read := talk.ended()
			m := read.last()
			why, _ := m["error"].(object)
			if m["role"] != "assistant" || m["status"] != "failed" || m["text"] != c.text || why["code"] != c.why["code"] ||
				why["detail"] != c.why["detail"] {
				t.Errorf("the message is %v", m)
			}
			// The key belongs to the failed turn, which does not run again.
			talk.say(text, "Idempotency-Key", "once").refused(t, c.status, c.code)
			if again := talk.ended(); len(again.list("messages", "id")) != 2 {
				t.Errorf("sent again it made %s", again.body)
			}
			talk.say("and now").ok(t)
		})
	}
}

// oddText sends characters that PostgreSQL cannot store in text.
func oddText(t *testing.T, w *testServer) {
	c := w.talk(t)
	text := "odd " + c.id
	w.script(text, func(_ context.Context, r *task.Run, _ thread.Question) (string, error) {
		r.Delta("a\x00b\xffc\u2028\n")
		return "a\x00b\xffc\u2028\n", nil
	})
	if a := c.say(text).ok(t); a.str("text") != "a\uFFFDb\uFFFDc\u2028\n" {
		t.Errorf("the reply is %q", a.str("text"))
	}
}

func cancelledTurn(t *testing.T, w *testServer) {
	c, s := w.talk(t), w.scene(t)
	waiting := c.saying(s.text)
	<-s.began
	other := w.user(t, core.PlanOpen)
	other.post("/api/agents/"+other.agent+"/threads/"+c.id+"/cancel", "").refused(t, http.StatusNotFound, "not_found")
	other.post(c.path("/cancel"), "").refused(t, http.StatusNotFound, "not_found")
	if a := c.post(c.path("/cancel"), "").ok(t); a.value("cancelled") != true {
		t.Errorf("cancelled: %s", a.body)
	}
	soon(t, waiting).refused(t, http.StatusConflict, "turn_cancelled")
	m := c.ended().last()
	why, _ := m["error"].(object)
	if m["status"] != "cancelled" || m["text"] != said || why["code"] != "cancelled" || why["detail"] == "" {
		t.Errorf("the message is %v", m)
	}
	if a := c.post(c.path("/cancel"), "").ok(t); a.value("cancelled") != false {
		t.Errorf("cancelled again: %s", a.body)
	}
	c.say("and now").ok(t)
}

func nothingToCancel(t *testing.T, w *testServer) {
	c := w.talk(t)
	for range 2 {
		for _, body := range []string{"", "{}", "anything"} {
			if a := c.post(c.path("/cancel"), body).ok(t); string(a.body) != `{"cancelled":false}` {
				t.Errorf("cancelled: %s", a.body)
			}
		}
		c.say("done at once").ok(t)
	}
	c.post(c.at("/threads/thr_00000000000000000000000000/cancel"), "").refused(t, http.StatusNotFound, "not_found")
	c.send(http.MethodGet, c.path("/cancel"), "").refused(t, http.StatusMethodNotAllowed, "method_not_allowed")
}

// cancelAtOnce cancels turns right after their start. A turn that was reported as cancelled must have no reply.
func cancelAtOnce(t *testing.T, w *testServer) {
	c := w.talk(t)
	for i := range 10 {
		s := w.scene(t)
		c.say(s.text, "Prefer", "wait=0").working(t)
		if a := c.post(c.path("/cancel"), "").ok(t); a.value("cancelled") != true {
			t.Errorf("cancelled: %s", a.body)
		}
		s.goOn()
		if read := c.ended(); read.last()["status"] != "cancelled" || len(read.list("messages", "id")) != 2*(i+1) {
			t.Errorf("read %s", read.body)
		}
	}
}

func deletedThread(t *testing.T, w *testServer) {
	c, s := w.talk(t), w.scene(t)
	waiting := c.saying(s.text)
	<-s.began
	stream := c.follow()
	c.send(http.MethodDelete, c.path(""), "").ok(t)
	if a := soon(t, waiting); a.status != http.StatusNotFound && a.status != http.StatusConflict {
		t.Errorf("who waited got %d %s", a.status, a.body)
	}
	soon(t, s.stopped)
	for range stream.rest() { // it ends
	}
	for _, path := range []string{"", "/messages", "/events"} {
		c.get(c.path(path)).refused(t, http.StatusNotFound, "not_found")
	}
	if _, err := w.db.ActiveTask(t.Context(), c.id); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("its task: %v", err)
	}
}

func TestTurnTimeouts(t *testing.T) {
	t.Parallel()
	inTurn(t, []test{
		{"DeletingAnAgentEndsItsTurns", deletedAgent},
		{"TurnTimesOut", lateTurn},
		{"KeyOfATurnIsNotReleased", keptKey},
	})
}

func deletedAgent(t *testing.T, w *testServer) {
	c := w.talk(t)
	second := talk{c.testUser, c.newThread("T2")}
	first, other := w.scene(t), w.scene(t)
	waiting := c.saying(first.text)
	turn := second.begin(other)
	<-first.began
	c.send(http.MethodDelete, c.at(""), "").ok(t)
	soon(t, waiting).refused(t, http.StatusNotFound, "not_found")
	soon(t, first.stopped)
	soon(t, other.stopped)
	var left []any
	for _, state := range []task.State{"", task.StateComplete, task.StateFailed, task.StateCancelled} {
		tasks, err := w.db.Tasks(t.Context(), state, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, t := range tasks {
			left = append(left, t)
		}
	}
	steps, errSteps := w.db.TaskSteps(t.Context(), turn)
	events, errEvents := w.db.TaskEvents(t.Context(), turn, 0, 10)
	messages, errMessages := w.db.Messages(t.Context(), second.id, 0, 10)
	if err := errors.Join(errSteps, errEvents, errMessages); err != nil ||
		len(left)+len(steps)+len(events)+len(messages) > 0 {
		t.Errorf("left are %v, %v, %v, %v (%v)", left, steps, events, messages, err)
	}
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, "does not fit base-url") {
			continue // the test server has another address
		}
		if strings.Contains(line, `"level":"ERROR"`) || strings.Contains(line, `"level":"WARN"`) {
			t.Errorf("logged %s", line)
		}
	}
}

func lateTurn(t *testing.T, w *testServer) {
	c, s := w.talk(t), w.scene(t)
	waiting := c.saying(s.text, "Idempotency-Key", "late")
	<-s.began
	w.clock.Advance(15 * time.Minute)
	soon(t, waiting).refused(t, http.StatusGatewayTimeout, "model_timeout")
	m := c.ended().last()
	why, _ := m["error"].(object)
	if m["status"] != "failed" || m["text"] != said || why["code"] != "timeout" {
		t.Errorf("the message is %v", m)
	}
	c.say(s.text, "Idempotency-Key", "late").refused(t, http.StatusGatewayTimeout, "model_timeout")
	c.say("and now").ok(t)
}

func TestPreferCannotExceedTheServersWait(t *testing.T) {
	t.Parallel()
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newServer(t, open(t), "turn-wait", "100ms")
			c, s := w.talk(t), w.scene(t)
			for _, prefer := range []string{"-", "wait=60", "wait=x", "wait=4294967295"} {
				sent := time.Now()
				c.say(s.text, "Prefer", prefer).working(t)
				if took := time.Since(sent); took < 100*time.Millisecond || took > timeout {
					t.Errorf("%s: waited for %v", prefer, took)
				}
			}
			// When the server shuts down, waiting requests return and the turn continues.
			close(w.draining)
			c.say(s.text).working(t)
		})
	}
}

func TestMessagesWithAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"RetryReturnsTheCurrentState", stateNow},
		{"RefusalReleasesTheKey", refusedMessage},
		{"KeyStaysWithTheJoinedTurn", joinedTurn},
		{"ConcurrentRequestsAreOneTurn", manyWithAKey},
	})
}

func stateNow(t *testing.T, w *testServer) {
	c, s := w.talk(t), w.scene(t)
	first := c.say(s.text, "Idempotency-Key", "k", "Prefer", "wait=0").working(t)
	again := c.say(s.text, "Idempotency-Key", "k", "Prefer", "wait=0").working(t)
	if first.str("turnId") != again.str("turnId") || first.header.Get("Idempotent-Replayed") != "" ||
		again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%s, then %s", first.body, again.body)
	}
	c.say("another", "Idempotency-Key", "k").refused(t, http.StatusUnprocessableEntity, "idempotency_mismatch")
	s.goOn()
	c.ended()
	c.say("in between").ok(t)
	for range 2 {
		a := c.say(s.text, "Idempotency-Key", "k").ok(t)
		if a.str("turnId") != first.str("turnId") || a.str("text") != whole {
			t.Errorf("afterwards: %s", a.body)
		}
	}
	if n := len(c.ended().list("messages", "id")); n != 4 {
		t.Errorf("there are %d messages", n)
	}
}

func refusedMessage(t *testing.T, w *testServer) {
	c, s := w.talk(t), w.scene(t)
	mended := func(name string) {
		t.Helper()
		a := c.say("mended", "Idempotency-Key", name)
		if a.status != http.StatusOK || a.header.Get("Idempotent-Replayed") != "" {
			t.Errorf("after %s: %d %s", name, a.status, a.body)
		}
	}
	c.say(" ", "Idempotency-Key", "400").refused(t, http.StatusBadRequest, "invalid_request")
	mended("400")
	c.post(c.at("/threads/thr_00000000000000000000000000/messages"), object{"text": "x"}, "Idempotency-Key", "404").
		refused(t, http.StatusNotFound, "not_found")
	mended("404")
	poor := w.user(t, core.PlanNone)
	for range 2 { // if the key were kept, another body would be a mismatch
		poor.post(poor.at("/threads/thr_00000000000000000000000000/messages"), object{"text": core.NewSeed()},
			"Idempotency-Key", "402").
			refused(t, http.StatusPaymentRequired, "no_subscription")
	}
	c.begin(s)
	c.say("too early", "Idempotency-Key", "409").refused(t, http.StatusConflict, "turn_working")
	s.goOn()
	c.ended()
	mended("409")
}

// joinedTurn sends the text of a running turn with another key. The key then belongs to that turn, also later.
func joinedTurn(t *testing.T, w *testServer) {
	c, s := w.talk(t), w.scene(t)
	turn := c.begin(s)
	if a := c.say(s.text, "Idempotency-Key", "late", "Prefer", "wait=0").working(t); a.str("turnId") != turn {
		t.Errorf("joined %s", a.body)
	}
	s.goOn()
	c.ended()
	for range 2 {
		if a := c.say(s.text, "Idempotency-Key", "late").ok(t); a.str("turnId") != turn {
			t.Errorf("sent again it is another turn: %s", a.body)
		}
	}
	if got := c.ended().list("messages", "role"); !slices.Equal(got, []string{"user", "assistant"}) {
		t.Errorf("the messages are of %v", got)
	}
}

func manyWithAKey(t *testing.T, w *testServer) {
	c, s := w.talk(t), w.scene(t)
	s.goOn()
	var answers []<-chan answer
	for range 20 {
		answers = append(answers, c.saying(s.text, "Idempotency-Key", "many"))
	}
	turns := map[string]bool{}
	for _, a := range answers {
		turns[soon(t, a).ok(t).str("turnId")] = true
	}
	if n := len(c.ended().list("messages", "id")); n != 2 || len(turns) != 1 {
		t.Errorf("%d turns, %d messages", len(turns), n)
	}
}

// keptKey retries after the lock has expired, without a plan: the refusal must not release the key.
func keptKey(t *testing.T, w *testServer) {
	c := w.talk(t)
	first := c.say("Hello", "Idempotency-Key", "k").ok(t)
	w.clock.Advance(5 * time.Minute)
	if err := w.db.SetPlan(t.Context(), c.testUser.id, core.PlanNone); err != nil {
		t.Fatal(err)
	}
	c.say("Hello", "Idempotency-Key", "k").refused(t, http.StatusPaymentRequired, "no_subscription")
	if err := w.db.SetPlan(t.Context(), c.testUser.id, core.PlanOpen); err != nil {
		t.Fatal(err)
	}
	if a := c.say("Hello", "Idempotency-Key", "k").ok(t); a.str("turnId") != first.str("turnId") {
		t.Errorf("sent again it is another turn: %s", a.body)
	}
}
