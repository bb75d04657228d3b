package httpapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/memory"
	"carrel/internal/source"
	"carrel/internal/task"
	"carrel/internal/thread"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"ReplyHasCitations", citedReply},
		{"ResearchFlagReachesTheTurn", researchTurn},
		{"DocumentIsReadWithItsText", readDocument},
		{"ThreadIsExportedWithItsBibliography", exportedThread},
		{"ReplyTakesFeedback", feedbackOnReply},
		{"ProposedMemoryNeedsConfirmation", proposedMemories},
	})
}

// codd is a document with all fields set.
func codd() source.Document {
	cited := 12500
	return source.Document{
		ExternalID: "codd-1970", Title: "A Relational Model of Data", Authors: []string{"Edgar F. Codd"},
		Text: "Users must be protected. A relational model is proposed.", Year: 1970, PublishedAt: "1970-06-01",
		URL: "https://doi.org/10.1145/362384.362685", DOI: "10.1145/362384.362685", Venue: "Communications of the ACM",
		Type:          "article",
		CitationCount: &cited, OpenAccessURL: "https://example.org/codd.pdf",
	}
}

// loaded stores a document in the user's library and returns it.
func (p *testUser) loaded(d source.Document) source.Document {
	p.t.Helper()
	for stored, err := range p.w.db.ScanDocuments(p.t.Context(), p.load(p.agent, d)) {
		if err != nil {
			p.t.Fatal(err)
		}
		if stored.ExternalID == d.ExternalID {
			return stored
		}
	}
	p.t.Fatal("the document is not there")
	return d
}

// citing returns an answer with all fields set, which cites a document.
func citing(d source.Document) thread.Answer {
	return thread.Answer{
		Text: "Codd proposed it [1]. In 1971 [1].", Partial: true, Query: "codd proposed", FollowUps: []string{"When?"},
		Citations: []thread.Citation{{
			N: 1, CardID: d.CardID(), DocumentID: d.ID, SourceID: d.SourceID, Title: d.Title, Authors: d.Authors, Year: d.Year,
			URL: d.URL, DOI: d.DOI, Quote: "A relational model is proposed.", Start: 25, End: 56, Page: 2,
		}},
		Checks: []thread.Check{
			{Start: 0, End: 10, State: thread.Cited, Citations: []int{1}},
			{Start: 10, End: 21, State: thread.Quoted, By: thread.ByRules, Citations: []int{1}},
			{
				Start: 22, End: 34, State: thread.Contradicted, By: thread.ByModel, Reason: "number_absent",
				Detail: "The quotes it cites do not contain 1971.", Citations: []int{1},
			},
		},
		Actions: []thread.Action{{
			Kind: thread.ActionUnsave, State: thread.ActionDone, ID: "card_x", Title: "T", Undo: "saveFavourite",
			Card: []byte(`{"a":1}`),
		}},
		MemoriesUsed: []thread.UsedMemory{{ID: "mem_x", Text: "I read German."}},
		Usage:        &thread.Usage{Model: "m", InputTokens: 10, OutputTokens: 2, CostMicros: 7, Estimated: true},
	}
}

// ask scripts an answer and sends its question in a new thread.
func (p *testUser) ask(text string, a thread.Answer) (threadID string, sent answer) {
	p.t.Helper()
	p.w.answerer.scripts.Store(text, answering(func(context.Context, *task.Run, thread.Question) (thread.Answer, error) {
		return a, nil
	}))
	threadID = p.newThread("")
	return threadID, p.post(p.at("/threads/"+threadID+"/messages"), object{"text": text}).ok(p.t)
}

