package e2e

import (
	"fmt"
	"slices"
	"testing"

	"carrel/internal/testkit/federatedfake"
)

// federatedKinds are the kinds of sources that are searched at query time, each with its settings.
var federatedKinds = map[string]string{
	"openalex": ``, "crossref": ``, "arxiv": ``, "semanticscholar": ``, "pubmed": `, "secret": "k"`,
	"europepmc": ``, "core": `, "secret": "k"`,
	"wikipedia": `, "settings": {"language": "de"}`,
	"searxng":   `, "settings": {"url": "http://127.0.0.1:1", "language": "en"}`,
	"brave":     `, "secret": "k"`, "tavily": `, "secret": "k"`, "exa": `, "secret": "k"`,
	"mcp": `, "settings": {"url": "http://127.0.0.1:1/mcp", "tool": "search"}, "secret": "k"`,
}

// federatedSources creates sources of every such kind, and searches one that is served by the test. They belong to a
// separate agent, so that other tests send no requests to the internet.
func (w *installation) federatedSources(t *testing.T) {
	mine := w.agent
	defer func() { w.agent = mine }()
	w.agent = w.do(t, "POST", "/api/agents", `{"name": "Live"}`).text("agent", "id")
	path := w.below("/sources")
	for kind, needs := range federatedKinds {
		got := w.do(t, "POST", path, fmt.Sprintf(`{"name": %q, "kind": %q%s}`, kind, kind, needs))
		if got.text("source", "kind") != kind || got.text("source", "status") != "ready" {
			t.Errorf("%s: %v", kind, got.body)
		}
		one := path + "/" + got.text("source", "id")
		w.do(t, "PATCH", one, `{"name": "Renamed"}`)
		w.problem(t, call{method: "PATCH", path: one, key: w.key, body: `{"settings": {"syncMinutes": 60}}`}, 400,
			"invalid_request")
		w.problem(t, call{method: "POST", path: one + "/sync", key: w.key}, 409, "conflict")
		w.do(t, "DELETE", one, "")
	}
	for kind, bad := range map[string]string{
		"brave":   ``,
		"arxiv":   `, "secret": "k"`,
		"searxng": ``,
		"mcp":     `, "settings": {"url": "ftp://x"}`,
		"pubmed":  `, "settings": {"tool": "x"}`,
	} {
		w.problem(t,
			call{method: "POST", path: path, key: w.key, body: fmt.Sprintf(`{"name": "X", "kind": %q%s}`, kind, bad)}, 400,
			"invalid_request")
	}
	w.searchFederated(t, path)
	w.do(t, "DELETE", "/api/agents/"+w.agent, "")
}

// searchFederated searches a source that replies, and then fails.
func (w *installation) searchFederated(t *testing.T, path string) {
	fake := federatedfake.New(t, "searxng",
		federatedfake.Work{
			ID:    "codd",
			Title: "A relational model",
			Text:  "Future users of large data banks must be protected.",
			Year:  1970,
		},
		federatedfake.Work{ID: "other", Title: "Another relational page", Text: "Nobody opens it."})
	source := w.do(t, "POST", path, fmt.Sprintf(
		`{"name": "Web", "kind": "searxng", "default": true, "settings": {"url": %q}}`, fake.URL)).text("source", "id")
	search := call{method: "POST", path: w.below("/search"), key: w.key, body: `{"query": "relational data banks"}`}
	got := w.send(t, search, 200)
	if !slices.Equal(got.ids(), []string{"https://example.org/codd", "https://example.org/other"}) ||
		got.text("sourceId") != source || got.at("total") != 2.0 {
		t.Errorf("found %v", got.body)
	}
	document := got.text("results", 0, "documentId")
	fake.Fail(403)
	search.body = `{"query": "large data banks"}`
	w.problem(t, search, 503, "unavailable")
	// A document that was opened stays readable when the source is down.
	if text := w.do(t, "GET", w.below("/documents/"+document), "").text("document", "text"); text == "" {
		t.Error("the document has no text")
	}
	w.awaitSource(t, "Web", "ready")
	got = w.send(t, search, 200)
	if !slices.Equal(got.ids(), []string{"https://example.org/codd"}) ||
		got.text("warnings", 0, "code") != "source_refused" || got.text("warnings", 0, "sourceId") != source {
		t.Errorf("found %v", got.body)
	}
}
