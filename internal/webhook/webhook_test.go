package webhook_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"carrel/internal/account"
	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/secretbox"
	"carrel/internal/store"
	"carrel/internal/task"
	"carrel/internal/testkit"
	"carrel/internal/thread"
	"carrel/internal/webhook"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world is the service on a real database with a real engine, and a user who talks to an agent.
type world struct {
	t        *testing.T
	db       *store.DB
	clock    *testkit.Clock
	secret   string // of the installation
	actor    core.Actor
	agents   *agent.Service
	agent    string
	webhooks *webhook.Service
	threads  *thread.Service
	stop     func()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "carrel.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w := &world{t: t, db: db, clock: testkit.NewClock(), secret: "a secret of the installation"}
	id := core.NewID(core.PrefixUser)
	if err := db.InsertUser(t.Context(), account.User{ID: id, Email: id, Plan: core.PlanOpen, CreatedAt: w.clock.Now()}, "none"); err != nil {
		t.Fatal(err)
	}
	w.actor = core.Operator(id)
	w.agents = agent.NewService(agent.Deps{Store: db, Clock: w.clock})
	name := "Landmarks"
	a, err := w.agents.Create(t.Context(), w.actor, agent.Change{Name: &name})
	if err != nil {
		t.Fatal(err)
	}
	w.agent = a.ID
	w.webhooks = w.service()
	return w
}

// service returns a service as one process has it.
func (w *world) service() *webhook.Service {
	w.t.Helper()
	box, err := secretbox.New([]byte(w.secret), "webhook secrets")
	if err != nil {
		w.t.Fatal(err)
	}
	return webhook.NewService(w.db, box, w.clock, webhook.Options{Private: true})
}

// TestAWebhookDoesNotTellAPrivateNameFromAnUnknownOne compares what the owner of a webhook sees of a test delivery.
func TestAWebhookDoesNotTellAPrivateNameFromAnUnknownOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	box, err := secretbox.New([]byte(w.secret), "webhook secrets")
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, answers := range [][][4]byte{nil, {{10, 0, 0, 1}}, {{127, 0, 0, 1}}, {{169, 254, 169, 254}}} {
		service := webhook.NewService(w.db, box, w.clock, webhook.Options{Resolver: testkit.Names(t, answers...)})
		hook, _, err := service.Create(t.Context(), w.actor, "https://intranet.example.org/hook", nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := service.Test(t.Context(), w.actor, hook.ID)
		if err != nil || d.Status != 0 || d.Error == "" {
			t.Errorf("%v: %+v, %v", answers, d, err)
		}
		if seen = append(seen, d.Error); d.Error != seen[0] {
			t.Errorf("%v: %q, and for an unknown name %q", answers, d.Error, seen[0])
		}
	}
}

// start runs an engine that has the database to itself, as a process does that was just started.
func (w *world) start() (stop func()) {
	w.t.Helper()
	e := task.New(w.db, w.clock, slog.New(slog.DiscardHandler), task.Options{
		Alone: true, Poll: 5 * time.Millisecond, Grace: 50 * time.Millisecond,
	})
	w.webhooks = w.service()
	w.threads = thread.NewService(w.db, w.agents, w.clock, e, answerer{})
	e.Register(w.threads.Kind())
	e.Register(w.webhooks.Kind())
	if err := e.Start(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	stop = sync.OnceFunc(func() { _ = e.Stop(context.Background()) }) // what can't be given back is another's already
	w.t.Cleanup(stop)
	w.stop = stop
	return stop
}

// answerer fails when it is asked to.
type answerer struct{}

func (answerer) Answer(_ context.Context, _ *task.Run, q thread.Question) (thread.Answer, error) {
	if q.Text == "fail" {
		return thread.Answer{}, &core.Error{Kind: core.KindUpstream, Code: "model_failed", Detail: "The model said something private."}
	}
	return thread.Answer{Text: "yes"}, nil
}

// ask sends a message in a new thread and returns the reply.
func (w *world) ask(text string) thread.Message {
	w.t.Helper()
	th, err := w.threads.Create(w.t.Context(), w.actor, w.agent, "")
	if err != nil {
		w.t.Fatal(err)
	}
	waiting, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	turn, err := w.threads.Send(w.t.Context(), w.actor, w.agent, th.ID, thread.NewMessage{Text: text}, waiting)
	if err != nil && text != "fail" {
		w.t.Fatal(err)
	}
	return turn.Reply
}

func (w *world) create(url string, events ...webhook.Event) (webhook.Webhook, string) {
	w.t.Helper()
	hook, secret, err := w.webhooks.Create(w.t.Context(), w.actor, url, events)
	if err != nil {
		w.t.Fatal(err)
	}
	return hook, secret
}

// read returns a webhook as it is listed.
func (w *world) read(id string) webhook.Webhook {
	w.t.Helper()
	hooks, err := w.webhooks.List(w.t.Context(), w.actor)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, h := range hooks {
		if h.ID == id {
			return h
		}
	}
	w.t.Fatalf("%s is not listed", id)
	return webhook.Webhook{}
}

// eventually waits until something holds.
func (w *world) eventually(what string, holds func() bool) {
	w.t.Helper()
	for end := time.Now().Add(10 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("it never came to this: %s", what)
		}
	}
}

