package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// seenOfProposals are states of proposed memories, which the test writes to the database.
var seenOfProposals = []string{
	"value MemoryOrigin=agent", "value MemoryStatus=proposed", "field Memory.threadId", "field Memory.messageId",
	"reply dismissMemory 200", "field MemoryDismissed.dismissed",
}

// agentCalls returns a valid request for every operation on the documents, memories and replies of an agent.
func (w *installation) agentCalls() []call {
	thread, memory := w.below("/threads/"+w.thread), w.below("/memories/"+w.memory)
	return []call{
		{operation: "getDocument", method: "GET", path: w.below("/documents/" + w.document)},
		{operation: "listSimilarDocuments", method: "GET", path: w.below("/documents/" + w.document + "/similar")},
		{operation: "confirmMemory", method: "POST", path: memory + "/confirm"},
		{operation: "dismissMemory", method: "POST", path: memory + "/dismiss"},
		{
			operation: "giveFeedback",
			method:    "PUT",
			path:      thread + "/messages/" + w.reply + "/feedback",
			body:      `{"thumb": "up"}`,
		},
		{operation: "removeFeedback", method: "DELETE", path: thread + "/messages/" + w.reply + "/feedback"},
		{operation: "exportThread", method: "GET", path: thread + "/export?format=markdown"},
	}
}

// scoped asks questions that are limited to a document and to a source.
func (w *installation) scoped(t *testing.T) {
	thread := w.below("/threads/" + w.do(t, "POST", w.below("/threads"), "").text("thread", "id"))
	source := w.do(t, "GET", w.below("/documents/"+w.document), "").text("document", "sourceId")
	reply := w.do(t, "POST", thread+"/messages",
		`{"text": "Who proposed the relational model?", "documentIds": ["`+w.document+`"], "sourceIds": ["`+source+`"]}`)
	if reply.text("citations", 0, "documentId") != w.document {
		t.Errorf("cited %v", reply.body)
	}
	read := w.do(t, "GET", thread+"/messages", "")
	if read.text("messages", 0, "documentIds", 0) != w.document || read.text("messages", 0, "sourceIds", 0) != source {
		t.Errorf("read %v", read.body)
	}
	for _, field := range []string{"documentIds", "sourceIds"} {
		w.problem(t, call{
			method: "POST", path: thread + "/messages", body: `{"text": "x", "` + field + `": ["none"]}`, key: w.key,
		}, 400, "invalid_request")
	}
}

// answers calls the operations of a conversation other than its messages.
func (w *installation) answers(t *testing.T) {
	w.document = w.do(t, "POST", w.below("/search"), `{"query": "relational model codd"}`).text("results", 0, "documentId")
	w.conditional(t, w.below("/documents/"+w.document))
	w.problem(t, call{method: "GET", path: w.below("/documents/doc_none"), key: w.key}, 404, "not_found")

	thread := w.below("/threads/" + w.thread)
	for _, format := range []string{"markdown", "docx", "pdf"} {
		w.conditional(t, thread+"/export?format="+format)
	}
	w.problem(t, call{method: "GET", path: thread + "/export?format=odt", key: w.key}, 400, "invalid_request")
	one := thread + "/export?format=pdf&messageId="
	w.problem(t, call{method: "GET", path: one + "none", key: w.key}, 400, "invalid_request")
	w.problem(t, call{method: "GET", path: one + "msg_00000000000000000000000000", key: w.key}, 404, "not_found")
	w.problem(t, call{method: "PUT", path: thread + "/export", key: w.key}, 405, "method_not_allowed")

	w.reply = w.do(t, "GET", thread+"/messages", "").text("messages", 1, "id")
	w.conditional(t, thread+"/export?format=markdown&messageId="+w.reply)
	w.scoped(t)
	feedback := thread + "/messages/" + w.reply + "/feedback"
	w.do(t, "PUT", feedback, `{"thumb": "down", "note": "The year is wrong."}`)
	w.do(t, "PUT", feedback, `{"thumb": "up"}`)
	w.do(t, "PUT", feedback, `{"thumb": "down", "note": "The year is wrong."}`)
	if got := w.do(t, "GET", thread+"/messages", ""); got.text("messages", 1, "feedback", "note") != "The year is wrong." {
		t.Errorf("read %v", got.body)
	}
	w.do(t, "DELETE", feedback, "")
	w.problem(t, call{method: "DELETE", path: feedback, key: w.key}, 404, "not_found")
	w.problem(t, call{method: "PUT", path: feedback, body: `{"thumb": "sideways"}`, key: w.key}, 400, "invalid_request")

	for policy, length := range map[string]string{"open": "long", "strict": "short", "marked": "normal"} {
		body := fmt.Sprintf(`{"policy": %q, "answerLength": %q, "language": "de", "opening": "Hello.", "examples": ["Who?"]}`,
			policy, length)
		got := w.do(t, "PATCH", w.below(""), body)
		if got.text("agent", "policy") != policy || got.text("agent", "examples", 0) != "Who?" {
			t.Errorf("changed %v", got.body)
		}
	}
	w.do(t, "PATCH", w.below(""),
		`{"policy": "marked", "answerLength": "normal", "language": "", "opening": "", "examples": []}`)
	w.problem(t, call{method: "PATCH", path: w.below(""), body: `{"policy": "loose"}`, key: w.key}, 400, "invalid_request")

	memory := w.below("/memories/" + w.memory)
	w.do(t, "PATCH", memory, `{"pinned": true}`)
	w.do(t, "POST", memory+"/confirm", "")
	w.problem(t, call{method: "POST", path: memory + "/dismiss", key: w.key}, 404, "not_found")
	w.conditional(t, w.below("/memories?status=proposed"))
	w.problem(t, call{method: "GET", path: w.below("/memories?status=dismissed"), key: w.key}, 400, "invalid_request")
}

