package httpapi_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/source"
)

func TestAccess(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"WithoutAPlanContentIsReadOnly", withoutPlan},
		{"AtTheSpendCapMeteredWorkIsRefused", atTheCap},
		{"KeyWithoutManageCannotManage", withoutManage},
		{"KeyForOneAgentSeesOnlyThatAgent", oneAgent},
		{"ExamplesAreSuggestedToThoseWhoMaySearch", suggestedExamples},
		{"UnknownAndForeignIDsGetTheSameReply", foreignIDs},
		{"RevokedKeyFailsOnTheNextRequest", revokedAtOnce},
	})
}

// capabilities returns the capabilities in the record of the user's agent.
func (p *testUser) capabilities() string {
	p.t.Helper()
	a := p.get(p.at("")).ok(p.t)
	list, _ := a.value("agent", "capabilities").([]any)
	return strings.Trim(fmt.Sprint(list), "[]")
}

func withoutPlan(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	thread := p.newThread("T")
	p.post(p.at("/threads/"+thread+"/messages"), object{"text": "hi"}).ok(t)
	if got := p.capabilities(); got != "search chat research memories favourites manage" {
		t.Errorf("with the plan open: %s", got)
	}
	if err := w.db.SetPlan(t.Context(), p.id, core.PlanNone); err != nil {
		t.Fatal(err)
	}
	if got := p.capabilities(); got != "memories favourites manage" {
		t.Errorf("without a plan: %s", got)
	}
	p.post(p.at("/search"), object{"query": "x"}).refused(t, 402, "no_subscription")
	p.post(p.at("/threads/"+thread+"/messages"), object{"text": "hi"}).refused(t, 402, "no_subscription")
	for _, path := range p.everyGet(thread) {
		p.get(path).ok(t)
	}
	if n := len(p.get(p.at("/threads/"+thread+"/messages")).ok(t).list("messages", "id")); n != 2 {
		t.Errorf("%d messages can be read", n)
	}
	p.post(p.at("/memories"), object{"text": "still"}).ok(t)
	p.post(p.at("/favourites"), object{"card": object{"id": "still"}}).ok(t)
	p.newThread("still")
}

func suggestedExamples(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	if got := p.get(p.at("")).ok(t).value("agent", "suggestedExamples"); fmt.Sprint(got) != "[What is in Landmarks?]" {
		t.Errorf("suggested %v", got)
	}
	listed := p.get("/api/agents").ok(t)
	if strings.Contains(string(listed.body), "suggestedExamples") {
		t.Errorf("a list has suggestions: %s", listed.body)
	}
	p.send("PATCH", p.at(""), `{"examples":["Own?"]}`).ok(t)
	if got := p.get(p.at("")).ok(t); got.value("agent", "suggestedExamples") != nil ||
		fmt.Sprint(got.value("agent", "examples")) != "[Own?]" {
		t.Errorf("with examples: %s", got.body)
	}
	p.send("PATCH", p.at(""), `{"examples":[]}`).ok(t)
	if err := w.db.SetPlan(t.Context(), p.id, core.PlanNone); err != nil {
		t.Fatal(err)
	}
	if got := p.get(p.at("")).ok(t).value("agent", "suggestedExamples"); got != nil {
		t.Errorf("suggested %v without a plan", got)
	}
}

func atTheCap(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	nothing := int64(0)
	if err := w.db.SetSpendCap(t.Context(), p.id, &nothing); err != nil {
		t.Fatal(err)
	}
	if got := p.capabilities(); got != "memories favourites manage" {
		t.Errorf("at the cap: %s", got)
	}
	for _, a := range []answer{
		p.post(p.at("/search"), object{"query": "x"}),
		p.post(p.at("/threads/"+p.newThread("T")+"/messages"), object{"text": "hi"}),
	} {
		a.refused(t, 402, "spend_cap_reached")
		if part := `"capMicros":0,"usedMicros":0,"link":"`; !strings.Contains(string(a.body), part) ||
			!strings.HasSuffix(a.str("link"), "/settings/usage") || a.str("resetsAt") != "2025-07-01T00:00:00.000Z" {
			t.Errorf("the problem does not describe the cap: %s", a.body)
		}
		for _, part := range []string{"cap of 0.00 USD", "0.00 USD used", "2025-07-01T00:00:00Z"} {
			if !strings.Contains(a.str("detail"), part) {
				t.Errorf("the detail does not say %q: %s", part, a.str("detail"))
			}
		}
	}
	some := int64(1)
	if err := w.db.SetSpendCap(t.Context(), p.id, &some); err != nil {
		t.Fatal(err)
	}
	p.post(p.at("/search"), object{"query": "x"}).ok(t)
}

