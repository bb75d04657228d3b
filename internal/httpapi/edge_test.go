package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"carrel/internal/core"
)

const mebibyte = 1 << 20

// The counterpart of the bad requests: values at the limits are accepted.
func TestValuesAtTheLimitsAreAccepted(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{
		{"TextsOfTheFullLength", fullTexts},
		{"BodiesOfOneMebibyte", fullBody},
		{"BodiesOverOneMebibyteAre413", overfullBody},
		{"NestingOf64", fullDepth},
		{"NumbersAtTheirBounds", fullNumbers},
		{"WaysToSendJSON", contentTypes},
		{"WaysToAcceptJSON", accepts},
		{"WaysToSendACredential", spellings},
		{"UnknownFieldsAreIgnored", unknowns},
		{"ThreadNeedsNoBody", emptyThreads},
		{"HeadIsGetWithoutABody", heads},
		{"CardIDsThatNeedEscaping", oddCardIDs},
		{"RequestIDs", requestIDs},
		{"IncompleteBodyIsRefused", cutOff},
	})
}

func fullTexts(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	thread := p.newThread("T")
	spell := map[string]func(n int) string{
		"ASCII":     func(n int) string { return strings.Repeat("a", n) },
		"astral":    func(n int) string { return strings.Repeat("😀", n) },
		"combining": func(n int) string { return "a" + strings.Repeat("\u0301", n-1) },
	}
	for name, text := range spell {
		for _, op := range []struct {
			path, field string
			n           int
			at          []string
		}{
			{"/api/agents", "name", 100, []string{"agent", "name"}},
			{p.at("/memories"), "text", 4000, []string{"memory", "text"}},
			{p.at("/threads"), "title", 200, []string{"thread", "title"}},
			{p.at("/threads/" + thread + "/messages"), "text", 8000, nil},
			{p.at("/search"), "query", 2000, nil},
		} {
			want := text(op.n)
			a := p.post(op.path, object{op.field: want})
			if a.status != http.StatusOK {
				t.Fatalf("%s %s of %d characters: %d %s", op.path, name, op.n, a.status, a.body)
			}
			if op.at != nil && a.str(op.at...) != want {
				t.Errorf("%s: %s came back otherwise", op.path, name)
			}
		}
		// A message is returned unchanged.
		messages := p.get(p.at("/threads/"+thread+"/messages")).ok(t).list("messages", "text")
		if got := messages[len(messages)-2]; got != text(8000) {
			t.Errorf("a message of %s came back otherwise", name)
		}
	}
	padded := " \t" + spell["astral"](2000) + "\n\u00a0"
	p.post(p.at("/search"), object{"query": padded}).ok(t)
	// Control characters other than NUL are allowed.
	odd := "tab\t line\r\n bell\a escape\u001b delete\u007f C1\u0085 separators\u2028\u2029 nothing\ufeff " +
		"\U0010ffff private\ue000"
	if got := p.post(p.at("/memories"), object{"text": odd}).ok(t).str("memory", "text"); got != odd {
		t.Errorf("%q came back as %q", odd, got)
	}
}

// padded returns a body of n bytes that adds a memory.
func paddedBody(text string, n int) string {
	body := `{"text":"` + text + `","unknown":"`
	return body + strings.Repeat("a", n-len(body)-2) + `"}`
}

func fullBody(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	body := paddedBody("full", mebibyte)
	p.post(p.at("/memories"), body).ok(t)
	// Without a Content-Length.
	a, err := p.try("POST", p.at("/memories"), io.MultiReader(strings.NewReader(body)))
	if err != nil || a.status != http.StatusOK {
		t.Errorf("in chunks: %v %d %s", err, a.status, a.body)
	}
}

