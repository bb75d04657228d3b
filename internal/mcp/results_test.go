package mcp_test

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"carrel/internal/testkit/zoterofake"
)

// checkedClient validates the structured content of every result against the tool's output schema.
type checkedClient struct {
	client
	schemas map[string]*jsonschema.Schema
	// called are the tools that were called.
	called map[string]bool
}

func newCheckedClient(c client) checkedClient {
	c.t.Helper()
	out := checkedClient{c, map[string]*jsonschema.Schema{}, map[string]bool{}}
	for name, tool := range c.tools() {
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource(name, tool.OutputSchema); err != nil {
			c.t.Fatal(err)
		}
		schema, err := compiler.Compile(name)
		if err != nil {
			c.t.Fatalf("the output schema of %s: %v", name, err)
		}
		out.schemas[name] = schema
	}
	return out
}

func (c checkedClient) must(tool string, arguments any) object {
	c.t.Helper()
	c.called[tool] = true
	content := c.client.must(tool, arguments)
	if err := c.schemas[tool].Validate(content); err != nil {
		c.t.Errorf("the result of %s does not match its schema: %v\n%v", tool, err, content)
	}
	return content
}

// unrun are the tools that the test of results cannot call: two need a memory that a model has suggested, the last one
// a Zotero library, which the test of the contract has.
var unrun = []string{"confirm_memory", "dismiss_memory", "write_favourites_to_zotero"}

func TestResultsMatchTheOutputSchemas(t *testing.T) {
	t.Parallel()
	in := start(t)
	c := newCheckedClient(in.connect(t, in.ada))
	agent := c.must("create_agent", object{"name": "Second"})["agent"].(object)["id"].(string)
	in.walkAgent(c, agent)
	in.walkThread(c)
	in.walkSources(c, agent)
	for _, name := range []string{"get_agent", "list_agents"} {
		c.must(name, object{"agentId": agent})
	}
	c.must("delete_agent", object{"agentId": agent})
	for name := range c.schemas {
		if !c.called[name] && !slices.Contains(unrun, name) {
			t.Errorf("%s was not called", name)
		}
	}
}

