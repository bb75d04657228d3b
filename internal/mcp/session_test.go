package mcp

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/secretbox"
)

func newTestSessions(t *testing.T, secret string) *sessions {
	t.Helper()
	box, err := secretbox.New([]byte(secret), "test")
	if err != nil {
		t.Fatal(err)
	}
	return newSessions(box)
}

func TestSessionIDHoldsTheNegotiatedVersion(t *testing.T) {
	t.Parallel()
	s := newTestSessions(t, "a secret of the installation")
	ada := core.Actor{UserID: "usr_ada"}
	last := sessionVersions[len(sessionVersions)-1]
	for requested, want := range map[string]string{
		sessionVersions[0]: sessionVersions[0], last: last, "": last, "2030-01-01": last, firstStateless: last,
	} {
		if got, ok := s.version(ada, s.issue(ada, requested)); !ok || got != want {
			t.Errorf("a client that requests %q gets %q, %t; want %q", requested, got, ok, want)
		}
	}
	if first, second := s.issue(ada, last), s.issue(ada, last); first == second {
		t.Error("two sessions have the same id")
	}
}

// A session needs no memory on the server, so another node, or the same one after a restart, can serve it.
func TestSessionIsValidOnEveryNodeOfAnInstallation(t *testing.T) {
	t.Parallel()
	ada := core.Actor{UserID: "usr_ada"}
	id := newTestSessions(t, "a secret of the installation").issue(ada, "2025-06-18")
	if _, ok := newTestSessions(t, "a secret of the installation").version(ada, id); !ok {
		t.Error("another node with the same secret does not accept the session")
	}
	if _, ok := newTestSessions(t, "a secret of another one....").version(ada, id); ok {
		t.Error("another installation accepts the session")
	}
}

func TestTamperedSessionIDsAreRejected(t *testing.T) {
	t.Parallel()
	s := newTestSessions(t, "a secret of the installation")
	ada, bob := core.Actor{UserID: "usr_ada"}, core.Actor{UserID: "usr_bob"}
	id := s.issue(ada, "2025-06-18")
	sealed, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil {
		t.Fatal(err)
	}
	for i := range sealed {
		changed := append([]byte{}, sealed...)
		changed[i] ^= 1
		if _, ok := s.version(ada, base64.RawURLEncoding.EncodeToString(changed)); ok {
			t.Errorf("an id with byte %d changed is accepted", i)
		}
	}
	for name, other := range map[string]string{
		"empty": "", "cut": id[:len(id)/2], "extended": id + "AAAA", "not base64": "!" + id[1:], "padded": id + "==",
	} {
		if _, ok := s.version(ada, other); ok {
			t.Errorf("an id that is %s is accepted", name)
		}
	}
	if _, ok := s.version(bob, id); ok {
		t.Error("another account may use the session")
	}
	if _, ok := s.version(core.Actor{}, id); ok {
		t.Error("the zero actor may use the session")
	}
}

func TestEndedSessionsAreForgottenInTwoGenerations(t *testing.T) {
	t.Parallel()
	s := newTestSessions(t, "a secret of the installation")
	ada := core.Actor{UserID: "usr_ada"}
	id, other := s.issue(ada, "2025-06-18"), s.issue(ada, "2025-06-18")
	s.end(id)
	if _, ok := s.version(ada, id); ok {
		t.Error("an ended session is accepted")
	}
	if _, ok := s.version(ada, other); !ok {
		t.Error("ending a session ended another one")
	}
	for i := range maxEnded {
		s.end(fmt.Sprint("older ", i))
	}
	if _, ok := s.version(ada, id); ok {
		t.Errorf("an ended session is accepted after %d others have ended", maxEnded)
	}
	for i := range 2 * maxEnded {
		s.end(fmt.Sprint("later ", i))
	}
	if n := len(s.ended) + len(s.endedBefore); n > 2*maxEnded {
		t.Errorf("%d ended sessions are remembered, more than two generations", n)
	}
}

