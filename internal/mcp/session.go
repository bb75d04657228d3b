package mcp

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"sync"

	"carrel/internal/core"
)

// sessionVersions are the versions of the stateful era. A client that requests another one is offered the last.
var sessionVersions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// sessions issues and checks session ids. An id is encrypted for its user and contains the negotiated version, which is
// all the state of a session. So any node can serve it, it survives a restart, and other users cannot use it.
type sessions struct {
	sealer Sealer

	mu sync.Mutex
	// ended and endedBefore are the ids of the sessions that clients closed, in two generations to bound memory.
	ended, endedBefore map[string]bool
}

// maxEnded is the size of a generation of ended sessions.
const maxEnded = 10_000

func newSessions(sealer Sealer) *sessions {
	return &sessions{sealer: sealer, ended: map[string]bool{}}
}

func sessionPlace(who core.Actor) string { return "mcp session " + who.UserID }

// issue returns a new session id. Ids are unique because the encryption is randomised.
func (s *sessions) issue(who core.Actor, version string) string {
	if !slices.Contains(sessionVersions, version) {
		version = sessionVersions[len(sessionVersions)-1]
	}
	return base64.RawURLEncoding.EncodeToString(s.sealer.Seal([]byte(version), sessionPlace(who)))
}

// version returns the negotiated version of a session, and whether the user has such a session.
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
	return string(version), !s.ended[id] && !s.endedBefore[id]
}

// end records that a client closed its session.
func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ended) >= maxEnded {
		s.endedBefore, s.ended = s.ended, map[string]bool{}
	}
	s.ended[id] = true
}

// serveSession serves a request of the stateful era. It returns the function that serves the stream if that stays open.
func (e *endpoint) serveSession(s *stream, r *http.Request, who core.Actor, m message) (wait func()) {
	if !slices.Contains(methods, r.Method) {
		s.Header().Set("Allow", strings.Join(methods, ", "))
		e.deps.Problem(s, r, &core.Error{
			Kind: core.KindMethod, Code: "method_not_allowed",
			Detail: "This path does not support that method. See the Allow header.",
		})
		return nil
	}
	if m.batch && r.Header.Get(headerVersion) >= "2025-06-18" {
		invalidRequest("This protocol version has no batches: send one message at a time.").
			write(s, http.StatusBadRequest, nil)
		return nil
	}
	if e.sdkSessions != nil {
		e.sdkSessions.ServeHTTP(s, r)
		return nil
	}
	id := r.Header.Get(headerSession)
	if id == "" {
		e.beginSession(s, r, who, m)
		return nil
	}
	version, ok := e.protocol.sessions.version(who, id)
	if !ok {
		invalidRequest("This session does not exist or has ended. Start a new one with initialize.").
			write(s, http.StatusNotFound, m.ID)
		return nil
	}
	if r.Header.Get(headerVersion) == "" {
		r.Header.Set(headerVersion, version)
	}
	switch {
	case r.Method == http.MethodDelete:
		e.protocol.sessions.end(id)
		s.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPost:
		e.serve(s, r, who, m)
	case strings.Contains(r.Header.Get("Accept"), "text/event-stream"):
		return e.protocol.listen(s, r, who, m)
	default:
		invalidRequest("Accept must include text/event-stream.").write(s, http.StatusNotAcceptable, nil)
	}
	return nil
}

// beginSession serves a request without a session id: it starts a session, or is answered without one, because some
// clients of old versions never start a session.
func (e *endpoint) beginSession(s *stream, r *http.Request, who core.Actor, m message) {
	if r.Method != http.MethodPost {
		invalidRequest("Start a session with initialize, and send its id in the header Mcp-Session-Id.").
			write(s, http.StatusBadRequest, nil)
		return
	}
	if m.Method == "initialize" {
		s.Header().Set(headerSession, e.protocol.sessions.issue(who, m.Params.ProtocolVersion))
	}
	e.serve(s, r, who, m)
}