// task returns a delivery's task.
func (w *world) task(id string) task.Task {
	w.t.Helper()
	t, err := w.db.Task(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return t
}

// receiver is a server of the user's.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	got  []received
	next http.HandlerFunc
}

type received struct {
	header http.Header
	body   []byte
}

func (r received) id() string { return r.header.Get("webhook-id") }

func newReceiver(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{next: answer}
	r.Server = httptest.NewServer(http.HandlerFunc(func(res http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.got = append(r.got, received{req.Header, body})
		answer := r.next
		r.mu.Unlock()
		if answer != nil {
			answer(res, req)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) answer(with http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = with
}

func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received(nil), r.got...)
}

func (r *receiver) count() int { return len(r.all()) }

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// verify holds a message to its signature with the official library.
func verify(t *testing.T, secret string, m received) {
	t.Helper()
	official, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	// The clock of these tests stands still, so the time is not compared.
	if err := official.VerifyIgnoringTimestamp(m.body, m.header); err != nil {
		t.Error(err)
	}
	if err := official.VerifyIgnoringTimestamp(append(m.body, ' '), m.header); err == nil {
		t.Error("another body has the same signature")
	}
}

// content is a message as a receiver reads it.
type content struct {
	Type      string
	Timestamp string
	Data      map[string]any
}

func decode(t *testing.T, m received) content {
	t.Helper()
	var c content
	if err := json.Unmarshal(m.body, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheEndOfATurnIsDeliveredSigned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	r := newReceiver(t, status(204))
	hook, secret := w.create(r.URL+"/hook?a=b", webhook.EventTurnCompleted, webhook.EventTurnFailed)
	reply := w.ask("a private question")
	w.eventually("delivered", func() bool { return w.read(hook.ID).Last != nil })
	m := r.all()[0]
	verify(t, secret, m)
	for name, want := range map[string]string{"Content-Type": "application/json", "User-Agent": "Carrel-Webhooks", "Authorization": ""} {
		if got := m.header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	want := `{"type":"turn.completed","timestamp":"2025-06-15T12:00:00.000Z","data":{"agentId":"` + w.agent + `","threadId":"` + reply.ThreadID +
		`","turnId":"` + reply.TurnID + `","messageId":"` + reply.ID + `","status":"complete"}}`
	if string(m.body) != want {
		t.Errorf("got %s\nwant %s", m.body, want)
	}
	if last := w.read(hook.ID).Last; *last != (webhook.Delivery{At: w.clock.Now(), Status: 204}) {
		t.Errorf("noted %+v", last)
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

func TestATryThatFailedIsMadeAgainLaterAndLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	r := newReceiver(t, status(503))
	hook, secret := w.create(r.URL)
	w.ask("question")
	pauses := []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
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
			t.Fatalf("after try %d it waits %s, want %s and a little", i+1, wait, pause)
		}
		w.clock.Set(next.Add(-time.Millisecond))
		time.Sleep(15 * time.Millisecond) // a few polls, in which nothing may happen
		if n := r.count(); n != i+1 {
			t.Fatalf("%d tries before it was time for another", n)
		}
		w.clock.Set(next)
	}
	w.eventually("the last try", settled(10))
	all := r.all()
	for _, m := range all {
		verify(t, secret, m)
		if m.id() != all[0].id() || string(m.body) != string(all[0].body) {
			t.Errorf("a try sent another message: %s %s", m.id(), m.body)
		}
	}
	if all[0].header.Get("webhook-timestamp") == all[9].header.Get("webhook-timestamp") {
		t.Error("a try days later has the time of the first")
	}
	if got := w.task(all[0].id()); got.State != task.StateFailed || got.ErrorCode != "webhook_failed" {
		t.Errorf("it ended %s (%s)", got.State, got.ErrorCode)
	}
	if last := w.read(hook.ID).Last; last.Status != 503 || last.Error != "The receiver answered with status 503." {
		t.Errorf("noted %+v", last)
	}
}

func TestAReceiverThatComesBackGetsWhatItMissed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
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
		t.Errorf("it waits %s where the receiver asked for 10 minutes", wait)
	}
	r.answer(status(200))
	w.clock.Advance(11 * time.Minute)
	w.eventually("delivered", func() bool { return w.task(id).State == task.StateComplete })
	if n := r.count(); n != 2 {
		t.Errorf("%d tries", n)
	}
}

func TestAReceiverThatIsGoneIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
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
	if d, err := w.webhooks.Test(t.Context(), w.actor, hook.ID); err != nil || d.Delivered() || w.read(hook.ID).DisabledAt == nil {
		t.Errorf("a test that fails: %+v (%v)", d, err)
	}
	r.answer(status(200))
	if d, err := w.webhooks.Test(t.Context(), w.actor, hook.ID); err != nil || !d.Delivered() || w.read(hook.ID).DisabledAt != nil {
		t.Errorf("a test that is taken: %+v (%v)", d, err)
	}
	w.ask("three")
	w.eventually("delivered", func() bool { return r.count() == 4 })
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
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

// TestWhatACrashInterruptsIsDelivered ends a process at each point between the end of a turn and the end of its delivery.
func TestWhatACrashInterruptsIsDelivered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.start()
	hanging := make(chan struct{}, 1)
	r := newReceiver(t, func(_ http.ResponseWriter, req *http.Request) {
		hanging <- struct{}{}
		<-req.Context().Done()
	})
	w.create(r.URL)
	w.ask("question")
	<-hanging // the receiver has the message, and we have no answer
	r.answer(status(200))
	w.start() // the first process counts as dead from here on
	w.eventually("delivered again", func() bool { return r.count() == 2 })
	all := r.all()
	if all[0].id() != all[1].id() || string(all[0].body) != string(all[1].body) {
		t.Error("the message is another one")
	}
	w.eventually("ended", func() bool { return w.task(all[0].id()).State == task.StateComplete })
	stop()

	// Stopped before anything was sent: nothing takes deliveries.
	w.stop()
	e := task.New(w.db, w.clock, slog.New(slog.DiscardHandler), task.Options{Alone: true, Poll: 5 * time.Millisecond})
	w.threads = thread.NewService(w.db, w.agents, w.clock, e, answerer{})
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

func TestASlowReceiverHoldsUpNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
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
	const turns = 40 // more than may be under way to one receiver
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

func TestADeletedWebhookIsToldNothingMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
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
		t.Errorf("%d tries", n)
	}
	if err := w.webhooks.Delete(t.Context(), w.actor, hook.ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
}

