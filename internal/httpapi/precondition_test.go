package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"carrel/api"
	"carrel/internal/core"
)

// TestContractDocumentsIfMatchWhereItIsHonoured compares all operations: those that change the object of a GET with an
// ETag take If-Match and reply 412, the others do not.
func TestContractDocumentsIfMatchWhereItIsHonoured(t *testing.T) {
	t.Parallel()
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `yaml:"operationId"`
			Parameters  []struct {
				Ref string `yaml:"$ref"`
			} `yaml:"parameters"`
			Responses map[string]yaml.Node `yaml:"responses"`
		} `yaml:"paths"`
	}
	var raw struct {
		Paths map[string]map[string]yaml.Node `yaml:"paths"`
	}
	if err := yaml.Unmarshal(api.Document, &raw); err != nil {
		t.Fatal(err)
	}
	for path, item := range raw.Paths {
		delete(item, "parameters")
		raw.Paths[path] = item
	}
	again, err := yaml.Marshal(raw)
	if err == nil {
		err = yaml.Unmarshal(again, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	honoured := 0
	for path, item := range doc.Paths {
		get, readable := item["get"]
		if readable {
			traits, _ := core.Operation(get.OperationID).Traits()
			readable = !traits.Plain && strings.HasPrefix(path, "/api/")
		}
		for method, op := range item {
			traits, _ := core.Operation(op.OperationID).Traits()
			want := readable && !traits.Plain && slices.Contains([]string{"patch", "put", "delete"}, method)
			_, replies := op.Responses["412"]
			takes := false
			for _, p := range op.Parameters {
				takes = takes || strings.HasSuffix(p.Ref, "/ifMatch")
			}
			if takes != want || replies != want {
				t.Errorf("%s: takes If-Match: %t, replies 412: %t, want %t", op.OperationID, takes, replies, want)
			}
			if want {
				honoured++
			}
		}
	}
	if honoured < 20 {
		t.Errorf("only %d operations take If-Match", honoured)
	}
}

func TestIfMatch(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"RefusesAChangeOfAChangedObject", refusesStaleTags},
		{"LetsOneOfSeveralChangesSucceed", oneOfSeveralChanges},
	})
}

func refusesStaleTags(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	path := p.at("/threads/" + p.newThread("T"))
	tag := p.get(path).ok(t).header.Get("ETag")
	rename := func(body, ifMatch string) answer { return p.send("PATCH", path, body, "If-Match", ifMatch) }
	for _, stale := range []string{`"other"`, "W/" + tag, tag[1 : len(tag)-1], ""} {
		if a := rename(`{"title":"stale"}`, stale); a.status != http.StatusPreconditionFailed ||
			a.str("code") != "precondition_failed" {
			t.Errorf("If-Match: %s: %d %s", stale, a.status, a.body)
		}
	}
	if a := rename(`{"title":5}`, `"other"`); a.status != http.StatusBadRequest {
		t.Errorf("an invalid body is %d %s", a.status, a.body)
	}
	if got := p.get(path).ok(t).header.Get("ETag"); got != tag {
		t.Errorf("a refused change changed the thread")
	}
	rename(`{"title":"U"}`, `"other", `+tag).ok(t)
	if a := rename(`{"title":"V"}`, tag); a.status != http.StatusPreconditionFailed {
		t.Errorf("the tag before the change: %d %s", a.status, a.body)
	}
	rename(`{"title":"W"}`, "*").ok(t)
	other := w.user(t, core.PlanOpen)
	if a := other.send("PATCH", path, `{"title":"X"}`, "If-Match", "*"); a.status != http.StatusNotFound {
		t.Errorf("another user: %d %s", a.status, a.body)
	}
	if a := p.send("DELETE", path, "", "If-Match", tag); a.status != http.StatusPreconditionFailed {
		t.Errorf("DELETE: %d %s", a.status, a.body)
	}
	p.send("DELETE", path, "", "If-Match", p.get(path).ok(t).header.Get("ETag")).ok(t)
	if a := p.send("DELETE", path, "", "If-Match", "*"); a.status != http.StatusNotFound {
		t.Errorf("what does not exist: %d %s", a.status, a.body)
	}
}

func oneOfSeveralChanges(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	path := p.at("/threads/" + p.newThread("T"))
	tag := p.get(path).ok(t).header.Get("ETag")
	var changes sync.WaitGroup
	statuses := make([]int, 4)
	for i := range statuses {
		changes.Go(func() {
			statuses[i] = p.send("PATCH", path, `{"title":"`+strings.Repeat("x", i+1)+`"}`, "If-Match", tag).status
		})
	}
	changes.Wait()
	slices.Sort(statuses)
	if !slices.Equal(statuses, []int{200, 412, 412, 412}) {
		t.Errorf("the changes got %v", statuses)
	}
}