func withoutManage(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	p = p.with(p.key(credential.NewKey{Name: "narrow", Scopes: []core.Scope{core.ScopeAgents}}))
	if got := p.capabilities(); got != "search chat research memories favourites" {
		t.Errorf("for agents alone: %s", got)
	}
	want := `Bearer error="insufficient_scope", scope="manage", resource_metadata="` + baseURL +
		`/.well-known/oauth-protected-resource"`
	for _, a := range []answer{
		p.post("/api/agents", object{"name": "x"}), p.send("PATCH", p.at(""), `{"name":"x"}`), p.send("DELETE", p.at(""), ""),
	} {
		if got := a.refused(t, 403, "insufficient_scope").header.Get("WWW-Authenticate"); got != want {
			t.Errorf("the challenge is %s", got)
		}
	}
	p.get(p.at("")).ok(t)
	// A key with the account scope only has no access to agents.
	account := p.with(p.key(credential.NewKey{Name: "account", Scopes: []core.Scope{core.ScopeAccount}}))
	account.get("/api/agents").refused(t, 403, "insufficient_scope")
	account.post(p.at("/search"), object{"query": "x"}).refused(t, 403, "insufficient_scope")
}

func oneAgent(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	second, third := p.newAgent("Second"), p.newAgent("Third")
	limited := p.with(p.key(credential.NewKey{Name: "limited", Agents: []string{p.agent, third}}))
	if got := limited.get("/api/agents").ok(t).list("agents", "id"); !slices.Equal(got, []string{third, p.agent}) {
		t.Errorf("it sees %v", got)
	}
	if got := limited.walk("/api/agents", "agents", "id", 1, func(int) {}); len(got) != 2 {
		t.Errorf("page by page it sees %v", got)
	}
	limited.post(limited.at("/memories"), object{"text": "x"}).ok(t)
	for _, r := range [][3]string{
		{"GET", "", ""},
		{"PATCH", "", `{"name":"x"}`},
		{"DELETE", "", ""},
		{"GET", "/memories", ""},
		{"POST", "/memories", `{"text":"x"}`},
		{"GET", "/favourites", ""},
		{"GET", "/favourites/export?format=ris", ""},
		{"PATCH", "/favourites/x", `{"note":"x"}`},
		{"POST", "/favourite-imports", `{"format":"ris","content":"TY  - JOUR"}`},
		{"POST", "/favourites", `{"card":{}}`},
		{"GET", "/threads", ""},
		{"POST", "/threads", `{}`},
		{"POST", "/search", `{"query":"x"}`},
		{"GET", "/documents/doc_" + strings.Repeat("0", 26), ""},
		{"POST", "/memories/mem_" + strings.Repeat("0", 26) + "/confirm", ""},
		{"POST", "/memories/mem_" + strings.Repeat("0", 26) + "/dismiss", ""},
		{"GET", "/threads/thr_" + strings.Repeat("0", 26) + "/export?format=markdown", ""},
	} {
		limited.send(r[0], "/api/agents/"+second+r[1], r[2]).refused(t, 404, "not_found")
	}
	limited.post("/api/agents", object{"name": "x"}).refused(t, 403, "limited_to_agents")
	p.get("/api/agents/" + second).ok(t)
}

