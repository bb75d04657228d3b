package webhook_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"carrel/internal/agent"
	"carrel/internal/core"
	"carrel/internal/secretbox"
	"carrel/internal/store"
	"carrel/internal/task"
	"carrel/internal/testkit"
	"carrel/internal/testkit/fixture"
	"carrel/internal/thread"
	"carrel/internal/webhook"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// testService is the service on a real database with a real engine, and a user with an agent.
type testService struct {
	t        *testing.T
	db       *store.DB
	clock    *testkit.Clock
	secret   string // the installation's secret
	actor    core.Actor
	agents   *agent.Service
	agent    string
	webhooks *webhook.Service
	threads  *thread.Service
	stop     func()
}

func newTestService(t *testing.T) *testService {
	t.Helper()
	db, clock := fixture.OpenStore(t), testkit.NewClock()
	w := &testService{
		t: t, db: db, clock: clock, secret: "a secret of the installation", agents: fixture.NewAgents(db, clock),
		actor: core.Operator(fixture.NewUser(t, db, clock, core.PlanOpen).UserID),
	}
	w.agent = fixture.NewAgent(t, w.agents, w.actor)
	w.webhooks = w.service()
	return w
}

// service returns a new service, like that of another process.
func (w *testService) service() *webhook.Service {
	w.t.Helper()
	box, err := secretbox.New([]byte(w.secret), "webhook secrets")
	if err != nil {
		w.t.Fatal(err)
	}
	return webhook.NewService(webhook.Deps{Store: w.db, Sealer: box, Clock: w.clock}, webhook.Options{Private: true})
}

