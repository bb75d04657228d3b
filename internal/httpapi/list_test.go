package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"carrel/internal/core"
)

func TestLists(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"PagesAreCompleteDuringInserts", paging},
		{"DefaultPageSize", defaultPages},
		{"NewestMessagesAreOnTheFirstPage", messagePages},
		{"ThreadsAreOrderedByActivity", threadOrder},
		{"FavouriteSearchRanksBestFirst", favouriteSearch},
		{"CursorOfAnotherUserShowsNothing", foreignCursor},
		{"EmptyListsAreEmptyArrays", emptyLists},
	})
}

// growing is a list that a test adds to. A field that the test sets identifies the rows.
type growing struct {
	path, list, field string
	add               func(n int)
}

// growingLists returns the lists that are ordered newest first.
func (p *testUser) growingLists() []growing {
	add := func(path, body string) func(int) {
		return func(n int) {
			p.t.Helper()
			p.w.clock.Advance(time.Millisecond)
			p.post(path, strings.ReplaceAll(body, "N", fmt.Sprintf("%03d", n))).ok(p.t)
		}
	}
	return []growing{
		{"/api/agents", "agents", "name", add("/api/agents", `{"name":"row N"}`)},
		{p.at("/memories"), "memories", "text", add(p.at("/memories"), `{"text":"row N"}`)},
		{p.at("/favourites"), "favourites", "cardId", add(p.at("/favourites"),
			`{"card":{"cardId":"row N","title":"Relational N"}}`)},
		{p.at("/favourites?q=relat"), "favourites", "cardId", add(p.at("/favourites"),
			`{"card":{"cardId":"found N","title":"Relational N"}}`)},
		{p.at("/threads"), "threads", "title", add(p.at("/threads"), `{"title":"row N"}`)},
	}
}

// walk reads a list page by page, calls between after each page, and returns the rows of all pages.
func (p *testUser) walk(path, list, field string, limit int, between func(page int)) [][]string {
	p.t.Helper()
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	var pages [][]string
	cursor := ""
	for page := range 100 {
		a := p.get(fmt.Sprintf("%s%slimit=%d&cursor=%s", path, sep, limit, url.QueryEscape(cursor))).ok(p.t)
		pages = append(pages, a.list(list, field))
		next, more := a.value("nextCursor").(string)
		if !more {
			return pages
		}
		if next == "" {
			p.t.Fatalf("%s: an empty nextCursor: %s", path, a.body)
		}
		cursor = next
		between(page)
	}
	p.t.Fatalf("%s never ends", path)
	return nil
}

func paging(t *testing.T, w *testServer) {
	for i := range w.user(t, core.PlanOpen).growingLists() {
		p := w.user(t, core.PlanOpen)
		l := p.growingLists()[i]
		const rows = 13
		for n := range rows {
			l.add(n)
		}
		before := p.walk(l.path, l.list, l.field, 200, func(int) {})[0]
		if l.list != "agents" && len(before) != rows || len(before) < rows {
			t.Fatalf("%s has %d rows", l.path, len(before))
		}
		descending := slices.IsSortedFunc(before[:rows], func(a, b string) int { return strings.Compare(b, a) })
		if !descending {
			t.Errorf("%s is not newest first: %v", l.path, before)
		}
		for _, limit := range []int{1, 4, 5, len(before), len(before) - 1} {
			added := 100 * limit
			pages := p.walk(l.path, l.list, l.field, limit, func(page int) { l.add(added + page) })
			var got []string
			for i, page := range pages {
				if len(page) == 0 || len(page) > limit || i < len(pages)-1 && len(page) != limit {
					t.Errorf("%s?limit=%d: page %d has %d rows", l.path, limit, i, len(page))
				}
				got = append(got, page...)
			}
			if !slices.Equal(got, before) {
				t.Errorf("%s?limit=%d while others insert:\n got %v\nwant %v", l.path, limit, got, before)
			}
			before = p.walk(l.path, l.list, l.field, 200, func(int) {})[0]
		}
	}
}