// walkAgent calls the tools of an agent, its grants, memories and favourites.
func (in *installation) walkAgent(c checkedClient, agent string) {
	c.t.Helper()
	c.must("change_agent", object{"agentId": agent, "description": "D", "instructions": "I"})
	c.must("put_grant", object{"agentId": agent, "userId": "bob@example.org", "grant": "viewer"})
	grants := c.must("list_grants", object{"agentId": agent})["grants"].([]any)
	if len(grants) != 1 {
		c.t.Fatalf("the grants are %v", grants)
	}
	c.must("delete_grant", object{"agentId": agent, "userId": "bob@example.org"})
	memory := c.must("add_memory", object{"agentId": agent, "text": "Ada likes short answers."})["memory"].(object)["id"]
	c.must("change_memory", object{"agentId": agent, "memoryId": memory, "pinned": true})
	if list := c.must("list_memories", object{"agentId": agent})["memories"].([]any); list[0].(object)["pinned"] != true {
		c.t.Errorf("the memories are %v", list)
	}
	if list := c.must("list_memories", object{
		"agentId": agent, "q": "short", "pinned": true, "origin": "client", "sort": "updated",
	})["memories"].([]any); len(list) != 1 {
		c.t.Errorf("found the memories %v", list)
	}
	warned := c.must("get_memory", object{"agentId": agent, "memoryId": memory, "colour": "red"})["warnings"].([]any)
	if len(warned) != 1 || warned[0].(object)["pointer"] != "/colour" {
		c.t.Errorf("an unknown argument is reported as %v", warned)
	}
	if got := c.must("delete_memory", object{"agentId": agent, "memoryId": memory}); got["deleted"] != true {
		c.t.Errorf("deleting a memory returns %v", got)
	}
	for _, tool := range []string{"delete_memories", "delete_threads", "delete_favourites"} {
		if got := c.must(tool, object{"agentId": agent, "ids": []string{"none"}}); got["deleted"] != 0.0 {
			c.t.Errorf("%s returns %v", tool, got)
		}
	}
	saved := c.must("save_search", object{
		"agentId": agent, "name": "Models", "search": object{"query": "relational model", "sort": "oldest"},
	})["savedSearch"].(object)["id"]
	c.must("change_saved_search", object{"agentId": agent, "savedSearchId": saved, "name": "Relational models"})
	if list := c.must("list_saved_searches", object{"agentId": agent})["savedSearches"].([]any); len(list) != 1 ||
		list[0].(object)["name"] != "Relational models" {
		c.t.Errorf("the saved searches are %v", list)
	}
	c.must("delete_saved_search", object{"agentId": agent, "savedSearchId": saved})
	c.must("save_favourite", object{"agentId": agent, "card": object{"cardId": "a/b", "title": "A"}})
	c.must("get_favourite", object{"agentId": agent, "cardId": "a/b"})
	c.must("list_favourites", object{"agentId": agent, "q": "A"})
	shelf := c.must("create_collection", object{"name": "Shelf"})["collection"].(object)["id"]
	c.must("change_collection", object{"collectionId": shelf, "name": "A shelf"})
	c.must("change_favourite", object{
		"agentId": agent, "cardId": "a/b", "tags": []string{"t"}, "note": "N", "collections": []any{shelf},
	})
	imported := c.must("import_favourites", object{
		"agentId": agent, "format": "bibtex", "content": "@book{b, title = {B}}",
	})
	if entries := imported["entries"].([]any); entries[0].(object)["outcome"] != "added" {
		c.t.Errorf("imported %v", entries)
	}
	for _, tool := range []string{
		"list_all_favourites", "list_favourite_tags", "list_collections", "list_all_threads", "list_thread_tags",
	} {
		c.must(tool, object{})
	}
	c.must("export_all_favourites", object{"format": "ris", "collection": shelf})
	found := c.must("lookup_favourites", object{"agentId": agent, "cardIds": []string{"a/b", "none"}})["cardIds"].([]any)
	if len(found) != 1 || found[0] != "a/b" {
		c.t.Errorf("found %v", found)
	}
	chosen := []object{{"agentId": agent, "cardId": "a/b"}}
	file := c.must("export_selected_favourites", object{"format": "csv", "favourites": chosen})
	if !strings.Contains(file["content"].(string), "A") {
		c.t.Errorf("exported %v", file)
	}
	c.must("delete_collection", object{"collectionId": shelf})
	exported := c.must("export_favourites", object{"agentId": agent, "format": "csv"})
	if !strings.HasPrefix(exported["contentType"].(string), "text/csv") ||
		!strings.Contains(exported["content"].(string), "A") {
		c.t.Errorf("the exported favourites are %v", exported)
	}
	c.must("delete_favourite", object{"agentId": agent, "cardId": "a/b"})
}