// overfullBody uses a raw connection: the server responds without reading the whole body, which http.Client may
// report as a failed write.
func overfullBody(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	body := paddedBody("over", mebibyte+1)
	for name, request := range map[string]string{
		"with its length":       "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body,
		"announced":             "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n",
		"announced as enormous": "Content-Length: 9223372036854775807\r\n\r\n",
		"in chunks":             fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(body), body),
		"behind another type":   "Content-Type: text/plain\r\nContent-Length: 2000000\r\n\r\n",
	} {
		a := p.raw("POST " + p.at("/memories") + " HTTP/1.1\r\nHost: carrel.test\r\nAuthorization: Bearer " + p.token +
			"\r\n" + request)
		if a.status != 413 || a.str("code") != "body_too_large" {
			t.Errorf("%s: %d %s", name, a.status, a.body)
			continue
		}
		a.checkProblem(t)
	}
	if n := len(p.get(p.at("/memories")).ok(t).list("memories", "id")); n != 0 {
		t.Errorf("%d memories were added", n)
	}
}

// raw sends bytes to the server and reads one response.
func (p *testUser) raw(request string) answer {
	p.t.Helper()
	conn, err := new(net.Dialer).DialContext(p.t.Context(), "tcp", strings.TrimPrefix(p.w.url, "http://"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	go func() { _, _ = io.WriteString(conn, request) }() // the server may stop reading before the end
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, body}
}

func cutOff(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "POST "+p.at("/memories")+
		" HTTP/1.1\r\nHost: carrel.test\r\nAuthorization: Bearer "+p.token+
		"\r\nContent-Length: 16\r\n\r\n"+`{"text":"cut"}`)
	_ = conn.(*net.TCPConn).CloseWrite()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("half a body is answered with %d", res.StatusCode)
	}
	if n := len(p.get(p.at("/memories")).ok(t).list("memories", "id")); n != 0 {
		t.Errorf("half a body added %d memories", n)
	}
}

func fullDepth(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	// The body and the card take two of the 64 levels.
	card := `{"a":` + nested(62) + `}`
	p.post(p.at("/favourites"), `{"card":`+card+`}`).ok(t)
	p.post(p.at("/favourites"), `{"card":{"a":`+nested(63)+`}}`).refused(t, 400, "malformed_json")
	p.post(p.at("/favourites"), `{"card":{"a":`+strings.Repeat("[", 62)+"1"+strings.Repeat("]", 62)+`}}`).ok(t)
	start := time.Now()
	p.post(p.at("/favourites"), `{"card":`+strings.Repeat(`{"a":`, 200_000)).refused(t, 400, "malformed_json")
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("deep nesting took %v to refuse", took)
	}
}

func fullNumbers(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	for _, fields := range []string{
		`"numResults":1`, `"numResults":100`, `"fromYear":1`, `"toYear":9999`, `"fromYear":1,"toYear":1`, `"fromYear":9999`,
		`"fromYear":1970,"toYear":1970`, `"facets":false`,
		`"numResults":10.0`, `"numResults":1e1`, `"numResults":1.0E+2`, `"numResults":1000e-1`,
		`"fromYear":1970.000,"toYear":1.97e3`,
	} {
		p.post(p.at("/search"), `{"query":"q",`+fields+`}`).ok(t)
	}
	for _, limit := range []string{"1", "200"} {
		p.get("/api/agents?limit=" + limit).ok(t)
	}
	p.get("/api/agents?cursor=").ok(t)
}

func contentTypes(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	for _, value := range []string{
		"-", "", "application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8",
		"application/json ; x=y",
		"application/json;",
	} {
		a := p.post(p.at("/memories"), `{"text":"typed"}`, "Content-Type", value)
		if a.status != http.StatusOK {
			t.Errorf("Content-Type %q: %d %s", value, a.status, a.body)
		}
		if got := a.header.Get("Content-Type"); got != "application/json; charset=utf-8" {
			t.Errorf("the reply's type is %q", got)
		}
	}
}

func accepts(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	for _, value := range []string{
		"-", "", "*/*", "application/*", "application/json", "APPLICATION/JSON", "application/json; charset=utf-8",
		"application/json;q=0.001",
		"text/html, application/xhtml+xml, */*;q=0.8", "text/html;q=0, application/json", "*/*;q=0, application/json",
		"text/html,*/*;q=0.1",
		"application/json;q=1.000", " , */*", "application/json;q=nonsense",
	} {
		if a := p.get("/api/agents", "Accept", value); a.status != http.StatusOK {
			t.Errorf("Accept %q: %d %s", value, a.status, a.body)
		}
	}
	p.get("/api/agents", "Accept", "text/html", "+Accept", "application/json").ok(t)
}

