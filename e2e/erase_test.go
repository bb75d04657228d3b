package e2e

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/search/local/segment"
	"carrel/internal/testkit"
	"carrel/internal/testkit/federatedfake"
)

// mark returns a unique word for one field of one account.
func mark(person, field string) string { return "xq" + person + field + "qx" }

// fieldsWithText are the fields that hold texts of a user or identify them. Each gets a unique word.
var fieldsWithText = []string{
	"name", "email", "agent", "description", "instructions", "document", "title", "author", "upload", "filename",
	"thread", "question", "renamed", "memory",
	"card", "savedname", "savedquery", "favouritenote", "tag", "collection", "webhook", "url", "prefix", "mcp",
	"key", "client", "note", "program", "live", "source", "idempotent", "binnedmemory", "binnedthread", "binnedcard",
	"binneddocument",
}

// textWriter is a user with data in every field.
type textWriter struct {
	name, email, key, agent string
}

// fillAccount creates an account with a unique word in every field.
func (w *installation) fillAccount(t *testing.T, person string) textWriter {
	t.Helper()
	m := func(field string) string { return mark(person, field) }
	who := textWriter{name: m("name"), email: m("email") + "@example.org"}
	w.admin(t, "user", "create", "--email", who.email, "--name", who.name, "--password", "correct horse battery")
	who.agent = w.admin(t, "agent", "create", "--user", who.email, "--name", m("agent")).text("agent", "id")
	who.key = w.admin(t, "key", "create", "--user", who.email, "--name", m("key"), "--scope", "agents,manage,account").
		text("key")
	do := func(method, path, body string) reply {
		t.Helper()
		return w.send(t, call{method: method, path: path, body: body, key: who.key}, http.StatusOK)
	}
	agent := "/api/agents/" + who.agent
	do("PATCH", agent, `{"description": "`+m("description")+`", "instructions": "`+m("instructions")+`"}`)
	file := filepath.Join(t.TempDir(), "documents.jsonl")
	line := `{"id": "1", "title": "On ` + m("title") + `", "authors": ["` + m("author") + `"], "text": "The ` +
		m("document") + ` is a relational model."}` + "\n"
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	w.admin(t, "source", "add", "--agent", who.agent, "--name", m("source"), "--default", "--language", "en", file)
	library := agent + "/sources/" + do("POST", agent+"/sources", `{"name": "Uploads"}`).text("source", "id")
	body, kind := form(m("filename")+".md", "# Notes\n\nSome "+m("upload")+" text.\n")
	w.send(t, call{method: "POST", path: library + "/files", body: body, key: who.key}.with("Content-Type", kind),
		http.StatusOK)
	w.until(t, func() bool { return do("GET", library, "").at("source", "documents") == 1.0 })

	thread := agent + "/threads/" + do("POST", agent+"/threads", `{"title": "`+m("thread")+`"}`).text("thread", "id")
	sent := do("POST", thread+"/messages", `{"text": "What is the `+m("question")+` relational model?"}`)
	do("PATCH", thread, `{"title": "`+m("renamed")+`"}`)
	do("PUT", thread+"/messages/"+sent.text("messageId")+"/feedback", `{"thumb": "down", "note": "`+m("note")+`"}`)
	do("POST", agent+"/memories", `{"text": "I am `+m("memory")+`."}`)
	w.send(t, call{
		method: "POST",
		path:   agent + "/memories",
		body:   `{"text": "Once ` + m("idempotent") + `."}`,
		key:    who.key,
	}.with("Idempotency-Key", "k"), http.StatusOK)
	do("POST", agent+"/saved-searches",
		`{"name": "`+m("savedname")+`", "search": {"query": "`+m("savedquery")+`"}}`)
	do("POST", agent+"/favourites", `{"card": {"id": "x", "title": "`+m("card")+`"}}`)
	forgotten := do("POST", agent+"/memories", `{"text": "I was `+m("binnedmemory")+`."}`).text("memory", "id")
	do("DELETE", agent+"/memories/"+forgotten, "")
	left := do("POST", agent+"/threads", `{"title": "`+m("binnedthread")+`"}`).text("thread", "id")
	do("DELETE", agent+"/threads/"+left, "")
	do("POST", agent+"/favourites", `{"card": {"id": "y", "title": "`+m("binnedcard")+`"}}`)
	do("DELETE", agent+"/favourites/y", "")
	put := do("POST", library+"/documents", `{"documents": [{"externalId": "1", "text": "A `+m("binneddocument")+`."}]}`)
	do("DELETE", agent+"/documents/"+put.text("documents", 0, "id"), "")
	shelf := do("POST", "/api/collections", `{"name": "`+m("collection")+`"}`).text("collection", "id")
	do("PATCH", agent+"/favourites/x",
		`{"tags": ["`+m("tag")+`"], "note": "`+m("favouritenote")+`", "collections": ["`+shelf+`"]}`)
	do("POST", accountPath+"/webhooks", `{"url": "https://example.org/`+m("webhook")+`"}`)
	do("POST", agent+"/sources",
		`{"name": "Feed", "kind": "feed", "settings": {"url": "http://127.0.0.1:1/`+m("url")+`"}}`)
	do("POST", agent+"/sources",
		`{"name": "Bucket", "kind": "s3", "settings": {"bucket": "papers", "endpoint": "http://127.0.0.1:1", "prefix": "`+
			m("prefix")+`"}}`)
	do("POST", agent+"/sources",
		`{"name": "Wiki", "kind": "mcp", "secret": "s3cret", "settings": {"url": "http://127.0.0.1:1/`+m("mcp")+`"}}`)
	engine := federatedfake.New(t, "searxng",
		federatedfake.Work{ID: "1", Title: "Result " + m("live"), Text: "Live " + m("live")})
	live := do("POST", agent+"/sources", `{"name": "Web", "kind": "searxng", "settings": {"url": "`+engine.URL+`"}}`).
		text("source", "id")
	do("POST", agent+"/search", `{"query": "`+m("live")+`", "sourceId": "`+live+`"}`)
	code := w.admin(t, "connect-code", "create", "--user", who.email).text("code")
	minted := w.send(t, call{
		method: "POST",
		path:   "/api/connect/exchange",
		body:   `{"code": "` + code + `", "client": "` + m("client") + `"}`,
	}, http.StatusOK).text("token")
	w.send(t, call{method: "GET", path: "/api/agents", key: minted}.with("User-Agent", m("program")), http.StatusOK)
	do("POST", accountPath+"/export", "")
	w.until(t, func() bool { return do("GET", accountPath+"/export", "").text("export", "status") != "working" })
	return who
}

