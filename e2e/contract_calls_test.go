package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/testkit"
)

// noAgent has the form of an agent id and does not exist.
const noAgent = "agt_00000000000000000000000000"

// planless returns a call of a user without a plan, on an agent of theirs.
func (w *installation) planless(c call) call {
	c.key, c.path = w.planlessKey, strings.Replace(c.path, w.agent, w.planlessAgent, 1)
	return c
}

func (w *installation) below(path string) string { return "/api/agents/" + w.agent + path }

// calls returns a valid request for every operation. Unchanged, each succeeds; with an error in it, it must change
// nothing.
func (w *installation) calls() []call {
	thread := w.below("/threads/" + w.thread)
	return []call{
		{operation: "listAgents", method: "GET", path: "/api/agents"},
		{operation: "createAgent", method: "POST", path: "/api/agents", body: `{"name": "Another"}`},
		{operation: "getAgent", method: "GET", path: w.below("")},
		{operation: "changeAgent", method: "PATCH", path: w.below(""), body: `{"name": "Landmarks"}`},
		{operation: "deleteAgent", method: "DELETE", path: w.below("")},
		{
			operation: "checkText",
			method:    "POST",
			path:      w.below("/check"),
			body:      `{"text": "Codd proposed the relational model in 1970.", "markdown": true}`,
		},
		{operation: "search", method: "POST", path: w.below("/search"), body: `{"query": "relational model"}`},
		{operation: "searchAgents", method: "POST", path: "/api/search", body: `{"query": "relational model"}`},
		{
			operation: "searchBatch", method: "POST", path: w.below("/searches"),
			body: `{"queries": [{"query": "relational model"}]}`,
		},
		{operation: "listMemories", method: "GET", path: w.below("/memories")},
		{operation: "getMemory", method: "GET", path: w.below("/memories/" + w.memory)},
		{
			operation: "deleteMemories", method: "POST", path: w.below("/memories/delete"),
			body: `{"ids": ["mem_00000000000000000000000000"]}`,
		},
		{operation: "addMemory", method: "POST", path: w.below("/memories"), body: `{"text": "I prefer primary sources."}`},
		{
			operation: "changeMemory",
			method:    "PATCH",
			path:      w.below("/memories/" + w.memory),
			body:      `{"text": "I prefer short answers."}`,
		},
		{operation: "deleteMemory", method: "DELETE", path: w.below("/memories/" + w.memory)},
		{operation: "listFavourites", method: "GET", path: w.below("/favourites")},
		{
			operation: "saveFavourite",
			method:    "POST",
			path:      w.below("/favourites"),
			body:      `{"card": {"cardId": "another", "title": "Another"}}`,
		},
		{operation: "getFavourite", method: "GET", path: w.below("/favourites/" + w.card)},
		{operation: "deleteFavourites", method: "POST", path: w.below("/favourites/delete"), body: `{"ids": ["none"]}`},
		{operation: "exportFavourites", method: "GET", path: w.below("/favourites/export?format=bibtex")},
		{operation: "deleteFavourite", method: "DELETE", path: w.below("/favourites/" + w.card)},
		{
			operation: "changeFavourite",
			method:    "PATCH",
			path:      w.below("/favourites/" + w.card),
			body:      `{"tags": ["databases"]}`,
		},
		{
			operation: "importFavourites",
			method:    "POST",
			path:      w.below("/favourite-imports"),
			body:      `{"format": "bibtex", "content": "@book{another, title = {Another}}"}`,
		},
		{operation: "listAllFavourites", method: "GET", path: "/api/favourites"},
		{operation: "listFavouriteTags", method: "GET", path: "/api/favourites/tags"},
		{operation: "exportAllFavourites", method: "GET", path: "/api/favourites/export?format=bibtex"},
		{
			operation: "lookupFavourites",
			method:    "POST",
			path:      w.below("/favourite-lookups"),
			body:      `{"cardIds": ["` + w.card + `"]}`,
		},
		call{operation: "importFavouriteFile", method: "POST", path: w.below("/favourite-files"), body: "@misc{x, }"}.
			with("Content-Type", "application/x-bibtex"),
		{
			operation: "exportSelectedFavourites",
			method:    "POST",
			path:      "/api/favourites/export",
			body:      `{"format": "ris", "favourites": [{"agentId": "` + w.agent + `", "cardId": "` + w.card + `"}]}`,
		},
		{operation: "listSavedSearches", method: "GET", path: w.below("/saved-searches")},
		{
			operation: "saveSearch", method: "POST", path: w.below("/saved-searches"),
			body: `{"name": "Another", "search": {"query": "codd"}}`,
		},
		{
			operation: "changeSavedSearch", method: "PATCH", path: w.below("/saved-searches/" + w.saved),
			body: `{"name": "Models"}`,
		},
		{operation: "deleteSavedSearch", method: "DELETE", path: w.below("/saved-searches/" + w.saved)},
		{operation: "listBin", method: "GET", path: w.below("/bin")},
		{operation: "restoreBinItem", method: "POST", path: w.below("/bin/" + w.bin + "/restore")},
		{operation: "deleteBinItem", method: "DELETE", path: w.below("/bin/" + w.bin)},
		{operation: "emptyBin", method: "DELETE", path: w.below("/bin")},
		{operation: "listCollections", method: "GET", path: "/api/collections"},
		{operation: "createCollection", method: "POST", path: "/api/collections", body: `{"name": "Another"}`},
		{
			operation: "changeCollection",
			method:    "PATCH",
			path:      "/api/collections/" + w.collection,
			body:      `{"name": "Chapter 2"}`,
		},
		{operation: "deleteCollection", method: "DELETE", path: "/api/collections/" + w.collection},
		{operation: "listThreads", method: "GET", path: w.below("/threads")},
		{operation: "listAllThreads", method: "GET", path: "/api/threads"},
		{operation: "listThreadTags", method: "GET", path: "/api/threads/tags"},
		{operation: "createThread", method: "POST", path: w.below("/threads"), body: `{"title": "Another"}`},
		{operation: "getThread", method: "GET", path: thread},
		{operation: "renameThread", method: "PATCH", path: thread, body: `{"title": "Renamed"}`},
		{operation: "deleteThread", method: "DELETE", path: thread},
		{
			operation: "deleteThreads", method: "POST", path: w.below("/threads/delete"),
			body: `{"ids": ["thr_00000000000000000000000000"]}`,
		},
		{operation: "getMessage", method: "GET", path: thread + "/messages/" + w.reply},
		{operation: "deleteMessage", method: "DELETE", path: thread + "/messages/" + w.reply},
		{operation: "selectMessage", method: "POST", path: thread + "/messages/" + w.reply + "/select"},
		{operation: "listMessages", method: "GET", path: thread + "/messages"},
		{operation: "sendMessage", method: "POST", path: thread + "/messages", body: `{"text": "Hello"}`},
		{operation: "cancelTurn", method: "POST", path: thread + "/cancel"},
		{operation: "listThreadLinks", method: "GET", path: thread + "/links", key: w.fullKey},
		{operation: "createThreadLink", method: "POST", path: thread + "/links", body: `{}`, key: w.fullKey},
		{operation: "listLinks", method: "GET", path: linksPath, key: w.fullKey},
		{operation: "deleteLink", method: "DELETE", path: linksPath + "/" + w.link, key: w.fullKey},
		{operation: "streamEvents", method: "GET", path: thread + "/events?until=done"},
		{
			operation: "exchangeConnectCode",
			method:    "POST",
			path:      "/api/connect/exchange",
			body:      `{"code": "crlc_x", "client": "test"}`,
		},
		{operation: "resourceMetadata", method: "GET", path: "/.well-known/oauth-protected-resource"},
		{operation: "mcpResourceMetadata", method: "GET", path: "/.well-known/oauth-protected-resource/mcp"},
	}
}

