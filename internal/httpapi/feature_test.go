package httpapi_test

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
	"carrel/internal/favourite"
	"carrel/internal/memory"
	"carrel/internal/search"
	"carrel/internal/source"
	"carrel/internal/thread"
)

func TestFeatures(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"UsageFlow", usageFlow},
		{"AgentIsCreatedChangedAndDeleted", agentLife},
		{"DeletingAnAgentDeletesEverythingBelow", agentCascade},
		{"DeletingAThreadDeletesItsMessages", threadCascade},
		{"EqualMemoriesAreStoredOnce", memories},
		{"SavingACardAgainUpdatesIt", favourites},
		{"ExportsAreFiles", exports},
		{"SearchFindsReadsAndCounts", searches},
		{"CardsHaveAllFields", wholeCards},
		{"PartialIndexGivesAWarning", partialIndex},
		{"TitleComesFromTheFirstMessage", titles},
		{"TimesHaveMilliseconds", times},
	})
}

// usageFlow lists agents, creates a thread, sends a message and reads the reply.
func usageFlow(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	agent := p.get("/api/agents").ok(t).list("agents", "id")[0]
	thread := p.post("/api/agents/"+agent+"/threads", `{}`).ok(t).str("thread", "id")
	path := "/api/agents/" + agent + "/threads/" + thread + "/messages"
	sent := p.post(path, object{"text": "Who proposed the relational model?"}).ok(t)
	if sent.str("status") != "complete" || !strings.Contains(sent.str("text"), "You wrote") {
		t.Errorf("the reply is %s", sent.body)
	}
	read := p.get(path).ok(t)
	got := read.list("messages", "text")
	if !slices.Equal(got, []string{"Who proposed the relational model?", sent.str("text")}) {
		t.Errorf("the messages are %v", got)
	}
	if got := read.list("messages", "id"); got[1] != sent.str("messageId") || !core.IsID(core.PrefixMessage, got[0]) {
		t.Errorf("the ids are %v, the reply's is %s", got, sent.str("messageId"))
	}
	if got := read.list("messages", "turnId"); got[0] != sent.str("turnId") || got[0] != got[1] {
		t.Errorf("the turns are %v", got)
	}
}

func agentLife(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	made := p.post("/api/agents", `{"name":" Named ","description":"d","instructions":"i","model":"m"}`).ok(t)
	id := made.str("agent", "id")
	if made.str("agent", "name") != "Named" || made.str("agent", "instructions") != "i" {
		t.Errorf("made %s", made.body)
	}
	sources, _ := made.value("agent", "sources").([]any)
	if len(sources) != 1 {
		t.Fatalf("it has the sources %v", sources)
	}
	library, _ := sources[0].(object)
	if library["name"] != "Library" || library["default"] != true ||
		library["id"] != made.str("agent", "defaultSourceId") || library["documents"] != 0.0 {
		t.Errorf("its library is %v", library)
	}
	w.clock.Advance(time.Millisecond)
	changed := p.send("PATCH", "/api/agents/"+id, `{"instructions":"","description":"new"}`).ok(t)
	if changed.str("agent", "name") != "Named" || changed.str("agent", "instructions") != "" ||
		changed.str("agent", "description") != "new" ||
		changed.str("agent", "model") != "m" || changed.str("agent", "updatedAt") <= made.str("agent", "updatedAt") {
		t.Errorf("changed to %s", changed.body)
	}
	if got := p.get("/api/agents/" + id).ok(t); string(got.body) != string(changed.body) {
		t.Errorf("read %s, want %s", got.body, changed.body)
	}
	if got := p.send("DELETE", "/api/agents/"+id, "").ok(t); string(got.body) != `{"deleted":true}` {
		t.Errorf("deleting answers %s", got.body)
	}
	p.send("DELETE", "/api/agents/"+id, "").refused(t, 404, "not_found")
}

