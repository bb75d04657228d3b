package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"carrel/internal/core"
)

// sessions makes the ids of sessions and knows which have ended. An id is sealed for its user and says which version was
// agreed on, which is all that a session is: so any node can go on with it after a restart, and nobody else can.
type sessions struct {
	sealer Sealer

	// minting guards wanted: the SDK asks for an id without saying who it is for, so one is made at a time.
	minting sync.Mutex
	wanted  string
	release func()

	// reviving has one session at a time come back, so that it comes back once.
	reviving sync.Mutex

	mu sync.Mutex
	// ended are those that their clients closed, in two generations so that they do not pile up.
	ended, before map[string]bool
}

// maxEnded bounds a generation of ended sessions.
const maxEnded = 10_000

func newSessions(sealer Sealer) *sessions {
	return &sessions{sealer: sealer, ended: map[string]bool{}}
}

func sessionPlace(who core.Actor) string { return "mcp session " + who.UserID }

// mint returns a new id for a user's session.
func (s *sessions) mint(who core.Actor, version string) string {
	return base64.RawURLEncoding.EncodeToString(s.sealer.Seal([]byte(version), sessionPlace(who)))
}

// version returns what was agreed on in a session, and whether there is one of this id for this user.
func (s *sessions) version(who core.Actor, id string) (string, bool) {
	sealed, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil {
		return "", false
	}
	version, err := s.sealer.Open(sealed, sessionPlace(who))
	if err != nil {
		return "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(version), !s.ended[id] && !s.before[id]
}

// forget remembers that a session has ended.
func (s *sessions) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ended) >= maxEnded {
		s.before, s.ended = s.ended, map[string]bool{}
	}
	s.ended[id] = true
}

// next is the SDK's source of ids.
func (s *sessions) next() string {
	id := s.wanted
	s.release()
	return id
}

// begin serves a request that begins a session, under an id for its user.
func (s *sessions) begin(who core.Actor, m message, serve func()) {
	s.beginAs(s.mint(who, m.Params.ProtocolVersion), serve)
}

// beginAs has the next id be this one. The lock is held until the SDK has asked for it, or will not.
func (s *sessions) beginAs(id string, serve func()) {
	s.minting.Lock()
	release := sync.OnceFunc(s.minting.Unlock)
	s.wanted, s.release = id, release
	defer release()
	serve()
}

// resume serves a request of a session. One that is not in memory, because the server was restarted, the session was
// idle or another node began it, is brought back first.
func (e *endpoint) resume(s *stream, r *http.Request, who core.Actor, m message, id string) {
	version, ok := e.protocol.sessions.version(who, id)
	if !ok {
		invalidRequest("There is no such session, or it has ended. Begin a new one with initialize.").write(s, http.StatusNotFound, m.ID)
		return
	}
	switch {
	case r.Method == http.MethodDelete:
		e.protocol.sessions.forget(id)
	case r.Method == http.MethodGet && e.protocol.listen != nil && strings.Contains(r.Header.Get("Accept"), "text/event-stream"):
		e.protocol.listen(s, r, who, m)
		return
	case r.Method == http.MethodGet:
		s.endWith(e.edge.Draining)
	}
	s.watchGone = true
	e.stateful.ServeHTTP(s, r)
	s.watchGone = false
	if !s.gone {
		return
	}
	s.gone = false
	for _, name := range []string{"Content-Type", "X-Content-Type-Options"} {
		s.Header().Del(name) // of the refusal that nobody has seen
	}
	if r.Method == http.MethodDelete {
		s.WriteHeader(http.StatusNoContent)
		return
	}
	e.revive(r, id, version)
	if r.Method == http.MethodPost {
		r.Body = io.NopCloser(bytes.NewReader(m.body))
	}
	e.stateful.ServeHTTP(s, r)
}

// revive begins a session anew under its own id.
func (e *endpoint) revive(r *http.Request, id, version string) {
	ids := e.protocol.sessions
	ids.reviving.Lock()
	defer ids.reviving.Unlock()
	post := func(session, body string) int {
		inner := r.Clone(r.Context())
		inner.Method, inner.Header = http.MethodPost, http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": r.Header["Authorization"],
		}
		if session != "" {
			inner.Header.Set(headerSession, session)
		}
		inner.Body, inner.ContentLength = io.NopCloser(bytes.NewReader([]byte(body))), int64(len(body))
		var out discard
		e.stateful.ServeHTTP(&out, inner)
		return out.status
	}
	// Another request may have brought it back meanwhile. A notification about no request does nothing but tell.
	if post(id, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}`) == http.StatusAccepted {
		return
	}
	quoted, err := json.Marshal(version)
	if err != nil {
		return
	}
	ids.beginAs(id, func() {
		post("", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":`+string(quoted)+
			`,"capabilities":{},"clientInfo":{"name":"resumed","version":"0"}}}`)
	})
	post(id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// discard is the writer of replies that nobody reads but for their status.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header {
	if d.header == nil {
		d.header = http.Header{}
	}
	return d.header
}

func (d *discard) WriteHeader(status int) {
	if d.status == 0 {
		d.status = status
	}
}

func (d *discard) Write(b []byte) (int, error) {
	d.WriteHeader(http.StatusOK)
	return len(b), nil
}

// Flush implements http.Flusher, which the SDK asks of those who read events.
func (d *discard) Flush() {}