func citedReply(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	d := p.loaded(codd())
	id, sent := p.ask("cited "+p.id, citing(d))
	extra := fmt.Sprintf(`"partial":true,"citations":[{"n":1,"cardId":%q,"documentId":%q,"sourceId":%q,`+
		`"title":"A Relational Model of Data","authors":["Edgar F. Codd"],"year":1970,"url":"https://doi.org/10.1145/362384.362685",`+
		`"doi":"10.1145/362384.362685","quote":"A relational model is proposed.","start":25,"end":56,"page":2}],`+
		`"checks":[{"start":10,"end":21,"state":"supported","verdict":"quoted","by":"rules"},`+
		`{"start":22,"end":34,"state":"unsupported","verdict":"contradicted","by":"model","reasonCode":"number_absent",`+
		`"reason":"The quotes it cites do not contain 1971."}],`+
		`"sentences":[{"start":0,"end":10,"verdict":"cited","citations":[1]},`+
		`{"start":10,"end":21,"verdict":"quoted","by":"rules","citations":[1]},`+
		`{"start":22,"end":34,"verdict":"contradicted","by":"model","reasonCode":"number_absent",`+
		`"reason":"The quotes it cites do not contain 1971.","citations":[1]}],`+
		`"actions":[{"kind":"remove_favourite","state":"done","id":"card_x","title":"T","undo":"saveFavourite","card":{"a":1}}],`+
		`"followUps":["When?"],"query":"codd proposed","memoriesUsed":[{"id":"mem_x","text":"I read German."}],`+
		`"usage":{"model":"m","inputTokens":10,"outputTokens":2,"costMicros":7,"estimated":true}`,
		d.CardID(), d.ID, d.SourceID)
	read := p.get(p.at("/threads/" + id + "/messages")).ok(t)
	for name, body := range map[string][]byte{"the reply": sent.body, "the message": read.body} {
		if !strings.Contains(string(body), extra) {
			t.Errorf("%s is %s\nwant %s in it", name, body, extra)
		}
	}
	first, _ := read.value("messages").([]any)[0].(object)
	for _, field := range []string{
		"partial", "citations", "checks", "sentences", "actions", "followUps", "query", "memoriesUsed", "usage", "feedback",
		"error",
	} {
		if v, there := first[field]; there {
			t.Errorf("the question has %s: %v", field, v)
		}
	}
	// A reply without citations omits these fields.
	plain := p.post(p.at("/threads/"+id+"/messages"), object{"text": "hello"}).ok(t)
	if o, _ := plain.value().(object); len(o) != 4 {
		t.Errorf("a plain reply is %s", plain.body)
	}
}

func researchTurn(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	asked := make(chan bool, 3)
	text := "research " + p.id
	w.answerer.scripts.Store(text,
		answering(func(_ context.Context, _ *task.Run, q thread.Question) (thread.Answer, error) {
			asked <- q.Research
			return thread.Answer{Text: "done"}, nil
		}))
	path := p.at("/threads/" + p.newThread("") + "/messages")
	for body, want := range map[string]bool{
		`{"text":%q,"research":true}`: true, `{"text":%q,"research":false}`: false, `{"text":%q}`: false,
	} {
		p.post(path, fmt.Sprintf(body, text)).ok(t)
		if got := <-asked; got != want {
			t.Errorf("%s asks for research: %t", body, got)
		}
	}
	poor := w.user(t, core.PlanNone)
	poor.post(poor.at("/threads/"+poor.newThread("")+"/messages"),
		`{"text":"x","research":true}`).refused(t, 402, "no_subscription")
}

func readDocument(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	d := p.loaded(codd())
	path := p.at("/documents/" + d.ID)
	want := fmt.Sprintf(`{"document":{"id":%q,"sourceId":%q,"externalId":"codd-1970",`+
		`"title":"A Relational Model of Data",`+
		`"authors":["Edgar F. Codd"],"year":1970,"publishedAt":"1970-06-01","url":"https://doi.org/10.1145/362384.362685",`+
		`"doi":"10.1145/362384.362685","venue":"Communications of the ACM","type":"article",`+
		`"text":"Users must be protected. A relational model is proposed.","citationCount":12500,`+
		`"openAccessUrl":"https://example.org/codd.pdf","cardId":%q,"tags":[],"edited":[],`+
		`"createdAt":"2025-06-15T12:00:`, d.ID, d.SourceID, d.CardID())
	got := p.get(path).ok(t)
	if !strings.HasPrefix(string(got.body), want) || got.str("document", "updatedAt") != got.str("document", "createdAt") {
		t.Errorf("read %s\nwant %s", got.body, want)
	}
	checkETag(t, p, path, func() {
		changed := codd()
		changed.Text = "Another text."
		p.loaded(changed)
	})
	bare := p.loaded(source.Document{ExternalID: "bare", Title: "Bare"})
	got = p.get(p.at("/documents/" + bare.ID)).ok(t)
	if strings.Contains(string(got.body), "null") || got.str("document", "text") != "" {
		t.Errorf("one with little is %s", got.body)
	}
	// It is not found below another agent of the same user.
	elsewhere := *p
	elsewhere.agent = p.newAgent("Elsewhere")
	elsewhere.get(elsewhere.at("/documents/"+d.ID)).refused(t, 404, "not_found")
	// Reading a document needs no plan.
	if err := w.db.SetPlan(t.Context(), p.id, core.PlanNone); err != nil {
		t.Fatal(err)
	}
	p.get(path).ok(t)
}

