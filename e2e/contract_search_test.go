package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/testkit"
)

func (w *installation) search(t *testing.T) {
	path := w.below("/search")
	found := w.do(t, "POST", path, `{"query": "relational model", "numResults": 5, "fromYear": 1960, "toYear": 1980}`)
	if found.text("results", 0, "externalId") != "codd-1970" || found.at("results", 0, "byMeaning") != false ||
		found.at("undatedExcluded") != 1.0 {
		t.Errorf("found %v", found.body)
	}
	w.card = found.text("results", 0, "cardId")
	w.do(t, "POST", path, `{"query": "relational model"}`)
	w.do(t, "POST", path, `{"query": "no such words anywhere", "facets": false}`)
	if got := w.find(t, "relatoinal", ""); got.text("query", "corrected") != "relational" || len(got.ids()) != 2 {
		t.Errorf("a misspelt query: %v", got.body)
	}
	page := `{"query": "relational model", "numResults": 1, "sourceIds": ["*"], "sort": "year",
		"countBy": ["type", "author", "venue", "language", "tag", "source"]`
	first := w.do(t, "POST", path, page+"}")
	next := w.do(t, "POST", path, page+`, "cursor": "`+first.text("nextCursor")+`"}`)
	if first.text("results", 0, "externalId") != "codd-1970" || next.text("results", 0, "externalId") != "undated" ||
		next.at("nextCursor") != nil || first.text("counts", 0, "values", 0, "value") != "article" {
		t.Errorf("the pages are %v and %v", first.body, next.body)
	}
	w.problem(t, call{method: "POST", path: path, body: `{"query": "model", "cursor": "x"}`, key: w.key}, 400,
		"invalid_request")
	batch := w.do(t, "POST", w.below("/searches"), `{"queries": [{"query": "codd"}, {"query": "model", "sort": "added"}, {"query": "model", "sort": "oldest"}]}`)
	if batch.text("replies", 0, "results", 0, "externalId") != "codd-1970" || batch.at("replies", 1, "total") != 2.0 {
		t.Errorf("the replies are %v", batch.body)
	}
	everywhere := w.do(t, "POST", "/api/search", `{"query": "relational model", "numResults": 1}`)
	if everywhere.text("results", 0, "agentId") != w.agent || everywhere.text("results", 0, "title") == "" {
		t.Errorf("found in all agents %v", everywhere.body)
	}
	w.do(t, "POST", "/api/search", `{"query": "relational modle codd", "fromYear": 1900, "agentIds": ["`+w.agent+`"]}`)
	sparse := w.do(t, "POST", "/api/search", `{"query": "relational model", "fields": ["year"], "cursor": "`+
		w.do(t, "POST", "/api/search", `{"query": "relational model", "fields": ["year"], "numResults": 1}`).
			text("nextCursor")+`"}`)
	if sparse.text("results", 0, "documentId") == "" || sparse.at("results", 0, "title") != nil {
		t.Errorf("sparse results %v", sparse.body)
	}
	w.problem(t, call{
		method: "POST", path: "/api/search", body: `{"query": "x", "agentIds": ["` + w.cappedAgent + `"]}`,
		key: w.key,
	}, 400, "invalid_request")
	w.problem(t, call{method: "POST", path: "/api/search", body: `{"query": "x"}`, key: w.cappedKey}, 402,
		"spend_cap_reached")
	similar := w.below("/documents/" + found.text("results", 0, "documentId") + "/similar")
	w.conditional(t, similar)
	if got := w.do(t, "GET", similar+"?limit=1", ""); got.text("results", 0, "externalId") != "undated" {
		t.Errorf("similar are %v", got.body)
	}
	w.problem(t, w.planless(call{method: "POST", path: path, body: `{"query": "model"}`}), 402, "no_subscription")
	capped := "/api/agents/" + w.cappedAgent + "/search"
	w.problem(t, call{method: "POST", path: capped, body: `{"query": "model"}`, key: w.cappedKey}, 402,
		"spend_cap_reached")
	w.problem(t,
		call{method: "POST", path: path, body: `{"query": "model", "fromYear": 1980, "toYear": 1970}`, key: w.key}, 400,
		"invalid_request")
	w.passages(t)
	w.partial(t)
}

// book returns a text of three pages, each with a heading and enough words for several passages.
func book() string {
	filler := strings.Repeat("Ein Käfig voller Narren, 😀 sagte sie, und niemand widersprach ihr dabei.\n\n", 30)
	return "# Beginnings\n\n" + filler + "\f## Middles\n\n" + filler + "Here is the\n  ‘needle’ in the " +
		"haystack.\n\n" + filler + "\fEnds.\n\n" + filler
}

