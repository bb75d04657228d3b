package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/thread"
)

// scene is a scripted turn that writes a part of its reply and then waits for the test.
type scene struct {
	text  string
	began chan struct{}
	cue   chan struct{}
	// begin and goOn close these channels.
	begin, goOn func()
	// stopped is closed when the script has returned.
	stopped chan struct{}
}

// said is the first part of a scene's reply, and whole the complete reply.
const said, whole = "So far ", "So far and no further."

// scene scripts a turn with a question that no other test uses.
func (w *testServer) scene(t *testing.T) *scene {
	s := &scene{
		text: "Q " + core.NewID(core.PrefixTurn), began: make(chan struct{}), cue: make(chan struct{}),
		stopped: make(chan struct{}),
	}
	s.begin, s.goOn = sync.OnceFunc(func() { close(s.began) }), sync.OnceFunc(func() { close(s.cue) })
	var once sync.Once
	w.script(s.text, func(ctx context.Context, r *task.Run, _ thread.Question) (string, error) {
		defer once.Do(func() { close(s.stopped) })
		_, err := r.Step(ctx, "think", "Thinking", func(context.Context, *task.Step) ([]byte, error) { return nil, nil })
		if err != nil {
			return "", err
		}
		text, err := r.Step(ctx, "answer", "Writing the reply", func(ctx context.Context, _ *task.Step) ([]byte, error) {
			r.Delta(said)
			s.begin()
			select {
			case <-s.cue:
				r.Delta("and no further.")
				return []byte(whole), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		return string(text), err
	})
	t.Cleanup(s.goOn)
	return s
}

// script sets the script for a question.
func (w *testServer) script(text string, s script) { w.answerer.scripts.Store(text, s) }

// talk is a thread of a user.
type talk struct {
	*testUser
	id string
}

func (w *testServer) talk(t *testing.T) talk {
	t.Helper()
	p := w.user(t, core.PlanOpen)
	return talk{p, p.newThread("T")}
}

func (c talk) path(tail string) string { return c.at("/threads/" + c.id + tail) }

func (c talk) say(text string, headers ...string) answer {
	c.t.Helper()
	return c.post(c.path("/messages"), object{"text": text}, headers...)
}

// saying is say in another goroutine.
func (c talk) saying(text string, headers ...string) <-chan answer {
	out := make(chan answer, 1)
	go func() {
		a, err := c.try(http.MethodPost, c.path("/messages"),
			strings.NewReader(encode(c.t, object{"text": text})), headers...)
		if err != nil && c.t.Context().Err() == nil {
			c.t.Error(err)
		}
		out <- a
	}()
	return out
}

// begin starts a scene in the thread and returns the id of its turn.
func (c talk) begin(s *scene) string {
	c.t.Helper()
	a := c.say(s.text, "Prefer", "respond-async").working(c.t)
	<-s.began
	return a.str("turnId")
}

// working fails the test unless the reply is 202 in its full form.
func (a answer) working(t testing.TB) answer {
	t.Helper()
	if a.status != http.StatusAccepted || a.str("status") != "working" || !core.IsID(core.PrefixTurn, a.str("turnId")) {
		t.Fatalf("got %d %s, want 202", a.status, a.body)
	}
	if a.header.Get("Retry-After") != "2" || !strings.HasSuffix(a.header.Get("Location"), "/messages") {
		t.Fatalf("the header is %v", a.header)
	}
	return a
}

// ended waits until no turn is running in the thread.
func (c talk) ended() answer {
	c.t.Helper()
	var a answer
	eventually(c.t, func() bool {
		a = c.get(c.path("/messages")).ok(c.t)
		return a.str("status") == "complete"
	})
	if got := c.get(c.path("")).ok(c.t).str("thread", "status"); got != "idle" {
		c.t.Errorf("the thread is %s after its turn", got)
	}
	return a
}

// last returns the last message of a list.
func (a answer) last() object {
	items, _ := a.value("messages").([]any)
	if len(items) == 0 {
		return nil
	}
	o, _ := items[len(items)-1].(object)
	return o
}

// timeout limits operations that should be quick. It is shorter than the minute that requests in these tests offer to
// wait.
const timeout = 50 * time.Second

func eventually(t testing.TB, what func() bool) {
	t.Helper()
	for end := time.Now().Add(timeout); !what(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come about in time")
		}
	}
}

// soon receives from a channel, and fails the test after the timeout.
func soon[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(timeout):
		t.Fatal("nothing came in time")
		panic("unreachable")
	}
}

func TestSendingMessages(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"QuickTurnReturnsTheReply", quickTurn},
		{"SlowTurnReturns202", slowTurn},
		{"LongWaitReturnsTheReply", longWait},
		{"EqualTextJoinsTheTurn", sameText},
		{"OtherTextIsAConflict", otherText},
		{"ConcurrentEqualTextsAreOneTurn", manyOfOne},
		{"ConcurrentTextsStartOneTurn", manyTexts},
		{"DisconnectDoesNotStopTheTurn", hangUp},
		{"ReadingDuringATurn", readWhileWorking},
	})
}