func TestASecretOfAnotherInstallationIsReportedNotUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t, nil)
	hook, _ := w.create(r.URL)
	w.secret = "another"
	w.start()
	d, err := w.webhooks.Test(t.Context(), w.actor, hook.ID)
	if err != nil || !strings.Contains(d.Error, "can't be read any more") {
		t.Errorf("got %+v (%v)", d, err)
	}
	w.ask("question")
	w.eventually("noted", func() bool {
		last := w.read(hook.ID).Last
		return last != nil && strings.Contains(last.Error, "can't be read")
	})
	if n := r.count(); n != 0 {
		t.Errorf("%d messages were sent", n)
	}
}

func TestATestTellsHowItWent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := newReceiver(t, status(201))
	hook, secret := w.create(r.URL)
	d, err := w.webhooks.Test(t.Context(), w.actor, hook.ID)
	if err != nil || d != (webhook.Delivery{At: w.clock.Now(), Status: 201}) || *w.read(hook.ID).Last != d {
		t.Errorf("got %+v (%v)", d, err)
	}
	m := r.all()[0]
	verify(t, secret, m)
	if c := decode(t, m); c.Type != "webhook.test" || c.Data["webhookId"] != hook.ID {
		t.Errorf("sent %s", m.body)
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	hook, _ = w.create(closed.URL)
	d, err = w.webhooks.Test(t.Context(), w.actor, hook.ID)
	if err != nil || d.Status != 0 || d.Error != "The connection to the receiver failed." {
		t.Errorf("nobody there: %+v (%v)", d, err)
	}
	hook, _ = w.create("https://no-such-host.invalid/")
	d, err = w.webhooks.Test(t.Context(), w.actor, hook.ID)
	if err != nil || d.Delivered() {
		t.Errorf("no such host: %+v (%v)", d, err)
	}
	secure := httptest.NewTLSServer(status(200))
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(secure.Close)
	hook, _ = w.create(secure.URL)
	d, err = w.webhooks.Test(t.Context(), w.actor, hook.ID)
	if err != nil || d.Error != "The certificate of the receiver can't be verified." {
		t.Errorf("a certificate of its own: %+v (%v)", d, err)
	}
}

