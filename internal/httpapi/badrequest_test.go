package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"carrel/internal/core"
)

// marker is part of every value that a bad request sends. It must not appear in replies or logs.
const marker = "xyzzy"

// bad is a request that must be refused. {agent}, {thread}, {reply}, {memory} and {source} in its path are replaced
// by ids of the user.
type bad struct {
	name     string
	method   string
	path     string
	body     string
	headers  []string
	status   int
	code     string
	pointers []string // not checked if nil
}

// operation is an operation with a body, and a text field of that body.
type operation struct {
	method, path, field string
}

var withBody = []operation{
	{"POST", "/api/agents", "name"},
	{"PATCH", "/api/agents/{agent}", "name"},
	{"POST", "/api/agents/{agent}/search", "query"},
	{"POST", "/api/agents/{agent}/memories", "text"},
	{"PATCH", "/api/agents/{agent}/memories/{memory}", "text"},
	{"POST", "/api/agents/{agent}/favourites", "card"},
	{"POST", "/api/agents/{agent}/threads", "title"},
	{"PATCH", "/api/agents/{agent}/threads/{thread}", "title"},
	{"POST", "/api/agents/{agent}/threads/{thread}/messages", "text"},
	{"PUT", "/api/agents/{agent}/threads/{thread}/messages/{reply}/feedback", "thumb"},
	{"POST", "/api/connect/exchange", "code"},
}

