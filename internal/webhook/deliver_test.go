package webhook_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/thread"
	"carrel/internal/webhook"
)

func TestTurnEndIsDeliveredSigned(t *testing.T) {
	t.Parallel()
	w := newTestService(t)
	w.start()
	r := newReceiver(t, status(204))
	hook, secret := w.create(r.URL+"/hook?a=b", webhook.EventTurnCompleted, webhook.EventTurnFailed)
	reply := w.ask("a private question")
	w.eventually("delivered", func() bool { return w.read(hook.ID).Last != nil })
	m := r.all()[0]
	verify(t, secret, m)
	for name, want := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "Carrel-Webhooks",
		"Authorization": "",
	} {
		if got := m.header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	want := `{"type":"turn.completed","timestamp":"2025-06-15T12:00:00.000Z","data":{"agentId":"` + w.agent +
		`","threadId":"` + reply.ThreadID +
		`","turnId":"` + reply.TurnID + `","messageId":"` + reply.ID + `","status":"complete",` +
		`"sentences":{"uncited":1}}}`
	if string(m.body) != want {
		t.Errorf("got %s\nwant %s", m.body, want)
	}
	if last := w.read(hook.ID).Last; *last != (webhook.Delivery{At: w.clock.Now(), Status: 204}) {
		t.Errorf("recorded %+v", last)
	}
	w.eventually("ended", func() bool { return w.task(m.id()).State == task.StateComplete })

	w.ask("fail")
	w.eventually("delivered", func() bool { return r.count() == 2 })
	m = r.all()[1]
	verify(t, secret, m)
	if c := decode(t, m); c.Type != "turn.failed" || c.Data["status"] != "failed" ||
		c.Data["error"].(map[string]any)["code"] != "model_failed" || strings.Contains(string(m.body), "private") {
		t.Errorf("got %s", m.body)
	}
}

func TestFailedDeliveryIsRetriedWithBackoff(t *testing.T) {
	t.Parallel()
	w := newTestService(t)
	w.start()
	r := newReceiver(t, status(503))
	hook, secret := w.create(r.URL)
	w.ask("question")
	pauses := []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour,
		14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	}
	settled := func(tries int) func() bool {
		return func() bool {
			got := r.all()
			return len(got) == tries && w.task(got[0].id()).State != task.StateRunning
		}
	}
	for i, pause := range pauses {
		w.eventually("a try, and the task back in the queue", settled(i+1))
		now, next := w.clock.Now(), w.task(r.all()[0].id()).RunAt
		if wait := next.Sub(now); wait < pause || wait > pause+pause/10 {
			t.Fatalf("pause after attempt %d is %s, want a little more than %s", i+1, wait, pause)
		}
		w.clock.Set(next.Add(-time.Millisecond))
		time.Sleep(15 * time.Millisecond) // gives a premature attempt the time to happen
		if n := r.count(); n != i+1 {
			t.Fatalf("%d attempts before the next was due", n)
		}
		w.clock.Set(next)
	}
	w.eventually("the last try", settled(10))
	all := r.all()
	for _, m := range all {
		verify(t, secret, m)
		if m.id() != all[0].id() || string(m.body) != string(all[0].body) {
			t.Errorf("an attempt sent a different message: %s %s", m.id(), m.body)
		}
	}
	if all[0].header.Get("webhook-timestamp") == all[9].header.Get("webhook-timestamp") {
		t.Error("a try days later has the time of the first")
	}
	if got := w.task(all[0].id()); got.State != task.StateFailed || got.ErrorCode != "webhook_failed" {
		t.Errorf("delivery ended %s (%s)", got.State, got.ErrorCode)
	}
	if last := w.read(hook.ID).Last; last.Status != 503 || last.Error != "The receiver replied with status 503." {
		t.Errorf("recorded %+v", last)
	}
}

func TestRecoveredReceiverGetsMissedDeliveries(t *testing.T) {
	t.Parallel()
	w := newTestService(t)
	w.start()
	r := newReceiver(t, func(res http.ResponseWriter, _ *http.Request) {
		res.Header().Set("Retry-After", "600")
		res.WriteHeader(http.StatusTooManyRequests)
	})
	w.create(r.URL)
	w.ask("question")
	w.eventually("a try", func() bool { return r.count() == 1 && w.task(r.all()[0].id()).State == task.StateQueued })
	id := r.all()[0].id()
	if wait := w.task(id).RunAt.Sub(w.clock.Now()); wait < 10*time.Minute || wait > 11*time.Minute {
		t.Errorf("pause is %s, want the requested 10 minutes", wait)
	}
	r.answer(status(200))
	w.clock.Advance(11 * time.Minute)
	w.eventually("delivered", func() bool { return w.task(id).State == task.StateComplete })
	if n := r.count(); n != 2 {
		t.Errorf("%d attempts", n)
	}
}