func TestOnlyThoseWithTheScopeReachWebhooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hook, _ := w.create("https://example.org")
	someone := core.Actor{UserID: w.actor.UserID, Plan: core.PlanOpen, Credential: core.CredentialKey, Scopes: []core.Scope{core.ScopeAgents, core.ScopeManage}}
	_, _, err1 := w.webhooks.Create(t.Context(), someone, "https://example.org", nil)
	_, err2 := w.webhooks.List(t.Context(), someone)
	_, err3 := w.webhooks.Test(t.Context(), someone, hook.ID)
	for _, err := range []error{err1, err2, err3, w.webhooks.Delete(t.Context(), someone, hook.ID)} {
		if core.AsError(err).Code != "insufficient_scope" {
			t.Errorf("got %v", err)
		}
	}
	stranger := core.Operator(core.NewID(core.PrefixUser))
	if _, err := w.webhooks.Test(t.Context(), stranger, hook.ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("a stranger's test: %v", err)
	}
	if err := w.webhooks.Delete(t.Context(), w.actor, "whk_x"); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("an id of no form: %v", err)
	}
}

func TestEventsAreChosen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		wanted, want []webhook.Event
	}{
		{nil, []webhook.Event{"turn.completed", "turn.failed"}},
		{[]webhook.Event{"turn.failed", "turn.completed", "turn.failed"}, []webhook.Event{"turn.completed", "turn.failed"}},
		{[]webhook.Event{"turn.failed"}, []webhook.Event{"turn.failed"}},
		{[]webhook.Event{}, nil},
		{[]webhook.Event{"webhook.test"}, nil},
		{[]webhook.Event{"turn.failed", "other"}, nil},
	} {
		hook, _, err := w.webhooks.Create(t.Context(), w.actor, "https://example.org", c.wanted)
		switch {
		case c.want == nil && core.AsError(err).Fields[0].Pointer != "/events":
			t.Errorf("%v: %v", c.wanted, err)
		case c.want != nil && (err != nil || !slices.Equal(hook.Events, c.want)):
			t.Errorf("%v: %v (%v)", c.wanted, hook.Events, err)
		}
	}
}