// having returns the calls of the operations that document a status. The authorization server has its own error format,
// except for rate limits.
func (w *installation) having(status int) []call {
	calls := slices.Concat(w.calls(), w.webhookCalls(), w.agentCalls(), w.sourceCalls(), w.accountCalls(), w.planCalls())
	if status == http.StatusTooManyRequests {
		calls = append(calls, w.oauthCalls()...)
	}
	if status != http.StatusNotFound { // they need more than a key to get that far
		calls = slices.Concat(calls, w.signInCalls(), w.peopleSessionCalls(), w.accountDataCalls())
	}
	return slices.DeleteFunc(calls, func(c call) bool {
		// On a server without payment these operations are not found; see withoutPayment.
		return !slices.Contains(w.statuses[c.operation], status) || status == http.StatusNotFound && sold[c.operation]
	})
}

func (w *installation) agents(t *testing.T) {
	other := w.do(t, "POST", "/api/agents", `{"name": "Other", "description": "D", "instructions": "I", "model": ""}`).
		text("agent", "id")
	warned := w.do(t, "PATCH", "/api/agents/"+other+"?offset=1", `{"description": "changed", "unknown": "is ignored"}`)
	if warned.text("warnings", 0, "pointer") != "offset" || warned.text("warnings", 1, "pointer") != "/unknown" ||
		warned.at("agent", "warnings") != nil {
		t.Errorf("unknown fields are reported as %v", warned.body)
	}
	w.conditional(t, "/api/agents")
	w.conditional(t, "/api/agents/"+other)
	w.paged(t, "/api/agents", "agents")
	w.send(t, call{method: "HEAD", path: "/api/agents", key: w.key}, http.StatusOK)
	w.problem(t, call{method: "POST", path: "/api/agents", body: `{"name": "No"}`, key: w.oneAgentKey}, 403,
		"limited_to_agents")
}