func agentCascade(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	fill := func(agentID string) (thread, src string) {
		q := *p
		q.agent = agentID
		thread = q.newThread("T")
		q.post(q.at("/threads/"+thread+"/messages"), object{"text": "hi"}).ok(t)
		q.post(q.at("/memories"), object{"text": "m"}).ok(t)
		q.post(q.at("/favourites"), object{"card": object{"id": "c"}, "threadId": thread}).ok(t)
		return thread, p.load(agentID, source.Document{ExternalID: "d", Title: "D", Text: "d"})
	}
	doomed, kept := p.newAgent("Doomed"), p.newAgent("Kept")
	thread, src := fill(doomed)
	keptThread, keptSource := fill(kept)
	p.send("DELETE", "/api/agents/"+doomed, "").ok(t)
	if rows := p.rows(doomed, thread, src); rows != 0 {
		t.Errorf("%d rows are left of a deleted agent", rows)
	}
	if rows := p.rows(kept, keptThread, keptSource); rows != 6 {
		t.Errorf("another agent has %d rows", rows)
	}
}

// rows counts the database rows that belong to an agent, even after the agent was deleted, except favourites, which
// TestDeletesCascade counts.
func (p *testUser) rows(agentID, threadID, src string) int {
	p.t.Helper()
	ctx := p.t.Context()
	memories, err1 := p.w.db.Memories(ctx, p.id, agentID, memory.StatusActive, "", 100)
	favourites, err2 := p.w.db.Favourites(ctx, favourite.Selection{UserID: p.id, Agents: []string{agentID}}, nil, 100)
	threads, err3 := p.w.db.Threads(ctx, p.id, agentID, thread.Filter{}, nil, 100)
	messages, err4 := p.w.db.Messages(ctx, threadID, 0, 100)
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			p.t.Fatal(err)
		}
	}
	n := len(memories) + len(favourites) + len(threads) + len(messages)
	for _, err := range p.w.db.ScanDocuments(ctx, src) {
		if err != nil {
			p.t.Fatal(err)
		}
		n++
	}
	return n
}

// load stores documents in the default source of an agent and returns the source's id.
func (p *testUser) load(agentID string, docs ...source.Document) string {
	p.t.Helper()
	src, err := p.w.sources.Default(p.t.Context(), core.Operator(p.id), agentID)
	if err != nil {
		p.t.Fatal(err)
	}
	p.importInto(src, docs...)
	return src.ID
}

func (p *testUser) importInto(src source.Source, docs ...source.Document) {
	p.t.Helper()
	_, err := p.w.sources.Import(p.t.Context(), core.Operator(p.id), src, func(yield func(source.Document, error) bool) {
		for _, d := range docs {
			if !yield(d, nil) {
				return
			}
		}
	}, nil)
	if err != nil {
		p.t.Fatal(err)
	}
}

func threadCascade(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	thread := p.newThread("T")
	p.post(p.at("/threads/"+thread+"/messages"), object{"text": "hi"}).ok(t)
	p.post(p.at("/favourites"), object{"card": object{"id": "from"}, "threadId": thread}).ok(t)
	if got := string(p.send("DELETE", p.at("/threads/"+thread), "").ok(t).body); got != `{"deleted":true}` {
		t.Errorf("deleting answers %s", got)
	}
	for _, path := range []string{"", "/messages"} {
		p.get(p.at("/threads/"+thread+path)).refused(t, 404, "not_found")
	}
	p.post(p.at("/threads/"+thread+"/messages"), object{"text": "hi"}).refused(t, 404, "not_found")
	if messages, err := w.db.Messages(t.Context(), thread, 0, 10); err != nil || len(messages) != 0 {
		t.Errorf("%d messages are left, %v", len(messages), err)
	}
	// Favourites saved from the thread stay, without the thread's id.
	if got := p.get(p.at("/favourites")).ok(t).list("favourites", "threadId"); !slices.Equal(got, []string{"<nil>"}) {
		t.Errorf("the favourite is of %v", got)
	}
}