// malformedBodies are not strict JSON objects. FIELD is replaced by the operation's field, ESCAPED by its name with
// an escape.
var malformedBodies = map[string]string{
	"no JSON":                        `xyzzy`,
	"cut short":                      `{"FIELD":"xyzzy"`,
	"cut short in a string":          `{"FIELD":"xyzzy`,
	"an array":                       `["xyzzy"]`,
	"a string":                       `"xyzzy"`,
	"a number":                       `42`,
	"null":                           `null`,
	"true":                           `true`,
	"a key twice":                    `{"FIELD":"xyzzy","FIELD":"xyzzy2"}`,
	"a key twice, once escaped":      `{"FIELD":"xyzzy","ESCAPED":"xyzzy2"}`,
	"an unknown key twice":           `{"FIELD":"xyzzy","xyzzy":1,"xyzzy":1}`,
	"a key twice inside":             `{"FIELD":"xyzzy","x":{"y":[{"xyzzy":1,"xyzzy":2}]}}`,
	"an empty key twice":             `{"FIELD":"xyzzy","":1,"":2}`,
	"65 deep":                        `{"FIELD":"xyzzy","x":` + nested(64) + `}`,
	"100,000 open brackets":          `{"xyzzy":` + strings.Repeat("[", 100_000),
	"a raw NUL":                      "{\"FIELD\":\"xyzzy\x00\"}",
	"a raw line feed in a string":    "{\"FIELD\":\"xyzzy\n\"}",
	"a raw tab in a string":          "{\"FIELD\":\"xyzzy\t\"}",
	"invalid UTF-8":                  "{\"FIELD\":\"xyzzy\xff\"}",
	"overlong UTF-8":                 "{\"FIELD\":\"xyzzy\xc0\xaf\"}",
	"a surrogate in UTF-8":           "{\"FIELD\":\"xyzzy\xed\xa0\x80\"}",
	"invalid UTF-8 in a key":         "{\"FIELD\":\"xyzzy\",\"\xff\":1}",
	"a lone high surrogate":          `{"FIELD":"xyzzy\ud83d"}`,
	"a lone low surrogate":           `{"FIELD":"xyzzy\ude00"}`,
	"surrogates the wrong way":       `{"FIELD":"xyzzy\ude00\ud83d"}`,
	"a high surrogate and a letter":  `{"FIELD":"xyzzy\ud83dx"}`,
	"a high surrogate and an escape": `{"FIELD":"xyzzy\ud83d\u0041"}`,
	"an unknown escape":              `{"FIELD":"xyzzy\x41"}`,
	"a short escape":                 `{"FIELD":"xyzzy\u41"}`,
	"a signed escape":                `{"FIELD":"xyzzy\u+041"}`,
	"garbage behind it":              `{"FIELD":"xyzzy"} xyzzy`,
	"a second object":                `{"FIELD":"xyzzy"}{"FIELD":"xyzzy"}`,
	"a NUL behind it":                "{\"FIELD\":\"xyzzy\"}\x00",
	"a comma too many":               `{"FIELD":"xyzzy",}`,
	"a comma too many in an array":   `{"FIELD":"xyzzy","x":[1,]}`,
	"no colon":                       `{"FIELD" "xyzzy"}`,
	"single quotes":                  `{'FIELD':'xyzzy'}`,
	"a bare key":                     `{FIELD:"xyzzy"}`,
	"a comment":                      `{"FIELD":"xyzzy"/* xyzzy */}`,
	"NaN":                            `{"FIELD":"xyzzy","x":NaN}`,
	"a leading zero":                 `{"FIELD":"xyzzy","x":01}`,
	"a leading plus":                 `{"FIELD":"xyzzy","x":+1}`,
	"a bare point":                   `{"FIELD":"xyzzy","x":1.}`,
	"an empty exponent":              `{"FIELD":"xyzzy","x":1e}`,
	"a word that is none":            `{"FIELD":"xyzzy","x":nul}`,
	"odd white space":                "{\"FIELD\":\v\"xyzzy\"}",
	"a no-break space":               "{\"FIELD\":\u00a0\"xyzzy\"}",
	"a byte order mark":              "\ufeff{\"FIELD\":\"xyzzy\"}",
	"UTF-16":                         "\xff\xfe{\x00}\x00",
	"no body":                        ``,
	"white space":                    " \r\n\t ",
}

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func badBodies() []bad {
	var out []bad
	for _, op := range withBody {
		escaped := fmt.Sprintf(`\u%04x`, op.field[0]) + op.field[1:]
		body := func(template string) string {
			return strings.NewReplacer("FIELD", op.field, "ESCAPED", escaped).Replace(template)
		}
		for name, template := range malformedBodies {
			if strings.TrimSpace(template) == "" && strings.HasSuffix(op.path, "/threads") {
				continue // a thread may be started without a body
			}
			out = append(out, bad{
				name: name, method: op.method, path: op.path, body: body(template), status: 400, code: "malformed_json",
			})
		}
		for name, nul := range map[string]struct{ body, pointer string }{
			"a NUL":            {`{"FIELD":"xyzzy\u0000"}`, "/" + op.field},
			"a NUL inside":     {`{"FIELD":{"xyzzy":["\u0000"]}}`, "/" + op.field},
			"a NUL in a key":   {`{"FIELD":{"xyzzy\u0000":1}}`, "/" + op.field},
			"a NUL elsewhere":  {`{"FIELD":"x","xyzzy":"\u0000"}`, ""},
			"a NUL as its key": {`{"xyzzy\u0000":1}`, ""},
		} {
			out = append(out, bad{
				name: name, method: op.method, path: op.path, body: body(nul.body),
				status: 400, code: "invalid_request", pointers: []string{nul.pointer},
			})
		}
		for _, contentType := range []string{
			"text/plain; xyzzy", "application/xyzzy", "application/x-www-form-urlencoded", "multipart/form-data; boundary=xyzzy",
			"application/merge-patch+json", "application/jsonx", "xyzzy", "application/json,text/plain", ";",
		} {
			out = append(out, bad{
				name: "the type " + contentType, method: op.method, path: op.path, body: `{"xyzzy":1}`,
				headers: []string{"Content-Type", contentType}, status: 415, code: "unsupported_media_type",
			})
		}
	}
	return out
}