func (w *installation) memories(t *testing.T) {
	path := w.below("/memories")
	w.memory = w.do(t, "POST", path, `{"text": "I prefer long answers."}`).text("memory", "id")
	other := w.do(t, "POST", path, `{"text": "I read German."}`).text("memory", "id")
	w.do(t, "PATCH", path+"/"+other, `{"text": "I read French."}`)
	w.problem(t, call{method: "PATCH", path: path + "/" + other, body: `{"text": "i prefer  LONG answers."}`, key: w.key},
		409, "conflict")
	w.conditional(t, path)
	w.conditional(t, path+"/"+w.memory)
	w.paged(t, path, "memories")
	if got := w.do(t, "GET", path+"?q=long&pinned=false&origin=client&sort=updated", ""); got.text("memories", 0, "id") !=
		w.memory || got.at("memories", 1) != nil {
		t.Errorf("found %v", got.body)
	}
}

func (w *installation) threads(t *testing.T) {
	path := w.below("/threads")
	w.do(t, "POST", path, "")
	w.thread = w.do(t, "POST", path, `{"title": ""}`).text("thread", "id")
	one := path + "/" + w.thread
	w.do(t, "GET", one, "")
	w.do(t, "POST", one+"/messages", `{"text": "Who proposed the relational model?"}`)
	w.do(t, "POST", one+"/messages", `{"text": "And when?"}`)
	w.do(t, "PATCH", one, `{"title": "Origins", "pinned": true, "archived": true, "tags": ["databases"]}`)
	if got := w.do(t, "GET", "/api/threads?q=relational&archived=true&tag=Databases", ""); got.text("threads", 0, "id") !=
		w.thread || got.text("threads", 0, "match", "snippet") == "" || got.at("threads", 1) != nil {
		t.Errorf("found %v", got.body)
	}
	w.conditional(t, "/api/threads")
	w.conditional(t, "/api/threads/tags")
	w.paged(t, "/api/threads", "threads")
	w.conditional(t, one+"/messages/"+w.do(t, "GET", one+"/messages", "").text("messages", 0, "id"))
	if got := w.do(t, "GET", path+"?q=relational+origins&status=idle&sort=title", ""); got.text("threads", 0, "id") !=
		w.thread || got.at("threads", 1) != nil {
		t.Errorf("found %v", got.body)
	}
	for _, p := range []string{path, one, one + "/messages"} {
		w.conditional(t, p)
	}
	w.paged(t, path, "threads")
	w.paged(t, one+"/messages", "messages")
	w.problem(t, w.planless(call{method: "POST", path: one + "/messages", body: `{"text": "Hello"}`}), 402,
		"no_subscription")
}