func memories(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	first := p.post(p.at("/memories"), object{"text": "  I prefer primary sources. "}).ok(t)
	if first.str("memory", "text") != "I prefer primary sources." || first.str("memory", "origin") != "client" {
		t.Errorf("kept %s", first.body)
	}
	w.clock.Advance(time.Millisecond)
	for _, again := range []string{
		"I prefer primary sources.", "i PREFER\tprimary\n\n sources.", "Ｉ prefer primary sources.",
	} {
		if a := p.post(p.at("/memories"), object{"text": again}).ok(t); string(a.body) != string(first.body) {
			t.Errorf("%q makes %s of %s", again, a.body, first.body)
		}
	}
	// Memories are separate for each agent and user.
	elsewhere := *p
	elsewhere.agent = p.newAgent("Elsewhere")
	if elsewhere.post(elsewhere.at("/memories"), object{
		"text": "I prefer primary sources.",
	}).ok(t).str("memory", "id") == first.str("memory", "id") {
		t.Error("two agents share a memory")
	}
	second := p.post(p.at("/memories"), object{"text": "Second"}).ok(t).str("memory", "id")
	p.send("PATCH", p.at("/memories/"+second), `{"text":"I PREFER primary sources."}`).refused(t, 409, "conflict")
	changed := p.send("PATCH", p.at("/memories/"+second), `{"text":"SECOND"}`).ok(t)
	if changed.str("memory", "text") != "SECOND" || changed.str("memory", "id") != second {
		t.Errorf("changed to %s", changed.body)
	}
	p.send("DELETE", p.at("/memories/"+second), "").ok(t)
	p.send("DELETE", p.at("/memories/"+second), "").refused(t, 404, "not_found")
	p.send("PATCH", p.at("/memories/"+second), `{"text":"x"}`).refused(t, 404, "not_found")
	p.post(p.at("/memories"), object{"text": "second"}).ok(t)
}

func favourites(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	thread := p.newThread("T")
	card := `{"cardId":"c1","title":"Ünï","n":1.50,"deep":{"z":[null,true],"a":"\u00e9\ud83d\ude00"}}`
	first := p.post(p.at("/favourites"), `{"card":`+card+`,"threadId":"`+thread+`"}`).ok(t)
	if first.str("favourite", "cardId") != "c1" || first.str("favourite", "threadId") != thread {
		t.Errorf("saved %s", first.body)
	}
	listed := p.get(p.at("/favourites")).ok(t)
	kept := listed.value("favourites").([]any)[0].(object)["card"]
	if !same(t, []byte(encode(t, kept)), []byte(card)) {
		t.Errorf("the card came back as %v", kept)
	}
	w.clock.Advance(time.Millisecond)
	again := p.post(p.at("/favourites"), `{"card":{"cardId":"c1","title":"New"}}`).ok(t)
	if again.str("favourite", "card", "title") != "New" ||
		again.str("favourite", "createdAt") != first.str("favourite", "createdAt") ||
		again.str("favourite", "updatedAt") <= first.str("favourite", "updatedAt") ||
		again.str("favourite", "threadId") != thread {
		t.Errorf("saved again as %s", again.body)
	}
	// Cards without an id are equal if their content is equal.
	one := p.post(p.at("/favourites"), `{"card":{"title":"T","year":1970}}`).ok(t).str("favourite", "cardId")
	two := p.post(p.at("/favourites"), `{"card":{ "year":1.97e3, "t\u0069tle":"T" }}`).ok(t).str("favourite", "cardId")
	if one != two || !strings.HasPrefix(one, "card_") {
		t.Errorf("one card is %s and %s", one, two)
	}
	if n := len(p.get(p.at("/favourites")).ok(t).list("favourites", "cardId")); n != 2 {
		t.Errorf("there are %d favourites", n)
	}
	full := `{"id":"full","t":"` + strings.Repeat("a", 65_536-len(`{"id":"full","t":""}`)) + `"}`
	p.post(p.at("/favourites"), `{"card":`+full+`}`).ok(t)
}

func exports(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	p.post(p.at("/favourites"), object{
		"card": object{"id": "codd", "title": "A Relational Model", "authors": []string{"Edgar F. Codd"}, "year": 1970},
	}).ok(t)
	for format, want := range map[string][2]string{
		"bibtex":   {"application/x-bibtex", "Relational"},
		"ris":      {"application/x-research-info-systems", "A Relational Model"},
		"csl-json": {"application/vnd.citationstyles.csl+json", `"A Relational Model"`},
		"csv":      {"text/csv", "A Relational Model"},
		"markdown": {"text/markdown", "A Relational Model"},
	} {
		a := p.get(p.at("/favourites/export?format="+format), "Accept", "text/html").ok(t)
		got := a.header.Get("Content-Type")
		if !strings.HasPrefix(got, want[0]) || !strings.Contains(string(a.body), want[1]) {
			t.Errorf("%s is %s: %s", format, got, a.body)
		}
		if got := a.header.Get("Content-Disposition"); !strings.HasPrefix(got, `attachment; filename="`) {
			t.Errorf("%s is named %s", format, got)
		}
	}
}

