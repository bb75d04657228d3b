package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/testkit"
	"carrel/internal/testkit/modelfake"
)

// checkTexts checks texts without a model and with one.
func (w *installation) checkTexts(t *testing.T) {
	text := "# Notes\n\nA relational model of data is proposed. A relational model of data is not proposed. " +
		"Ein Käfig voller Narren, 😀 sagte sie, und niemand widersprach ihr dabei. Bees dance for their sisters."
	got := w.do(t, "POST", w.below("/check"), fmt.Sprintf(`{"text": %q, "markdown": true}`, text))
	var states []string
	for i := range 5 {
		states = append(states, got.text("sentences", i, "state"))
	}
	if strings.Join(states, " ") != "talk quoted contradicted quoted uncited" ||
		got.at("sentences", 3, "evidence", 0, "page") == nil ||
		!strings.Contains(got.text("markdown"), "[^check-1]: **quoted**") {
		t.Errorf("checked %v", got.body)
	}
	one := call{method: "POST", path: w.below("/check"), key: w.key}
	one.body = `{"text": "A relational model of data is proposed.", "documentIds": ["doc_none"]}`
	w.problem(t, one, 404, "not_found")
	one.body = `{"text": "A relational model of data is proposed.", "sourceIds": ["src_none"]}`
	w.problem(t, one, 400, "invalid_request")
	w.checkTextsWithModel(t)
}

// checkTextsWithModel checks a text on a server with a scripted model, which judges one of two open sentences.
func (w *installation) checkTextsWithModel(t *testing.T) {
	m := newScriptedModel(t, modelfake.OpenAI)
	m.at["judge"] = func(modelfake.Request) modelfake.Reply {
		return says(map[string]any{
			"sentences": []any{map[string]any{"n": 1, "verdict": "says", "words": "relational model of data is proposed"}},
		})
	}
	s := &installation{checker: w.checker, client: w.client, statuses: w.statuses}
	s.server = testkit.StartServer(t, testkit.ServerOptions{Env: m.env("CARREL_RATE_LIMITS=off")})
	s.admin(t, "user", "create", "--email", "ada@example.org", "--name", "Ada", "--password", "correct horse battery")
	s.agent = s.admin(t, "agent", "create", "--user", "ada@example.org", "--name", "Landmarks").text("agent", "id")
	s.key = s.admin(t, "key", "create", "--user", "ada@example.org", "--name", "test").text("key")
	file := filepath.Join(t.TempDir(), "documents.jsonl")
	if err := os.WriteFile(file, []byte(documents), 0o600); err != nil {
		t.Fatal(err)
	}
	s.admin(t, "source", "add", "--agent", s.agent, "--name", "Works", "--default", file)
	if got := s.do(t, "GET", "/api/agents", "").text("models", 0); got != "fake-1" {
		t.Errorf("the first model is %q", got)
	}
	open := call{
		method: "POST", path: s.below("/check"), key: s.key, body: `{"text": "The proposal is a relational model of data."}`,
	}
	got := s.send(t, open, http.StatusOK)
	if got.text("sentences", 0, "state") != "supported" || got.text("sentences", 0, "by") != "model" ||
		got.text("sentences", 0, "evidence", 0, "stance") != "supports" || got.text("usage", "model") == "" {
		t.Errorf("judged %v", got.body)
	}
	m.mu.Lock()
	m.at["judge"] = func(modelfake.Request) modelfake.Reply { return modelfake.Say("It is all true.") }
	m.mu.Unlock()
	if got := s.send(t, open, http.StatusOK); got.text("sentences", 0, "state") != "cited" ||
		got.text("incomplete", "code") != "model_failed" {
		t.Errorf("judged without words: %v", got.body)
	}
	s.server.Stop() // the steps that break the database do not concern it
}