// wrongValues are requests with a value that the contract does not allow.
func badFields() []bad {
	long := func(n int) string { return `"` + marker + strings.Repeat("a", n-len(marker)) + `"` }
	astral := func(n int) string { return `"` + marker + strings.Repeat(`😀`, n-len(marker)) + `"` }
	combining := func(n int) string { return `"` + marker + "a" + strings.Repeat("\u0301", n-len(marker)-1) + `"` }
	noText := []string{`5`, `true`, `null`, `["xyzzy"]`, `{"xyzzy":1}`}
	text := func(limit int) []string {
		return append(slices.Clone(noText), `""`, `" \t\n\u00a0\u2003"`, long(limit+1), astral(limit+1), combining(limit+1))
	}
	noYear := []string{`0`, `-1`, `10000`, `1.5`, `"1999"`, `null`, `true`, `[1999]`, `99999999999999999999`, `1e400`}
	var out []bad
	add := func(method, path, template, pointer string, values []string) {
		for _, v := range values {
			name := v
			if len(name) > 20 {
				name = fmt.Sprintf("%s… of %d characters", v[1:20], len([]rune(v))-2)
			}
			out = append(out, bad{
				name: pointer + " " + name, method: method, path: path, body: strings.Replace(template, "VALUE", v, 1),
				status: 400, code: "invalid_request", pointers: []string{pointer},
			})
		}
	}
	const agent = "/api/agents/{agent}"
	add("POST", "/api/agents", `{"name":VALUE}`, "/name", text(100))
	add("POST", "/api/agents", `{"name":"xyzzy","description":VALUE}`, "/description", append(noText[:5:5], long(2001)))
	add("POST", "/api/agents", `{"name":"xyzzy","instructions":VALUE}`, "/instructions",
		append(noText[:5:5], astral(8001)))
	add("POST", "/api/agents", `{"name":"xyzzy","model":VALUE}`, "/model", append(noText[:5:5], long(201)))
	add("PATCH", agent, `{"name":VALUE}`, "/name", text(100))
	add("PATCH", agent, `{"instructions":VALUE}`, "/instructions", append(noText[:5:5], combining(8001)))
	add("POST", agent+"/search", `{"query":VALUE}`, "/query", text(2000))
	add("POST", agent+"/search", `{"query":"xyzzy","numResults":VALUE}`, "/numResults",
		[]string{`0`, `-1`, `101`, `1.5`, `"5"`, `null`, `true`, `[5]`, `99999999999999999999`, `1e400`})
	add("POST", agent+"/search", `{"query":"xyzzy","fromYear":VALUE}`, "/fromYear", noYear)
	add("POST", agent+"/search", `{"query":"xyzzy","toYear":VALUE}`, "/toYear", noYear)
	add("POST", agent+"/search", `{"query":"xyzzy","toYear":1970,"fromYear":VALUE}`, "/fromYear", []string{`1971`, `9999`})
	add("POST", agent+"/search", `{"query":"xyzzy","facets":VALUE}`, "/facets", []string{`"true"`, `1`, `null`})
	add("POST", agent+"/search", `{"query":"xyzzy","sourceId":VALUE}`, "/sourceId",
		[]string{`5`, `null`, `""`, `"xyzzy"`, `"src_` + strings.Repeat("0", 26) + `"`, `"{othersSource}"`, `"{thread}"`})
	for _, op := range []operation{{"POST", agent + "/memories", ""}, {"PATCH", agent + "/memories/{memory}", ""}} {
		add(op.method, op.path, `{"text":VALUE}`, "/text", text(4000))
	}
	noBool := []string{`"true"`, `1`, `null`, `[]`}
	add("PATCH", agent+"/memories/{memory}", `{"pinned":VALUE}`, "/pinned", noBool)
	add("POST", agent+"/threads/{thread}/messages", `{"text":VALUE}`, "/text", text(8000))
	add("POST", agent+"/threads/{thread}/messages", `{"text":"xyzzy","research":VALUE}`, "/research", noBool)
	feedback := agent + "/threads/{thread}/messages/{reply}/feedback"
	add("PUT", feedback, `{"thumb":VALUE}`, "/thumb", append(noText[:5:5], `"xyzzy"`, `""`, `"UP"`))
	add("PUT", feedback, `{"thumb":"up","note":VALUE}`, "/note", append(noText[:5:5], long(2001), astral(2001)))
	titles := append(noText[:5:5], long(201), astral(201), combining(201))
	add("POST", agent+"/threads", `{"title":VALUE}`, "/title", titles)
	add("PATCH", agent+"/threads/{thread}", `{"title":VALUE}`, "/title", titles)
	add("PATCH", agent+"/threads/{thread}", `{"pinned":VALUE}`, "/pinned", noBool)
	add("PATCH", agent+"/threads/{thread}", `{"archived":VALUE}`, "/archived", noBool)
	add("PATCH", agent+"/threads/{thread}", `{"tags":[VALUE]}`, "/tags/0", []string{`""`, long(101)})
	add("POST", agent+"/favourites", `{"card":VALUE}`, "/card",
		[]string{`5`, `true`, `null`, `"xyzzy"`, `["xyzzy"]`, `{"xyzzy":1e400}`, `{"title":` + long(65_536) + `}`})
	for _, name := range []string{"url", "openAccessUrl"} {
		add("POST", agent+"/favourites", `{"card":{"title":"xyzzy","`+name+`":VALUE}}`, "/card/"+name,
			[]string{
				`"javascript:xyzzy()"`, `"JaVaScRiPt:xyzzy()"`, `" javascript:xyzzy()"`, `"java\tscript:xyzzy()"`,
				`"data:text/html,xyzzy"`, `"&#106;avascript:xyzzy()"`,
				`"vbscript:xyzzy"`, `"file:///xyzzy"`, `"blob:https://example.org/xyzzy"`, `"//example.org/xyzzy"`,
				`["javascript:xyzzy()"]`, `7`,
			})
	}
	add("POST", agent+"/favourites", `{"card":{"title":"xyzzy"},"threadId":VALUE}`, "/threadId",
		[]string{`5`, `null`, `""`, `"xyzzy"`, `"thr_` + strings.Repeat("0", 26) + `"`, `"{othersThread}"`, `"{agent}"`})
	add("POST", "/api/connect/exchange", `{"client":"xyzzy","code":VALUE}`, "/code", noText)
	add("POST", "/api/connect/exchange", `{"code":"xyzzy","client":VALUE}`, "/client",
		append(text(64), `"xyzzy\u0007"`, `"xyzzy\nx"`, `"xyzzy\u200b"`, `"xyzzy\u2028x"`, `"xyzzy\ufeff"`))

	for _, op := range withBody {
		if op.method == "PATCH" || op.method == "POST" && op.field == "title" {
			continue // nothing is required
		}
		pointers := []string{"/" + op.field}
		if op.field == "code" {
			pointers = []string{"/code", "/client"}
		}
		for _, body := range []string{`{}`, `{"xyzzy":1}`, `{"` + strings.ToUpper(op.field) + `":"xyzzy"}`} {
			out = append(out, bad{
				name: "without what is required: " + body, method: op.method, path: op.path, body: body,
				status: 400, code: "invalid_request", pointers: pointers,
			})
		}
	}
	return append(out, bad{
		name: "many wrong fields", method: "POST", path: agent + "/search", status: 400, code: "invalid_request",
		body:     `{"query":" ","numResults":500,"fromYear":0,"toYear":10000}`,
		pointers: []string{"/numResults", "/fromYear", "/toYear"},
	})
}

