package mcp

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"carrel/internal/core"
)

func TestEveryToolOperationHasADefinition(t *testing.T) {
	t.Parallel()
	var defined []core.Operation
	for _, d := range definitions {
		defined = append(defined, d.operation)
	}
	if want := core.Tools(); !slices.Equal(defined, want) {
		t.Errorf("definitions are\n%v\nwant, as in the contract\n%v\nrun make gen", defined, want)
	}
}

func TestToolsHaveDescriptionsSchemasAndAnnotations(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, made := range newTools("https://carrel.test") {
		tool := made.sdk
		names[tool.Name] = true
		if tool.Title == "" || tool.Description == "" || len(tool.Icons) != 1 || tool.Annotations == nil {
			t.Errorf("%s lacks something: %+v", tool.Name, tool)
		}
		for which, schema := range map[string]any{"input": tool.InputSchema, "output": tool.OutputSchema} {
			raw, _ := schema.(json.RawMessage)
			var decoded struct{ Type string }
			if err := json.Unmarshal(raw, &decoded); err != nil || decoded.Type != "object" {
				t.Errorf("the %s schema of %s is not of type object: %v %s", which, tool.Name, err, raw)
			}
			for _, never := range []string{`"$ref"`, `"example"`, `"null","array"`} {
				if strings.Contains(string(raw), never) {
					t.Errorf("the %s schema of %s contains %s", which, tool.Name, never)
				}
			}
		}
		traits, _ := made.operation.Traits()
		if traits.Method == http.MethodGet && !tool.Annotations.ReadOnlyHint ||
			traits.Method == http.MethodDelete && !*tool.Annotations.DestructiveHint {
			t.Errorf("%s has the annotations %+v", tool.Name, tool.Annotations)
		}
	}
	for _, want := range []string{"list_agents", "search", "list_memories", "add_memory", "ask_agent", "get_messages"} {
		if !names[want] {
			t.Errorf("there is no %s", want)
		}
	}
}

func TestToolsAreListedByAccessNotByPayment(t *testing.T) {
	t.Parallel()
	s := &Server{tools: newTools("https://carrel.test"), byName: map[string]*tool{}}
	for _, made := range s.tools {
		s.byName[made.sdk.Name] = made
	}
	user := core.Actor{
		UserID:     "u",
		Plan:       core.PlanOpen,
		Credential: core.CredentialKey,
		Scopes:     []core.Scope{core.ScopeAgents},
	}
	manager, unpaid := user, user
	manager.Scopes = []core.Scope{core.ScopeAgents, core.ScopeManage}
	unpaid.Plan = core.PlanNone
	listed := func(who core.Actor) (names []string) {
		for _, tool := range s.visibleTools(who) {
			names = append(names, tool.Name)
		}
		return names
	}
	if got := listed(core.Actor{}); len(got) != 0 {
		t.Errorf("without a user: %v", got)
	}
	if got := listed(manager); len(got) != len(s.tools) || got[0] != "list_agents" || got[1] != "ask_agent" {
		t.Errorf("with all scopes: %v", got)
	}
	if got := listed(user); slices.Contains(got, "create_agent") || slices.Contains(got, "delete_agent") ||
		!slices.Contains(got, "add_memory") {
		t.Errorf("without the scope manage: %v", got)
	}
	if got := listed(unpaid); !slices.Equal(got, listed(user)) {
		t.Errorf("without a plan: %v", got)
	}
	call := func(who core.Actor, name string) error {
		return s.checkScope(who, message{Method: "tools/call", Params: params{Name: name}})
	}
	if e := core.AsError(call(user, "create_agent")); e.Code != "insufficient_scope" || e.Scope != "agents manage" {
		t.Errorf("a tool beyond the scopes: %+v", e)
	}
	for _, err := range []error{
		call(manager, "create_agent"), call(user, "search"), call(unpaid, "search"), call(user, "no such tool"),
	} {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
	}
}

func TestResourceURIsGiveArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		uri       string
		operation core.Operation
		arguments string
	}{
		{"carrel://agents/agt_1", core.OpGetAgent, `{"agentId":"agt_1"}`},
		{"carrel://agents/agt_1/memories", core.OpListMemories, `{"agentId":"agt_1","limit":200}`},
		{"carrel://agents/a/threads/t", core.OpExportThread, `{"agentId":"a","format":"markdown","threadId":"t"}`},
		{"carrel://agents/..%2Fa/documents/d%20e", core.OpGetDocument, `{"agentId":"../a","documentId":"d e"}`},
		{"carrel://agents/", "", ""},
		{"carrel://agents/%zz", "", ""},
		{"carrel://agents/a/keys", "", ""},
		{"http://agents/a", "", ""},
	} {
		found, args, ok := match(c.uri)
		if ok != (c.operation != "") || ok && (found.operation != c.operation || string(marshal(args)) != c.arguments) {
			t.Errorf("%s: %t %s %s", c.uri, ok, found.operation, marshal(args))
		}
	}
	if templates[1].arguments["agentId"] != nil {
		t.Error("match changed the arguments of the template")
	}
}
