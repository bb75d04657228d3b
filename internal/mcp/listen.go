package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"carrel/internal/core"
	"carrel/internal/httpapi"
)

const (
	// pollInterval is the interval of checks for changes if the version of the database shows cheaply that there are none.
	// slowPollInterval applies if every poll has to query the database.
	pollInterval     = time.Second
	slowPollInterval = 5 * time.Second
	pollTimeout      = 30 * time.Second
	// maxSubscriptions limits the resources of one listener: each is read again after every change of the database.
	maxSubscriptions = 20
)

// listener is a client that waits for notifications. Its view depends on its credential, so changes are found by
// comparing snapshots per credential. That also works if another node made the change.
type listener struct {
	server *Server
	stream *stream
	wants  sdk.NotificationSubscriptions
	// id is the id of the request, which notifications carry; nil in the stateful era.
	id json.RawMessage

	// version is the version of the database at the last poll. Only pollChanges uses it.
	version uint64
	// snapshots holds the last snapshot until it was reported.
	snapshots chan snapshot
	// reported is the last snapshot that the client was notified of.
	reported snapshot
}

// snapshot holds fingerprints of everything a credential can subscribe to. Listeners share it, so it is immutable.
type snapshot struct {
	tools uint64
	// agents is 0 if the agents could not be read.
	agents uint64
	// resources omits resources that could not be read; a deleted one has the fingerprint of an empty text.
	resources map[string]uint64
}

// listen opens a stream of notifications: subscriptions/listen of the stateless era, or the GET of a session. Sessions
// are notified of changed lists only, because their subscriptions would be lost at a restart. It returns the function
// that sends the notifications.
func (s *Server) listen(out *stream, r *http.Request, who core.Actor, m message) (wait func()) {
	l := &listener{server: s, stream: out, snapshots: make(chan snapshot, 1)}
	if r.Method == http.MethodGet {
		l.wants = sdk.NotificationSubscriptions{ToolsListChanged: true, ResourcesListChanged: true}
	} else {
		l.wants, l.id = *m.Params.Notifications, slices.Clone(m.ID) // the original keeps the whole body in memory
		l.wants.PromptsListChanged = false                          // prompts never change
	}
	l.begin(r.Context(), who)
	out.Header().Set("Content-Type", "text/event-stream")
	out.WriteHeader(http.StatusOK)
	if l.acknowledge() != nil {
		return nil
	}
	return l.wait
}

// begin takes the first snapshot. Resources that cannot be read are dropped from the subscriptions.
func (l *listener) begin(ctx context.Context, who core.Actor) {
	l.version, _ = l.server.changed()
	requested := l.wants.ResourceSubscriptions
	l.reported = l.server.newSnapshot(ctx, who)
	l.wants.ResourceSubscriptions = nil
	for _, uri := range requested[:min(len(requested), maxSubscriptions)] {
		if slices.Contains(l.wants.ResourceSubscriptions, uri) {
			continue
		}
		if text, _, err := l.server.read(ctx, who, uri); err == nil {
			l.reported.resources[uri] = fingerprint(text)
			l.wants.ResourceSubscriptions = append(l.wants.ResourceSubscriptions, uri)
		}
	}
}

// wait sends notifications until the stream or the server ends.
func (l *listener) wait() {
	defer l.stream.end()
	if l.subscribed() && !l.follow() {
		return
	}
	if l.id != nil {
		// the stream ends anyway
		_ = l.send(map[string]any{"id": l.id, "result": map[string]any{"resultType": "complete", "_meta": l.meta()}})
	}
}

func (l *listener) subscribed() bool {
	return l.wants.ToolsListChanged || l.wants.ResourcesListChanged || len(l.wants.ResourceSubscriptions) > 0
}

func (l *listener) meta() map[string]any { return map[string]any{sdk.MetaKeySubscriptionID: l.id} }

// acknowledge sends the accepted subscriptions, or a comment in the stateful era, which has no such message.
func (l *listener) acknowledge() error {
	if l.id == nil {
		return l.stream.event(": connected\n\n")
	}
	return l.notify("notifications/subscriptions/acknowledged", map[string]any{"notifications": l.wants})
}

// follow sends notifications, and reports whether the client received all of them. Idle connections spend their time
// here, so its stack is kept small.
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
		case now := <-l.snapshots:
			if l.report(now) != nil {
				return false
			}
		}
	}
}

// pollChanges takes a snapshot for all listeners of a credential, unless the database has not changed.
func (s *Server) pollChanges(_ string, all []*listener) {
	version, known := s.changed()
	all = slices.DeleteFunc(all, func(l *listener) bool { return known && l.version == version })
	if len(all) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(all[0].stream.request.Context()), pollTimeout)
	defer cancel()
	who := all[0].stream.actor()
	now := s.newSnapshot(ctx, who)
	for _, l := range all {
		for _, uri := range l.wants.ResourceSubscriptions {
			if _, read := now.resources[uri]; read {
				continue
			}
			text, _, err := s.read(ctx, who, uri)
			if err == nil || core.IsKind(err, core.KindNotFound) { // another error does not mean that the resource has changed
				now.resources[uri] = fingerprint(text)
			}
		}
	}
	for _, l := range all {
		l.version = version
		select {
		case <-l.snapshots: // a slow client gets the latest snapshot only
		default:
		}
		l.snapshots <- now
	}
}

// newSnapshot returns a snapshot without resources.
func (s *Server) newSnapshot(ctx context.Context, who core.Actor) snapshot {
	return snapshot{tools: s.toolsFingerprint(who), agents: s.agentsFingerprint(ctx, who), resources: map[string]uint64{}}
}

// report notifies the client of the differences between a snapshot and the last reported one.
func (l *listener) report(now snapshot) error {
	if l.wants.ToolsListChanged && now.tools != l.reported.tools {
		l.reported.tools = now.tools
		if err := l.notify("notifications/tools/list_changed", nil); err != nil {
			return err
		}
	}
	if l.wants.ResourcesListChanged && now.agents != 0 && now.agents != l.reported.agents {
		l.reported.agents = now.agents
		if err := l.notify("notifications/resources/list_changed", nil); err != nil {
			return err
		}
	}
	for _, uri := range l.wants.ResourceSubscriptions {
		if mark, read := now.resources[uri]; read && mark != l.reported.resources[uri] {
			l.reported.resources[uri] = mark
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

func (s *Server) toolsFingerprint(who core.Actor) uint64 {
	names := ""
	for _, t := range s.visibleTools(who) {
		names += t.Name + "\n"
	}
	return fingerprint(names)
}

// agentsFingerprint covers everything in the list of resources. It is 0 if the agents cannot be read.
func (s *Server) agentsFingerprint(ctx context.Context, who core.Actor) uint64 {
	agents, _, err := s.agents(ctx, who, httpapi.Arguments{"limit": marshal(200)})
	if err != nil {
		return 0
	}
	names := ""
	for _, a := range agents {
		names += fmt.Sprintf("%q %q %q\n", a.ID, a.Name, a.Description)
	}
	return fingerprint(names)
}

func fingerprint(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // a hash never fails
	return h.Sum64()
}