// badParameters are requests with an invalid query or header.
func badParameters() []bad {
	const agent = "/api/agents/{agent}"
	long := strings.Repeat("a", 600)
	var out []bad
	for _, query := range []string{"status=dismissed", "status=", "status=xyzzy", "status=ACTIVE"} {
		out = append(out, bad{
			name: query, method: "GET", path: agent + "/memories?" + query, status: 400, code: "invalid_request",
			pointers: []string{"status"},
		})
	}
	for _, query := range []string{"", "?format=", "?format=xyzzy", "?format=csv"} {
		out = append(out, bad{
			name: "format", method: "GET", path: agent + "/threads/{thread}/export" + query, status: 400,
			code: "invalid_request", pointers: []string{"format"},
		})
	}
	for _, list := range []string{
		"/api/agents", agent + "/memories", agent + "/favourites", agent + "/threads", agent + "/threads/{thread}/messages",
	} {
		for _, limit := range []string{
			"0", "-1", "201", "1.5", "1e1", "xyzzy", "", "0x10", "99999999999999999999", "%20", "5xyzzy",
		} {
			out = append(out, bad{
				name: "limit=" + limit, method: "GET", path: list + "?limit=" + limit, status: 400, code: "invalid_request",
				pointers: []string{"limit"},
			})
		}
		cursors := map[string]string{
			"garbage": marker, "not base64": "***", "padding": "W10=", "far too long": strings.Repeat("A", 3000),
			"invalid UTF-8": "%FF", "a NUL": "%00", "of no list": core.EncodeCursor(marker, "x"),
			"with too many parts": core.EncodeCursor("agents", "x", marker, "z", "z"),
		}
		for _, other := range []string{"agents", "memories", "favourites", "threads", "messages", "favourites.q"} {
			if !strings.HasSuffix(list, "/"+other) {
				cursors["of the list "+other] = core.EncodeCursor(other, marker)
			}
		}
		for name, cursor := range cursors {
			out = append(out, bad{
				name: "a cursor " + name, method: "GET", path: list + "?cursor=" + cursor, status: 400, code: "invalid_request",
				pointers: []string{"cursor"},
			})
		}
	}
	for name, path := range map[string]string{
		"a cursor with no time": agent + "/threads?cursor=" + core.EncodeCursor("threads", marker, "x"),
		"a favourites cursor with no time": agent +
			"/favourites?cursor=" + core.EncodeCursor("favourites", marker, "x", "a"),
		"a cursor with no number": agent +
			"/threads/{thread}/messages?cursor=" + core.EncodeCursor("messages", marker),
		"a cursor of number 0": agent +
			"/threads/{thread}/messages?cursor=" + core.EncodeCursor("messages", "0"),
		"a cursor past 32 bits": agent +
			"/threads/{thread}/messages?cursor=" + core.EncodeCursor("messages", "99999999999"),
		"a cursor past 64 bits": agent +
			"/threads/{thread}/messages?cursor=" + core.EncodeCursor("messages", "99999999999999999999"),
		"a search's cursor without words": agent +
			"/favourites?cursor=" + core.EncodeCursor("favourites.q", "1", "1", "x", "a"),
		"a list's cursor with words": agent +
			"/favourites?q=xyzzy&cursor=" + core.EncodeCursor("favourites", "1", "x", "a"),
		"a search's cursor with no score": agent +
			"/favourites?q=x&cursor=" + core.EncodeCursor("favourites.q", marker, "1", "x", "a"),
		"a search's cursor with no time": agent +
			"/favourites?q=x&cursor=" + core.EncodeCursor("favourites.q", "1", marker, "x", "a"),
		"a cursor with both a good and a bad limit": agent + "/threads?limit=5&limit=xyzzy",
	} {
		out = append(out, bad{name: name, method: "GET", path: path, status: 400, code: "invalid_request"})
	}
	for name, q := range map[string]string{
		"NUL": "xyzzy%00", "no UTF-8": "xyzzy%FF", "501 characters": marker + long[:496],
	} {
		out = append(out, bad{
			name: "q with " + name, method: "GET", path: agent + "/favourites?q=" + q, status: 400, code: "invalid_request",
			pointers: []string{"q"},
		})
	}
	for name, query := range map[string]string{
		"no": "", "an empty": "?format=", "an unknown": "?format=xyzzy", "a long": "?format=" + long,
	} {
		out = append(out, bad{
			name: name + " format", method: "GET", path: agent + "/favourites/export" + query, status: 400,
			code: "invalid_request", pointers: []string{"format"},
		})
	}
	for name, query := range map[string]string{
		"half an escape": "xyzzy=%", "a bad escape": "xyzzy=%zz", "a semicolon": "limit=5;xyzzy=1",
		"9000 characters": strings.Repeat("xyzzy", 1800),
	} {
		out = append(out, bad{
			name: "a query with " + name, method: "GET", path: "/api/agents?" + query, status: 400, code: "invalid_request",
		})
	}
	for name, key := range map[string]string{
		"that is empty": "", "of white space": "  ", "too long": strings.Repeat("k", 256), "with é": "xyzzy é",
		"with a tab": "xyz\tzy", "with a high byte": "xyzzy\xff",
	} {
		out = append(out, bad{
			name: "an Idempotency-Key " + name, method: "POST", path: agent + "/memories", body: `{"text":"xyzzy"}`,
			headers: []string{"Idempotency-Key", key}, status: 400, code: "invalid_request",
			pointers: []string{"Idempotency-Key"},
		})
	}
	for _, accept := range []string{
		"text/html", "text/*", "image/png, text/html;q=0.9", "application/json;q=0", "*/*;q=0", "*/*;q=0.000",
		"application/*; q=0",
		"application/json;q=0, */*", "application/*;q=0, */*", "application/xml", "xyzzy", "application/jsonx",
		"application/problem+json",
	} {
		for _, op := range []operation{{"GET", "/api/agents", ""}, {"POST", agent + "/memories", ""}} {
			body := ""
			if op.method == "POST" {
				body = `{"text":"xyzzy"}`
			}
			out = append(out, bad{
				name: "Accept: " + accept, method: op.method, path: op.path, body: body, headers: []string{"Accept", accept},
				status: 406, code: "not_acceptable",
			})
		}
	}
	return out
}