// passages searches a long text and compares the returned positions with the text.
func (w *installation) passages(t *testing.T) {
	text := book()
	source := w.add(t, "Books", fmt.Sprintf(`{"id": "book", "title": "A Book", "text": %q}`, text), "--language", "en")
	if hit := w.do(t, "POST", "/api/search", `{"query": "needle haystack"}`); hit.at("results", 0, "page") != 2.0 {
		t.Errorf("found on page %v", hit.at("results", 0, "page"))
	}
	for _, c := range []struct {
		query   string
		page    float64
		heading string
		lit     string
	}{
		{"beginnings", 1, "Beginnings", "Beginnings"},
		{"the needles in haystacks", 2, "Middles", "needle haystack"},
		{"ends", 3, "Middles", "Ends"},
	} {
		got := w.find(t, c.query, `, "sourceId": "`+source+`"`)
		card := reply{body: map[string]any{"card": got.at("results", 0)}}
		if card.at("card", "page") != c.page || card.text("card", "passage", "heading") != c.heading ||
			strings.Join(got.lit(0), " ") != c.lit {
			t.Errorf("%s: %v", c.query, card.body)
			continue
		}
		start, _ := card.at("card", "passage", "start").(float64)
		end, _ := card.at("card", "passage", "end").(float64)
		passage := string([]rune(text)[int(start):int(end)])
		if n := len([]rune(passage)); n < 400 || n > 3000 || n == len([]rune(text)) {
			t.Errorf("%s: the passage has %d characters", c.query, n)
		}
		snippet := strings.Trim(card.text("card", "snippet"), "…")
		if line := strings.Join(strings.Fields(passage), " "); snippet == "" || !strings.Contains(line, snippet) {
			t.Errorf("%s: %q is not in the passage %q", c.query, snippet, passage)
		}
	}
}

// obstruct prevents the index from growing until the returned path is removed: it blocks the path of the new manifest.
func (w *installation) obstruct(t *testing.T) string {
	t.Helper()
	obstacle := filepath.Join(w.server.Data, "index", "MANIFEST.new")
	if err := os.MkdirAll(filepath.Join(obstacle, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	return obstacle
}

// partial searches while the index cannot grow.
func (w *installation) partial(t *testing.T) {
	obstacle := w.obstruct(t)
	file := filepath.Join(t.TempDir(), "late.jsonl")
	if err := os.WriteFile(file, []byte(documents), 0o600); err != nil {
		t.Fatal(err)
	}
	added := make(chan testkit.Result, 1)
	go func() { added <- w.server.Admin("source", "add", "--agent", w.agent, "--name", "Late", file) }()

	late := w.awaitSource(t, "Late", "indexing")
	id, _ := late["id"].(string)
	if late["documents"] != 2.0 || late["indexed"] != 0.0 {
		t.Errorf("the source is %v", late)
	}
	if got := w.do(t, "GET", w.below("/sources/"+id), "").text("source", "status"); got != "indexing" {
		t.Errorf("the source is %s", got)
	}
	search := call{
		method: "POST",
		path:   w.below("/search"),
		body:   `{"query": "relational", "sourceId": "` + id + `"}`,
		key:    w.key,
	}
	got := w.send(t, search, http.StatusOK)
	if len(got.ids()) != 0 || got.text("warnings", 0, "code") != "index_incomplete" ||
		got.text("warnings", 0, "sourceId") != id ||
		got.text("warnings", 0, "detail") != "0 of 2 documents are indexed so far; results are partial." {
		t.Errorf("found %v", got.body)
	}
	select {
	case r := <-added:
		t.Errorf("source add did not wait: %+v", r)
	default:
	}
	if got := w.do(t, "POST", w.below("/search"), `{"query": "relational"}`); len(got.ids()) != 2 ||
		len(got.at("warnings").([]any)) != 0 {
		t.Errorf("another source: %v", got.body)
	}

	if err := os.RemoveAll(obstacle); err != nil {
		t.Fatal(err)
	}
	if r := <-added; r.Code != 0 {
		t.Errorf("source add: %+v", r)
	}
	w.awaitSource(t, "Late", "ready")
	if got := w.send(t, search, http.StatusOK); len(got.ids()) != 2 || len(got.at("warnings").([]any)) != 0 {
		t.Errorf("found %v", got.body)
	}
}

// awaitSource waits until the agent's source of a name has a status.
func (w *installation) awaitSource(t *testing.T, name, status string) map[string]any {
	t.Helper()
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		sources, _ := w.do(t, "GET", w.below(""), "").at("agent", "sources").([]any)
		for _, s := range sources {
			if s, _ := s.(map[string]any); s["name"] == name && s["status"] == status {
				return s
			}
		}
	}
	t.Fatalf("the source %s is not %s in %s", name, status, testkit.Patience)
	return nil
}

// searchAway searches on a server whose search service does not answer.
func (w *installation) searchAway(t *testing.T) {
	away := httptest.NewServer(nil)
	away.Close()
	s := &installation{checker: w.checker, client: w.client, statuses: w.statuses}
	s.server = testkit.StartServer(t, testkit.ServerOptions{Env: []string{"CARREL_SEARCH_URL=" + away.URL}})
	s.admin(t, "user", "create", "--email", "ada@example.org", "--name", "Ada", "--password", "correct horse battery")
	s.agent = s.admin(t, "agent", "create", "--user", "ada@example.org", "--name", "Landmarks").text("agent", "id")
	s.key = s.admin(t, "key", "create", "--user", "ada@example.org", "--name", "test").text("key")
	s.problem(t, call{method: "POST", path: s.below("/search"), key: s.key, body: `{"query": "looms"}`},
		http.StatusServiceUnavailable, "search_unavailable")
	s.server.Stop()
}
