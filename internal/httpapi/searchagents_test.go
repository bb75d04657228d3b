package httpapi_test

import (
	"slices"
	"testing"

	"carrel/internal/core"
	"carrel/internal/credential"
)

func TestSearchAcrossAgents(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{{"SearchCoversTheAgentsOfTheCaller", searchAcrossAgents}})
}

func searchAcrossAgents(t *testing.T, w *testServer) {
	const path = "/api/search"
	p, other := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	fill := func(q *testUser, agentID, text string) {
		t.Helper()
		source := q.get("/api/agents/"+agentID).ok(t).str("agent", "defaultSourceId")
		q.post("/api/agents/"+agentID+"/sources/"+source+"/documents",
			object{"documents": []object{{"externalId": text, "title": text, "text": "The zeppelin " + text}}}).ok(t)
	}
	second := p.post("/api/agents", `{"name":"Second"}`).ok(t).str("agent", "id")
	fill(p, p.agent, "first")
	fill(p, second, "second")
	fill(other, other.agent, "foreign")
	agents := func(a answer) []string {
		t.Helper()
		got := a.ok(t).list("results", "agentId")
		slices.Sort(got)
		return got
	}
	both := []string{p.agent, second}
	slices.Sort(both)
	if got := agents(p.post(path, `{"query":"zeppelin"}`)); !slices.Equal(got, both) {
		t.Errorf("found in %v, want %v", got, both)
	}
	if got := agents(p.post(path, object{"query": "zeppelin", "agentIds": []string{second}})); !slices.Equal(got,
		[]string{second}) {
		t.Errorf("found in %v", got)
	}
	p.post(path, object{"query": "zeppelin", "agentIds": []string{other.agent}}).refused(t, 400, "invalid_request")
	// A key that is limited to an agent finds nothing else.
	limited := p.with(p.key(credential.NewKey{
		Name: "limited", Scopes: []core.Scope{core.ScopeAgents}, Agents: []string{second},
	}))
	if got := agents(limited.post(path, `{"query":"zeppelin"}`)); !slices.Equal(got, []string{second}) {
		t.Errorf("a limited key found in %v", got)
	}
	limited.post(path, object{"query": "zeppelin", "agentIds": []string{p.agent}}).refused(t, 400, "invalid_request")
	sparse := p.post(path, `{"query":"zeppelin","fields":["title"],"numResults":1}`).ok(t)
	hits, _ := sparse.value("results").([]any)
	hit, _ := hits[0].(object)
	if len(hits) != 1 || len(hit) != 5 || hit["title"] == nil || sparse.str("nextCursor") == "" {
		t.Errorf("sparse: %s", sparse.body)
	}
	rest := p.post(path, object{
		"query": "zeppelin", "fields": []string{"title"}, "numResults": 1, "cursor": sparse.str("nextCursor"),
	})
	if got := agents(rest); len(got) != 1 || got[0] == hit["agentId"] {
		t.Errorf("the second page: %v", got)
	}
	p.post(path, `{"query":"zeppelin","fields":["secret"]}`).refused(t, 400, "invalid_request")
	none := w.user(t, core.PlanNone)
	none.post(path, `{"query":"zeppelin"}`).refused(t, 402, "no_subscription")
}