func (w *installation) favourites(t *testing.T) {
	path := w.below("/favourites")
	w.do(t, "POST", path, `{"card": {"cardId": "`+w.card+
		`", "title": "A Relational Model", "authors": ["Edgar F. Codd"], "year": 1970}, "threadId": "`+w.thread+`"}`)
	w.do(t, "POST", path, `{"card": {"title": "Without an id"}}`)
	w.conditional(t, path)
	w.conditional(t, path+"/"+w.card)
	w.paged(t, path, "favourites")
	if got := w.do(t, "GET", path+"?q=relational+mod", ""); got.text("favourites", 0, "cardId") != w.card {
		t.Errorf("found %v", got.body)
	}
	for _, format := range []string{"bibtex", "ris", "csl-json", "csv", "markdown"} {
		w.conditional(t, path+"/export?format="+format)
	}
	w.problem(t, call{method: "GET", path: path + "/export?format=pdf", key: w.key}, 400, "invalid_request")
	w.problem(t, call{method: "POST", path: path, body: `{"card": {}, "threadId": "thr_none"}`, key: w.key}, 400,
		"invalid_request")
	w.collections(t)
	w.savedSearches(t)
	w.binItems(t)
	w.favouriteFiles(t)
}

// favouriteFiles imports files as favourites and exports chosen favourites.
func (w *installation) favouriteFiles(t *testing.T) {
	const ris = "application/x-research-info-systems"
	send := call{method: "POST", path: w.below("/favourite-files"), key: w.key}
	for kind, content := range map[string]string{
		"application/x-bibtex": "@book{file, title = {A file}}\n@book{bad",
		ris:                    "TY  - JOUR\nTI  - Another file\nER  - \n",
	} {
		send.body = content
		if got := w.send(t, send.with("Content-Type", kind), 200); got.text("entries", 0, "outcome") != "added" {
			t.Errorf("imported %v", got.body)
		}
	}
	w.problem(t, send.with("Content-Type", "text/plain"), 415, "unsupported_media_type")
	for _, content := range []string{"", "none"} {
		send.body = content
		w.problem(t, send.with("Content-Type", ris), 400, "invalid_request")
	}
	send.body = strings.Repeat("x", 16<<20+1)
	w.problem(t, send.with("Content-Type", ris).with("Expect", "100-continue"), 413, "body_too_large")
	lookup := call{method: "POST", path: w.below("/favourite-lookups"), key: w.key, body: `{"cardIds": []}`}
	w.problem(t, lookup, 400, "invalid_request")
	lookup.body = `{"cardIds": ["` + w.card + `", "none"]}`
	if got := w.send(t, lookup, 200); got.text("cardIds", 0) != w.card || got.at("cardIds", 1) != nil {
		t.Errorf("found %v", got.body)
	}
	const path = "/api/favourites/export"
	chosen := `{"format": "bibtex", "favourites": [{"agentId": "` + w.agent + `", "cardId": "` + w.card + `"}]}`
	got := w.do(t, "POST", path, chosen)
	if got.text("filename") != "favourites.bib" || strings.Count(got.text("content"), "@") != 1 {
		t.Errorf("exported %v", got.body)
	}
	w.problem(t, call{method: "POST", path: path, body: `{"format": "csv", "favourites": []}`, key: w.key}, 400,
		"invalid_request")
}