func defaultPages(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	thread := p.newThread("T")
	for i := range 51 { // each message has a reply
		p.post(p.at("/memories"), object{"text": strconv.Itoa(i)}).ok(t)
		p.post(p.at("/threads/"+thread+"/messages"), object{"text": strconv.Itoa(i)}).ok(t)
	}
	for path, want := range map[string]int{p.at("/memories"): 50, p.at("/threads/" + thread + "/messages"): 100} {
		list := path[strings.LastIndex(path, "/")+1:]
		if a := p.get(path).ok(t); len(a.list(list, "id")) != want || a.str("nextCursor") == "" {
			t.Errorf("%s has %d rows, want %d and a cursor", path, len(a.list(list, "id")), want)
		}
	}
}

func messagePages(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	path := p.at("/threads/" + p.newThread("T") + "/messages")
	send := func(n int) string {
		w.clock.Advance(time.Millisecond)
		return p.post(path, object{"text": fmt.Sprintf("%03d", n)}).ok(t).str("text")
	}
	var want []string
	for n := range 9 {
		want = append(want, fmt.Sprintf("%03d", n), send(n))
	}
	first := p.get(path + "?limit=3").ok(t)
	if got := first.list("messages", "text"); !slices.Equal(got, want[15:]) || first.str("status") != "complete" {
		t.Errorf("the first page is %v", got)
	}
	for _, limit := range []int{1, 5, 18, 200} {
		pages := p.walk(path, "messages", "text", limit, func(page int) {
			if page < 2 { // a turn takes a while
				send(1000 + page)
			}
		})
		var got []string
		for _, page := range slices.Backward(pages) { // oldest page first
			got = append(got, page...)
		}
		if !slices.Equal(got[:18], want) {
			t.Errorf("limit=%d while others write:\n got %v\nwant %v", limit, got[:18], want)
		}
		all := p.get(path + "?limit=200").ok(t)
		if limit < 18 && len(got) >= len(all.list("messages", "id")) {
			t.Errorf("limit=%d: nothing was written in between", limit)
		}
	}
	a := p.get(path).ok(t)
	roles, turns := a.list("messages", "role"), a.list("messages", "turnId")
	for i := 0; i < len(roles); i += 2 {
		if roles[i] != "user" || roles[i+1] != "assistant" || turns[i] != turns[i+1] {
			t.Errorf("messages %d and %d are %v of %v", i, i+1, roles[i:i+2], turns[i:i+2])
		}
	}
}

func threadOrder(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	ids := map[string]string{}
	for _, title := range []string{"a", "b", "c", "d"} {
		w.clock.Advance(time.Millisecond)
		ids[title] = p.newThread(title)
	}
	order := func() string {
		return strings.Join(p.get(p.at("/threads")).ok(t).list("threads", "title"), "")
	}
	if got := order(); got != "dcba" {
		t.Errorf("new threads come as %s", got)
	}
	first := p.get(p.at("/threads?limit=2")).ok(t)
	w.clock.Advance(time.Millisecond)
	p.post(p.at("/threads/"+ids["a"]+"/messages"), object{"text": "up"}).ok(t)
	if got := order(); got != "adcb" {
		t.Errorf("after a message in a they come as %s", got)
	}
	// A thread that moved to the front is not listed twice, and no other thread is skipped.
	rest := p.get(p.at("/threads?limit=9&cursor=" + first.str("nextCursor"))).ok(t)
	if got := strings.Join(rest.list("threads", "title"), ""); got != "b" {
		t.Errorf("behind dc comes %s", got)
	}
	w.clock.Advance(time.Millisecond)
	p.send("PATCH", p.at("/threads/"+ids["b"]), `{"title":"B"}`).ok(t)
	if got := order(); got != "adcB" {
		t.Errorf("a new title moved a thread: %s", got)
	}
	read := p.get(p.at("/threads/" + ids["a"])).ok(t)
	if at := read.str("thread", "lastMessageAt"); at == "" || at == read.str("thread", "createdAt") {
		t.Errorf("lastMessageAt is %q", at)
	}
}

