package httpapi_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
)

// polling requests the messages in another goroutine, with this ETag in If-None-Match.
func (c talk) polling(tag, wait string) <-chan answer {
	out := make(chan answer, 1)
	go func() {
		a, err := c.try(http.MethodGet, c.path("/messages"), http.NoBody, "If-None-Match", tag, "Prefer", "wait="+wait)
		if err != nil && c.t.Context().Err() == nil {
			c.t.Error(err)
		}
		out <- a
	}()
	return out
}

func TestPollingMessages(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"UnchangedMessagesGet304AfterTheWait", nothingNew},
		{"ChangesAreReturnedAtOnce", somethingNew},
		{"TurnIsPolledToItsEnd", watchedTurn},
		{"WithoutETagThereIsNoWait", noWait},
		{"RevokedKeyGetsNoMessages", revokedPoll},
		{"KeyRevokedAfterItsCheckGetsNoMessages", revokedAfterCheck},
		{"RefusalDoesNotWait", refusedPoll},
	})
}

func nothingNew(t *testing.T, w *testServer) {
	c := w.talk(t)
	c.say("Hello").ok(t)
	tag := c.get(c.path("/messages")).ok(t).header.Get("ETag")
	sent := time.Now()
	a := soon(t, c.polling(tag, "1"))
	took := time.Since(sent)
	if a.status != http.StatusNotModified || took < time.Second || len(a.body) != 0 || a.header.Get("ETag") != tag {
		t.Errorf("after %v: %d %s", took, a.status, a.body)
	}
}

func somethingNew(t *testing.T, w *testServer) {
	c := w.talk(t)
	tag := c.get(c.path("/messages")).ok(t).header.Get("ETag")
	polled := c.polling(tag, "60")
	c.say("Hello").ok(t)
	if a := soon(t, polled).ok(t); a.header.Get("ETag") == tag || len(a.list("messages", "id")) == 0 {
		t.Errorf("got %s", a.body)
	}
	// Changes that happened before the request are returned without waiting.
	soon(t, c.polling(tag, "60")).ok(t)
}

func watchedTurn(t *testing.T, w *testServer) {
	c, s := w.talk(t), w.scene(t)
	c.begin(s)
	tags := map[string]bool{}
	a := c.get(c.path("/messages")).ok(t)
	for a.str("turn", "partialText") != said {
		tags[a.header.Get("ETag")] = true
		a = soon(t, c.polling(a.header.Get("ETag"), "60")).ok(t)
		if tags[a.header.Get("ETag")] {
			t.Fatalf("the same messages were returned twice: %s", a.body)
		}
	}
	polled := c.polling(a.header.Get("ETag"), "60")
	s.goOn()
	for {
		a = soon(t, polled).ok(t)
		if a.str("status") == "complete" {
			break
		}
		polled = c.polling(a.header.Get("ETag"), "60")
	}
	if m := a.last(); m["text"] != whole {
		t.Errorf("the last messages are %v", m)
	}
}

func noWait(t *testing.T, w *testServer) {
	c := w.talk(t)
	tag := c.get(c.path("/messages")).ok(t).header.Get("ETag")
	sent := time.Now()
	c.get(c.path("/messages"), "Prefer", "wait=60").ok(t)
	for _, prefer := range []string{"wait=0", "respond-async", "wait=x", "-"} {
		if a := c.get(c.path("/messages"), "If-None-Match", tag, "Prefer", prefer); a.status != http.StatusNotModified {
			t.Errorf("%s: %d %s", prefer, a.status, a.body)
		}
	}
	// Requests without an ETag do not wait.
	list := c.get(c.at("/threads")).ok(t).header.Get("ETag")
	if a := c.get(c.at("/threads"), "If-None-Match", list, "Prefer", "wait=60"); a.status != http.StatusNotModified {
		t.Errorf("the threads: %d %s", a.status, a.body)
	}
	if took := time.Since(sent); took > timeout {
		t.Errorf("it took %v", took)
	}
}

func revokedPoll(t *testing.T, w *testServer) {
	c := w.talk(t)
	key, token, err := w.credentials.CreateKey(t.Context(), core.Operator(c.testUser.id), credential.NewKey{Name: "poll"})
	if err != nil {
		t.Fatal(err)
	}
	other := talk{c.with(token), c.id}
	tag := other.get(c.path("/messages")).ok(t).header.Get("ETag")
	polled := other.polling(tag, "60")
	// Whether the key is revoked before or during the wait, the request is refused.
	if err := w.credentials.RevokeKey(t.Context(), core.Operator(c.testUser.id), key.ID); err != nil {
		t.Fatal(err)
	}
	c.say("for others").ok(t)
	soon(t, polled).refused(t, http.StatusUnauthorized, "invalid_credential")
}

// revokedAfterCheck revokes the key and sends a message between the check of the key and the reading of messages.
func revokedAfterCheck(t *testing.T, w *testServer) {
	c := w.talk(t)
	key, token, err := w.credentials.CreateKey(t.Context(), core.Operator(c.testUser.id), credential.NewKey{Name: "poll"})
	if err != nil {
		t.Fatal(err)
	}
	other := talk{c.with(token), c.id}
	tag := other.get(c.path("/messages")).ok(t).header.Get("ETag")
	var once sync.Once
	revoke := func(who core.Actor) {
		if who.CredentialID != key.ID {
			return
		}
		once.Do(func() {
			if err := w.credentials.RevokeKey(t.Context(), core.Operator(c.testUser.id), key.ID); err != nil {
				t.Error(err)
			}
			c.say("after the revocation").ok(t)
		})
	}
	w.admitted.Store(&revoke)
	soon(t, other.polling(tag, "60")).refused(t, http.StatusUnauthorized, "invalid_credential")
}

func refusedPoll(t *testing.T, w *testServer) {
	c := w.talk(t)
	for _, path := range []string{"/threads/thr_00000000000000000000000000/messages", "/threads/x/messages"} {
		c.get(c.at(path), "If-None-Match", `"x"`, "Prefer", "wait=60").refused(t, http.StatusNotFound, "not_found")
	}
	c.get(c.path("/messages?limit=0"), "If-None-Match", `"x"`,
		"Prefer", "wait=60").refused(t, http.StatusBadRequest, "invalid_request")
}

func TestPollEndsAtShutdown(t *testing.T) {
	t.Parallel()
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newServer(t, open(t))
			c := w.talk(t)
			tag := c.get(c.path("/messages")).ok(t).header.Get("ETag")
			polled := c.polling(tag, "60")
			time.Sleep(100 * time.Millisecond) // so that the request is waiting
			close(w.draining)
			if a := soon(t, polled); a.status != http.StatusNotModified {
				t.Errorf("got %d %s", a.status, a.body)
			}
		})
	}
}