// savedSearches saves a search with all its fields, and carries out the saved one.
func (w *installation) savedSearches(t *testing.T) {
	path := w.below("/saved-searches")
	const everything = `{"query": "relational model", "numResults": 5, "sourceIds": ["*"], "fromYear": 1960,
		"toYear": 1979, "facets": true, "filter": {"types": ["article"], "authors": ["codd"], "venues": ["ACM"],
		"languages": ["en"],
		"tags": ["databases"], "hasYear": true}, "sort": "oldest", "countBy": ["type"]}`
	saved := w.do(t, "POST", path, `{"name": "Models", "search": `+everything+`}`)
	w.saved = saved.text("savedSearch", "id")
	w.do(t, "PATCH", path+"/"+w.saved, `{"name": "Old models"}`)
	changed := w.do(t, "PATCH", path+"/"+w.saved, `{"search": {"query": "codd", "sort": "oldest", "cursor": "x",
		"sourceId": "`+w.do(t, "GET", w.below(""), "").text("agent", "defaultSourceId")+`"}}`)
	if changed.text("savedSearch", "name") != "Old models" || changed.text("savedSearch", "search", "query") != "codd" ||
		changed.at("savedSearch", "search", "cursor") != nil {
		t.Errorf("the saved search is %v", changed.body)
	}
	w.problem(t, call{
		method: "POST", path: path, key: w.key, body: `{"name": "x", "search": {"query": "x", "fromYear": 2, "toYear": 1}}`,
	}, 400, "invalid_request")
	var last string
	for _, sort := range []string{"relevance", "year", "added"} {
		last = w.do(t, "POST", path, `{"name": "S", "search": {"query": "x", "sort": "`+sort+`"}}`).text("savedSearch", "id")
	}
	for range 96 {
		w.do(t, "POST", path, `{"name": "S", "search": {"query": "x"}}`)
	}
	full := call{method: "POST", path: path, key: w.key, body: `{"name": "S", "search": {"query": "x"}}`}
	w.problem(t, full, 409, "conflict")
	w.do(t, "DELETE", path+"/"+last, "")
	for _, id := range w.do(t, "GET", path, "").at("savedSearches").([]any)[1:] {
		w.do(t, "DELETE", path+"/"+id.(map[string]any)["id"].(string), "")
	}
	w.conditional(t, path)
}

// collections creates a collection, puts a favourite into it and reads it across agents.
func (w *installation) collections(t *testing.T) {
	imports := w.below("/favourite-imports")
	for content, want := range map[string]string{"@book{b, title = {B}}": "added", "@book{b, title": "refused"} {
		body := fmt.Sprintf(`{"format": "bibtex", "content": %q}`, content)
		if got := w.do(t, "POST", imports, body); got.text("entries", 0, "outcome") != want {
			t.Errorf("imported %v", got.body)
		}
	}
	for _, want := range []string{"updated", "unchanged"} {
		got := w.do(t, "POST", imports, `{"format": "bibtex", "content": "@book{b, title = {B}, note = {N}}"}`)
		if got.text("entries", 0, "outcome") != want {
			t.Errorf("imported %v", got.body)
		}
	}
	w.problem(t, call{method: "POST", path: imports, body: `{"format": "ris", "content": "none"}`, key: w.key}, 400,
		"invalid_request")
	const path = "/api/collections"
	w.collection = w.do(t, "POST", path, `{"name": "Chapter 1"}`).text("collection", "id")
	w.do(t, "PATCH", path+"/"+w.collection, `{"name": "Chapter 2"}`)
	other := w.do(t, "POST", path, `{"name": "Chapter 3"}`).text("collection", "id")
	w.problem(t, call{method: "PATCH", path: path + "/" + other, body: `{"name": "CHAPTER 2"}`, key: w.key}, 409,
		"conflict")
	card := w.below("/favourites/" + w.card)
	w.do(t, "PATCH", card, `{"tags": ["databases", "To read"], "note": "N", "collections": ["`+w.collection+`"]}`)
	w.problem(t, call{method: "PATCH", path: card, body: `{"collections": ["col_none"]}`, key: w.key}, 400,
		"invalid_request")
	w.conditional(t, path)
	w.conditional(t, "/api/favourites")
	w.conditional(t, "/api/favourites/tags")
	w.paged(t, "/api/favourites", "favourites")
	got := w.do(t, "GET", "/api/favourites?tag=to+read&collection="+w.collection, "")
	if got.text("favourites", 0, "cardId") != w.card || got.text("favourites", 0, "agentId") != w.agent ||
		got.at("favourites", 1) != nil {
		t.Errorf("in the collection are %v", got.body)
	}
	for _, format := range []string{"bibtex", "ris", "csl-json", "csv", "markdown"} {
		w.conditional(t, "/api/favourites/export?format="+format)
	}
	w.problem(t, call{method: "GET", path: path, key: w.oneAgentKey}, 403, "limited_to_agents")
	w.do(t, "DELETE", path+"/"+other, "")
}