func favouriteSearch(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	for id, title := range map[string]string{
		"1": "The relational model", "2": "A model of memory", "3": "Relations", "4": "Något helt annat",
	} {
		p.post(p.at("/favourites"), object{
			"card": object{"cardId": id, "title": title, "authors": []string{"Ada Codd"}},
		}).ok(t)
	}
	for q, want := range map[string]string{
		"relational model": "1", "MODEL": "12", "rela": "13", "model rel": "1", "codd": "1234", "nagot": "4", "Något": "4",
		"nothing": "", "model nothing": "",
		"": "1234", "  ": "1234", "\"%_'": "1234",
	} {
		a := p.get(p.at("/favourites?q=" + url.QueryEscape(q))).ok(t)
		got := a.list("favourites", "cardId")
		slices.Sort(got)
		if strings.Join(got, "") != want {
			t.Errorf("q=%q finds %v, want %s", q, got, want)
		}
	}
	// A match in the title ranks higher.
	p.post(p.at("/favourites"), object{
		"card": object{"cardId": "5", "title": "Elsewhere", "note": "the relational model"},
	}).ok(t)
	found := p.get(p.at("/favourites?q=relational%20model")).ok(t).list("favourites", "cardId")
	if !slices.Equal(found, []string{"1", "5"}) {
		t.Errorf("the order is %v", found)
	}
}

func foreignCursor(t *testing.T, w *testServer) {
	p, other := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
	for i, l := range p.growingLists() {
		theirs := other.growingLists()[i]
		for n := range 3 {
			l.add(n)
			theirs.add(n)
		}
		sep := "?"
		if strings.Contains(l.path, "?") {
			sep = "&"
		}
		cursor := other.get(theirs.path + sep + "limit=1").ok(t).str("nextCursor")
		a := p.get(l.path + sep + "cursor=" + cursor).ok(t)
		mine := p.get(l.path).ok(t).list(l.list, "createdAt")
		if rows := a.list(l.list, "createdAt"); len(rows) > len(mine) {
			t.Errorf("%s: the cursor of another shows %d rows of %d", l.path, len(rows), len(mine))
		}
		if l.list == "agents" && slices.Contains(a.list("agents", "id"), other.agent) {
			t.Error("an agent of another user is listed")
		}
	}
}

func emptyLists(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	p.agent = p.newAgent("Empty")
	for path, want := range map[string]string{
		p.at("/memories"):       `{"memories":[]}`,
		p.at("/favourites"):     `{"favourites":[]}`,
		p.at("/favourites?q=x"): `{"favourites":[]}`,
		"/api/favourites":       `{"favourites":[]}`,
		"/api/favourites/tags":  `{"tags":[]}`,
		"/api/collections":      `{"collections":[]}`,
		p.at("/threads"):        `{"threads":[]}`,
		p.at("/threads/" + p.post("/api/agents/"+p.agent+"/threads", "").ok(t).str("thread", "id") +
			"/messages"): `{"messages":[],"status":"complete"}`,
	} {
		if strings.HasSuffix(path, "/threads") {
			continue // the user has an agent
		}
		if got := string(p.get(path).ok(t).body); got != want {
			t.Errorf("%s is %s", path, got)
		}
	}
}

