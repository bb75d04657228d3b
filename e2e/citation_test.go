package e2e

import (
	"fmt"
	"slices"
	"testing"

	"carrel/internal/testkit"
	"carrel/internal/testkit/federatedfake"
)

// A turn that quotes a web page stores it: after the page has changed and the server was restarted, the quote is still
// at the position in the citation, and the favourite still has its document.
func TestCitedWebPageIsKept(t *testing.T) {
	t.Parallel()
	w := newInstallation(t, testkit.ServerOptions{})
	work := federatedfake.Work{
		ID: "memex", Title: "The memex", Year: 1945,
		Text: "The memex is a device in which an individual stores all his books, records, and communications. It was " +
			"described by Vannevar Bush in 1945.",
	}
	fake := federatedfake.New(t, "searxng", work,
		federatedfake.Work{ID: "star", Title: "A page to save", Text: "The memex is mentioned on this page as well."})
	w.agent = w.do(t, "POST", "/api/agents", `{"name": "Web"}`).text("agent", "id")
	added := w.admin(t, "source", "add", "--agent", w.agent, "--name", "Web", "--url", fake.URL, "searxng")
	source := added.text("source", "id")
	w.thread = w.do(t, "POST", w.below("/threads"), `{}`).text("thread", "id")
	reply := w.do(t, "POST", w.inThread("/messages"), `{"text": "What is the memex?"}`)
	citation, _ := reply.at("citations", 0).(map[string]any)
	if citation == nil || citation["sourceId"] != source || citation["title"] != work.Title {
		t.Fatalf("the reply is %v", reply.body)
	}
	saved := ""
	found := w.do(t, "POST", w.below("/search"), fmt.Sprintf(`{"query": "memex", "sourceId": %q}`, source))
	for i, id := range found.ids() {
		if id == "https://example.org/star" {
			saved = found.text("results", i, "documentId")
			w.do(t, "POST", w.below("/favourites"),
				fmt.Sprintf(`{"card": {"cardId": %q, "title": "A page to save"}}`, found.text("results", i, "cardId")))
		}
	}
	fake.Find(federatedfake.Work{ID: "memex", Title: "The memex", Text: "Nothing of it is left."})
	w.server.Restart()
	document := w.do(t, "GET", w.below("/documents/"+citation["documentId"].(string)), "").text("document", "text")
	start, end := int(citation["start"].(float64)), int(citation["end"].(float64))
	if quote := string([]rune(document)[start:end]); quote != citation["quote"] || document != work.Text {
		t.Errorf("the citation is %v, and there stands %q", citation, quote)
	}
	// Both are documents of the source now; a result that was not cited is not stored.
	sources, _ := w.do(t, "GET", w.below("/sources"), "").at("sources").([]any)
	at := slices.IndexFunc(sources, func(s any) bool { return s.(map[string]any)["id"] == source })
	if n := sources[at].(map[string]any)["documents"]; n != 2.0 || saved == "" {
		t.Errorf("the source has %v documents, and %q is saved", n, saved)
	}
	// The document keeps the cited text.
	again := w.do(t, "POST", w.below("/search"), fmt.Sprintf(`{"query": "memex device", "sourceId": %q}`, source))
	if again.text("results", 0, "documentId") != citation["documentId"] {
		t.Errorf("found %v", again.body)
	}
}
