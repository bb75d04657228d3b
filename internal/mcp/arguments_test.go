package mcp_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// schema is the part of a tool's input schema that the tests vary.
type schema struct {
	Type                 string
	Properties           map[string]schema
	Required             []string
	Enum                 []string
	Minimum, Maximum     *int
	MinLength, MaxLength *int
}

func inputOf(t *testing.T, tool *mcp.Tool) schema {
	t.Helper()
	raw, err := json.Marshal(tool.InputSchema)
	if err != nil {
		t.Fatal(err)
	}
	var s schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatalf("the input schema of %s: %v", tool.Name, err)
	}
	return s
}

// valid returns arguments that satisfy the schema. An id is the one in ids, or it names nothing.
func (in *installation) valid(s schema, ids map[string]string) object {
	out := object{}
	for _, name := range s.Required {
		p := s.Properties[name]
		switch {
		case name == "agentId":
			out[name] = in.agent
		case ids[name] != "":
			out[name] = ids[name]
		case len(p.Enum) > 0:
			out[name] = p.Enum[0]
		case p.Type == "object":
			out[name] = object{"cardId": "none", "query": "none"}
		case name == "favourites":
			out[name] = []object{{"agentId": in.agent, "cardId": "none"}}
		case name == "cardIds":
			out[name] = []string{"none"}
		default:
			out[name] = "none"
		}
	}
	return out
}

func with(arguments object, name string, value any) object {
	out := maps.Clone(arguments)
	out[name] = value
	return out
}

// TestToolsRefuseArgumentsThatTheirSchemasForbid derives invalid calls from the input schema of every tool. Each must
// be refused with a text that names the argument.
func TestToolsRefuseArgumentsThatTheirSchemasForbid(t *testing.T) {
	t.Parallel()
	in := start(t)
	c := in.connect(t, in.ada)
	said := c.must("ask_agent", object{"agentId": in.agent, "text": "Hello"})
	ids := map[string]string{
		"sourceId": in.source, "threadId": said["threadId"].(string), "messageId": said["messageId"].(string),
	}
	calls := 0
	refuse := func(tool, argument, why string, arguments object) {
		t.Helper()
		calls++
		code, text := c.refused(tool, arguments)
		if code != "invalid_request" || !strings.Contains(text, argument) {
			t.Errorf("%s with %s %s: %s", tool, argument, why, text)
		}
	}
	for name, tool := range c.tools() {
		s := inputOf(t, tool)
		arguments := in.valid(s, ids)
		for _, required := range s.Required {
			without := maps.Clone(arguments)
			delete(without, required)
			refuse(name, required, "missing", without)
			refuse(name, required, "null", with(arguments, required, nil))
		}
		for argument, p := range s.Properties {
			for why, value := range invalidValues(argument, p) {
				refuse(name, argument, why, with(arguments, argument, value))
			}
		}
	}
	if calls < 250 {
		t.Errorf("only %d invalid calls were derived", calls)
	}
}

// invalidValues returns values that the schema of an argument forbids, by reason. A text in a query has no wrong type:
// as in a URL, every value is read as text.
func invalidValues(name string, p schema) object {
	out := object{}
	switch p.Type {
	case "integer":
		out["of the wrong type"], out["with a fraction"] = "many", 1.5
	case "boolean":
		out["of the wrong type"] = "yes"
	case "object":
		out["of the wrong type"] = "text"
	case "string":
		if !slices.Contains([]string{"collection", "cursor", "file", "q", "successor", "tag", "type"}, name) {
			out["of the wrong type"] = []string{"a", "list"}
		}
	}
	if len(p.Enum) > 0 {
		out["of no known value"] = "none"
	}
	if p.Minimum != nil {
		out["too small"] = *p.Minimum - 1
	}
	if p.Maximum != nil {
		out["too large"] = *p.Maximum + 1
	}
	if p.MinLength != nil && *p.MinLength > 0 {
		out["empty"] = ""
	}
	if p.MaxLength != nil {
		out["too long"] = strings.Repeat("ä", *p.MaxLength+1)
	}
	return out
}

// took is the line with the duration of a search.
var took = regexp.MustCompile(`tookMs: .*\n`)

