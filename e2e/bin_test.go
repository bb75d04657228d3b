package e2e

import (
	"net/http"
	"strings"
	"testing"

	"carrel/internal/testkit"
)

func TestRestoredDocumentIsFoundAgainWithItsOriginal(t *testing.T) {
	t.Parallel()
	w := newMCPInstallation(t, testkit.ServerOptions{})
	source := w.below("/sources/" + w.do(t, "GET", w.below(""), "").text("agent", "defaultSourceId"))
	body, kind := form("looms.md", "# Looms\n\nA zyzzyva eats the loom.")
	w.send(t, call{method: "POST", path: source + "/files", body: body, key: w.key}.with("Content-Type", kind),
		http.StatusOK)
	find := func() string {
		return w.do(t, "POST", w.below("/search"), `{"query": "zyzzyva"}`).text("results", 0, "documentId")
	}
	w.until(t, func() bool { return find() != "" })
	id := find()
	w.do(t, "DELETE", w.below("/documents/"+id), "")
	w.until(t, func() bool { return find() == "" })
	item := w.do(t, "GET", w.below("/bin?kind=document"), "").text("items", 0, "id")
	w.do(t, "POST", w.below("/bin/"+item+"/restore"), "")
	w.until(t, func() bool { return find() == id })
	original := call{method: "GET", path: w.below("/documents/" + id + "/original"), key: w.key}
	status, content, _, err := w.installation.exchange(t.Context(), original)
	if err != nil || status != http.StatusOK || !strings.Contains(string(content), "A zyzzyva eats") {
		t.Errorf("the original is %d %s, %v", status, content, err)
	}
	if files := w.do(t, "GET", source+"/files", ""); files.text("files", 0, "name") != "looms.md" {
		t.Errorf("the files are %v", files.body)
	}
}
