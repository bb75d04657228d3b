package httpapi_test

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"carrel/internal/core"
)

func TestListsAreFilteredAndOrdered(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"Threads", filteredThreads},
		{"ThreadsInOrder", threadsInOrder},
		{"ThreadsOfAllAgents", threadsOfAllAgents},
		{"Memories", filteredMemories},
	})
}

func filteredThreads(t *testing.T, w *testServer) {
	p, other := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	var titles []string
	for _, title := range []string{"C relations", "A hashing", "B sorting"} {
		w.clock.Advance(1_000_000)
		titles = append(titles, title)
		id := p.newThread(title)
		p.post(p.at("/threads/"+id+"/messages"), object{"text": "What about " + title[:1] + "-trees?"}).ok(t)
	}
	other.newThread("A hashing")
	slices.Reverse(titles)
	for query, want := range map[string][]string{
		"":                      titles,
		"?sort=activity":        titles,
		"?sort=created":         titles,
		"?sort=title":           slices.Sorted(slices.Values(titles)),
		"?q=HASH":               {"A hashing"},
		"?q=b-trees":            {"B sorting"},
		"?q=b-trees+sort":       {"B sorting"},
		"?q=b-trees+hash":       {},
		"?q=ing&sort=title":     {"A hashing", "B sorting"},
		"?status=working":       {},
		"?status=idle&q=relati": {"C relations"},
	} {
		if got := p.get(p.at("/threads"+query)).ok(t).list("threads", "title"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	for _, sort := range []string{"activity", "created", "title"} {
		want := p.get(p.at("/threads?sort="+sort)).ok(t).list("threads", "title")
		pages := p.walk(p.at("/threads?sort="+sort), "threads", "title", 1, func(int) {})
		if got := slices.Concat(pages...); !slices.Equal(got, want) {
			t.Errorf("pages by %s: %v, want %v", sort, got, want)
		}
	}
	cursor := p.get(p.at("/threads?sort=title&limit=1")).ok(t).str("nextCursor")
	for _, query := range []string{
		"?cursor=" + cursor, "?sort=created&cursor=" + cursor, "?sort=xyzzy", "?status=done",
		"?q=" + strings.Repeat("a", 501), "?q=" + strings.Repeat("a+", 21),
	} {
		if a := p.get(p.at("/threads" + query)); a.status != http.StatusBadRequest {
			t.Errorf("%.60s: %d %s", query, a.status, a.body)
		}
	}
}

func threadsInOrder(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	ids := map[string]string{}
	for _, title := range []string{"A", "B", "C"} {
		w.clock.Advance(1_000_000)
		ids[title] = p.newThread(title)
	}
	changed := p.send("PATCH", p.at("/threads/"+ids["A"]), `{"pinned":true,"tags":["To  read","TO READ","ä"]}`).ok(t)
	if tags := changed.value("thread").(object)["tags"]; !reflect.DeepEqual(tags, []any{"TO READ", "ä"}) {
		t.Errorf("the tags are %v", tags)
	}
	p.send("PATCH", p.at("/threads/"+ids["B"]), `{"archived":true,"tags":["to read"]}`).ok(t)
	p.send("PATCH", p.at("/threads/"+ids["B"]), `{}`).ok(t) // changes nothing
	for query, want := range map[string][]string{
		"":                            {"C", "B", "A"},
		"?sort=pinned":                {"A", "C", "B"},
		"?sort=pinned&archived=false": {"A", "C"},
		"?archived=true":              {"B"},
		"?tag=TO+read":                {"B", "A"},
		"?tag=%C3%84":                 {"A"},
		"?tag=none":                   {},
		"?tag=to+read&archived=false": {"A"},
	} {
		if got := p.get(p.at("/threads"+query)).ok(t).list("threads", "title"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	pages := p.walk(p.at("/threads?sort=pinned"), "threads", "title", 1, func(int) {})
	if got := slices.Concat(pages...); !slices.Equal(got, []string{"A", "C", "B"}) {
		t.Errorf("pages with pinned threads first: %v", got)
	}
	if got := p.get("/api/threads/tags").ok(t).list("tags", "tag"); !slices.Equal(got, []string{"to read", "ä"}) {
		t.Errorf("the tags are %v", got)
	}
	for _, body := range []string{`{"tags":[""]}`, `{"pinned":"yes"}`, `{"title":"` + strings.Repeat("a", 201) + `"}`} {
		if a := p.send("PATCH", p.at("/threads/"+ids["A"]), body); a.status != http.StatusBadRequest {
			t.Errorf("%.40s: %d %s", body, a.status, a.body)
		}
	}
}

func threadsOfAllAgents(t *testing.T, w *testServer) {
	p, other := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	first := p.newThread("Hash joins")
	w.clock.Advance(1_000_000)
	agent := p.newAgent("Second")
	second := p.post("/api/agents/"+agent+"/threads", object{}).ok(t).str("thread", "id")
	p.post("/api/agents/"+agent+"/threads/"+second+"/messages", object{"text": "What does a hash table do?"}).ok(t)
	other.newThread("Hash joins")
	found := p.get("/api/threads?q=HASH").ok(t)
	if got := found.list("threads", "id"); !slices.Equal(got, []string{second, first}) {
		t.Fatalf("found %v", got)
	}
	if got := found.list("threads", "agentId"); !slices.Equal(got, []string{agent, p.agent}) {
		t.Errorf("of the agents %v", got)
	}
	threads := found.value("threads").([]any)
	match, _ := threads[0].(object)["match"].(object)
	if match == nil || !strings.Contains(match["snippet"].(string), "hash table") {
		t.Errorf("the match is %v", match)
	}
	if m := threads[1].(object)["match"]; m != nil {
		t.Errorf("a thread found by its title has the match %v", m)
	}
	if got := p.get("/api/threads?limit=1").ok(t); got.str("nextCursor") == "" {
		t.Errorf("one page: %s", got.body)
	}
}

func filteredMemories(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	ids := map[string]string{}
	for _, text := range []string{"I like green tea", "I read German"} {
		w.clock.Advance(1_000_000)
		ids[text] = p.post(p.at("/memories"), object{"text": text}).ok(t).str("memory", "id")
	}
	w.clock.Advance(1_000_000)
	p.send("PATCH", p.at("/memories/"+ids["I like green tea"]), `{"pinned":true}`).ok(t)
	newest, changed := []string{"I read German", "I like green tea"}, []string{"I like green tea", "I read German"}
	for query, want := range map[string][]string{
		"":                   newest,
		"?sort=created":      newest,
		"?sort=updated":      changed,
		"?q=TEA+green":       {"I like green tea"},
		"?q=coffee":          {},
		"?pinned=true":       {"I like green tea"},
		"?pinned=false&q=i":  {"I read German"},
		"?origin=client":     newest,
		"?origin=agent&q=i":  {},
		"?status=proposed&q": {},
	} {
		if got := p.get(p.at("/memories"+query)).ok(t).list("memories", "text"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	pages := p.walk(p.at("/memories?sort=updated"), "memories", "text", 1, func(int) {})
	if got := slices.Concat(pages...); !slices.Equal(got, changed) {
		t.Errorf("pages by change: %v", got)
	}
	for _, query := range []string{"?sort=title", "?pinned=maybe", "?origin=nobody"} {
		if a := p.get(p.at("/memories" + query)); a.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
}

func TestSingleObjectsAndDeletionsOfSeveral(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"SingleObjectsAreReadByTheirOwner", singleObjects},
		{"SeveralObjectsAreDeleted", severalDeleted},
	})
}

func singleObjects(t *testing.T, w *testServer) {
	p, other := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	memory := p.post(p.at("/memories"), object{"text": "m"}).ok(t).value("memory")
	favourite := p.post(p.at("/favourites"), object{"card": object{"cardId": "a/b"}}).ok(t).value("favourite")
	thread := p.newThread("T")
	p.post(p.at("/threads/"+thread+"/messages"), object{"text": "hi"}).ok(t)
	messages := p.get(p.at("/threads/" + thread + "/messages")).ok(t).value("messages").([]any)
	id := func(v any) string { return v.(map[string]any)["id"].(string) }
	for path, want := range map[string]struct {
		name  string
		value any
	}{
		p.at("/memories/" + id(memory)):                             {"memory", memory},
		p.at("/favourites/a%2Fb"):                                   {"favourite", favourite},
		p.at("/threads/" + thread + "/messages/" + id(messages[0])): {"message", messages[0]},
		p.at("/threads/" + thread + "/messages/" + id(messages[1])): {"message", messages[1]},
	} {
		if got := p.get(path).ok(t).value(want.name); !reflect.DeepEqual(got, want.value) {
			t.Errorf("%s is %v, want %v", path, got, want.value)
		}
		mine := strings.Replace(path, p.agent, other.agent, 1)
		for _, hidden := range []string{path, mine, path[:len(path)-1] + "0"} {
			by := other
			if hidden != path && hidden != mine {
				by = p
			}
			if a := by.get(hidden); a.status != http.StatusNotFound {
				t.Errorf("%s: %d %s", hidden, a.status, a.body)
			}
		}
	}
	key := p.accountKey()
	keyID := key.get("/api/account/keys").ok(t).list("keys", "id")[0]
	if got := key.get("/api/account/keys/"+keyID).ok(t).str("key", "id"); got != keyID {
		t.Errorf("the key is %s", got)
	}
	if a := other.accountKey().get("/api/account/keys/" + keyID); a.status != http.StatusNotFound {
		t.Errorf("the key of another user: %d %s", a.status, a.body)
	}
}

func severalDeleted(t *testing.T, w *testServer) {
	p, other := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	add := func(p *testUser) map[string]string {
		saved := p.post(p.at("/favourites"), object{"card": object{"cardId": "c " + p.id}}).ok(t)
		return map[string]string{
			"/memories":   p.post(p.at("/memories"), object{"text": "m"}).ok(t).str("memory", "id"),
			"/threads":    p.newThread("T"),
			"/favourites": saved.str("favourite", "cardId"),
		}
	}
	mine, theirs := add(p), add(other)
	for list, id := range mine {
		path := p.at(list + "/delete")
		got := p.post(path, object{"ids": []string{id, theirs[list], id}}).ok(t)
		if got.value("deleted") != 1.0 || !reflect.DeepEqual(got.value("deletedIds"), any([]any{id})) ||
			!reflect.DeepEqual(got.value("notFoundIds"), any([]any{theirs[list]})) {
			t.Errorf("%s: %s", list, got.body)
		}
		if again := p.post(path, object{"ids": []string{id}}).ok(t); again.value("deleted") != 0.0 {
			t.Errorf("%s again: %s", list, again.body)
		}
		for _, ids := range [][]string{{}, make([]string, 501)} {
			if a := p.post(path, object{"ids": ids}); a.status != http.StatusBadRequest {
				t.Errorf("%d ids: %d %s", len(ids), a.status, a.body)
			}
		}
		name := strings.TrimPrefix(list, "/")
		if got := other.get(other.at(list)).ok(t).value(name).([]any); len(got) != 1 {
			t.Errorf("another user has %v", got)
		}
		if a := other.post(path, object{"ids": []string{id}}); a.status != http.StatusNotFound {
			t.Errorf("another user: %d %s", a.status, a.body)
		}
	}
}
