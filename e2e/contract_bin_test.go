package e2e

import (
	"net/http"
	"testing"
)

// noBinItem has the form of the id of an item in the bin and does not exist.
const noBinItem = "bin_00000000000000000000000000"

// binItems deletes an object of each kind and restores it, and deletes objects for good.
func (w *installation) binItems(t *testing.T) {
	path := w.below("/bin")
	source := w.below("/sources/" + w.do(t, "GET", w.below(""), "").text("agent", "defaultSourceId"))
	limited := w.admin(t, "key", "create", "--user", "ada@example.org", "--name", "bin", "--scope", "agents").text("key")
	w.do(t, "DELETE", path, "") // other tests have deleted objects
	put := call{
		method: "POST", path: source + "/documents", key: w.key,
		body: `{"documents": [{"externalId": "binned", "title": "Binned", "text": "A binned document."}]}`,
	}
	document := w.send(t, put, http.StatusOK).text("documents", 0, "id")
	thread := w.do(t, "POST", w.below("/threads"), `{"title": "Binned"}`).text("thread", "id")
	memory := w.do(t, "POST", w.below("/memories"), `{"text": "Binned."}`).text("memory", "id")
	w.do(t, "POST", w.below("/favourites"), `{"card": {"cardId": "binned", "title": "Binned"}}`)
	objects := map[string]string{
		"thread": w.below("/threads/" + thread), "memory": w.below("/memories/" + memory),
		"favourite": w.below("/favourites/binned"), "document": w.below("/documents/" + document),
	}
	restore := func(kind string) call {
		id := w.do(t, "GET", path+"?kind="+kind, "").text("items", 0, "id")
		return call{method: "POST", path: path + "/" + id + "/restore", key: w.key}
	}
	for kind, object := range objects {
		w.do(t, "DELETE", object, "")
		w.problem(t, call{method: "GET", path: object, key: w.key}, 404, "not_found")
		if kind == "document" {
			refused := restore(kind)
			refused.key = limited
			w.problem(t, refused, 403, "insufficient_scope")
		}
	}
	w.paged(t, path, "items")
	w.conditional(t, path)
	w.problem(t, call{method: "GET", path: path + "?kind=agent", key: w.key}, 400, "invalid_request")
	w.send(t, put, http.StatusOK) // another document with the same external id
	w.problem(t, restore("document"), 409, "conflict")
	again := w.do(t, "GET", source+"/documents?q=Binned", "").text("documents", 0, "id")
	w.do(t, "DELETE", w.below("/documents/"+again), "")
	w.do(t, "DELETE", path+"/"+w.do(t, "GET", path, "").text("items", 0, "id"), "")
	for kind, object := range objects {
		c := restore(kind)
		if got := w.send(t, c, http.StatusOK); got.text("kind") != kind || kind != "memory" && got.text("title") != "Binned" {
			t.Errorf("restored %v", got.body)
		}
		w.do(t, "GET", object, "")
		w.problem(t, c, 404, "not_found")
		w.do(t, "DELETE", object, "")
	}
	w.problem(t, call{method: "DELETE", path: path + "/" + noBinItem, key: w.key}, 404, "not_found")
	w.send(t, call{method: "DELETE", path: path, key: limited}, http.StatusOK)
	if left := w.do(t, "GET", path, ""); left.text("items", 0, "kind") != "document" || left.at("items", 1) != nil {
		t.Errorf("a key without the scope manage leaves %v", left.body)
	}
	w.do(t, "DELETE", path, "")
	w.bin = w.binnedMemory(t)
}

// binnedMemory deletes a memory and returns the id of its item in the bin.
func (w *installation) binnedMemory(t *testing.T) string {
	t.Helper()
	memory := w.do(t, "POST", w.below("/memories"), `{"text": "To be forgotten."}`).text("memory", "id")
	w.do(t, "DELETE", w.below("/memories/"+memory), "")
	return w.do(t, "GET", w.below("/bin"), "").text("items", 0, "id")
}
