package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/store"
	"carrel/internal/task"
	"carrel/internal/testkit/fixture"
	"carrel/internal/thread"
)

// event is a server-sent event.
type event struct{ id, kind, data string }

// following is an open stream.
type following struct {
	t     teller
	res   *http.Response
	lines *bufio.Scanner
	leave context.CancelFunc
}

// teller is the common interface of *testing.T and *rapid.T.
type teller interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// follow opens the event stream of a thread and fails the test unless the status is 200. The header "?" sets the
// query.
func (c talk) follow(headers ...string) *following {
	c.t.Helper()
	f, err := c.tryFollow(c.t, headers...)
	if err != nil {
		c.t.Fatal(err)
	}
	return f
}

// errBusy means that the server asks to retry.
var errBusy = errors.New("status 503")

func (c talk) tryFollow(t teller, headers ...string) (*following, error) {
	ctx, leave := context.WithCancel(c.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.w.url+c.path("/events"), http.NoBody)
	if err != nil {
		leave()
		return nil, err
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for pair := range slices.Chunk(headers, 2) {
		if pair[0] == "?" {
			req.URL.RawQuery = pair[1]
		} else {
			req.Header.Set(pair[0], pair[1])
		}
	}
	res, err := c.w.client.Do(req)
	if err == nil && res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		err = fmt.Errorf("status %d", res.StatusCode)
		if res.StatusCode == http.StatusServiceUnavailable {
			err = errBusy
		}
	}
	if err != nil {
		leave()
		return nil, err
	}
	f := &following{t: t, res: res, lines: bufio.NewScanner(res.Body), leave: leave}
	c.t.Cleanup(f.close)
	return f, nil
}

func (f *following) close() {
	f.leave()
	_ = f.res.Body.Close()
}

// rest yields the events until the stream ends or the test times out.
func (f *following) rest() iter.Seq[event] {
	return func(yield func(event) bool) {
		tooLong := time.AfterFunc(timeout, f.leave)
		defer tooLong.Stop()
		var e event
		for f.lines.Scan() {
			name, value, _ := strings.Cut(f.lines.Text(), ": ")
			switch name {
			case "id":
				e.id = value
			case "event":
				e.kind = value
			case "data":
				e.data = value
			case "":
				if e != (event{}) && !yield(e) {
					return
				}
				e = event{}
			}
		}
		if !tooLong.Stop() {
			f.t.Error("the stream did not end in time")
		}
	}
}

// take returns the next n events.
func (f *following) take(n int) []event {
	f.t.Helper()
	out := make([]event, 0, n)
	for e := range f.rest() {
		if out = append(out, e); len(out) == n {
			return out
		}
	}
	f.t.Fatalf("the stream ended after %v", out)
	return nil
}

// ends fails the test unless the stream ends without another event.
func (f *following) ends() {
	f.t.Helper()
	for e := range f.rest() {
		f.t.Errorf("there came %v", e)
	}
}

func TestThreadEvents(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"WireFormat", onTheWire},
		{"IDsIncrease", growingIDs},
		{"IdleThread", idleThread},
		{"ThreadWithoutTurns", threadWithoutTurns},
		{"EndedTurnIsReplayed", endedTurn},
		{"RunningTurnIsReplayedFromItsStart", workingTurn},
		{"DoneEventHasAReason", doneReasons},
		{"BadRequestIsAProblem", badStreams},
		{"DisabledUserEndsTheStream", disabledStream},
		{"LostAccessEndsTheStream", unreachableStream},
		{"ManyReaders", manyReaders},
		{"ReconnectAfterEveryEvent", cutEverywhere},
		{"ReconnectAnywhere", cutAnywhere},
	})
}

func onTheWire(t *testing.T, w *testServer) {
	c := w.talk(t)
	text := "wire " + c.id
	w.script(text, func(ctx context.Context, r *task.Run, _ thread.Question) (string, error) {
		_, err := r.Step(ctx, "search", "Searching “x”", func(context.Context, *task.Step) ([]byte, error) {
			r.Delta("two\nlines\r\n\"quoted\" <b>")
			return nil, nil
		})
		return "two\nlines", err
	})
	a := c.say(text).ok(t)
	got := c.get(c.path("/events?until=done"), "Last-Event-ID", "0.0").ok(t)
	want := ": connected\n\n" +
		"id: 1.1\nevent: step\ndata: {\"n\":1,\"kind\":\"search\",\"label\":\"Searching “x”\",\"state\":\"started\"}\n\n" +
		"id: 1.2\nevent: delta\ndata: {\"text\":\"two\\nlines\\r\\n\\\"quoted\\\" \\u003cb\\u003e\"}\n\n" +
		"id: 1.3\nevent: step\ndata: {\"n\":1,\"kind\":\"search\",\"label\":\"Searching “x”\",\"state\":\"finished\"}\n\n" +
		"id: 1.4\nevent: done\ndata: {\"status\":\"complete\",\"messageId\":\"" + a.str("messageId") + "\"}\n\n"
	if string(got.body) != want {
		t.Errorf("it is\n%s\nwant\n%s", got.body, want)
	}
	head := c.send(http.MethodHead, c.path("/events"), "")
	for _, h := range []http.Header{got.header, head.header} {
		for name, value := range map[string]string{
			"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no", "Content-Encoding": "",
			"X-Content-Type-Options": "nosniff",
		} {
			if h.Get(name) != value {
				t.Errorf("%s is %q", name, h.Get(name))
			}
		}
		if h.Get("X-Request-Id") == "" {
			t.Error("the stream has no id")
		}
	}
	if head.status != http.StatusOK || len(head.body) != 0 {
		t.Errorf("HEAD is %d %s", head.status, head.body)
	}
}