// invented is the warning about an unknown argument in the text of a result.
var invented = regexp.MustCompile(`\n?warnings: \n  - code: unknown_field\n    detail: .*\n    pointer: /invented`)

// Many models send null for every optional argument and invent further ones, which only cause a warning.
func testToolsIgnoreUnknownAndNullArguments(t *testing.T, in *installation) {
	t.Parallel()
	c := in.connect(t, in.ada)
	for name, tool := range c.tools() {
		if !tool.Annotations.ReadOnlyHint {
			continue
		}
		s := inputOf(t, tool)
		arguments := in.valid(s, nil)
		if name == "search" {
			arguments["query"] = "relational"
		}
		_, want := c.call(name, arguments)
		want = took.ReplaceAllString(want, "")
		for argument := range s.Properties {
			if !slices.Contains(s.Required, argument) {
				arguments[argument] = nil
			}
		}
		result, got := c.call(name, with(arguments, "invented", object{"deep": 1}))
		file := strings.HasPrefix(name, "export_")
		if invented.MatchString(got) == (file || result.IsError) {
			t.Errorf("%s reports an unknown argument as %q", name, got)
		}
		if got = invented.ReplaceAllString(got, ""); !file {
			got = cmp.Or(got, "Nothing.")
		}
		if got = took.ReplaceAllString(got, ""); got != want {
			t.Errorf("%s returns %q, and %q with null and unknown arguments", name, want, got)
		}
	}
}

func testArgumentsMustBeAnObject(t *testing.T, in *installation) {
	t.Parallel()
	c := in.connect(t, in.ada)
	for _, arguments := range []any{[]int{1}, "text", 1, true} {
		if code, text := c.refused("list_agents", arguments); code != "invalid_request" || !strings.Contains(text, "object") {
			t.Errorf("%v: %s", arguments, text)
		}
	}
	if got := c.must("list_agents", nil); len(got["agents"].([]any)) != 1 {
		t.Errorf("without arguments: %v", got)
	}
	_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_such_tool"})
	if err == nil || !strings.Contains(err.Error(), "no_such_tool") {
		t.Errorf("an unknown tool: %v", err)
	}
}

// A number with a zero fraction is an integer in JSON Schema, and some models write every number that way.
func TestIntegersMayHaveAZeroFraction(t *testing.T) {
	t.Parallel()
	in := start(t)
	c := in.connect(t, in.ada)
	for i := range 3 {
		c.must("add_memory", object{"agentId": in.agent, "text": fmt.Sprint("Fact ", i)})
	}
	page := c.must("list_memories", object{"agentId": in.agent, "limit": json.RawMessage("2.0")})
	if len(page["memories"].([]any)) != 2 || page["nextCursor"] == nil {
		t.Errorf("a page of 2.0 memories is %v", page)
	}
	rest := c.must("list_memories", object{"agentId": in.agent, "limit": 2, "cursor": page["nextCursor"]})
	if len(rest["memories"].([]any)) != 1 || rest["nextCursor"] != nil {
		t.Errorf("the next page is %v", rest)
	}
	if code, text := c.refused("list_memories",
		object{"agentId": in.agent, "cursor": "tampered"}); code != "invalid_request" ||
		!strings.Contains(text, "cursor") {
		t.Errorf("a cursor that no page returned: %s", text)
	}
}

// Every tool that names an agent must hide the agents of other accounts: their existence is not revealed, and access is
// decided before the other arguments are checked.
func testToolsHideAgentsOfOtherAccounts(t *testing.T, in *installation) {
	t.Parallel()
	c := in.connect(t, in.bob)
	for name, tool := range c.tools() {
		s := inputOf(t, tool)
		if _, ok := s.Properties["agentId"]; !ok {
			continue
		}
		theirs, none := in.valid(s, nil), in.valid(s, nil)
		none["agentId"] = "agt_none"
		for argument, p := range s.Properties {
			if p.Type == "integer" || p.Type == "boolean" {
				theirs[argument] = []int{}
			}
		}
		code, text := c.refused(name, theirs)
		if _, want := c.refused(name, none); code != "not_found" || text != want {
			t.Errorf("%s says %q of another account's agent, and %q of none", name, text, want)
		}
	}
}
