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
	// lookEvery is how often a listener looks for changes where it is cheap to learn that there are none, and lookSlowly
	// where every look asks the database.
	lookEvery  = time.Second
	lookSlowly = 5 * time.Second
	// maxSubscriptions bounds the resources of one listener: each is read again whenever something has changed.
	maxSubscriptions = 20
)

// listener is a client that waits for news. What it may see is its own alone, so it is found out for each by itself: by
// comparing what there was with what there is, on any node and whoever wrote it.
type listener struct {
	server *Server
	stream *stream
	wants  sdk.NotificationSubscriptions
	// id is that of the request, which every notification names; nil in the stateful era.
	id json.RawMessage

	state         uint64
	tools, agents uint64
	resources     map[string]uint64
}

// listen serves a stream of news: subscriptions/listen of the stateless era, or GET of the stateful one, which is told of
// lists alone: to forget what it subscribed to at a restart would be worse than not to offer it.
func (s *Server) listen(out *stream, r *http.Request, who core.Actor, m message) {
	l := &listener{server: s, stream: out, resources: map[string]uint64{}}
	if r.Method == http.MethodGet {
		l.wants = sdk.NotificationSubscriptions{ToolsListChanged: true, ResourcesListChanged: true}
	} else {
		l.wants, l.id = *m.Params.Notifications, m.ID
		l.wants.PromptsListChanged = false // they never do
	}
	ctx := r.Context()
	l.state, _ = s.changed()
	l.begin(ctx, who)
	out.Header().Set("Content-Type", "text/event-stream")
	out.WriteHeader(http.StatusOK)
	err := l.acknowledge()
	if err == nil && l.any() {
		err = l.follow(ctx)
	}
	if err == nil && l.id != nil {
		_ = l.send(map[string]any{"id": l.id, "result": map[string]any{"resultType": "complete", "_meta": l.meta()}}) // the last word
	}
}

// begin looks at what there is, so that only what comes after is news. What can't be read is not subscribed to.
func (l *listener) begin(ctx context.Context, who core.Actor) {
	l.tools, l.agents = l.server.toolsPrint(who), l.server.agentsPrint(ctx, who)
	var agreed []string
	for _, uri := range l.wants.ResourceSubscriptions[:min(len(l.wants.ResourceSubscriptions), maxSubscriptions)] {
		text, _, err := l.server.read(ctx, who, uri)
		if err == nil && !slices.Contains(agreed, uri) {
			agreed = append(agreed, uri)
			l.resources[uri] = fingerprint(text)
		}
	}
	l.wants.ResourceSubscriptions = agreed
}

func (l *listener) any() bool {
	return l.wants.ToolsListChanged || l.wants.ResourcesListChanged || len(l.resources) > 0
}

func (l *listener) meta() map[string]any { return map[string]any{sdk.MetaKeySubscriptionID: l.id} }

// acknowledge says what was agreed on, or in the stateful era that the stream is there.
func (l *listener) acknowledge() error {
	if l.id == nil {
		return l.stream.event(": connected\n\n")
	}
	return l.notify("notifications/subscriptions/acknowledged", map[string]any{"notifications": l.wants})
}

// follow tells of changes until the stream or the server ends, which is no error.
func (l *listener) follow(ctx context.Context) error {
	every := lookEvery
	if _, known := l.server.changed(); !known {
		every = lookSlowly
	}
	look := time.NewTicker(every)
	defer look.Stop()
	for {
		select {
		case <-l.server.stopping.Done():
			return nil
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
		state, known := l.server.changed()
		if known && state == l.state {
			continue
		}
		l.state = state
		if err := l.tell(ctx, l.stream.actor()); err != nil {
			return err
		}
	}
}

// tell compares and tells.
func (l *listener) tell(ctx context.Context, who core.Actor) error {
	if l.wants.ToolsListChanged {
		if now := l.server.toolsPrint(who); now != l.tools {
			l.tools = now
			if err := l.notify("notifications/tools/list_changed", nil); err != nil {
				return err
			}
		}
	}
	if l.wants.ResourcesListChanged {
		if now := l.server.agentsPrint(ctx, who); now != 0 && now != l.agents {
			l.agents = now
			if err := l.notify("notifications/resources/list_changed", nil); err != nil {
				return err
			}
		}
	}
	for _, uri := range l.wants.ResourceSubscriptions {
		text, _, err := l.server.read(ctx, who, uri)
		if err != nil && !core.IsKind(err, core.KindNotFound) {
			continue // it may be there all the same
		}
		if now := fingerprint(text); now != l.resources[uri] {
			l.resources[uri] = now
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