func (w *installation) connect(t *testing.T) {
	w.code = w.admin(t, "connect-code", "create", "--user", "ada@example.org").text("code")
	exchange := call{method: "POST", path: "/api/connect/exchange", body: `{"code": "` + w.code + `", "client": "test"}`}
	got := w.send(t, exchange, http.StatusOK)
	w.send(t, call{method: "GET", path: "/api/agents", key: got.text("token")}, http.StatusOK)
	if want := w.server.URL + "/mcp"; got.text("mcpUrl") != want {
		t.Errorf("mcpUrl is %q, want %q", got.text("mcpUrl"), want)
	}
	w.problem(t, exchange, 400, "invalid_code")
	for _, c := range w.calls() {
		if strings.HasPrefix(c.path, "/.well-known/") {
			w.send(t, c, http.StatusOK)
		}
	}
}

func (w *installation) badRequests(t *testing.T) {
	memories := call{method: "POST", path: w.below("/memories"), key: w.key}
	for body, code := range map[string]string{
		`{`:                        "malformed_json",
		`{"text": "a", "text": 1}`: "malformed_json",
		`[]`:                       "malformed_json",
		`{}`:                       "invalid_request",
		`{"text": 1}`:              "invalid_request",
		`{"text": "\u0000"}`:       "invalid_request",
	} {
		memories.body = body
		w.problem(t, memories, 400, code)
	}
	list := call{method: "GET", key: w.key}
	for _, query := range []string{"limit=0", "limit=201", "limit=x", "cursor=x"} {
		list.path = w.below("/threads?" + query)
		w.problem(t, list, 400, "invalid_request")
	}
	w.problem(t, call{method: "GET", path: "/api/agents", key: w.key + "x"}, 401, "invalid_credential")
	w.problem(t, call{method: "PUT", path: "/api/agents", key: w.key}, 405, "method_not_allowed")
	w.problem(t, call{method: "POST", path: "/.well-known/oauth-protected-resource"}, 405, "method_not_allowed")
	w.problem(t, call{method: "GET", path: "/api/nothing", key: w.key}, 404, "not_found")
	w.problem(t, call{method: "GET", path: "/nothing"}, 404, "not_found")
	w.problem(t, call{method: "GET", path: w.below("/memories/../memories"), key: w.key}, 404, "not_found")
}

// missingObjects are the operations whose call names an object that does not exist.
var missingObjects = map[string]bool{"deleteExport": true, "deleteUser": true}

// refusals sends every operation with one error at a time.
func (w *installation) refusals(t *testing.T) {
	const megabyte = 1 << 20
	signedIn := w.browser(t, "ada@example.org").header["Cookie"]
	for _, r := range []struct {
		status int
		code   string
		spoil  func(c call) call
	}{
		{400, "credential_in_query", func(c call) call {
			mark := "?"
			if strings.Contains(c.path, "?") {
				mark = "&"
			}
			c.path += mark + "access_token=x"
			return c
		}},
		{401, "missing_credential", func(c call) call { c.key = ""; return c }},
		{402, "no_subscription", w.planless},
		{403, "insufficient_scope", func(c call) call {
			switch rule, _ := core.Operation(c.operation).Rule(); {
			case rule.Area == core.AreaWebhooks:
				c.key = w.manageKey
			case c.key == w.accountKey || c.key == w.fullKey:
				c.key = w.key
			default:
				c.key = w.accountKey
			}
			return c
		}},
		{404, "not_found", func(c call) call {
			c.path = strings.NewReplacer(w.agent, noAgent, w.webhook, noWebhook,
				w.collection, noCollection, w.link, noLink, w.saved, noSaved, w.bin, noBinItem, w.session, noCredential,
				w.apiKey, noCredential, w.connectCode, noCredential,
				w.connection, noCredential,
				w.member, noUser, w.task, noTask, "/plans/reader", "/plans/none-such").Replace(c.path)
			return c
		}},
		{406, "not_acceptable", func(c call) call { return c.with("Accept", "text/html") }},
		{412, "precondition_failed", func(c call) call {
			if c.operation == "deleteDocument" { // its call names a document that does not exist
				c.path = w.below("/documents/" + w.document)
			}
			return c.with("If-Match", `"other"`)
		}},
		{413, "body_too_large", func(c call) call {
			c.body = `{"text": "` + strings.Repeat("a", megabyte) + `"}`
			return c.with("Expect", "100-continue") // otherwise the refusal may be lost while the body is being sent
		}},
		{415, "unsupported_media_type", func(c call) call { return c.with("Content-Type", "text/plain") }},
	} {
		for _, c := range w.having(r.status) {
			if ofFiles[c.operation] && (r.status == 413 || r.status == 415) {
				continue // see sourceRefusals
			}
			if r.status == 412 && missingObjects[c.operation] {
				continue // see accountData
			}
			if c.operation != "exchangeConnectCode" && c.key == "" {
				c.key = w.key
			}
			if rule, _ := core.Operation(c.operation).Rule(); rule.Session && r.status > http.StatusForbidden {
				c.key = ""
				c = c.with("Cookie", signedIn)
			}
			w.problem(t, r.spoil(c), r.status, r.code)
		}
	}
	for _, c := range w.having(422) {
		if ofFiles[c.operation] {
			continue // see sendPieces
		}
		if rule, _ := core.Operation(c.operation).Rule(); rule.Session {
			continue // see people
		}
		c = w.authorized(c)
		c = c.with("Idempotency-Key", "contract-"+c.operation)
		first, second := w.send(t, c, http.StatusOK), w.send(t, c, http.StatusOK)
		if second.header.Get("Idempotent-Replayed") != "true" || first.text("agent", "id") != second.text("agent", "id") {
			t.Errorf("%s: the second reply is not the first one again", c.operation)
		}
		c.body = `{"name": "x", "text": "x", "title": "x", "card": {"title": "x"}, "search": {"query": "x"},
			"url": "https://hooks.example/other"}`
		if c.operation == "createConnectCode" {
			c.key = w.accountKey // it has no body, and its secret is not repeated to another key
		}
		if c.operation == "redeliverWebhook" { // it has no body, and the path is another one
			c.path = strings.Replace(c.path, w.delivery, first.text("delivery", "id"), 1)
		}
		w.problem(t, c, 422, "idempotency_mismatch")
	}
}