// TestPrivateAndUnknownNamesGiveTheSameError compares the messages that the owner of a webhook sees.
func TestPrivateAndUnknownNamesGiveTheSameError(t *testing.T) {
	t.Parallel()
	w := newTestService(t)
	box, err := secretbox.New([]byte(w.secret), "webhook secrets")
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, answers := range [][][4]byte{nil, {{10, 0, 0, 1}}, {{127, 0, 0, 1}}, {{169, 254, 169, 254}}} {
		service := webhook.NewService(webhook.Deps{Store: w.db, Sealer: box, Clock: w.clock},
			webhook.Options{Resolver: testkit.FakeResolver(t, answers...)})
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

// start starts an engine as the single node, like a new process.
func (w *testService) start() (stop func()) {
	w.t.Helper()
	e := task.New(task.Deps{Store: w.db, Clock: w.clock, Log: slog.New(slog.DiscardHandler)}, task.Options{
		SingleNode: true, Poll: 5 * time.Millisecond, Grace: 50 * time.Millisecond,
	})
	w.webhooks = w.service()
	w.threads = thread.NewService(thread.Deps{
		Store: w.db, Agents: w.agents, Clock: w.clock, Tasks: e,
		Answerer: answerer{},
	})
	e.Register(w.threads.Kind())
	e.Register(w.webhooks.Kind())
	if err := e.Start(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	stop = sync.OnceFunc(func() { _ = e.Stop(context.Background()) }) // fails if another engine has taken over
	w.t.Cleanup(stop)
	w.stop = stop
	return stop
}

// answerer fails if the message is "fail".
type answerer struct{}

func (answerer) Answer(_ context.Context, _ *task.Run, q thread.Question) (thread.Answer, error) {
	if q.Text == "fail" {
		return thread.Answer{}, &core.Error{
			Kind: core.KindUpstream, Code: "model_failed",
			Detail: "The model said something private.",
		}
	}
	return thread.Answer{Text: "yes", Checks: []thread.Check{{End: 3, State: thread.Uncited}}}, nil
}

// ask sends a message in a new thread and returns the reply.
func (w *testService) ask(text string) thread.Message {
	w.t.Helper()
	th, err := w.threads.Create(w.t.Context(), w.actor, w.agent, "")
	if err != nil {
		w.t.Fatal(err)
	}
	waiting, cancel := context.WithTimeout(w.t.Context(), 4*time.Minute)
	defer cancel()
	turn, err := w.threads.Send(w.t.Context(), w.actor, w.agent, th.ID, thread.NewMessage{Text: text}, waiting)
	if err != nil && text != "fail" {
		w.t.Fatal(err)
	}
	return turn.Reply
}

func (w *testService) create(url string, events ...webhook.Event) (webhook.Webhook, string) {
	w.t.Helper()
	hook, secret, err := w.webhooks.Create(w.t.Context(), w.actor, url, events)
	if err != nil {
		w.t.Fatal(err)
	}
	return hook, secret
}

// read returns a webhook from the list.
func (w *testService) read(id string) webhook.Webhook {
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

// eventually polls a condition.
func (w *testService) eventually(what string, holds func() bool) {
	w.t.Helper()
	for end := time.Now().Add(4 * time.Minute); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("timed out waiting for: %s", what)
		}
	}
}

// task returns the task of a delivery.
func (w *testService) task(id string) task.Task {
	w.t.Helper()
	t, err := w.db.Task(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return t
}

// receiver is a server that receives webhooks.
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

// verify checks the signature of a message with the official library.
func verify(t *testing.T, secret string, m received) {
	t.Helper()
	official, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	// The test clock stands still, so the timestamp is not checked.
	if err := official.VerifyIgnoringTimestamp(m.body, m.header); err != nil {
		t.Error(err)
	}
	if err := official.VerifyIgnoringTimestamp(append(m.body, ' '), m.header); err == nil {
		t.Error("another body has the same signature")
	}
}

// content is the decoded body of a message.
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

func TestUndecryptableSecretIsReported(t *testing.T) {
	t.Parallel()
	w := newTestService(t)
	r := newReceiver(t, nil)
	hook, _ := w.create(r.URL)
	w.secret = "another"
	w.start()
	d, err := w.webhooks.Test(t.Context(), w.actor, hook.ID)
	if err != nil || !strings.Contains(d.Error, "cannot be decrypted") {
		t.Errorf("got %+v (%v)", d, err)
	}
	w.ask("question")
	w.eventually("noted", func() bool {
		last := w.read(hook.ID).Last
		return last != nil && strings.Contains(last.Error, "cannot be decrypted")
	})
	if n := r.count(); n != 0 {
		t.Errorf("%d messages were sent", n)
	}
}

func TestTestDeliveryReturnsItsResult(t *testing.T) {
	t.Parallel()
	w := newTestService(t)
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
		t.Errorf("connection refused: %+v (%v)", d, err)
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
	if err != nil || d.Error != "The certificate of the receiver cannot be verified." {
		t.Errorf("self-signed certificate: %+v (%v)", d, err)
	}
}

func TestWebhooksNeedTheScope(t *testing.T) {
	t.Parallel()
	w := newTestService(t)
	hook, _ := w.create("https://example.org")
	someone := core.Actor{
		UserID: w.actor.UserID, Plan: core.PlanOpen, Credential: core.CredentialKey, CredentialID: "crd_1",
		Scopes: []core.Scope{core.ScopeManage},
	}
	_, _, err1 := w.webhooks.Create(t.Context(), someone, "https://example.org", nil)
	_, err2 := w.webhooks.List(t.Context(), someone)
	_, err3 := w.webhooks.Test(t.Context(), someone, hook.ID)
	_, err4 := w.webhooks.Get(t.Context(), someone, hook.ID)
	_, err5 := w.webhooks.Change(t.Context(), someone, hook.ID, webhook.Change{})
	_, _, err6 := w.webhooks.Deliveries(t.Context(), someone, hook.ID, core.Page{})
	_, err7 := w.webhooks.Redeliver(t.Context(), someone, hook.ID, core.NewID(core.PrefixDelivery))
	for _, err := range []error{
		err1, err2, err3, err4, err5, err6, err7, w.webhooks.Delete(t.Context(), someone, hook.ID),
	} {
		if core.AsError(err).Code != "insufficient_scope" {
			t.Errorf("got %v", err)
		}
	}
	stranger := core.Operator(core.NewID(core.PrefixUser))
	if _, err := w.webhooks.Test(t.Context(), stranger, hook.ID); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("test by another user: %v", err)
	}
	if err := w.webhooks.Delete(t.Context(), w.actor, "whk_x"); !core.IsKind(err, core.KindNotFound) {
		t.Errorf("malformed id: %v", err)
	}
}

func TestWebhookSubscribesToChosenEvents(t *testing.T) {
	t.Parallel()
	w := newTestService(t)
	for _, c := range []struct {
		wanted, want []webhook.Event
	}{
		{nil, []webhook.Event{"turn.completed", "turn.failed"}},
		{
			[]webhook.Event{"turn.failed", "turn.completed", "turn.failed"},
			[]webhook.Event{"turn.completed", "turn.failed"},
		},
		{[]webhook.Event{"turn.failed"}, []webhook.Event{"turn.failed"}},
		{[]webhook.Event{"spend.near", "import.failed"}, []webhook.Event{"import.failed", "spend.near"}},
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
