package agent_test

import (
	"reflect"
	"strings"
	"testing"

	"carrel/internal/agent"
	"carrel/internal/core"
)

func TestSettingsAreStoredAndChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.newAgent(t, f.ada, "A")
	if !reflect.DeepEqual(a.Settings, agent.Settings{}) {
		t.Errorf("a new agent has %+v", a.Settings)
	}
	policy, length, code, opening := agent.PolicyStrict, agent.AnswerLong, "de", " Hello. "
	want := agent.Settings{
		Policy: policy, AnswerLength: length, Language: code, Opening: "Hello.", Examples: []string{"Who?", "When?"},
	}
	if _, err := f.Change(t.Context(), f.ada, a.ID, agent.Change{
		Policy: &policy, AnswerLength: &length, Language: &code, Opening: &opening, Examples: []string{" Who? ", "When?"},
	}); err != nil {
		t.Fatal(err)
	}
	name := "B"
	if _, err := f.Change(t.Context(), f.ada, a.ID, agent.Change{Name: &name}); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Get(t.Context(), f.ada, a.ID); err != nil || !reflect.DeepEqual(got.Settings, want) {
		t.Errorf("stored %+v, %v", got.Settings, err)
	}
	badPolicy, badLength, badCode, long := agent.Policy("loose"), agent.AnswerLength("epic"), "German", strings.Repeat(
		"x", 1001,
	)
	for pointer, c := range map[string]agent.Change{
		"/policy": {Policy: &badPolicy}, "/answerLength": {AnswerLength: &badLength}, "/language": {Language: &badCode},
		"/opening": {Opening: &long}, "/examples/1": {Examples: []string{"a", " "}},
		"/examples": {Examples: make([]string, 7)},
	} {
		_, err := f.Change(t.Context(), f.ada, a.ID, c)
		if e := core.AsError(err); err == nil || len(e.Fields) == 0 || e.Fields[0].Pointer != pointer {
			t.Errorf("%s: %v", pointer, err)
		}
	}
	if got, err := f.Change(t.Context(), f.ada, a.ID, agent.Change{Examples: []string{}}); err != nil ||
		len(got.Examples) != 0 {
		t.Errorf("cleared: %+v, %v", got.Settings, err)
	}
}
