package mcp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
	"carrel/internal/httpapi"
	"carrel/internal/httpapi/oas"
	"carrel/internal/streamwatch"
)

// library is an API with one agent, whose name the test sets.
type library struct {
	name    atomic.Value
	invoked atomic.Int64
}

func (l *library) Invoke(_ context.Context, _ core.Actor, op core.Operation, _ httpapi.Arguments) (any, error) {
	l.invoked.Add(1)
	if op == core.OpListAgents {
		return &oas.AgentList{Agents: []oas.Agent{{ID: "agt_1", Name: l.name.Load().(string)}}}, nil
	}
	return nil, core.NotFound("agent")
}

func TestListenersOfACredentialShareOneSnapshot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lib library
		var state atomic.Uint64
		lib.name.Store("One")
		s := &Server{api: &lib, changed: func() (uint64, bool) { return state.Load(), true }}
		s.stopping, s.stop = context.WithCancel(t.Context())
		s.listeners = streamwatch.New(pollInterval, s.pollChanges)
		open := streamwatch.New(recheckInterval, func(string, []*stream) {})
		var replies []*httptest.ResponseRecorder
		for range 50 {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, path, nil).WithContext(t.Context())
			out := newStream(w, r, core.Actor{}, "token", open)
			go s.listen(out, out.request, core.Actor{}, message{})()
			replies = append(replies, w)
		}
		synctest.Wait()
		lib.invoked.Store(0)
		time.Sleep(3 * pollInterval)
		synctest.Wait()
		if n := lib.invoked.Load(); n != 0 {
			t.Errorf("%d calls though nothing has changed", n)
		}
		lib.name.Store("Two")
		state.Add(1)
		time.Sleep(pollInterval)
		synctest.Wait()
		state.Add(1) // a change that this credential cannot see
		time.Sleep(pollInterval)
		synctest.Wait()
		s.stop()
		synctest.Wait()
		if n := lib.invoked.Load(); n != 2 {
			t.Errorf("%d calls after two changes, want 2", n)
		}
		const want = ": connected\n\nevent: message\ndata: " +
			`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}` + "\n\n"
		for _, w := range replies {
			if w.Body.String() != want {
				t.Fatalf("a client received %q", w.Body)
			}
		}
	})
}

func TestSlowListenerGetsTheLatestSnapshotOnly(t *testing.T) {
	t.Parallel()
	var lib library
	var state uint64
	s := &Server{api: &lib, changed: func() (uint64, bool) { return state, true }}
	r := httptest.NewRequest(http.MethodGet, path, nil).WithContext(t.Context())
	out := newStream(httptest.NewRecorder(), r, core.Actor{}, "token",
		streamwatch.New(time.Hour, func(string, []*stream) {}))
	defer out.end()
	l := &listener{
		server:    s,
		stream:    out,
		snapshots: make(chan snapshot, 1),
		wants:     sdk.NotificationSubscriptions{ResourcesListChanged: true},
	}
	for _, name := range []string{"One", "Two", "Three"} {
		lib.name.Store(name)
		state++
		s.pollChanges("token", []*listener{l})
	}
	if got := <-l.snapshots; got.agents != s.agentsFingerprint(t.Context(), core.Actor{}) || len(l.snapshots) != 0 {
		t.Errorf("received %+v, and %d more are queued", got, len(l.snapshots))
	}
}