// walkThread calls the tools of search and of a conversation.
func (in *installation) walkThread(c checkedClient) {
	c.t.Helper()
	found := c.must("search", object{"agentId": in.agent, "query": "relational"})["results"].([]any)
	if len(found) != 1 {
		c.t.Fatalf("the search found %v", found)
	}
	paged := c.must("search", object{
		"agentId": in.agent, "query": "relational", "sourceIds": []string{"*"}, "sort": "year", "countBy": []string{"source"},
		"filter": object{"hasYear": false, "types": []string{"none"}},
	})
	if len(paged["results"].([]any)) != 0 {
		c.t.Errorf("the filtered search found %v", paged)
	}
	batch := c.must("search_batch", object{"agentId": in.agent, "queries": []object{{"query": "relational"}}})
	if len(batch["replies"].([]any)) != 1 {
		c.t.Errorf("search_batch returns %v", batch)
	}
	everywhere := c.must("search_agents", object{"query": "relational", "fields": []string{"title"}})
	if len(everywhere["results"].([]any)) == 0 {
		c.t.Errorf("search_agents returns %v", everywhere)
	}
	c.must("list_similar_documents", object{"agentId": in.agent, "documentId": found[0].(object)["documentId"]})
	checked := c.must("check_text", object{
		"agentId": in.agent, "text": "Sailing is a relational sport.", "markdown": true, "sourceIds": []string{in.source},
	})
	if len(checked["sentences"].([]any)) != 1 || !strings.HasPrefix(checked["markdown"].(string), "Sailing is") {
		c.t.Errorf("check_text returns %v", checked)
	}
	c.must("get_document", object{"agentId": in.agent, "documentId": found[0].(object)["documentId"]})
	thread := c.must("create_thread", object{"agentId": in.agent, "title": "T"})["thread"].(object)["id"]
	one := object{"agentId": in.agent, "threadId": thread}
	said := c.must("ask_agent", with(one, "text", "Hello"))
	if said["status"] != "complete" || said["text"] != "You wrote: Hello" || said["threadId"] != thread {
		c.t.Errorf("ask_agent returns %v", said)
	}
	feedback := with(one, "messageId", said["messageId"])
	c.must("give_feedback", with(feedback, "thumb", "down"))
	c.must("remove_feedback", feedback)
	c.must("rename_thread", with(one, "title", "Renamed"))
	if got := c.must("get_thread", one)["thread"].(object)["title"]; got != "Renamed" {
		c.t.Errorf("the thread is called %v", got)
	}
	c.must("get_message", feedback)
	c.must("list_threads", object{"agentId": in.agent, "q": "wrote", "status": "idle", "sort": "title"})
	if list := c.must("get_messages", one)["messages"].([]any); len(list) != 2 {
		c.t.Errorf("the messages are %v", list)
	}
	if got := c.must("cancel_turn", one)["cancelled"]; got != false {
		c.t.Errorf("cancelling a finished turn returns %v", got)
	}
	if got := c.must("export_thread",
		with(one, "format", "markdown"))["content"].(string); !strings.Contains(got, "You wrote") {
		c.t.Errorf("the exported thread is %s", got)
	}
	again := c.must("ask_agent", with(with(one, "text", "Again"), "versionOf", said["messageId"]))
	c.must("select_message", feedback)
	c.must("delete_message", with(one, "messageId", again["messageId"]))
	c.must("delete_thread", one)
}

// walkSources calls the tools of sources. Files are deleted in the source that the installation starts with.
func (in *installation) walkSources(c checkedClient, agent string) {
	c.t.Helper()
	feed := c.must("create_source", object{
		"agentId": agent, "name": "Feed", "kind": "feed", "settings": object{"url": "http://127.0.0.1:1/feed"},
	})["source"].(object)["id"]
	one := object{"agentId": agent, "sourceId": feed}
	c.must("change_source", with(one, "name", "News"))
	if got := c.must("get_source", one)["source"].(object)["name"]; got != "News" {
		c.t.Errorf("the source is called %v", got)
	}
	c.must("sync_source", one)
	c.must("list_imports", one)
	c.must("list_sources", object{"agentId": agent})
	zotero := c.must("create_source", object{
		"agentId": agent, "name": "Zotero", "kind": "zotero", "secret": zoterofake.Key,
		"settings": object{"url": zoterofake.New(c.t).URL},
	})["source"].(object)["id"]
	c.must("write_favourites_to_zotero", object{"agentId": agent, "sourceId": zotero, "cardIds": []any{"nothing"}})
	works := object{"agentId": in.agent, "sourceId": in.source}
	in.upload(c.t, "/api/agents/"+in.agent+"/sources/"+in.source+"/files")
	var files []any
	for len(files) == 0 { // the import runs in the background
		time.Sleep(20 * time.Millisecond)
		files = c.must("list_files", works)["files"].([]any)
	}
	file := files[0].(object)["id"]
	var notes []any
	for len(notes) == 0 { // a file is listed before its documents are stored
		time.Sleep(20 * time.Millisecond)
		notes = c.must("list_documents", with(works, "file", file))["documents"].([]any)
	}
	c.must("reread_documents", with(works, "ids", []any{notes[0].(object)["id"]}))
	stored := c.must("put_documents", with(works, "documents", []object{
		{"externalId": "one", "title": "One"}, {"externalId": "two", "text": "Two"},
	}))["documents"].([]any)
	document := object{"agentId": in.agent, "documentId": stored[0].(object)["id"]}
	c.must("change_document", with(document, "year", 1970))
	c.must("list_documents", with(works, "status", "edited"))
	c.must("delete_document", document)
	c.must("delete_documents", with(works, "ids", []any{stored[1].(object)["id"]}))
	c.must("delete_file", with(works, "fileId", file))
	c.must("delete_source", one)
}