func quickTurn(t *testing.T, w *testServer) {
	c := w.talk(t)
	a := c.say("Hello").ok(t)
	read := c.get(c.path("/messages")).ok(t)
	if m := read.last(); read.str("status") != "complete" || m["text"] != a.str("text") || m["id"] != a.str("messageId") ||
		m["turnId"] != a.str("turnId") {
		t.Errorf("answered %s, then read %s", a.body, read.body)
	}
}

func slowTurn(t *testing.T, w *testServer) {
	for _, prefer := range []string{"wait=0", "wait=1", "respond-async", "foo, wait=0;x=y"} {
		c, s := w.talk(t), w.scene(t)
		sent := time.Now()
		a := c.say(s.text, "Prefer", prefer).working(t)
		again := c.say(s.text, "Prefer", "wait=0", "Origin", "https://app.example.org").working(t)
		if got := again.header.Get("Access-Control-Expose-Headers"); !strings.Contains(got, "RateLimit") {
			t.Errorf("%s: to a page the headers %q are exposed", prefer, got)
		}
		if took := time.Since(sent); prefer == "wait=1" && took < time.Second {
			t.Errorf("%s: waited for %v", prefer, took)
		}
		if got := a.header.Get("Access-Control-Expose-Headers"); got != "" {
			t.Errorf("%s: without an origin the headers %s are exposed", prefer, got)
		}
		if got := a.header.Get("Preference-Applied"); got == "" || !strings.Contains(prefer, got) {
			t.Errorf("%s: Preference-Applied is %q", prefer, got)
		}
		if a.header.Get("Location") != c.path("/messages") {
			t.Errorf("%s: Location is %s", prefer, a.header.Get("Location"))
		}
		got := c.get(a.header.Get("Location")).ok(t)
		if got.str("status") != "working" || got.str("turn", "id") != a.str("turnId") {
			t.Errorf("%s: read %s", prefer, got.body)
		}
		s.goOn()
		if m := c.ended().last(); m["text"] != whole || m["turnId"] != a.str("turnId") || m["status"] != "complete" {
			t.Errorf("%s: the reply is %v", prefer, m)
		}
	}
}

func longWait(t *testing.T, w *testServer) {
	for _, prefer := range []string{"wait=20", "wait=x", "wait", `"`, "respond-async=1, wait=20"} {
		c, s := w.talk(t), w.scene(t)
		answered := c.saying(s.text, "Prefer", prefer)
		<-s.began
		s.goOn()
		if a := soon(t, answered).ok(t); a.str("text") != whole {
			t.Errorf("%s: %s", prefer, a.body)
		}
	}
}

func sameText(t *testing.T, w *testServer) {
	c, s := w.talk(t), w.scene(t)
	turn := c.begin(s)
	for range 3 {
		if again := c.say(s.text, "Prefer", "wait=0").working(t); again.str("turnId") != turn {
			t.Errorf("the same text is turn %s, was %s", again.str("turnId"), turn)
		}
	}
	waiting := c.saying(s.text, "Prefer", "wait=20")
	time.Sleep(200 * time.Millisecond) // so that the requests arrive before the turn ends
	s.goOn()
	along := soon(t, waiting).ok(t)
	if along.str("text") != whole {
		t.Errorf("who waited along got %s", along.body)
	}
	roles := c.ended().list("messages", "role")
	if along.str("turnId") == turn && !slices.Equal(roles, []string{"user", "assistant"}) {
		t.Errorf("the messages are of %v", roles)
	}
	// After the turn has ended, the same text starts a new turn.
	w.script(s.text, func(context.Context, *task.Run, thread.Question) (string, error) { return "again", nil })
	if a := c.say(s.text).ok(t); a.str("turnId") == turn || a.str("text") != "again" {
		t.Errorf("asked again: %s", a.body)
	}
}

func otherText(t *testing.T, w *testServer) {
	c, s := w.talk(t), w.scene(t)
	c.begin(s)
	c.say("something else").refused(t, http.StatusConflict, "turn_working")
	c.say(s.text+".").refused(t, http.StatusConflict, "turn_working")
	s.goOn()
	c.ended()
	c.say("something else").ok(t)
	if got := c.ended().list("messages", "text"); len(got) != 4 || got[0] != s.text || got[2] != "something else" {
		t.Errorf("the messages are %v", got)
	}
}