func spellings(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	for _, value := range []string{
		"Bearer " + p.token, "bearer " + p.token, "BEARER " + p.token, "Bearer " + p.token + "  ", "Bearer   " + p.token,
		"Bearer \t" + p.token,
	} {
		if a := p.get("/api/agents", "Authorization", value); a.status != http.StatusOK {
			t.Errorf("%q: %d %s", value, a.status, a.body)
		}
	}
}

func unknowns(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	p.post(p.at("/memories"), `{"text":"known","later":{"a":[1,null,true,"x"]},"TEXT":5,"":0}`).ok(t)
	p.get(p.at("/memories?later=1&Limit=x&tokens=2&keyword=3")).ok(t)
	p.send("DELETE", p.at("/memories/mem_"+strings.Repeat("0", 26)), "not JSON").refused(t, 404, "not_found")
}

func emptyThreads(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	for _, body := range []string{"", " \n", "{}", `{"title":""}`, `{"title":"  "}`} {
		a := p.post(p.at("/threads"), body).ok(t)
		if title, ok := a.value("thread", "title").(string); !ok || title != "" {
			t.Errorf("the body %q makes %s", body, a.body)
		}
		last, there := a.value("thread").(object)["lastMessageAt"]
		if !there || last != nil {
			t.Errorf("the body %q makes %s", body, a.body)
		}
	}
	p.post(p.at("/threads"), "", "Content-Type", "text/plain").ok(t)
}

func heads(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	thread := p.newThread("T")
	for _, path := range p.everyGet(thread) {
		get, head := p.get(path).ok(t), p.send("HEAD", path, "").ok(t)
		if len(head.body) != 0 {
			t.Errorf("HEAD %s has a body: %s", path, head.body)
		}
		for _, h := range []string{"ETag", "Content-Length", "Content-Type", "Cache-Control", "Vary"} {
			if get.header.Get(h) == "" || get.header.Get(h) != head.header.Get(h) {
				t.Errorf("%s of %s is %q for GET and %q for HEAD", h, path, get.header.Get(h), head.header.Get(h))
			}
		}
	}
	if a := p.send("HEAD", p.at("/search"), ""); a.status != 405 || len(a.body) != 0 {
		t.Errorf("HEAD where there is no GET: %d %s", a.status, a.body)
	}
}

// everyGet lists the paths of all GET operations.
func (p *testUser) everyGet(thread string) []string {
	return []string{
		"/api/agents", p.at(""), p.at("/memories"), p.at("/favourites"), p.at("/favourites?q=relational"),
		p.at("/favourites/export?format=csv"), p.at("/threads"), p.at("/threads/" + thread),
		p.at("/threads/" + thread + "/messages"),
		p.at("/memories?status=proposed"), p.at("/threads/" + thread + "/export?format=markdown"),
	}
}