// foreignIDs uses ids that do not exist, and ids of another user, in every parameter of every path.
func foreignIDs(t *testing.T, w *testServer) {
	p, other := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	mine, theirs := p.newThread("T"), other.newThread("T")
	memory := other.post(other.at("/memories"), object{"text": "theirs"}).ok(t).str("memory", "id")
	other.post(other.at("/favourites"), object{"card": object{"cardId": "theirs"}}).ok(t)
	second := p.newAgent("Second")
	reply := other.post(other.at("/threads/"+theirs+"/messages"), object{"text": "hi"}).ok(t).str("messageId")
	other.load(other.agent, source.Document{ExternalID: "d", Title: "D", Text: "theirs"})
	document := other.post(other.at("/search"), object{"query": "theirs"}).ok(t).list("results", "documentId")[0]
	none := strings.Repeat("0", 26)
	places := map[string][]string{
		"AGENT":  {"agt_" + none, other.agent, "junk", strings.ToUpper(other.agent), theirs},
		"THREAD": {"thr_" + none, theirs, "junk", other.agent},
		"MEMORY": {"mem_" + none, memory, "junk", theirs},
		"CARD":   {"none", "theirs", "card_" + none},
		"DOC":    {"doc_" + none, document, "junk", theirs},
		"REPLY":  {"msg_" + none, reply, "junk", theirs},
	}
	for _, r := range [][3]string{
		{"GET", "/api/agents/AGENT", ""},
		{"PATCH", "/api/agents/AGENT", `{"name":"x"}`},
		{"DELETE", "/api/agents/AGENT", ""},
		{"POST", "/api/agents/AGENT/search", `{"query":"x"}`},
		{"GET", "/api/agents/AGENT/memories", ""},
		{"POST", "/api/agents/AGENT/memories", `{"text":"x"}`},
		{"PATCH", "/api/agents/AGENT/memories/" + memory, `{"text":"x"}`},
		{"DELETE", "/api/agents/AGENT/memories/" + memory, ""},
		{"GET", "/api/agents/AGENT/favourites", ""},
		{"GET", "/api/agents/AGENT/favourites?q=x", ""},
		{"GET", "/api/agents/AGENT/favourites/export?format=csv", ""},
		{"POST", "/api/agents/AGENT/favourites", `{"card":{"id":"x"}}`},
		{"PATCH", "/api/agents/AGENT/favourites/theirs", `{"note":"x"}`},
		{"POST", "/api/agents/AGENT/favourite-imports", `{"format":"ris","content":"TY  - JOUR"}`},
		{"DELETE", "/api/agents/AGENT/favourites/theirs", ""},
		{"GET", "/api/agents/AGENT/threads", ""},
		{"POST", "/api/agents/AGENT/threads", `{}`},
		{"GET", "/api/agents/AGENT/threads/" + theirs, ""},
		{"PATCH", "/api/agents/AGENT/threads/" + theirs, `{"title":"x"}`},
		{"DELETE", "/api/agents/AGENT/threads/" + theirs, ""},
		{"GET", "/api/agents/AGENT/threads/" + theirs + "/messages", ""},
		{"POST", "/api/agents/AGENT/threads/" + theirs + "/messages", `{"text":"x"}`},
		{"GET", "/api/agents/AGENT/documents/" + document, ""},
		{"POST", "/api/agents/AGENT/memories/" + memory + "/confirm", ""},
		{"POST", "/api/agents/AGENT/memories/" + memory + "/dismiss", ""},
		{"GET", "/api/agents/AGENT/threads/" + theirs + "/export?format=markdown", ""},
		{"PUT", "/api/agents/AGENT/threads/" + theirs + "/messages/" + reply + "/feedback", `{"thumb":"up"}`},
		{"DELETE", "/api/agents/AGENT/threads/" + theirs + "/messages/" + reply + "/feedback", ""},
		{"GET", p.at("/documents/DOC"), ""},
		{"GET", "/api/agents/" + second + "/documents/DOC", ""},
		{"POST", p.at("/memories/MEMORY/confirm"), ""},
		{"POST", p.at("/memories/MEMORY/dismiss"), ""},
		{"GET", p.at("/threads/THREAD/export?format=markdown"), ""},
		{"PUT", p.at("/threads/" + mine + "/messages/REPLY/feedback"), `{"thumb":"up"}`},
		{"PUT", p.at("/threads/THREAD/messages/" + reply + "/feedback"), `{"thumb":"up"}`},
		{"DELETE", p.at("/threads/THREAD/messages/" + reply + "/feedback"), ""},
		{"PATCH", p.at("/memories/MEMORY"), `{"text":"x"}`},
		{"DELETE", p.at("/memories/MEMORY"), ""},
		{"PATCH", p.at("/favourites/CARD"), `{"tags":[]}`},
		{"DELETE", p.at("/favourites/CARD"), ""},
		{"GET", p.at("/threads/THREAD"), ""},
		{"PATCH", p.at("/threads/THREAD"), `{"title":"x"}`},
		{"DELETE", p.at("/threads/THREAD"), ""},
		{"GET", p.at("/threads/THREAD/messages"), ""},
		{"POST", p.at("/threads/THREAD/messages"), `{"text":"x"}`},
		// A thread of the same user, requested below another agent of that user.
		{"GET", "/api/agents/" + second + "/threads/THREAD/messages", ""},
	} {
		for place, ids := range places {
			if !strings.Contains(r[1], place) {
				continue
			}
			if strings.Contains(r[1], second) && place == "THREAD" {
				ids = append(slices.Clone(ids), mine)
			}
			sameRefusal(t, p, r, place, ids)
		}
	}
	// Nothing was deleted.
	other.get(other.at("/threads/" + theirs)).ok(t)
	if got := other.get(other.at("/memories")).ok(t).list("memories", "text"); !slices.Equal(got, []string{"theirs"}) {
		t.Errorf("the other's memories are %v", got)
	}
	got := other.get(other.at("/favourites")).ok(t).list("favourites", "cardId")
	if !slices.Equal(got, []string{"theirs"}) {
		t.Errorf("the other's favourites are %v", got)
	}
}