// badPaths are unknown paths, and paths without the method.
func badPaths() []bad {
	const agent = "/api/agents/{agent}"
	var out []bad
	for path, status := range map[string]int{
		"/api": 404, "/api/": 404, "/api/xyzzy": 404, "/api/agents/": 404, agent + "/": 404, agent + "/xyzzy": 404,
		agent + "/threads/": 404, agent + "/threads/{thread}/": 404, agent + "/threads/{thread}/messages/": 404,
		"/xyzzy":                      404,
		"/api/agents/..%2f..%2fxyzzy": 404, "/api/agents/%2e%2e": 404, "/api/agents/%2E%2E/agents": 404,
		"/api/agents/%2e":                404,
		"/api/agents/{agent}%2Fmemories": 404, "/api/agents/{agent}%2fmemories": 404, "/api/agents//memories": 404,
		"/api//agents": 404, "//api/agents": 404, "/api/agents/../agents": 404, "/api/agents/./{agent}": 404,
		"/api/agents/xyzzy%00": 400, "/api/agents/{agent}%00": 400, "/api/agents/xyzzy%0A": 400, "/api/agents/%ff": 400,
		"/api/agents/xyzzy%7f": 400, "/api/agents/" + strings.Repeat("a", 5000): 404,
		"/api/agents/" + strings.Repeat("a", 9000): 400,
		"/api/agents/%252e%252e":                   404, "/api/agents/xyzzy'--": 404, "/api/agents/{agent}%20": 404,
		"/api/agents/{AGENT}": 404,
		"/api/agents/*":       404, "/api/agents/%25": 404, agent + "/threads/%2e%2e/messages": 404,
		agent + "/threads/xyzzy/messages":   404,
		agent + "/threads/{agent}/messages": 404, "/API/agents": 404,
	} {
		code := "not_found"
		if status == 400 {
			code = "invalid_request"
		}
		out = append(out, bad{name: "a path", method: "GET", path: path, status: status, code: code})
	}
	for _, id := range []string{
		"%2e%2e", ".", "..", strings.Repeat("%2F", 201), strings.Repeat("a", 201), strings.Repeat("%F0%9F%98%80", 201),
		"%C2%85", "xyzzy%2F../xyzzy",
	} {
		out = append(out, bad{
			name: "a card", method: "DELETE", path: agent + "/favourites/" + id, status: 404, code: "not_found",
		})
	}
	for _, path := range []string{
		"/api/agents", agent, agent + "/search", agent + "/memories/{memory}", agent + "/threads/{thread}/messages",
		agent + "/favourites/xyzzy", "/api/connect/exchange",
	} {
		for _, method := range []string{"PUT", "OPTIONS", "TRACE", "XYZZY", "get"} {
			out = append(out, bad{
				name: "a method", method: method, path: path, body: "", status: 405, code: "method_not_allowed",
			})
			out = append(out, bad{
				name: "a method with a body", method: method, path: path, body: "xyzzy", status: 405, code: "method_not_allowed",
			})
		}
	}
	return append(out,
		bad{name: "a method", method: "GET", path: agent + "/search", status: 405, code: "method_not_allowed"},
		bad{name: "a method", method: "GET", path: "/api/connect/exchange", status: 405, code: "method_not_allowed"},
		bad{name: "a method", method: "DELETE", path: agent + "/threads", status: 405, code: "method_not_allowed"},
		bad{name: "a method", method: "POST", path: agent, status: 405, code: "method_not_allowed"},
		bad{name: "a body for no path", method: "POST", path: "/api/xyzzy", body: "xyzzy", status: 404, code: "not_found"})
}

