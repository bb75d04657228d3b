package mcp

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"sync"

	"carrel/internal/core"
)

// The versions of the stateful era. One that is not among them is answered with the last, as the protocol has it.
var sessionVersions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// sessions makes and reads the ids of sessions. An id is sealed for its user and says which version was agreed on, which
// is all that a session is: nothing is kept in memory, any node goes on with it, a restart ends none, and nobody else can
// use it.
type sessions struct {
	sealer Sealer

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

// mint returns a new id for a user's session. No two are alike: sealing the same again gives something else.
func (s *sessions) mint(who core.Actor, version string) string {
	if !slices.Contains(sessionVersions, version) {
		version = sessionVersions[len(sessionVersions)-1]
	}
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

// serveSession serves a request of the stateful era, and returns what is left to wait for.
func (e *endpoint) serveSession(s *stream, r *http.Request, who core.Actor, m message) (wait func()) {
	if !slices.Contains(methods, r.Method) {
		s.Header().Set("Allow", strings.Join(methods, ", "))
		e.edge.Problem(s, r, &core.Error{
			Kind: core.KindMethod, Code: "method_not_allowed", Detail: "This path does not have that method. See the Allow header.",
		})
		return nil
	}
	if m.batch && r.Header.Get(headerVersion) >= "2025-06-18" {
		invalidRequest("This version has no batches: send one message at a time.").write(s, http.StatusBadRequest, nil)
		return nil
	}
	if e.stateful != nil {
		e.stateful.ServeHTTP(s, r)
		return nil
	}
	id := r.Header.Get(headerSession)
	if id == "" {
		e.beginSession(s, r, who, m)
		return nil
	}
	version, ok := e.protocol.sessions.version(who, id)
	if !ok {
		invalidRequest("There is no such session, or it has ended. Begin a new one with initialize.").write(s, http.StatusNotFound, m.ID)
		return nil
	}
	if r.Header.Get(headerVersion) == "" {
		r.Header.Set(headerVersion, version)
	}
	switch {
	case r.Method == http.MethodDelete:
		e.protocol.sessions.forget(id)
		s.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPost:
		e.serve(s, r, who, m)
	case strings.Contains(r.Header.Get("Accept"), "text/event-stream"):
		return e.protocol.listen(s, r, who, m)
	default:
		invalidRequest("The stream of a session is text/event-stream: accept it.").write(s, http.StatusNotAcceptable, nil)
	}
	return nil
}

// beginSession serves a request without a session, which is good for beginning one. Anything else is answered as the SDK
// does who has no sessions; clients of an old version that never begin one exist.
func (e *endpoint) beginSession(s *stream, r *http.Request, who core.Actor, m message) {
	if r.Method != http.MethodPost {
		invalidRequest("Begin a session with initialize, and send its id in the header Mcp-Session-Id.").write(s, http.StatusBadRequest, nil)
		return
	}
	if m.Method == "initialize" {
		s.Header().Set(headerSession, e.protocol.sessions.mint(who, m.Params.ProtocolVersion))
	}
	e.serve(s, r, who, m)
}