// sameRefusal sends a request with each id in its path and checks that all replies are equal.
func sameRefusal(t *testing.T, p *testUser, request [3]string, place string, ids []string) {
	t.Helper()
	var first answer
	for i, id := range ids {
		a := p.send(request[0], strings.Replace(request[1], place, id, 1), request[2],
			"X-Request-Id", "same").refused(t, 404, "not_found")
		a.header.Del("Date")
		if i == 0 {
			first = a
			continue
		}
		if !bytes.Equal(a.body, first.body) || !maps.EqualFunc(a.header, first.header, slices.Equal) {
			t.Errorf("%s %s: an unknown id gives\n%v %s\nand %s\n%v %s",
				request[0], request[1], first.header, first.body, id, a.header, a.body)
		}
	}
}

func revokedAtOnce(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	k, token, err := w.credentials.CreateKey(t.Context(), core.Operator(p.id), credential.NewKey{Name: "short-lived"})
	if err != nil {
		t.Fatal(err)
	}
	p.with(token).get("/api/agents").ok(t)
	if err := w.credentials.RevokeKey(t.Context(), core.Operator(p.id), k.ID); err != nil {
		t.Fatal(err)
	}
	p.with(token).get("/api/agents").refused(t, 401, "invalid_credential")
	p.get("/api/agents").ok(t)
	if err := w.db.DisableUser(t.Context(), p.id, w.clock.Now()); err != nil {
		t.Fatal(err)
	}
	p.get("/api/agents").refused(t, 401, "invalid_credential")
}

func TestKeyExpiryAndLastUse(t *testing.T) {
	t.Parallel()
	inTurn(t, []test{
		{"KeyFailsAfterItExpires", func(t *testing.T, w *testServer) {
			p := w.user(t, core.PlanOpen)
			at := w.clock.Now().Add(time.Hour)
			short := p.with(p.key(credential.NewKey{Name: "an hour", ExpiresAt: &at}))
			w.clock.Set(at.Add(-time.Millisecond))
			short.get("/api/agents").ok(t)
			w.clock.Set(at)
			short.get("/api/agents").refused(t, 401, "invalid_credential")
			p.get("/api/agents").ok(t)
		}},
		{"LastUseIsStoredWithoutAWritePerRequest", func(t *testing.T, w *testServer) {
			p := w.user(t, core.PlanOpen)
			before := w.db.Stats().Writes
			for range 50 {
				w.clock.Advance(time.Second)
				p.get("/api/agents").ok(t)
			}
			p.with(p.token+"x").get("/api/agents").refused(t, 401, "invalid_credential")
			if n := w.db.Stats().Writes - before; n != 0 {
				t.Errorf("50 reads made %d writes", n)
			}
			if at := p.lastUse(); at != nil {
				t.Errorf("the last use is written already: %v", at)
			}
			for range 2 {
				if err := w.credentials.FlushUses(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if n := w.db.Stats().Writes - before; n != 1 {
				t.Errorf("it took %d writes to keep the last use", n)
			}
			if at := p.lastUse(); at == nil || !at.Equal(w.clock.Now()) {
				t.Errorf("the last use is %v, want %v", at, w.clock.Now())
			}
		}},
	})
}

// lastUse returns when the user's only key was last used.
func (p *testUser) lastUse() *time.Time {
	p.t.Helper()
	keys, err := p.w.credentials.Keys(p.t.Context(), core.Operator(p.id))
	if err != nil || len(keys) != 1 {
		p.t.Fatal(keys, err)
	}
	return keys[0].LastUsedAt
}

func TestPublicPathsNeedNoCredential(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{{"ResourceMetadata", func(t *testing.T, w *testServer) {
		nobody := w.user(t, core.PlanOpen).with("")
		for path, resource := range map[string]string{"": baseURL, "/mcp": baseURL + "/mcp"} {
			a := nobody.get("/.well-known/oauth-protected-resource" + path).ok(t)
			want := fmt.Sprintf(`{"resource":%q,"resource_name":"Carrel","bearer_methods_supported":["header"]}`, resource)
			if !same(t, a.body, []byte(want)) || a.header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%s is %v %s", path, a.header, a.body)
			}
		}
		a := nobody.post("/.well-known/oauth-protected-resource", "")
		if a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") == "" {
			t.Errorf("POST is %d %v", a.status, a.header)
		}
	}}})
}
