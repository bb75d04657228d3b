package thread_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"carrel/internal/core"
	"carrel/internal/task"
	"carrel/internal/thread"
)

func TestMessageKeepsItsScope(t *testing.T) {
	t.Parallel()
	asked := make(chan thread.Question, 1)
	w := newServiceWith(t, answers(func(_ context.Context, _ *task.Run, q thread.Question) (string, error) {
		asked <- q
		return "", nil
	}))
	made := w.start(t, "")
	a, err := w.Agents.Get(t.Context(), w.Ada, w.Agent)
	if err != nil {
		t.Fatal(err)
	}
	id := a.Sources[0].ID
	want := thread.Scope{SourceIDs: []string{id}}
	if _, err := w.Send(t.Context(), w.Ada, w.Agent, made.ID, thread.NewMessage{
		Text: "x", Scope: thread.Scope{SourceIDs: []string{id, id}},
	}, t.Context()); err != nil {
		t.Fatal(err)
	}
	if q := <-asked; !reflect.DeepEqual(q.Scope, want) {
		t.Errorf("the turn has the scope %+v", q.Scope)
	}
	if m := w.read(t, made.ID); !reflect.DeepEqual(m[0].Scope, want) || !m[1].Scope.Empty() {
		t.Errorf("read %+v", m)
	}
}

func TestScopeOfOthersIsInvalid(t *testing.T) {
	t.Parallel()
	w := newService(t)
	made := w.start(t, "")
	bobs, err := w.Agents.Get(t.Context(), w.Bob, w.BobsAgent)
	if err != nil {
		t.Fatal(err)
	}
	many := func(prefix string, n int) []string {
		ids := make([]string, n)
		for i := range ids {
			ids[i] = fmt.Sprint(prefix, i)
		}
		return ids
	}
	for pointer, scopes := range map[string][]thread.Scope{
		"/sourceIds": {
			{SourceIDs: []string{bobs.Sources[0].ID}},
			{SourceIDs: []string{core.NewID(core.PrefixSource)}},
			{SourceIDs: []string{""}},
			{SourceIDs: many("src_", 101)},
		},
		"/documentIds": {
			{DocumentIDs: []string{core.NewID(core.PrefixDocument)}},
			{DocumentIDs: []string{"x"}},
			{DocumentIDs: many("doc_", 51)},
		},
	} {
		for _, scope := range scopes {
			_, err := w.Send(t.Context(), w.Ada, w.Agent, made.ID, thread.NewMessage{Text: "x", Scope: scope}, t.Context())
			if e := core.AsError(err); e == nil || e.Code != "invalid_request" || e.Fields[0].Pointer != pointer {
				t.Errorf("%v: %v", scope, err)
			}
		}
	}
	if m := w.read(t, made.ID); len(m) > 0 {
		t.Errorf("stored %+v", m)
	}
}