const crowd = 50

func manyOfOne(t *testing.T, w *testServer) {
	c, s := w.talk(t), w.scene(t)
	var answers []<-chan answer
	for i := range crowd {
		answers = append(answers, c.saying(s.text, "Prefer", fmt.Sprintf("wait=%d", i%2)))
	}
	turns := map[string]int{}
	for _, a := range answers {
		turns[soon(t, a).working(t).str("turnId")]++
	}
	if len(turns) != 1 {
		t.Errorf("%d turns", len(turns))
	}
	s.goOn()
	if got := c.ended().list("messages", "role"); !slices.Equal(got, []string{"user", "assistant"}) {
		t.Errorf("the messages are of %v", got)
	}
}

func manyTexts(t *testing.T, w *testServer) {
	c := w.talk(t)
	scenes := []*scene{w.scene(t), w.scene(t), w.scene(t)}
	var answers []<-chan answer
	for i := range crowd {
		answers = append(answers, c.saying(scenes[i%3].text, "Prefer", "wait=0"))
	}
	turns, statuses := map[string]int{}, map[int]int{}
	for _, a := range answers {
		got := soon(t, a)
		statuses[got.status]++
		if got.status == http.StatusAccepted {
			turns[got.str("turnId")]++
		} else {
			got.refused(t, http.StatusConflict, "turn_working")
		}
	}
	if len(turns) != 1 || statuses[202] < crowd/3 || statuses[202]+statuses[409] != crowd {
		t.Errorf("%d turns, statuses %v", len(turns), statuses)
	}
	for _, s := range scenes {
		s.goOn()
	}
	if got := c.ended().list("messages", "role"); !slices.Equal(got, []string{"user", "assistant"}) {
		t.Errorf("the messages are of %v", got)
	}
}

func hangUp(t *testing.T, w *testServer) {
	c, s := w.talk(t), w.scene(t)
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+c.path("/messages"),
		strings.NewReader(encode(t, object{"text": s.text})))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	gone := make(chan error, 1)
	go func() {
		_, err := w.roundTrip(req)
		gone <- err
	}()
	<-s.began
	leave()
	if err := soon(t, gone); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := c.get(c.path("/messages")).ok(t).str("status"); got != "working" {
		t.Errorf("after the client is gone the turn is %s", got)
	}
	s.goOn()
	if m := c.ended().last(); m["text"] != whole || m["status"] != "complete" {
		t.Errorf("the reply is %v", m)
	}
}

func readWhileWorking(t *testing.T, w *testServer) {
	c, s := w.talk(t), w.scene(t)
	c.say("before").ok(t)
	turn := c.begin(s)
	var a answer
	eventually(t, func() bool {
		a = c.get(c.path("/messages")).ok(t)
		return a.str("turn", "partialText") != "" && len(a.steps()) == 2
	})
	if got := a.list("messages", "role"); !slices.Equal(got, []string{"user", "assistant", "user"}) {
		t.Errorf("the messages are of %v", got)
	}
	if a.str("status") != "working" || a.str("turn", "id") != turn || a.str("turn", "partialText") != said {
		t.Errorf("read %s", a.body)
	}
	now := w.clock.Now().Format("2006-01-02T15:04:05")
	if !strings.HasPrefix(a.str("turn", "startedAt"), now[:13]) {
		t.Errorf("it started at %s", a.str("turn", "startedAt"))
	}
	for i, want := range []object{
		{"n": 1.0, "kind": "think", "label": "Thinking", "state": "finished"},
		{"n": 2.0, "kind": "answer", "label": "Writing the reply", "state": "started"},
	} {
		got := a.steps()[i]
		for field, value := range want {
			if got[field] != value {
				t.Errorf("step %d has the %s %v", i+1, field, got[field])
			}
		}
		if _, ended := got["endedAt"]; got["startedAt"] == nil || ended != (i == 0) {
			t.Errorf("step %d is %v", i+1, got)
		}
	}
	if got := c.get(c.path("")).ok(t).str("thread", "status"); got != "working" {
		t.Errorf("the thread is %s", got)
	}
	tag := a.header.Get("ETag")
	s.goOn()
	after := c.ended()
	if after.value("turn") != nil || after.last()["text"] != whole || after.header.Get("ETag") == tag {
		t.Errorf("then read %s", after.body)
	}
}

// steps returns the steps of the running turn.
func (a answer) steps() []object {
	items, _ := a.value("turn", "steps").([]any)
	out := make([]object, len(items))
	for i, item := range items {
		out[i], _ = item.(object)
	}
	return out
}