func exportedThread(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	d := p.loaded(codd())
	a := citing(d)
	a.Citations = append(a.Citations, thread.Citation{
		N: 2, CardID: "card_gone", DocumentID: "doc_" + strings.Repeat("0", 26), SourceID: d.SourceID, Title: "Gone *since*",
		Quote: "Two\nlines # and [a](b)", Start: 0, End: 5,
	})
	text := "# Who? <b>" + p.id
	id, _ := p.ask(text, a)
	p.send("PATCH", p.at("/threads/"+id), `{"title":"Origins #\n[x](y)"}`).ok(t)
	got := p.get(p.at("/threads/"+id+"/export?format=markdown"), "Accept", "text/markdown").ok(t)
	ct, name := got.header.Get("Content-Type"), got.header.Get("Content-Disposition")
	if ct != "text/markdown; charset=utf-8" || name != `attachment; filename="thread.md"` {
		t.Errorf("it is %s, %s", ct, name)
	}
	at := w.clock.Now().UTC().Format("2006-01-02 15:04 UTC")
	user := strings.ReplaceAll(p.id, "_", `\_`)
	want := `# Origins \# \[x\](y)

## You, ` + at + `

\# Who? \<b>` + user + `

## Agent, ` + at + `

Codd proposed it \[1\]. In 1971 \[1\]. \[≠ contradicted\]

*Searched for: codd proposed*

*This reply is partial.*

Quotes:

- \[1\] “A relational model is proposed.” (work 1, p. 2)
- \[2\] “Two lines # and \[a\](b)” (work 2)

Sentences: 1 quoted; 1 cited, not judged; 1 contradicted (judged by the model).

Not supported by the cited quotes:

- “In 1971 \[1\].”: The quotes it cites do not contain 1971.

## Bibliography

1. Edgar F. Codd (1970). *A Relational Model of Data*. Communications of the ACM. [doi:10.1145/362384.362685](https://doi.org/10.1145/362384.362685)
2. *Gone \*since\** (n.d.).
`
	if string(got.body) != want {
		t.Errorf("exported\n%s\nwant\n%s", got.body, want)
	}
	empty := p.get(p.at("/threads/" + p.newThread("") + "/export?format=markdown")).ok(t)
	if string(empty.body) != "# Untitled\n" {
		t.Errorf("an empty thread is %q", empty.body)
	}
	refused := p.post(p.at("/threads/"+id+"/export?format=markdown"), "{}").refused(t, 405, "method_not_allowed")
	if got := refused.header.Get("Allow"); got != "GET" {
		t.Errorf("POST allows %s", got)
	}
}

func feedbackOnReply(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	id, sent := p.ask("feedback "+p.id, thread.Answer{Text: "yes"})
	messages := p.at("/threads/" + id + "/messages")
	path := messages + "/" + sent.str("messageId") + "/feedback"
	for body, want := range map[string]string{
		`{"thumb":"down","note":" wrong year\n"}`: `{"thumb":"down","note":"wrong year","updatedAt":"2025-06-15T12:00:00.`,
		`{"thumb":"up","unknown":1}`:              `{"thumb":"up","updatedAt":"2025-06-15T12:00:00.`,
	} {
		if got := p.send("PUT", path, body).ok(t); !strings.HasPrefix(string(got.body), `{"feedback":`+want) {
			t.Errorf("kept %s, want %s", got.body, want)
		}
		if got := p.get(messages).ok(t); !strings.Contains(string(got.body), `"feedback":`+want) {
			t.Errorf("the messages are %s, want %s", got.body, want)
		}
	}
	question := p.get(messages).ok(t).list("messages", "id")[0]
	p.send("PUT", messages+"/"+question+"/feedback", `{"thumb":"up"}`).refused(t, 404, "not_found")
	if got := p.send("DELETE", path, "").ok(t); string(got.body) != `{"deleted":true}` {
		t.Errorf("deleting answers %s", got.body)
	}
	p.send("DELETE", path, "").refused(t, 404, "not_found")
	if got := p.get(messages).ok(t); strings.Contains(string(got.body), `"feedback"`) {
		t.Errorf("it is still there: %s", got.body)
	}
}