func oddCardIDs(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	for id, escaped := range map[string]string{
		"a b": "a%20b", "100%": "100%25", "%2e": "%252e", "a?b#c": "a%3Fb%23c", "ü😀": "%C3%BC%F0%9F%98%80",
		"a+b;c=d,e&f": "a+b;c=d,e&f",
		"export":      "export", "...": "...", " ": "%20", `"quoted"\`: "%22quoted%22%5C",
		"doi:10.1145,362384":     "doi%3a10.1145,362384",
		strings.Repeat("é", 200): strings.Repeat("%C3%A9", 200),
		"10.1145/359340.359342":  "10.1145%2F359340.359342", "10.1145/359340": "10.1145%2f359340", "/": "%2F", "//": "%2F%2F",
		"a/": "a%2F", "/a": "%2Fa",
		"a/../b": "a%2F..%2Fb", "../..": "..%2F..", "./": ".%2F", "a%2Fb/c": "a%252Fb%2Fc",
		"a/b?c#d e/é😀": "a%2Fb%3Fc%23d%20e%2F%C3%A9%F0%9F%98%80",
		"x/export":     "x%2Fexport", "favourites/export": "favourites%2Fexport", "x/events": "x%2Fevents",
		"sources/x/files":  "sources%2Fx%2Ffiles",
		"threads/t/export": "threads%2Ft%2Fexport",
	} {
		got := p.post(p.at("/favourites"), object{"card": object{"cardId": id}}).ok(t).str("favourite", "cardId")
		if got != id {
			t.Errorf("the card %q is saved as %q", id, got)
		}
		if id != "export" {
			if got := p.get(p.at("/favourites/"+escaped)).ok(t).str("favourite", "cardId"); got != id {
				t.Errorf("reading %q by %s gives %q", id, escaped, got)
			}
		}
		if a := p.send("DELETE", p.at("/favourites/"+escaped), ""); a.status != 200 || string(a.body) != `{"deleted":true}` {
			t.Errorf("deleting %q by %s: %d %s", id, escaped, a.status, a.body)
		}
		p.send("DELETE", p.at("/favourites/"+escaped), "").refused(t, 404, "not_found")
		a := p.send("PUT", p.at("/favourites/"+escaped), "")
		if id != "export" && (a.status != 405 || a.header.Get("Allow") != "DELETE, GET, PATCH") {
			t.Errorf("%s has the methods %s (%d)", escaped, a.header.Get("Allow"), a.status)
		}
	}
	// The id in the reply deletes the card, whatever characters it contains.
	for _, id := range []string{".", "..", "a\nb", "\u0085", strings.Repeat("/", 201), "card_x/y"} {
		saved := p.post(p.at("/favourites"), object{"card": object{"cardId": id}}).ok(t).str("favourite", "cardId")
		p.send("DELETE", p.at("/favourites/"+url.PathEscape(saved)), "").ok(t)
	}
	// A card with the id export and the export operation do not hide each other.
	p.post(p.at("/favourites"), object{"card": object{"cardId": "export", "title": "T"}}).ok(t)
	if a := p.get(p.at("/favourites/export?format=csv")); a.status != 200 || !strings.Contains(string(a.body), "export") {
		t.Errorf("the export: %d %s", a.status, a.body)
	}
	p.send("DELETE", p.at("/favourites/export"), "").ok(t)
}

func requestIDs(t *testing.T, w *testServer) {
	p := w.user(t, core.PlanOpen)
	if got := p.get("/api/agents", "X-Request-Id", "my-own.id_1").ok(t).header.Get("X-Request-Id"); got != "my-own.id_1" {
		t.Errorf("a sane id comes back as %q", got)
	}
	seen := map[string]bool{}
	for _, id := range []string{"-", "", "with space", "<script>", strings.Repeat("a", 65), "é"} {
		got := p.get("/api/agents", "X-Request-Id", id).ok(t).header.Get("X-Request-Id")
		if len(got) != 20 || seen[got] {
			t.Errorf("for %q the id is %q", id, got)
		}
		seen[got] = true
	}
}

// 10.0 and 1e1 are the integer 10.
func TestIntegersMayHaveAZeroFraction(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, []test{{"Search", func(t *testing.T, w *testServer) {
		p := w.user(t, core.PlanOpen)
		for _, n := range []string{"1e2", "1.0", "10E-1", "100.000"} {
			p.post(p.at("/search"), `{"query":"q","numResults":`+n+`}`).ok(t)
		}
		for _, n := range []string{"1.5", "101.0", "1e3", "0.0", "-1.0", "1e-1", "0.99999999999999999999", "1e19", "1e400"} {
			p.post(p.at("/search"), `{"query":"q","numResults":`+n+`}`).refused(t, 400, "invalid_request")
		}
	}}})
}

// same reports whether two JSON texts are equal apart from formatting.
func same(t testing.TB, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatalf("%v: %s", err, a)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return reflect.DeepEqual(x, y)
}