func searches(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	var docs []source.Document
	for year := 1968; year <= 1972; year++ {
		docs = append(docs, source.Document{
			ExternalID: strconv.Itoa(year), Title: fmt.Sprintf("Relational work of %d", year),
			Text:    "The relational model of data.",
			Authors: []string{"Codd"}, Year: year, URL: "https://example.org", DOI: "10.1/x", Venue: "CACM", Type: "article",
		})
	}
	docs = append(docs, source.Document{
		ExternalID: "undated", Title: "Relational thoughts", Text: "A relational 😀 model.",
	})
	src := p.load(p.agent, docs...)

	a := p.post(p.at("/search"), object{"query": "relational model", "fromYear": 1969, "toYear": 1971}).ok(t)
	got := a.list("results", "externalId")
	slices.Sort(got)
	if !slices.Equal(got, []string{"1969", "1970", "1971"}) || a.value("total") != 3.0 ||
		a.value("undatedExcluded") != 1.0 || a.str("sourceId") != src {
		t.Errorf("found %s", a.body)
	}
	if years := a.list("years", "year"); !slices.Equal(years, []string{"1969", "1970", "1971"}) {
		t.Errorf("the years are %v", years)
	}
	card := a.value("results").([]any)[0].(object)
	if card["title"] == "" || card["venue"] != "CACM" || card["doi"] != "10.1/x" || card["sourceId"] != src ||
		len(card["highlights"].([]any)) == 0 {
		t.Errorf("a card is %v", card)
	}
	// The same document has the same card id, also as a favourite.
	saved := p.post(p.at("/favourites"), object{"card": card}).ok(t).str("favourite", "cardId")
	if saved != card["cardId"] ||
		p.post(p.at("/search"), object{"query": "relational"}).ok(t).list("results", "cardId") == nil {
		t.Errorf("the card %v is saved as %s", card["cardId"], saved)
	}
	plain := p.post(p.at("/search"), object{"query": "relational", "facets": false, "numResults": 2}).ok(t)
	if plain.value("total") != nil || plain.value("years") != nil || len(plain.list("results", "cardId")) != 2 {
		t.Errorf("without facets: %s", plain.body)
	}
	if a := p.post(p.at("/search"), object{"query": "zebra"}).ok(t); len(a.value("results").([]any)) != 0 ||
		a.value("total") != 0.0 {
		t.Errorf("nothing is %s", a.body)
	}
	// Another source is searched if the request names it, or if it is the default.
	other, err := w.sources.Add(t.Context(), core.Operator(p.id), p.agent, source.New{Name: "Other"})
	if err != nil {
		t.Fatal(err)
	}
	p.importInto(other, source.Document{ExternalID: "elsewhere", Title: "Relational elsewhere", Text: "x"})
	if got := p.post(p.at("/search"), object{
		"query": "relational", "sourceId": other.ID,
	}).ok(t).list("results", "externalId"); !slices.Equal(got, []string{"elsewhere"}) {
		t.Errorf("the named source finds %v", got)
	}
	if err := w.db.SetDefaultSource(t.Context(), p.agent, other.ID); err != nil {
		t.Fatal(err)
	}
	if got := p.post(p.at("/search"), object{"query": "relational"}).ok(t).str("sourceId"); got != other.ID {
		t.Errorf("the default is %s", got)
	}
}

