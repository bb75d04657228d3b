package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
)

const (
	// lookEvery is how often listeners look for changes where it is cheap to learn that there are none, and lookSlowly
	// where every look asks the database.
	lookEvery  = time.Second
	lookSlowly = 5 * time.Second
	// lookWithin is how long a look may take.
	lookWithin = 30 * time.Second
	// maxSubscriptions bounds the resources of one listener: each is read again whenever something has changed.
	maxSubscriptions = 20
)

// listener is a client that waits for news. What it may see is its credential's alone, so it is found out for each of them:
// by comparing what there was with what there is, on any node and whoever wrote it.
type listener struct {
	server *Server
	stream *stream
	wants  sdk.NotificationSubscriptions
	// id is that of the request, which every notification names; nil in the stateful era.
	id json.RawMessage

	// state is that of the database at the last look. It is the watch's alone.
	state uint64
	// looked holds what there was at the last look, until the client is told.
	looked chan sight
	// told is what the client knows of.
	told sight
}

// sight is what a credential sees: fingerprints of what can be subscribed to. That of a look is shared and never changed.
type sight struct {
	tools uint64
	// agents is 0 when they could not be read.
	agents uint64
	// resources has none that could not be read; what is gone has the fingerprint of nothing.
	resources map[string]uint64
}

// listen begins a stream of news: subscriptions/listen of the stateless era, or GET of the stateful one, which is told of
// lists alone: to forget what it subscribed to at a restart would be worse than not to offer it. It returns what waits for
// them.
func (s *Server) listen(out *stream, r *http.Request, who core.Actor, m message) (wait func()) {
	l := &listener{server: s, stream: out, looked: make(chan sight, 1)}
	if r.Method == http.MethodGet {
		l.wants = sdk.NotificationSubscriptions{ToolsListChanged: true, ResourcesListChanged: true}
	} else {
		l.wants, l.id = *m.Params.Notifications, slices.Clone(m.ID) // without the rest of the body
		l.wants.PromptsListChanged = false                          // they never do
	}
	l.begin(r.Context(), who)
	out.Header().Set("Content-Type", "text/event-stream")
	out.WriteHeader(http.StatusOK)
	if l.acknowledge() != nil {
		return nil
	}
	return l.wait
}

// begin looks at what there is, so that only what comes after is news. What can't be read is not subscribed to.
func (l *listener) begin(ctx context.Context, who core.Actor) {
	l.state, _ = l.server.changed()
	asked := l.wants.ResourceSubscriptions
	l.told = sight{tools: l.server.toolsPrint(who), agents: l.server.agentsPrint(ctx, who), resources: map[string]uint64{}}
	l.wants.ResourceSubscriptions = nil
	for _, uri := range asked[:min(len(asked), maxSubscriptions)] {
		if slices.Contains(l.wants.ResourceSubscriptions, uri) {
			continue
		}
		if text, _, err := l.server.read(ctx, who, uri); err == nil {
			l.told.resources[uri] = fingerprint(text)
			l.wants.ResourceSubscriptions = append(l.wants.ResourceSubscriptions, uri)
		}
	}
}

// wait tells of changes until the stream or the server ends.
func (l *listener) wait() {
	defer l.stream.end()
	if l.any() && !l.follow() {
		return
	}
	if l.id != nil {
		_ = l.send(map[string]any{"id": l.id, "result": map[string]any{"resultType": "complete", "_meta": l.meta()}}) // the last word
	}
}

func (l *listener) any() bool {
	return l.wants.ToolsListChanged || l.wants.ResourcesListChanged || len(l.wants.ResourceSubscriptions) > 0
}

func (l *listener) meta() map[string]any { return map[string]any{sdk.MetaKeySubscriptionID: l.id} }

// acknowledge says what was agreed on, or in the stateful era that the stream is there.
func (l *listener) acknowledge() error {
	if l.id == nil {
		return l.stream.event(": connected\n\n")
	}
	return l.notify("notifications/subscriptions/acknowledged", map[string]any{"notifications": l.wants})
}

// follow tells of changes, and reports whether the client has heard of all of them when it ends. It is where nearly all
// connections are at nearly all times: what it holds on its stack counts.
func (l *listener) follow() bool {
	l.server.listeners.Join(l.stream.token, l)
	defer l.server.listeners.Leave(l.stream.token, l)
	ended := l.stream.request.Context().Done()
	for {
		select {
		case <-l.server.stopping.Done():
			return true
		case <-ended:
			return true
		case now := <-l.looked:
			if l.tell(now) != nil {
				return false
			}
		}
	}
}

// look looks for all listeners of a credential at once, unless there can be nothing new.
func (s *Server) look(_ string, all []*listener) {
	state, known := s.changed()
	all = slices.DeleteFunc(all, func(l *listener) bool { return known && l.state == state })
	if len(all) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(all[0].stream.request.Context()), lookWithin)
	defer cancel()
	who := all[0].stream.actor()
	now := sight{tools: s.toolsPrint(who), agents: s.agentsPrint(ctx, who), resources: map[string]uint64{}}
	for _, l := range all {
		for _, uri := range l.wants.ResourceSubscriptions {
			if _, read := now.resources[uri]; read {
				continue
			}
			text, _, err := s.read(ctx, who, uri)
			if err == nil || core.IsKind(err, core.KindNotFound) { // after any other error it may be there all the same
				now.resources[uri] = fingerprint(text)
			}
		}
	}
	for _, l := range all {
		l.state = state
		select {
		case <-l.looked: // the client is slow; it is told of the last alone
		default:
		}
		l.looked <- now
	}
}

// tell compares with what the client knows, and tells.
func (l *listener) tell(now sight) error {
	if l.wants.ToolsListChanged && now.tools != l.told.tools {
		l.told.tools = now.tools
		if err := l.notify("notifications/tools/list_changed", nil); err != nil {
			return err
		}
	}
	if l.wants.ResourcesListChanged && now.agents != 0 && now.agents != l.told.agents {
		l.told.agents = now.agents
		if err := l.notify("notifications/resources/list_changed", nil); err != nil {
			return err
		}
	}
	for _, uri := range l.wants.ResourceSubscriptions {
		if mark, read := now.resources[uri]; read && mark != l.told.resources[uri] {
			l.told.resources[uri] = mark
			if err := l.notify("notifications/resources/updated", map[string]any{"uri": uri}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *listener) notify(method string, params map[string]any) error {
	if l.id != nil {
		if params == nil {
			params = map[string]any{}
		}
		params["_meta"] = l.meta()
	}
	message := map[string]any{"method": method}
	if params != nil {
		message["params"] = params
	}
	return l.send(message)
}

func (l *listener) send(message map[string]any) error {
	message["jsonrpc"] = "2.0"
	return l.stream.event("event: message\ndata: " + string(marshal(message)) + "\n\n")
}

// toolsPrint changes when other tools are shown.
func (s *Server) toolsPrint(who core.Actor) uint64 {
	names := ""
	for _, t := range s.shown(who) {
		names += t.Name + "\n"
	}
	return fingerprint(names)
}

// agentsPrint changes when the list of resources does. It is 0 while that can't be read.
func (s *Server) agentsPrint(ctx context.Context, who core.Actor) uint64 {
	page, err := s.agents(ctx, who, url.Values{"limit": {"200"}})
	if err != nil {
		return 0
	}
	names := ""
	for _, a := range page.Agents {
		names += fmt.Sprintf("%q %q %q\n", a.ID, a.Name, a.Description)
	}
	return fingerprint(names)
}

func fingerprint(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	return h.Sum64()
}