func TestMessagesAreParsedForRouting(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]message{
		`{"id":1,"method":"tools/call","params":{"name":"search"}}`: {Method: "tools/call", Params: params{Name: "search"}},
		`{"method":"initialize","params":{"protocolVersion":"v"}}`: {
			Method: "initialize", Params: params{ProtocolVersion: "v"},
		},
		`{"method":"tasks/get","params":{"taskId":"t"}}`: {Method: "tasks/get", Params: params{TaskID: "t"}},
		`{"method":"ping","params":[1,2]}`:               {Method: "ping"},
		" \n\t[{\"method\":\"ping\"}]":                   {batch: true},
		`{}`:                                             {},
	} {
		got, err := parseMessage([]byte(body))
		if err != nil || got.Method != want.Method || got.batch != want.batch || got.Params.Name != want.Params.Name ||
			got.Params.ProtocolVersion != want.Params.ProtocolVersion || got.Params.TaskID != want.Params.TaskID {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
	for _, body := range []string{``, `{`, `[`, `"text"`, `1`, `{"method":1}`, `{"id":}`, "\x00"} {
		if m, err := parseMessage([]byte(body)); err == nil {
			t.Errorf("%q is accepted as %+v", body, m)
		}
	}
}

func FuzzParseMessage(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"tools/call","params":{"name":"search","_meta":{"a":1}}}`))
	f.Add([]byte(`[{"id":1}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := parseMessage(body)
		if err == nil && m.batch && (m.Method != "" || m.Params.Name != "") {
			t.Errorf("%q is a batch and has the method %q", body, m.Method)
		}
	})
}

func TestOnlyThisSiteAndProgramsMaySendRequests(t *testing.T) {
	t.Parallel()
	e := &endpoint{host: "carrel.example.org", origin: "https://carrel.example.org"}
	for _, c := range []struct {
		host    string
		origins []string
		ok      bool
	}{
		{"carrel.example.org", nil, true},
		{"CARREL.example.org:443", nil, true},
		{"127.0.0.1:8080", nil, true},
		{"[::1]:8080", nil, true},
		{"localhost", nil, true},
		{"carrel:8080", nil, true},
		{"evil.example", nil, false},
		{"evil.example.", nil, false},
		{"carrel.example.org.evil.example", nil, false},
		{"carrel.example.org", []string{"https://carrel.example.org"}, true},
		{"carrel.example.org", []string{"HTTPS://Carrel.Example.Org"}, true},
		{"carrel.example.org", []string{"http://carrel.example.org"}, false},
		{"carrel.example.org", []string{"https://evil.example"}, false},
		{"carrel.example.org", []string{"null"}, false},
		{"carrel.example.org", []string{"https://carrel.example.org", "https://evil.example"}, false},
	} {
		r := httptest.NewRequest(http.MethodPost, path, nil)
		r.Host = c.host
		for _, origin := range c.origins {
			r.Header.Add("Origin", origin)
		}
		if err := e.checkSender(r); (err == nil) != c.ok {
			t.Errorf("Host %s, Origin %v: %v", c.host, c.origins, err)
		}
	}
}

func TestRequestsAreRoutedByEra(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, version, session string
		m                        message
		stateful                 bool
	}{
		{http.MethodPost, "", "", message{Method: "initialize"}, true},
		{http.MethodPost, "", "id", message{Method: "ping"}, true},
		{http.MethodPost, "2025-06-18", "", message{Method: "ping"}, true},
		{http.MethodPost, firstStateless, "", message{Method: "ping"}, false},
		{http.MethodPost, firstStateless, "id", message{Method: "initialize"}, false},
		{http.MethodPost, "", "", message{Method: "tools/list"}, false},
		{http.MethodPost, firstStateless, "", message{batch: true}, true},
		{http.MethodGet, firstStateless, "", message{}, true},
		{http.MethodDelete, "", "id", message{}, true},
	} {
		r := httptest.NewRequest(c.method, path, strings.NewReader(""))
		for name, value := range map[string]string{headerVersion: c.version, headerSession: c.session} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if got := isStateful(r, c.m); got != c.stateful {
			t.Errorf("%+v: stateful %t", c, got)
		}
	}
}

func TestOnlyProgressAndSubscriptionsNeedAStream(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m      message
		single bool
	}{
		{message{Method: "tools/call", Params: params{Name: "search"}}, true},
		{message{Method: "tools/call", Params: params{Name: askTool}}, false},
		{message{Method: "prompts/get", Params: params{Name: askTool}}, true},
		{message{Method: methodListen}, false},
		{message{Method: "tools/list"}, true},
	} {
		if got := singleReply(c.m); got != c.single {
			t.Errorf("%+v: single reply %t", c.m, got)
		}
	}
}