func growingIDs(t *testing.T, w *testServer) {
	c := w.talk(t)
	f := c.follow()
	for range 3 {
		c.say("Hello").ok(t)
	}
	last := task.Position{}
	for i, e := range f.take(12) {
		at, err := task.ParsePosition(e.id)
		if err != nil || at.Number < last.Number || at.Number == last.Number && at.Seq <= last.Seq ||
			at.Number != int64(i/4+1) {
			t.Errorf("event %d is %v, after %v (%v)", i, e, last, err)
		}
		if want := []string{"step", "delta", "step", "done"}[i%4]; e.kind != want {
			t.Errorf("event %d is %v, want %s", i, e, want)
		}
		last = at
	}
}

func idleThread(t *testing.T, w *testServer) {
	c := w.talk(t)
	fresh := c.follow()
	c.say("first").ok(t)
	if got := fresh.take(1)[0].id; got != "1.1" {
		t.Errorf("a new thread's stream starts with %s", got)
	}
	// A client that resumes after the latest turn waits for the next one.
	f := c.follow("?", "until=done", "Last-Event-ID", fresh.take(3)[2].id)
	c.say("second").ok(t)
	got := f.take(4)
	if got[0].id != "2.1" || got[3].kind != "done" {
		t.Errorf("it starts with %v", got)
	}
	f.ends()
}

// threadWithoutTurns follows a thread without a turn.
func threadWithoutTurns(t *testing.T, w *testServer) {
	c := w.talk(t)
	f := c.follow("?", "until=done")
	c.say("first").ok(t)
	if got := f.take(4); got[0].id != "1.1" || got[3].kind != "done" {
		t.Errorf("it starts with %v", got)
	}
	f.ends()
}

// endedTurn opens streams after their turn has ended, like a slow client.
func endedTurn(t *testing.T, w *testServer) {
	for state, ask := range map[string]func(c talk){
		"complete": func(c talk) { c.say("Hello").ok(t) },
		"failed": func(c talk) {
			text := "fails " + c.id
			w.script(text, func(context.Context, *task.Run, thread.Question) (string, error) {
				return "", &core.Error{Kind: core.KindUpstream, Code: "model_failed", Detail: "No."}
			})
			c.say(text).refused(t, http.StatusBadGateway, "model_failed")
		},
		"cancelled": func(c talk) {
			c.begin(w.scene(t))
			c.post(c.path("/cancel"), "").ok(t)
			c.ended()
		},
	} {
		c := w.talk(t)
		c.say("before").ok(t)
		ask(c)
		var want []event
		for e := range c.follow("?", "until=done", "Last-Event-ID", "1.9999").rest() {
			want = append(want, e)
		}
		last := want[len(want)-1]
		if want[0].id != "2.1" || last.kind != "done" || !strings.Contains(last.data, `"status":"`+state+`"`) {
			t.Fatalf("%s: the turn's events are %v", state, want)
		}
		var got []event
		for e := range c.follow("?", "until=done").rest() { // until the server ends it
			got = append(got, e)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s, until=done: %v, want %v", state, got, want)
		}
		if got := c.follow().take(len(want)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", state, got, want)
		}
	}
}

func workingTurn(t *testing.T, w *testServer) {
	c, s := w.talk(t), w.scene(t)
	c.say("before").ok(t)
	c.begin(s)
	f := c.follow("?", "until=done")
	got := f.take(4)
	if got[0].id != "2.1" || got[3] != (event{"2.4", "delta", `{"text":"` + said + `"}`}) {
		t.Errorf("it starts with %v", got)
	}
	s.goOn()
	got = f.take(3)
	if got[0].data != `{"text":"and no further."}` || !strings.Contains(got[1].data, `"finished"`) ||
		got[2].kind != "done" {
		t.Errorf("it goes on with %v", got)
	}
	f.ends()
}