// proposals writes proposed memories to the database, confirms some and dismisses others.
func (w *installation) proposals(t *testing.T, url string) {
	ids := []string{"mem_00000000000000000000000001", "mem_00000000000000000000000002"}
	database(t, url, func(ctx context.Context, conn *pgx.Conn) {
		for _, id := range ids {
			_, err := conn.Exec(ctx, `
				INSERT INTO memory (user_id, agent_id, id, text, folded_hash, status, origin, thread_id, message_id,
					created_at, updated_at)
				SELECT t.user_id, t.agent_id, $1, $1, convert_to($1, 'UTF8'), 'proposed', 'agent', t.id, $2, 1, 1
				FROM thread t WHERE t.id = $3`,
				id, w.reply, w.thread)
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	path := w.below("/memories")
	if got := w.do(t, "GET", path+"?status=proposed", ""); got.text("memories", 1, "id") != ids[0] ||
		got.text("memories", 0, "origin") != "agent" {
		t.Errorf("proposed %v", got.body)
	}
	if got := w.do(t, "POST", path+"/"+ids[0]+"/confirm", ""); got.text("memory", "status") != "active" {
		t.Errorf("confirmed %v", got.body)
	}
	w.do(t, "POST", path+"/"+ids[1]+"/dismiss", "")
	w.problem(t, call{method: "POST", path: path + "/" + ids[1] + "/dismiss", key: w.key}, 404, "not_found")
	w.do(t, "DELETE", path+"/"+ids[0], "")
}

// citedTurn reads and exports a reply with all optional members.
func (w *installation) citedTurn(t *testing.T) {
	message := call{method: "POST", path: w.inThread("/messages"), key: w.key, body: `{"text": "cite", "research": true}`}
	sent := w.send(t, message, http.StatusOK)
	if sent.text("citations", 0, "quote") == "" || sent.at("partial") != true ||
		sent.text("checks", 1, "state") != "unsupported" {
		t.Errorf("sent %v", sent.body)
	}
	read := w.do(t, "GET", w.inThread("/messages?limit=1"), "")
	if read.text("messages", 0, "id") != sent.text("messageId") ||
		read.text("messages", 0, "citations", 0, "quote") == "" {
		t.Errorf("read %v", read.body)
	}
	_, body, _, err := w.exchange(t.Context(),
		call{method: "GET", path: w.inThread("/export?format=markdown"), key: w.key})
	if err != nil || !strings.Contains(string(body), "1. Edgar F. Codd (1970). *A Relational Model*.") {
		t.Errorf("exported %s (%v)", body, err)
	}
}
