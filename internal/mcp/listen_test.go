package mcp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
	"carrel/internal/httpapi"
	"carrel/internal/streamwatch"
)

// library is an API with one agent, whose name the test chooses.
type library struct {
	name  atomic.Value
	asked atomic.Int64
}

func (l *library) Invoke(_ context.Context, _ core.Actor, c httpapi.Call) ([]byte, string, error) {
	l.asked.Add(1)
	if strings.HasPrefix(c.Target, "/api/agents?") {
		return []byte(`{"agents":[{"id":"agt_1","name":"` + l.name.Load().(string) + `"}]}`), typeJSON, nil
	}
	return nil, "", core.NotFound("agent")
}

// TestListenersOfACredentialLookTogether has the state of the database change now and then, and counts what is read.
func TestListenersOfACredentialLookTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lib library
		var state atomic.Uint64
		lib.name.Store("One")
		s := &Server{api: &lib, changed: func() (uint64, bool) { return state.Load(), true }}
		s.stopping, s.stop = context.WithCancel(t.Context())
		s.listeners = streamwatch.New(lookEvery, s.look)
		open := streamwatch.New(recheckEvery, func(string, []*stream) {})
		var replies []*httptest.ResponseRecorder
		for range 50 {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, path, nil).WithContext(t.Context())
			out := newStream(w, r, core.Actor{}, "token", open)
			go s.listen(out, out.request, core.Actor{}, message{})()
			replies = append(replies, w)
		}
		synctest.Wait()
		lib.asked.Store(0)
		time.Sleep(3 * lookEvery)
		synctest.Wait()
		if n := lib.asked.Load(); n != 0 {
			t.Errorf("asked %d times though nothing has changed", n)
		}
		lib.name.Store("Two")
		state.Add(1)
		time.Sleep(lookEvery)
		synctest.Wait()
		state.Add(1) // what others have changed is no news
		time.Sleep(lookEvery)
		synctest.Wait()
		s.stop()
		synctest.Wait()
		if n := lib.asked.Load(); n != 2 {
			t.Errorf("asked %d times after two changes", n)
		}
		const want = ": connected\n\nevent: message\ndata: " + `{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}` + "\n\n"
		for _, w := range replies {
			if w.Body.String() != want {
				t.Fatalf("a client was told %q", w.Body)
			}
		}
	})
}

// TestASlowListenerIsToldOfTheLastLook looks thrice before the client takes anything.
func TestASlowListenerIsToldOfTheLastLook(t *testing.T) {
	t.Parallel()
	var lib library
	var state uint64
	s := &Server{api: &lib, changed: func() (uint64, bool) { return state, true }}
	r := httptest.NewRequest(http.MethodGet, path, nil).WithContext(t.Context())
	out := newStream(httptest.NewRecorder(), r, core.Actor{}, "token", streamwatch.New(time.Hour, func(string, []*stream) {}))
	defer out.end()
	l := &listener{server: s, stream: out, looked: make(chan sight, 1), wants: sdk.NotificationSubscriptions{ResourcesListChanged: true}}
	for _, name := range []string{"One", "Two", "Three"} {
		lib.name.Store(name)
		state++
		s.look("token", []*listener{l})
	}
	if got := <-l.looked; got.agents != s.agentsPrint(t.Context(), core.Actor{}) || len(l.looked) != 0 {
		t.Errorf("%+v, and %d more", got, len(l.looked))
	}
}