func TestETags(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{{"NameTheStateOfEverythingThatIsRead", func(t *testing.T, w *testServer) {
		p := w.user(t, core.PlanOpen)
		thread := p.newThread("T")
		change := map[string]func(){
			p.at("/memories"):   func() { p.post(p.at("/memories"), object{"text": "new"}).ok(t) },
			p.at("/favourites"): func() { p.post(p.at("/favourites"), object{"card": object{"title": "Relational"}}).ok(t) },
			p.at("/favourites?q=relational"): func() {
				p.post(p.at("/favourites"), object{"card": object{"title": "Relational too"}}).ok(t)
			},
			p.at("/favourites/export?format=csv"): func() {
				p.post(p.at("/favourites"), object{"card": object{"title": "Relational three"}}).ok(t)
			},
			p.at("/threads"): func() { p.newThread("U") },
			p.at("/threads/" + thread): func() {
				p.send("PATCH", p.at("/threads/"+thread), `{"title":"V"}`).ok(t)
			},
			p.at("/threads/" + thread + "/messages"): func() {
				p.post(p.at("/threads/"+thread+"/messages"), object{"text": "hi"}).ok(t)
			},
			p.at(""):      func() { p.send("PATCH", p.at(""), `{"name":"N"}`).ok(t) },
			"/api/agents": func() { p.newAgent("Second") },
			p.at("/memories?status=proposed"): func() {
				if err := w.memories.Propose(t.Context(), p.id, p.agent, "", "", "I like green."); err != nil {
					t.Fatal(err)
				}
			},
			p.at("/threads/" + thread + "/export?format=markdown"): func() {
				p.post(p.at("/threads/"+thread+"/messages"), object{"text": "more"}).ok(t)
			},
		}
		for _, path := range p.everyGet(thread) {
			checkETag(t, p, path, change[path])
		}
	}}})
}

// swapCase swaps upper and lower case.
func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}

func checkETag(t *testing.T, p *testUser, path string, change func()) {
	t.Helper()
	first := p.get(path).ok(t)
	tag := first.header.Get("ETag")
	if len(tag) < 10 || tag[0] != '"' || tag[len(tag)-1] != '"' {
		t.Fatalf("%s has the tag %q", path, tag)
	}
	if got := p.get(path).ok(t).header.Get("ETag"); got != tag {
		t.Errorf("%s unchanged has the tag %s, then %s", path, tag, got)
	}
	for _, value := range []string{
		tag, "W/" + tag, "*", `"other", ` + tag, `"other",W/` + tag + `,"third"`, " " + tag + " ",
	} {
		a := p.get(path, "If-None-Match", value)
		if a.status != http.StatusNotModified || len(a.body) != 0 || a.header.Get("ETag") != tag ||
			a.header.Get("Content-Type") != "" {
			t.Errorf("%s with If-None-Match: %s is %d %q %s", path, value, a.status, a.header, a.body)
		}
		if a.header.Get("X-Request-Id") == "" || a.header.Get("Cache-Control") != "private, no-cache" ||
			!slices.Contains(a.header.Values("Vary"), "Authorization, Cookie") {
			t.Errorf("%s: 304 has the headers %v", path, a.header)
		}
	}
	if a := p.get(path, "If-None-Match", `"other"`, "+If-None-Match", tag); a.status != http.StatusNotModified {
		t.Errorf("%s with two lines of If-None-Match is %d", path, a.status)
	}
	if a := p.send("HEAD", path, "", "If-None-Match", tag); a.status != http.StatusNotModified {
		t.Errorf("HEAD %s is %d", path, a.status)
	}
	for _, value := range []string{`"other"`, tag[1 : len(tag)-1], "w/" + tag, "", swapCase(tag), tag + "x"} {
		if value == tag {
			continue // a tag of digits is the same in both cases
		}
		if a := p.get(path, "If-None-Match", value); a.status != http.StatusOK {
			t.Errorf("%s with If-None-Match: %s is %d", path, value, a.status)
		}
	}
	p.w.clock.Advance(time.Millisecond)
	change()
	changed := p.get(path, "If-None-Match", tag).ok(t)
	if changed.header.Get("ETag") == tag || string(changed.body) == string(first.body) {
		t.Errorf("%s has the tag %s before and after a change", path, tag)
	}
}