// Every bad request must get the right status and code in a complete problem document, must not be repeated in the
// reply or the log, and must not cause a write.
func TestBadRequestsAreRefusedWithoutSideEffects(t *testing.T) {
	t.Parallel()
	inTurn(t, []test{{"Refused", func(t *testing.T, w *testServer) {
		p, other := w.user(t, core.PlanOpen), w.user(t, core.PlanOpen)
		thread, othersThread := p.newThread("T"), other.newThread("T")
		memory := p.post(p.at("/memories"), object{"text": "M"}).ok(t).str("memory", "id")
		reply := p.post(p.at("/threads/"+thread+"/messages"), object{"text": "hi"}).ok(t).str("messageId")
		fill := strings.NewReplacer(
			"{agent}", p.agent, "{AGENT}", strings.ToUpper(p.agent), "{thread}", thread, "{memory}", memory, "{reply}", reply,
			"{othersThread}", othersThread, "{othersSource}", other.get(other.at("")).ok(t).str("agent", "defaultSourceId"),
		)
		rows := slices.Concat(badBodies(), badFields(), badParameters(), badPaths(), badCredentials(t, w, p))
		before := w.db.Stats().Writes
		for i, row := range rows {
			w.checkRefused(t, p, i, row, fill)
		}
		if after := w.db.Stats().Writes; after != before {
			t.Errorf("%d bad requests made %d writes", len(rows), after-before)
		}
		w.stop()
		checkLog(t, w.log.String(), rows, p.token)
	}}})
}