// rateLimits exceeds the limits of a second server. They are checked first, so no credential is needed.
func (w *installation) rateLimits(t *testing.T) {
	limited := testkit.StartServer(t, testkit.ServerOptions{})
	for _, c := range w.having(http.StatusTooManyRequests) {
		c.base = limited.URL
		status := 0
		for range 2000 { // the burst is 200 and refills at 50 per second
			if status, _ = w.try(t, c); status == http.StatusTooManyRequests {
				break
			}
		}
		if status != http.StatusTooManyRequests {
			t.Errorf("%s: never limited", c.operation)
		}
	}
}

// deletes runs the deletions, which must come last.
func (w *installation) deletes(t *testing.T) {
	extra := w.do(t, "POST", w.below("/memories"), `{"text": "To be forgotten."}`).text("memory", "id")
	w.do(t, "DELETE", w.below("/memories/"+extra), "")
	w.problem(t, call{method: "DELETE", path: w.below("/memories/" + extra), key: w.key}, 404, "not_found")
	thread := w.do(t, "POST", w.below("/threads"), "{}").text("thread", "id")
	w.do(t, "DELETE", w.below("/threads/"+thread), "")
	for list, created := range map[string]string{
		"/memories":   w.do(t, "POST", w.below("/memories"), `{"text": "One of several."}`).text("memory", "id"),
		"/threads":    w.do(t, "POST", w.below("/threads"), "{}").text("thread", "id"),
		"/favourites": w.do(t, "POST", w.below("/favourites"), `{"card": {"cardId": "several"}}`).text("favourite", "cardId"),
	} {
		got := w.do(t, "POST", w.below(list+"/delete"), `{"ids": ["`+created+`", "none"]}`)
		if got.at("deleted") != 1.0 || got.text("deletedIds", 0) != created || got.text("notFoundIds", 0) != "none" {
			t.Errorf("deleted %v", got.body)
		}
	}
	w.do(t, "DELETE", w.below("/favourites/another"), "")
	agent := w.do(t, "POST", "/api/agents", `{"name": "To be deleted"}`).text("agent", "id")
	w.do(t, "DELETE", "/api/agents/"+agent, "")
	w.problem(t, call{method: "GET", path: "/api/agents/" + agent, key: w.key}, 404, "not_found")
}
