package e2e

import (
	"net/http"
	"strings"
	"testing"
)

const (
	linksPath = "/api/account/links"
	// noLink has the form of a link id and does not exist.
	noLink = "lnk_00000000000000000000000000"
)

// links shares a thread, reads its page without a credential, and revokes a link.
func (w *installation) links(t *testing.T) {
	t.Helper()
	full := func(method, path, body string) reply {
		t.Helper()
		return w.send(t, call{method: method, path: path, body: body, key: w.fullKey}, http.StatusOK)
	}
	path := w.below("/threads/" + w.thread + "/links")
	first := full("POST", path, `{"expiresAt": "2099-01-01T00:00:00Z"}`)
	second := full("POST", path, "")
	w.link = first.text("link", "id")
	address := second.text("url")
	page := func() int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.server.URL+"/shared/"+
			address[strings.LastIndex(address, "/")+1:], nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		return res.StatusCode
	}
	if got := page(); got != http.StatusOK {
		t.Errorf("the page of a link: %d", got)
	}
	list := full("GET", path, "")
	w.send(t, call{method: "GET", path: path, key: w.fullKey}.with("If-None-Match", list.header.Get("ETag")),
		http.StatusNotModified)
	all := full("GET", linksPath+"?limit=1", "")
	full("GET", linksPath+"?limit=1&cursor="+all.text("nextCursor"), "")
	w.send(t, call{method: "GET", path: linksPath + "?limit=1", key: w.fullKey}.
		with("If-None-Match", all.header.Get("ETag")), http.StatusNotModified)
	full("DELETE", linksPath+"/"+second.text("link", "id"), "")
	if got := page(); got != http.StatusNotFound {
		t.Errorf("the page of a revoked link: %d", got)
	}
	w.problem(t, call{method: "POST", path: path, body: `{"expiresAt": "2001-01-01T00:00:00Z"}`, key: w.fullKey}, 400,
		"invalid_request")
	empty := w.do(t, "POST", w.below("/threads"), `{}`).text("thread", "id")
	w.problem(t, call{
		method: "POST", path: w.below("/threads/" + empty + "/links"), body: "{}", key: w.fullKey,
	}, 409, "conflict")
	w.do(t, "DELETE", w.below("/threads/"+empty), "")
}