// upload adds a text file to a source of Ada's.
func (in *installation) upload(t *testing.T, path string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "note.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write([]byte("A note.")) // a buffer does not fail
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, in.url+path, &body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Authorization", "Bearer "+in.ada)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := got.Body.Close(); err != nil || got.StatusCode != http.StatusOK {
		t.Fatalf("the upload is answered with %s, %v", got.Status, err)
	}
}

// Errors keep the code of REST, and name the argument for the model that has to correct it.
func TestErrorResultsHaveTheCodeOfREST(t *testing.T) {
	t.Parallel()
	in := start(t)
	in.admin(t, "user", "create", "--email", "eve@example.org", "--name", "Eve", "--password", "correct horse",
		"--plan", "none")
	c, eve := in.connect(t, in.ada), in.connect(t, in.key(t, "eve"))
	c.must("add_memory", object{"agentId": in.agent, "text": "A fact."})
	other := c.must("add_memory", object{"agentId": in.agent, "text": "Another."})["memory"].(object)["id"]
	theirs := in.admin(t, "agent", "create", "--user", "eve@example.org", "--name", "E")["agent"].(object)["id"]
	for _, test := range []struct {
		c         client
		tool      string
		arguments object
		code      string
	}{
		{c, "get_thread", object{"agentId": in.agent, "threadId": "thr_none"}, "not_found"},
		{c, "change_memory", object{"agentId": in.agent, "memoryId": other, "text": " a FACT. "}, "conflict"},
		{c, "search", object{"agentId": in.agent, "query": "x", "sourceId": "src_none"}, "invalid_request"},
		{c, "put_grant", object{"agentId": in.agent, "userId": "everybody", "grant": "viewer"}, "insufficient_scope"},
		{eve, "search", object{"agentId": theirs, "query": "x"}, "no_subscription"},
		{eve, "ask_agent", object{"agentId": theirs, "text": "x"}, "no_subscription"},
	} {
		code, text := test.c.refused(test.tool, test.arguments)
		if code != test.code || !strings.HasPrefix(text, code+": ") {
			t.Errorf("%s %v: code %q, text %q", test.tool, test.arguments, code, text)
		}
	}
}

func testToolsAreListedByScope(t *testing.T, in *installation) {
	t.Parallel()
	all := in.connect(t, in.ada).tools()
	reader := in.connect(t, in.key(t, "ada", "agents"))
	some := reader.tools()
	for name, tool := range all {
		_, listed := some[name]
		if tool.Annotations.ReadOnlyHint && !listed && name != "list_grants" {
			t.Errorf("%s only reads and is not listed for the scope agents", name)
		}
	}
	for _, name := range []string{"create_agent", "change_agent", "delete_agent", "create_source", "put_grant"} {
		if some[name] != nil || all[name] == nil {
			t.Errorf("%s is listed for the scope agents (%t) or not for manage (%t)", name, some[name] != nil, all[name] == nil)
		}
		// The refusal is an HTTP 403 with a challenge, on which clients request the scope.
		_, err := reader.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: object{"agentId": in.agent}})
		if err == nil {
			t.Errorf("%s can be called with the scope agents", name)
		}
	}
	if got := in.connect(t, in.key(t, "ada", "account")).tools(); len(got) != 0 {
		t.Errorf("%d tools are listed for the scope account", len(got))
	}
}

// The same list, in the same order, with the same bytes: clients cache it.
func testToolListIsStable(t *testing.T, in *installation) {
	t.Parallel()
	var lists []string
	for _, key := range []string{in.ada, in.bob, in.ada} {
		list, err := in.connect(t, key).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(list.Tools)
		if err != nil {
			t.Fatal(err)
		}
		lists = append(lists, string(b))
	}
	if lists[0] != lists[1] || lists[0] != lists[2] {
		t.Error("the lists of tools differ between two accounts with the same access, or between two calls")
	}
}