func doneReasons(t *testing.T, w *testServer) {
	c, s := w.talk(t), w.scene(t)
	text := "fails " + c.id
	w.script(text, func(context.Context, *task.Run, thread.Question) (string, error) {
		return "", &core.Error{Kind: core.KindUpstream, Code: "model_failed", Detail: "No."}
	})
	c.say(text).refused(t, http.StatusBadGateway, "model_failed")
	c.begin(s)
	c.post(c.path("/cancel"), "").ok(t)
	read := c.ended()
	ids := read.list("messages", "id")
	ends := []string{}
	f := c.follow("Last-Event-ID", "0.0")
	for e := range f.rest() {
		if e.kind == "done" {
			ends = append(ends, e.data)
		}
		if len(ends) == 2 {
			break
		}
	}
	if want := []string{
		`{"status":"failed","messageId":"` + ids[1] + `","error":{"code":"model_failed","detail":"No."}}`,
		`{"status":"cancelled","messageId":"` + ids[3] + `","error":{"code":"cancelled","detail":"The turn was cancelled."}}`,
	}; !slices.Equal(ends, want) {
		t.Errorf("the ends are %v, want %v", ends, want)
	}
}

func badStreams(t *testing.T, w *testServer) {
	c := w.talk(t)
	for _, id := range []string{
		"x", "1", "1.", ".1", "1.x", "-1.2", "1.-2", "01.2", "1.2.3", "1 .2", "9223372036854775808.1", "+1.1",
	} {
		a := c.get(c.path("/events"), "Last-Event-ID", id).refused(t, http.StatusBadRequest, "invalid_request")
		if got := a.pointers(); !slices.Equal(got, []string{"Last-Event-ID"}) {
			t.Errorf("%q: the problem is in %v", id, got)
		}
	}
	for _, until := range []string{"Done", "never", "1"} {
		a := c.get(c.path("/events?until="+until)).refused(t, http.StatusBadRequest, "invalid_request")
		if got := a.pointers(); !slices.Equal(got, []string{"until"}) {
			t.Errorf("until=%s: the problem is in %v", until, got)
		}
	}
	c.get(c.path("/events"), "Authorization", "-").refused(t, http.StatusUnauthorized, "missing_credential")
	c.get(c.at("/threads/thr_00000000000000000000000000/events")).refused(t, http.StatusNotFound, "not_found")
	other := w.user(t, core.PlanOpen)
	other.get(c.path("/events")).refused(t, http.StatusNotFound, "not_found")
	other.get("/api/agents/"+other.agent+"/threads/"+c.id+"/events").refused(t, http.StatusNotFound, "not_found")
	c.post(c.path("/events"), "{}").refused(t, http.StatusMethodNotAllowed, "method_not_allowed")
}

func disabledStream(t *testing.T, w *testServer) {
	c := w.talk(t)
	f := c.follow()
	if err := w.db.DisableUser(t.Context(), c.testUser.id, w.clock.Now()); err != nil {
		t.Fatal(err)
	}
	f.ends()
}

func unreachableStream(t *testing.T, w *testServer) {
	c := w.talk(t)
	f := c.follow()
	c.send(http.MethodDelete, c.path(""), "").ok(t)
	f.ends()
	c.testUser.agent = c.newAgent("Second")
	c.id = c.newThread("T")
	f = c.follow()
	c.send(http.MethodDelete, c.at(""), "").ok(t)
	f.ends()
}

func manyReaders(t *testing.T, w *testServer) {
	c, s := w.talk(t), w.scene(t)
	var readers []*following
	for range 20 {
		readers = append(readers, c.follow("?", "until=done"))
	}
	c.begin(s)
	s.goOn()
	c.ended()
	var want []event
	for i, f := range readers {
		got := slices.Collect(f.rest())
		if i == 0 {
			want = got
		}
		if len(got) < 6 || !slices.Equal(got, want) {
			t.Fatalf("reader %d got %v, the first %v", i, got, want)
		}
	}
}

// busy scripts turns with many small events, and returns their question.
func (w *testServer) busy(c talk) string {
	text := "busy " + c.id
	w.script(text, func(ctx context.Context, r *task.Run, _ thread.Question) (string, error) {
		var all strings.Builder
		for n := range 3 {
			_, err := r.Step(ctx, "answer", fmt.Sprint("Part ", n), func(context.Context, *task.Step) ([]byte, error) {
				for i := range 3 {
					piece := fmt.Sprint(n, ".", i, " ")
					all.WriteString(piece)
					r.Delta(piece)
					r.Emit("note", fmt.Appendf(nil, `{"i":%d}`, i)) // separates the deltas
					time.Sleep(time.Millisecond)
				}
				return nil, nil
			})
			if err != nil {
				return "", err
			}
		}
		return all.String(), nil
	})
	return text
}