func TestGoneReceiverDisablesTheWebhook(t *testing.T) {
	t.Parallel()
	w := newTestService(t)
	w.start()
	r := newReceiver(t, status(410))
	hook, _ := w.create(r.URL)
	w.ask("one")
	w.eventually("disabled", func() bool { return w.read(hook.ID).DisabledAt != nil })
	w.eventually("ended", func() bool { return w.task(r.all()[0].id()).State == task.StateFailed })
	w.ask("two")
	tasks, err := w.db.Tasks(t.Context(), "", 10)
	if err != nil || len(tasks) != 0 {
		t.Errorf("%d tasks are left (%v)", len(tasks), err)
	}
	if d, err := w.webhooks.Test(t.Context(), w.actor, hook.ID); err != nil || d.Delivered() ||
		w.read(hook.ID).DisabledAt == nil {
		t.Errorf("failing test: %+v (%v)", d, err)
	}
	r.answer(status(200))
	if d, err := w.webhooks.Test(t.Context(), w.actor, hook.ID); err != nil || !d.Delivered() ||
		w.read(hook.ID).DisabledAt != nil {
		t.Errorf("successful test: %+v (%v)", d, err)
	}
	w.ask("three")
	w.eventually("delivered", func() bool { return r.count() == 4 })
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	w := newTestService(t)
	w.start()
	target := newReceiver(t, nil)
	r := newReceiver(t, func(res http.ResponseWriter, req *http.Request) {
		http.Redirect(res, req, target.URL, http.StatusTemporaryRedirect)
	})
	hook, _ := w.create(r.URL)
	d, err := w.webhooks.Test(t.Context(), w.actor, hook.ID)
	if err != nil || d.Delivered() || d.Status != 307 || !strings.Contains(d.Error, "Redirects are not followed") {
		t.Errorf("got %+v (%v)", d, err)
	}
	w.ask("question")
	w.eventually("tried", func() bool { return r.count() == 2 })
	if n := target.count(); n != 0 {
		t.Errorf("the target got %d requests", n)
	}
}

// TestDeliverySurvivesCrashes stops a process at each point between the end of a turn and the end of its delivery.
func TestDeliverySurvivesCrashes(t *testing.T) {
	t.Parallel()
	w := newTestService(t)
	stop := w.start()
	hanging := make(chan struct{}, 1)
	r := newReceiver(t, func(_ http.ResponseWriter, req *http.Request) {
		hanging <- struct{}{}
		<-req.Context().Done()
	})
	w.create(r.URL)
	w.ask("question")
	<-hanging // the receiver has the message but has not replied
	r.answer(status(200))
	w.start() // ends the lease of the first engine
	w.eventually("delivered again", func() bool { return r.count() == 2 })
	all := r.all()
	if all[0].id() != all[1].id() || string(all[0].body) != string(all[1].body) {
		t.Error("the message is another one")
	}
	w.eventually("ended", func() bool { return w.task(all[0].id()).State == task.StateComplete })
	stop()

	// Stopped before anything was sent: no engine runs deliveries.
	w.stop()
	e := task.New(task.Deps{Store: w.db, Clock: w.clock, Log: slog.New(slog.DiscardHandler)},
		task.Options{SingleNode: true, Poll: 5 * time.Millisecond})
	w.threads = thread.NewService(thread.Deps{
		Store: w.db, Agents: w.agents, Clock: w.clock, Tasks: e,
		Answerer: answerer{},
	})
	e.Register(w.threads.Kind())
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.ask("another")
	if err := e.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := r.count(); n != 2 {
		t.Fatalf("%d messages", n)
	}
	w.start()
	w.eventually("delivered after a start", func() bool { return r.count() == 3 })
	if tasks, err := w.db.Tasks(t.Context(), "", 10); err != nil || len(tasks) > 1 {
		t.Errorf("%d tasks (%v)", len(tasks), err)
	}
}

func TestSlowReceiverDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	w := newTestService(t)
	w.start()
	release := make(chan struct{})
	slow := newReceiver(t, func(_ http.ResponseWriter, req *http.Request) {
		select {
		case <-release:
		case <-req.Context().Done():
		}
	})
	quick := newReceiver(t, nil)
	slowHook, _ := w.create(slow.URL)
	w.create(quick.URL)
	const turns = 40 // more than maxInFlight
	for range turns {
		w.ask("question")
	}
	w.eventually("the quick one has all", func() bool { return quick.count() == turns })
	w.eventually("the slow one has what it may have at once", func() bool { return slow.count() == 32 })
	close(release)
	w.eventually("the slow one has all", func() bool {
		w.clock.Advance(time.Second)
		return slow.count() == turns && w.read(slowHook.ID).Last.Delivered()
	})
}

func TestDeletedWebhookGetsNoDeliveries(t *testing.T) {
	t.Parallel()
	w := newTestService(t)
	w.start()
	r := newReceiver(t, status(500))
	hook, _ := w.create(r.URL)
	w.ask("question")
	w.eventually("a try", func() bool { return r.count() == 1 && w.task(r.all()[0].id()).State == task.StateQueued })
	if err := w.webhooks.Delete(t.Context(), w.actor, hook.ID); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Hour)
	w.eventually("dropped", func() bool { return w.task(r.all()[0].id()).State == task.StateCancelled })
	if n := r.count(); n != 1 {
		t.Errorf("%d attempts", n)
	}
	if err := w.webhooks.Delete(t.Context(), w.actor, hook.ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
}
