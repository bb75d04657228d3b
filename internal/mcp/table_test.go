package mcp

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"carrel/api"
	"carrel/internal/core"
)

// exempt reports whether an operation is one of those that have no tool.
func exempt(method, path string) (rule string, ok bool) {
	for _, rule := range slices.Sorted(maps.Keys(notTools)) {
		if path == rule || method+" "+path == rule || strings.HasSuffix(rule, "/") && strings.HasPrefix(path, rule) {
			return rule, true
		}
	}
	return "", false
}

// TestEveryOperationIsATool is why REST and MCP can't drift: an operation that is added to the contract must be given a
// tool, or a reason to have none.
func TestEveryOperationIsATool(t *testing.T) {
	t.Parallel()
	c, err := readContract(api.Document)
	if err != nil {
		t.Fatal(err)
	}
	offered := map[string]bool{}
	for _, e := range table {
		if offered[e.operation] {
			t.Errorf("%s is in the table twice", e.operation)
		}
		offered[e.operation] = true
		if c.operations[e.operation] == nil {
			t.Errorf("%s is in the table but not in the contract", e.operation)
		}
	}
	used := map[string]bool{}
	for id, op := range c.operations {
		rule, excused := exempt(op.method, op.path)
		used[rule] = true
		switch {
		case excused && offered[id]:
			t.Errorf("%s (%s) is a tool though %q says that it is none", id, op.path, rule)
		case !excused && !offered[id]:
			t.Errorf("%s (%s %s) has no tool: add it to table, or to notTools with a reason", id, op.method, op.path)
		}
	}
	for rule, reason := range notTools {
		if reason == "" {
			t.Errorf("%s has no reason", rule)
		}
		if strings.Contains(rule, "/api/agents") && !used[rule] {
			t.Errorf("%s excuses nothing", rule)
		}
	}
}

func TestToolsAreDescribedWhole(t *testing.T) {
	t.Parallel()
	c, err := readContract(api.Document)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := newTools(c, "https://carrel.test")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, made := range tools {
		tool := made.sdk
		if names[tool.Name] {
			t.Errorf("two tools are called %s", tool.Name)
		}
		names[tool.Name] = true
		if tool.Title == "" || tool.Description == "" || len(tool.Icons) != 1 || tool.Annotations == nil {
			t.Errorf("%s lacks something: %+v", tool.Name, tool)
		}
		for which, schema := range map[string]any{"input": tool.InputSchema, "output": tool.OutputSchema} {
			raw, _ := schema.(json.RawMessage)
			var decoded struct{ Type string }
			if err := json.Unmarshal(raw, &decoded); err != nil || decoded.Type != "object" {
				t.Errorf("the %s of %s is no object: %v %s", which, tool.Name, err, raw)
			}
			for _, never := range []string{`"$ref"`, `"example"`, `"null","array"`} {
				if strings.Contains(string(raw), never) {
					t.Errorf("the %s of %s has %s", which, tool.Name, never)
				}
			}
		}
		if made.operation.method == "GET" && !tool.Annotations.ReadOnlyHint || made.operation.method == "DELETE" && !*tool.Annotations.DestructiveHint {
			t.Errorf("%s is annotated as %+v", tool.Name, tool.Annotations)
		}
	}
	for _, want := range []string{"list_agents", "search", "list_memories", "add_memory", "ask_agent", "get_messages"} {
		if !names[want] {
			t.Errorf("there is no %s", want)
		}
	}
}

// TestToolsAreShownToWhoMayUseThem has what is missing by money shown all the same: its answer says what to do.
func TestToolsAreShownToWhoMayUseThem(t *testing.T) {
	t.Parallel()
	c, err := readContract(api.Document)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := newTools(c, "https://carrel.test")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{tools: tools, byName: map[string]*tool{}}
	for _, made := range tools {
		s.byName[made.sdk.Name] = made
	}
	work := core.Actor{UserID: "u", Plan: core.PlanOpen, Credential: core.CredentialKey, Scopes: []core.Scope{core.ScopeAgents}}
	all, poor := work, work
	all.Scopes = []core.Scope{core.ScopeAgents, core.ScopeManage}
	poor.Plan = core.PlanNone
	shown := func(who core.Actor) (names []string) {
		for _, tool := range s.shown(who) {
			names = append(names, tool.Name)
		}
		return names
	}
	if got := shown(core.Actor{}); len(got) != 0 {
		t.Errorf("nobody is shown %v", got)
	}
	if got := shown(all); len(got) != len(tools) || got[0] != "list_agents" || got[1] != "ask_agent" {
		t.Errorf("with everything: %v", got)
	}
	if got := shown(work); slices.Contains(got, "create_agent") || slices.Contains(got, "delete_agent") || !slices.Contains(got, "add_memory") {
		t.Errorf("without manage: %v", got)
	}
	if got := shown(poor); !slices.Equal(got, shown(work)) {
		t.Errorf("without a plan: %v", got)
	}
	calls := func(who core.Actor, name string) error {
		return s.check(who, message{Method: "tools/call", Params: params{Name: name}})
	}
	if e := core.AsError(calls(work, "create_agent")); e.Code != "insufficient_scope" || e.Scope != "agents manage" {
		t.Errorf("a tool beyond the scope: %+v", e)
	}
	for _, fine := range []error{calls(all, "create_agent"), calls(work, "search"), calls(poor, "search"), calls(work, "no such tool")} {
		if fine != nil {
			t.Errorf("refused: %v", fine)
		}
	}
}

func TestArgumentsGoToWhereTheContractHasThem(t *testing.T) {
	t.Parallel()
	c, err := readContract(api.Document)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := newTools(c, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ tool, arguments, method, target, body, refused string }{
		{"list_agents", ``, "GET", "/api/agents", "", ""},
		{"list_agents", `{"limit":3,"cursor":null}`, "GET", "/api/agents?limit=3", "", ""},
		{"list_memories", `{"agentId":"agt_1","status":"proposed"}`, "GET", "/api/agents/agt_1/memories?status=proposed", "", ""},
		{"add_memory", `{"text":"x","agentId":"agt_1"}`, "POST", "/api/agents/agt_1/memories", `{"text":"x"}`, ""},
		{"delete_favourite", `{"agentId":"../a","cardId":"a b/c"}`, "DELETE", "/api/agents/..%2Fa/favourites/a%20b%2Fc", "", ""},
		{"search", `{"agentId":"a","query":null}`, "POST", "/api/agents/a/search", `{"query":null}`, ""},
		{"list_memories", `{}`, "", "", "", "/agentId"},
		{"list_memories", `{"agentId":7}`, "", "", "", "/agentId"},
		{"list_memories", `[1]`, "", "", "", "/arguments"},
	} {
		i := slices.IndexFunc(tools, func(made *tool) bool { return made.sdk.Name == tc.tool })
		got, err := tools[i].request(json.RawMessage(tc.arguments))
		if tc.refused != "" {
			if e := core.AsError(err); e.Code != "invalid_request" || len(e.Fields) != 1 || e.Fields[0].Pointer != tc.refused {
				t.Errorf("%s %s: %+v", tc.tool, tc.arguments, e)
			}
			continue
		}
		if err != nil || got.Method != tc.method || got.Target != tc.target || string(got.Body) != tc.body {
			t.Errorf("%s %s: %s %s %s, %v", tc.tool, tc.arguments, got.Method, got.Target, got.Body, err)
		}
	}
}