// until waits until a condition holds.
func (w *installation) until(t *testing.T, done func() bool) {
	t.Helper()
	clientTimeout := time.After(2 * time.Minute) // far more than needed on a busy machine
	for !done() {
		select {
		case <-clientTimeout:
			t.Fatal("it did not come about")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// found returns the words of a user that occur in any file of a folder: in its bytes, or among the terms of the search
// index, which are compressed.
func found(t *testing.T, dir, person string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := string(bytes.ToLower(b)) + "\x00" + termsOf(t, path)
		for _, field := range fieldsWithText {
			if strings.Contains(text, mark(person, field)) {
				out[field] = append(out[field], filepath.Base(path))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// termsOf returns the terms of an index segment.
func termsOf(t *testing.T, path string) string {
	t.Helper()
	if !strings.HasSuffix(path, ".segment") {
		return ""
	}
	s, err := segment.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	var out strings.Builder
	for ord := range uint32(s.Terms()) {
		term, _, err := s.Term(ord)
		if err != nil {
			t.Fatal(err)
		}
		surface, err := s.Surface(ord)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(term + " " + surface + " ")
	}
	return out.String()
}

// TestDeletedAccountLeavesNothingInTheDataFolder searches every file of a stopped installation.
func TestDeletedAccountLeavesNothingInTheDataFolder(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(t *testing.T, w *installation, who textWriter){
		"by its owner": func(t *testing.T, w *installation, who textWriter) {
			c := w.browser(t, who.email)
			c.method, c.body = "DELETE", `{"email": "`+who.email+`"}`
			w.send(t, c, http.StatusOK)
			admin := w.admin(t, "key", "create", "--user", mark("ada",
				"email")+"@example.org", "--name", "admin", "--scope", "admin").text("key")
			w.until(t, func() bool {
				got := w.send(t, call{method: "GET", path: adminPath + "/audit", key: admin}, http.StatusOK)
				for i := 0; got.at("events", i) != nil; i++ {
					if got.text("events", i, "event") == "account_deleted" {
						return true
					}
				}
				return false
			})
			w.server.Stop()
		},
		"by command beside a server": func(t *testing.T, w *installation, who textWriter) {
			w.admin(t, "user", "delete", "--user", who.email, "--yes")
			w.server.Stop()
		},
		"by command without a server": func(t *testing.T, w *installation, who textWriter) {
			w.server.Stop()
			w.admin(t, "user", "delete", "--user", who.email, "--yes")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &installation{server: testkit.StartServer(
				t, testkit.ServerOptions{Env: []string{"CARREL_RATE_LIMITS=off", "CARREL_OUTBOUND_PRIVATE=on"}},
			), client: http.DefaultClient}
			w.fillAccount(t, "ada")
			bob := w.fillAccount(t, "bob")
			// A backup from before a migration holds all accounts.
			old := filepath.Join(w.server.Data, "carrel.db.before-v1")
			if err := os.WriteFile(old, []byte(mark("bob", "name")), 0o600); err != nil {
				t.Fatal(err)
			}
			remove(t, w, bob)
			left := found(t, w.server.Data, "bob")
			for field, files := range left {
				t.Errorf("the %s of the deleted account is in %v", field, files)
			}
			// The other account is complete, which shows that the test can find words.
			kept := found(t, w.server.Data, "ada")
			for _, field := range fieldsWithText {
				if len(kept[field]) == 0 && !replacedFields[field] {
					t.Errorf("the %s of the other account is not found", field)
				}
			}
		})
	}
}

// replacedFields were overwritten by their owner, so the remaining account does not have them either.
var replacedFields = map[string]bool{"thread": true}