// cutEverywhere reads one event per connection, and compares with a reader that stays connected.
func cutEverywhere(t *testing.T, w *testServer) {
	c := w.talk(t)
	text := w.busy(c)
	unbroken := c.follow()
	last, got := "0.0", []event{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 2 {
			soon(t, c.saying(text)).ok(t)
		}
	}()
	for ends := 0; ends < 2; {
		f := c.follow("Last-Event-ID", last)
		e := f.take(1)[0]
		f.close()
		last, got = e.id, append(got, e)
		if e.kind == "done" {
			ends++
		}
	}
	<-done
	if want := unbroken.take(len(got)); !slices.Equal(got, want) || len(got) != 2*(3*(2+6)+1) {
		t.Errorf("piece by piece %v\nunbroken %v", got, want)
	}
}

// cutAnywhere disconnects and resumes after random numbers of events.
func cutAnywhere(t *testing.T, w *testServer) {
	c := w.talk(t)
	text := w.busy(c)
	for range 3 {
		c.say(text).ok(t)
	}
	const all = 3 * (3*(2+6) + 1)
	want := c.follow("Last-Event-ID", "0.0").take(all)
	rapid.Check(t, func(rt *rapid.T) {
		got, last := []event{}, "0.0"
		for len(got) < all {
			n := rapid.IntRange(1, all).Draw(rt, "events before the cut")
			f, err := c.tryFollow(rt, "Last-Event-ID", last)
			for tries := 0; errors.Is(err, errBusy) && tries < 50; tries++ { // many tests share one PostgreSQL
				time.Sleep(20 * time.Millisecond)
				f, err = c.tryFollow(rt, "Last-Event-ID", last)
			}
			if err != nil {
				rt.Fatalf("%v: %s", err, w.log)
			}
			got = append(got, f.take(min(n, all-len(got)))...)
			f.close()
			last = got[len(got)-1].id
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("in pieces %v\nunbroken %v", got, want)
		}
	})
}

// The test needs its own server, because it counts rechecks. It revokes the key during one, so that no other is running
// at that time.
func TestRevokedKeyEndsItsStreamAtTheNextRecheck(t *testing.T) {
	t.Parallel()
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newServer(t, open(t))
			c, s := w.talk(t), w.scene(t)
			owner := core.Operator(c.testUser.id)
			key, token, err := w.credentials.CreateKey(t.Context(), owner, credential.NewKey{Name: "stream"})
			if err != nil {
				t.Fatal(err)
			}
			stays := c.follow()
			f := talk{c.with(token), c.id}.follow()
			c.begin(s)
			f.take(4)
			var rechecks atomic.Int64
			recheck := func(who core.Actor) {
				if who.CredentialID != key.ID || rechecks.Add(1) > 1 {
					return
				}
				if err := w.credentials.RevokeKey(t.Context(), owner, key.ID); err != nil {
					t.Error(err)
				}
			}
			w.admitted.Store(&recheck)
			f.ends()
			if n := rechecks.Load(); n != 1 {
				t.Errorf("%d rechecks were admitted, want only the one before the revocation", n)
			}
			s.goOn()
			if got := stays.take(7); got[6].kind != "done" {
				t.Errorf("another key's stream got %v", got)
			}
		})
	}
}

func TestStreamsEndAtShutdown(t *testing.T) {
	t.Parallel()
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newServer(t, open(t))
			c, s := w.talk(t), w.scene(t)
			working := c.follow()
			idle := talk{c.testUser, c.newThread("T")}.follow()
			c.begin(s)
			working.take(4)
			close(w.draining)
			working.ends()
			idle.ends()
			late := c.get(c.path("/events")).ok(t)
			if !strings.HasPrefix(string(late.body), ": connected\n\n") {
				t.Errorf("who comes late gets %q", late.body)
			}
		})
	}
}

// The test needs its own database, because pruning affects all turns.
func TestOldTurnIsReplayedWithoutDeltas(t *testing.T) {
	t.Parallel()
	w := newServer(t, openStore(t, store.Options{Path: fixture.SQLite(t)}))
	c := w.talk(t)
	c.say("Hello").ok(t)
	if _, err := w.db.PruneTasks(t.Context(), w.clock.Now().Add(48*time.Hour), 30*24*time.Hour, 1000); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for e := range c.follow("?", "until=done").rest() {
		kinds = append(kinds, e.kind)
	}
	if !slices.Equal(kinds, []string{"step", "step", "done"}) {
		t.Errorf("it has %v", kinds)
	}
}