func wholeCards(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	cited := 0
	pages := []string{
		strings.Repeat("First page. ", 150), strings.Repeat("Second page. ", 150),
		"## 1.2 Models\n\nA relational model. " + strings.Repeat("The end. ", 50),
	}
	p.load(p.agent, source.Document{
		ExternalID: "whole-" + p.id, Title: "Relational", PublishedAt: "1970-06-01", CitationCount: &cited,
		OpenAccessURL: "https://example.org/free.pdf",
		Text:          strings.Join(pages, "\f"),
	}, source.Document{ExternalID: "bare-" + p.id, Title: "Relational relational"})
	w.engine.overrides.Store("relatoinal "+p.id, func(r *search.Result) {
		r.Corrected, r.EmbeddingFailed = "relational", true
	})
	a := p.post(p.at("/search"), object{"query": "relational"}).ok(t)
	cards := map[any]object{}
	for _, c := range a.value("results").([]any) {
		cards[c.(object)["externalId"]] = c.(object)
	}
	whole, bare := cards["whole-"+p.id], cards["bare-"+p.id]
	start := float64(len(pages[0]) + len(pages[1]) + 2)
	for field, want := range map[string]any{
		"publishedAt": "1970-06-01", "citationCount": 0.0, "openAccessUrl": "https://example.org/free.pdf", "page": 3.0,
		"byMeaning":  false,
		"passage":    object{"start": start, "end": start + float64(len(pages[2])), "heading": "1.2 Models"},
		"highlights": []any{object{"start": 16.0, "end": 26.0}},
	} {
		if !reflect.DeepEqual(whole[field], want) {
			t.Errorf("%s is %v, want %v", field, whole[field], want)
		}
	}
	for _, field := range []string{"publishedAt", "citationCount", "openAccessUrl", "page", "passage", "year"} {
		if _, there := bare[field]; there || bare == nil {
			t.Errorf("a card without has %s: %v", field, bare[field])
		}
	}
	if a.value("query", "corrected") != nil || len(a.value("warnings").([]any)) != 0 {
		t.Errorf("nothing is corrected or missing: %s", a.body)
	}
	a = p.post(p.at("/search"), object{"query": "relatoinal " + p.id}).ok(t)
	warnings := []any{object{
		"code":   "embeddings_unavailable",
		"detail": "The embeddings endpoint did not answer; results are ranked by words alone.",
	}}
	if a.value("query", "corrected") != "relational" || !reflect.DeepEqual(a.value("warnings"), any(warnings)) {
		t.Errorf("corrected: %s", a.body)
	}
	w.engine.overrides.Store("relational "+p.id, func(r *search.Result) { r.Hits[0].ByMeaning = true })
	a = p.post(p.at("/search"), object{"query": "relational " + p.id}).ok(t)
	if got := a.list("results", "byMeaning"); !slices.Equal(got, []string{"true", "false"}) {
		t.Errorf("found by meaning: %v", got)
	}
}

func partialIndex(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	src := p.load(p.agent, source.Document{ExternalID: "1", Title: "One"}, source.Document{ExternalID: "2", Title: "Two"})
	state := func() string {
		s := p.get(p.at("")).ok(t).value("agent", "sources").([]any)[0].(object)
		return fmt.Sprint(s["status"], " ", s["indexed"], " of ", s["documents"])
	}
	w.engine.indexed.Store(src, 1)
	a := p.post(p.at("/search"), object{"query": "one"}).ok(t)
	want := []any{object{
		"sourceId": src, "code": "index_incomplete", "detail": "1 of 2 documents are indexed so far; results are partial.",
	}}
	if got := state(); got != "indexing 1 of 2" || !reflect.DeepEqual(a.value("warnings"), any(want)) {
		t.Errorf("half way the source is %s, and a search answers %s", got, a.body)
	}
	w.engine.indexed.Store(src, 2)
	a = p.post(p.at("/search"), object{"query": "one"}).ok(t)
	if got := state(); got != "ready 2 of 2" || len(a.value("warnings").([]any)) != 0 {
		t.Errorf("at the end the source is %s, and a search answers %s", got, a.body)
	}
}

func titles(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	named, unnamed := p.newThread("Named"), p.newThread("")
	for _, thread := range []string{named, unnamed} {
		p.post(p.at("/threads/"+thread+"/messages"), object{"text": " First\n message  here "}).ok(t)
		p.post(p.at("/threads/"+thread+"/messages"), object{"text": "second"}).ok(t)
	}
	for thread, want := range map[string]string{named: "Named", unnamed: "First message here"} {
		if got := p.get(p.at("/threads/"+thread)).ok(t).str("thread", "title"); got != want {
			t.Errorf("the title is %q, want %q", got, want)
		}
	}
}

func times(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	thread := p.post(p.at("/threads"), "").ok(t)
	for _, field := range []string{"createdAt", "updatedAt"} {
		at := thread.str("thread", field)
		if _, err := time.Parse("2006-01-02T15:04:05.000Z", at); err != nil || len(at) != len("2025-06-15T12:00:00.000Z") {
			t.Errorf("%s is %q", field, at)
		}
	}
}