// rowID returns the request id of a row, to find its log line.
func rowID(i int) string { return fmt.Sprintf("row-%d", i) }

func (w *testServer) checkRefused(t *testing.T, p *testUser, i int, row bad, fill *strings.Replacer) {
	t.Helper()
	name := row.method + " " + row.path + ", " + row.name
	headers := append([]string{"X-Request-Id", rowID(i)}, row.headers...)
	a, err := p.try(row.method, fill.Replace(row.path), strings.NewReader(fill.Replace(row.body)), headers...)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if row.method == http.MethodHead {
		if a.status != row.status || len(a.body) != 0 {
			t.Errorf("%s: got %d %s", name, a.status, a.body)
		}
		return
	}
	if a.status != row.status || a.str("code") != row.code {
		t.Errorf("%s: got %d %s, want %d %s", name, a.status, a.body, row.status, row.code)
		return
	}
	if row.pointers != nil && !slices.Equal(a.pointers(), row.pointers) {
		t.Errorf("%s: errors name %q, want %q", name, a.pointers(), row.pointers)
	}
	a.checkProblem(t)
	if challenge := a.header.Get("WWW-Authenticate"); (a.status == 401) != (challenge != "") ||
		a.status == 401 && challenge != wantChallenge(row.headers) {
		t.Errorf("%s: the challenge is %q", name, challenge)
	}
	if a.status == 405 && a.header.Get("Allow") == "" {
		t.Errorf("%s: no Allow", name)
	}
	if strings.Contains(strings.ToLower(string(a.body)), marker) {
		t.Errorf("%s: the reply repeats input: %s", name, a.body)
	}
}

// wantChallenge returns the challenge of a 401 for a request with these headers. Only requests with a bearer token
// get an error attribute (RFC 6750, 3.1).
func wantChallenge(headers []string) string {
	failed := ""
	if strings.HasPrefix(headers[1]+" ", "Bearer ") {
		failed = `error="invalid_token", `
	}
	return `Bearer ` + failed + `scope="agents manage offline_access", resource_metadata="` + baseURL +
		`/.well-known/oauth-protected-resource"`
}

// checkLog checks that the log does not contain the marker. Unknown paths and methods may be logged, because
// operators need them.
func checkLog(t *testing.T, log string, rows []bad, token string) {
	t.Helper()
	logged := map[string]bool{}
	for line := range strings.Lines(log) {
		var entry struct{ RequestID string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("a line is no JSON: %s", line)
		}
		logged[entry.RequestID] = true
		i, err := strconv.Atoi(strings.TrimPrefix(entry.RequestID, "row-"))
		if err != nil {
			continue // the test's own requests
		}
		if strings.Contains(line, token) {
			t.Errorf("the log holds a key: %s", line)
		}
		sent := rows[i].path + strings.ToLower(rows[i].method)
		if strings.Contains(line, marker) && !strings.Contains(sent, marker) {
			t.Errorf("%s: the log repeats input: %s", rows[i].name, line)
		}
	}
	for i, row := range rows {
		if !logged[rowID(i)] {
			t.Errorf("%s %s, %s: not in the log", row.method, row.path, row.name)
		}
	}
}