func proposedMemories(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	thread, sent := p.ask("propose "+p.id, thread.Answer{Text: "noted"})
	propose := func(text string) {
		t.Helper()
		if err := w.memories.Propose(t.Context(), p.id, p.agent, thread, sent.str("messageId"), text); err != nil {
			t.Fatal(err)
		}
	}
	list := func(query string) answer { return p.get(p.at("/memories" + query)).ok(t) }
	propose("I read German.")
	propose("I like green.")
	p.post(p.at("/memories"), object{"text": "My own"}).ok(t)
	proposed := list("?status=proposed")
	if got := fmt.Sprint(proposed.list("memories", "text")); got != "[I like green. I read German.]" {
		t.Errorf("proposed %s", got)
	}
	got := fmt.Sprint(list("").list("memories", "text"), list("?status=active").list("memories", "text"))
	if got != "[My own] [My own]" {
		t.Errorf("active %s", got)
	}
	first, _ := proposed.value("memories").([]any)[0].(object)
	if first["status"] != "proposed" || first["origin"] != "agent" || first["pinned"] != false ||
		first["threadId"] != thread || first["messageId"] != sent.str("messageId") {
		t.Errorf("a proposal is %v", first)
	}
	page := p.get(p.at("/memories?status=proposed&limit=1")).ok(t).str("nextCursor")
	if got := list("?status=proposed&limit=1&cursor=" + page); got.value("nextCursor") != nil ||
		len(got.list("memories", "id")) != 1 {
		t.Errorf("the second page is %s", got.body)
	}
	p.get(p.at("/memories?cursor="+page)).refused(t, 400, "invalid_request")
	ids := proposed.list("memories", "id")
	w.clock.Advance(time.Millisecond)
	confirmed := p.post(p.at("/memories/"+ids[0]+"/confirm"), "").ok(t)
	if confirmed.str("memory", "status") != string(memory.StatusActive) ||
		confirmed.str("memory", "text") != "I like green." {
		t.Errorf("confirmed %s", confirmed.body)
	}
	if again := p.post(p.at("/memories/"+ids[0]+"/confirm"), "").ok(t); string(again.body) != string(confirmed.body) {
		t.Errorf("confirmed again %s", again.body)
	}
	dismissed := p.post(p.at("/memories/"+ids[1]+"/dismiss"), "not JSON, not read").ok(t)
	if string(dismissed.body) != `{"dismissed":true}` {
		t.Errorf("dismissing answers %s", dismissed.body)
	}
	for _, id := range ids {
		p.post(p.at("/memories/"+id+"/dismiss"), "").refused(t, 404, "not_found")
	}
	propose("I READ german.")
	if got := list("?status=proposed").list("memories", "id"); len(got) != 0 {
		t.Errorf("proposed again: %v", got)
	}
	pinned := p.send("PATCH", p.at("/memories/"+ids[0]), `{"pinned":true}`).ok(t)
	if pinned.value("memory", "pinned") != true || pinned.str("memory", "text") != "I like green." {
		t.Errorf("pinned %s", pinned.body)
	}
	both := p.send("PATCH", p.at("/memories/"+ids[0]), `{"pinned":false,"text":"I like blue."}`).ok(t)
	if both.value("memory", "pinned") != false || both.str("memory", "text") != "I like blue." {
		t.Errorf("changed %s", both.body)
	}
	if same := p.send("PATCH", p.at("/memories/"+ids[0]), `{}`).ok(t); string(same.body) != string(both.body) {
		t.Errorf("without a change %s", same.body)
	}
}
